"""Fingerprints in files: as Parquet, or as JSON lines that another program wrote.

Parquet has the data that an index keeps of pages, as columns that a database can join.
A row is a page, in the order of the file. The words of the fingerprint are ``f0``,
``f1`` ... and its block values ``b0``, ``b1`` ..., as signed integers, because Spark
has no others. A page that is compared with no other has a reason in their place. The
metadata of the file name the recipe.
"""

import json
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.lookups import read_fingerprint
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.keys import Scope, key_of, page_scope
from scrapy_simhash.offline.files import FileError, json_objects, opened
from scrapy_simhash.offline.saved_pages import Analysed, SavedPage

#: Rows that are in memory together.
ROWS = 1 << 16
# The attributes of an IndexSpec that a file names.
_SPEC = ("recipe", "bits", "distance", "blocks")
_METADATA = "scrapy-simhash prints"


def pyarrow() -> Any:
    """Return the module of Arrow with its Parquet, which come with an extra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise FileError(
            "Parquet needs pyarrow: pip install 'scrapy-simhash[corpus]'"
        ) from None
    return pyarrow


def column_names(spec: IndexSpec) -> tuple[list[str], list[str]]:
    words = range(spec.bits // 64)
    blocks = range(spec.blocks)
    return [f"f{n}" for n in words], [f"b{n}" for n in blocks]


def write_prints(
    file: IO[bytes],
    spec: IndexSpec,
    analysed: Iterable[Analysed],
    scope: Scope,
) -> int:
    """Write pages, which have the width and blocks of an index; return how many there are."""
    schema = _schema(spec)
    rows = (_row(page, analysis, spec, scope) for page, analysis in analysed)
    count = 0
    with pyarrow().parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches_of(rows, schema):
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _schema(spec: IndexSpec) -> Any:
    pa = pyarrow()
    words, blocks = column_names(spec)
    columns = {
        "key": pa.string(),
        "url": pa.string(),
        "scope": pa.string(),
        "time": pa.int64(),
        "reason": pa.string(),
        **dict.fromkeys(words, pa.int64()),
        **dict.fromkeys(blocks, pa.int32()),
        "facts": pa.binary(),
    }
    return pa.schema(columns, metadata_of(spec))


def metadata_of(spec: IndexSpec) -> dict[str, str]:
    """Return the metadata of a file of prints."""
    return {_METADATA: json.dumps({name: getattr(spec, name) for name in _SPEC})}


def batches_of(rows: Iterator[dict[str, Any]], schema: Any) -> Iterator[Any]:
    """Yield rows as Arrow record batches."""
    pa = pyarrow()
    while part := [*islice(rows, ROWS)]:
        yield pa.RecordBatch.from_pylist(part, schema)


def _row(
    page: SavedPage,
    analysis: PageAnalysis,
    spec: IndexSpec,
    scope: Scope,
) -> dict[str, Any]:
    words, blocks = column_names(spec)
    row: dict[str, Any] = {
        "key": page.key,
        "url": page.url,
        "scope": page_scope(page.url or "", scope),
        "time": int(time.time()),
        "reason": analysis.reason,
        "facts": analysis.facts,
    }
    if fingerprint := analysis.fingerprint:
        row |= zip(
            words, struct.unpack(f">{len(words)}q", fingerprint.to_bytes()), strict=True
        )
        row |= zip(
            blocks, struct.unpack(f"<{len(blocks)}i", fingerprint.blocks), strict=True
        )
    return row


def are_prints(path: Path) -> bool:
    """Return whether a path is a file of prints, or a folder of such files."""
    return path.suffix == ".parquet" or any(path.glob("*.parquet"))


def print_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files of prints: the files given, and the files of folders by their names."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise FileError(
            f"{', '.join(map(str, paths))}: no file of fingerprints (.parquet)"
        )
    return files


def spec_of_prints(files: Sequence[Path]) -> IndexSpec:
    """Return the spec that opens an index for the pages of some files.

    A file without fingerprints, or with fingerprints of another recipe, is a FileError.
    """
    pa = pyarrow()
    specs = []
    for file in files:
        try:
            about = json.loads(
                pa.parquet.read_schema(file).metadata[_METADATA.encode()]
            )
            specs.append(IndexSpec(**{name: about[name] for name in _SPEC}))
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise FileError(
                f"{file}: no fingerprints of this program ({error!r:.200})"
            ) from None
        if specs[-1] != specs[0]:
            raise FileError(
                f"{file}: its fingerprints are of another recipe than {files[0]}"
            )
    return specs[0]


def read_prints(files: Iterable[Path], spec: IndexSpec) -> Iterator[Entry]:
    """Yield the pages of some files that have fingerprints, as an index takes them."""
    parquet = pyarrow().parquet
    words, blocks = column_names(spec)
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(ROWS):
            for row in batch.filter(batch.column("f0").is_valid()).to_pylist():
                octets = struct.pack(f">{len(words)}q", *map(row.get, words))
                octets += struct.pack(f"<{len(blocks)}i", *map(row.get, blocks))
                fingerprint = read_fingerprint(octets, "", spec.bits)
                yield Entry(
                    key=row["key"],
                    fingerprint=fingerprint,
                    scope=row["scope"],
                    facts=row["facts"],
                    time=row["time"],
                )


def read_foreign(path: Path, recipe: Recipe) -> Iterator[Entry]:
    """Yield the pages of JSON lines with ``url`` and ``fingerprint``, of 64 bits.

    A fingerprint is a number or hexadecimal text. A negative number is a signed
    integer: -1 has all bits.

    Raises:
        ValueError: the recipe makes block values from the text, or an entry lacks a
            value.
    """
    now = time.time()
    with opened(path) as file:
        recipe.restored(0)  # an error if block values are made from the text
        for number, values in enumerate(json_objects(file, path), 1):
            try:
                value = values["fingerprint"]
                # A fraction is refused, because it has lost the last bits.
                if type(value) is not int:
                    value = int(str(value), 16)
                if -(1 << recipe.bits - 1) <= value < 0:
                    value += 1 << recipe.bits
                # If the key differed, a crawl would take the page for a copy of itself.
                key = key_of(str(values["url"]))
                yield Entry(key, recipe.restored(value), time=now)
            except (KeyError, ValueError):
                raise FileError(
                    f"{path}, entry {number}: no url, or no fingerprint of {recipe.bits} bits"
                ) from None
