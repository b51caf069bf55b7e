"""Fingerprints as Parquet: what an index keeps of pages, as columns that a database can join.

A row is a page, in the order of the file. The words of the fingerprint are ``f0``, ``f1`` ... and
its block values ``b0``, ``b1`` ..., as signed integers, because Spark has no others. A page that is
compared with no other has a reason in their place. The metadata of the file name the recipe.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.offline.files import FileError, pyarrow

#: Pages of one file, and rows that are in memory together.
ROWS = 1 << 16
_VERSION = 1
_NAME = b"scrapy-simhash prints"
_SPEC = ("recipe", "bits", "distance", "blocks", "reach")


class Print(NamedTuple):
    """A page as a row: its entry, or the reason why it has no fingerprint."""

    key: str
    url: str | None
    scope: str
    time: int
    reason: str | None
    fingerprint: Fingerprint | None
    facts: bytes


def column_names(spec: IndexSpec) -> tuple[list[str], list[str]]:
    words, blocks = range(spec.bits // 64), range(spec.blocks)
    return [f"f{n}" for n in words], [f"b{n}" for n in blocks]


def write_prints(file: IO[bytes], spec: IndexSpec, prints: Iterable[Print]) -> int:
    """Write pages, which have the width and blocks of an index; return how many there are."""
    pa, _ = pyarrow()
    words, blocks = column_names(spec)
    text, number = pa.string(), pa.int64()
    fields = [("key", text), ("url", text), ("scope", text), ("time", number), ("reason", text)]
    fields += [(name, number) for name in words] + [(name, pa.int32()) for name in blocks]
    schema = pa.schema([*fields, ("facts", pa.binary())])
    rows = iter(prints)
    pieces = iter(lambda: [*islice(rows, ROWS)], [])
    batches = (pa.RecordBatch.from_arrays(_arrays(piece, spec), schema=schema) for piece in pieces)
    return write_batches(file, batches, schema, spec)


def write_batches(
    file: IO[bytes], batches: Iterable[Any], schema: Any, spec: IndexSpec | None = None
) -> int:
    """Write Arrow record batches, as prints if there is a spec; return the number of rows."""
    _, parquet = pyarrow()
    if spec:
        about = {"version": _VERSION} | {name: getattr(spec, name) for name in _SPEC}
        schema = schema.with_metadata({_NAME: json.dumps(about)})
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            count += batch.num_rows
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
    return count


def _arrays(prints: Sequence[Print], spec: IndexSpec) -> list[Any]:
    pa, _ = pyarrow()
    keys, urls, scopes, times, reasons, fingerprints, facts = zip(*prints, strict=True)
    absent = np.array([fingerprint is None for fingerprint in fingerprints])
    size, nothing = spec.bits // 8, b"\0" * (spec.bits // 8 + 4 * spec.blocks)
    content = b"".join(each.to_bytes() + each.blocks if each else nothing for each in fingerprints)
    octets = np.frombuffer(content, np.uint8).reshape(len(prints), -1)
    words = np.ascontiguousarray(octets[:, :size]).view(">i8").astype("=i8")
    values = np.ascontiguousarray(octets[:, size:]).view("<i4").astype("=i4")
    numbers = [pa.array(column, mask=absent) for part in (words, values) for column in part.T]
    texts = [pa.array(column, pa.string()) for column in (keys, urls, scopes)]
    return [*texts, pa.array(times), pa.array(reasons, pa.string()), *numbers, pa.array(facts)]


def print_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files of prints: those given, and those of folders by their names."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{', '.join(map(str, paths))}: no file of fingerprints (.parquet)")
    return files


def has_prints(path: Path) -> bool:
    """Return whether a file, or the first one of a folder, has fingerprints."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or files[0].suffix.lower() != ".parquet":
        return False
    pa, parquet = pyarrow()
    try:
        return _NAME in (parquet.read_schema(files[0]).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def spec_of_prints(files: Sequence[Path]) -> tuple[IndexSpec, int]:
    """Return how an index for the pages of some files is opened, and how many it would have.

    A file that has no fingerprints, or those of another recipe, is a FileError.
    """
    pa, parquet = pyarrow()
    specs, count = [], 0
    for file in files:
        try:
            table = parquet.ParquetFile(file)
            about = json.loads(table.schema_arrow.metadata[_NAME])
            specs.append(IndexSpec(**{name: about[name] for name in _SPEC}))
            names = {*table.schema_arrow.names}
            first_words = table.read(columns=["f0"])["f0"]
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise FileError(f"{file}: no fingerprints of this program ({error!r:.200})") from None
        if about["version"] != _VERSION or specs[-1] != specs[0]:
            raise FileError(f"{file}: its fingerprints are of another recipe than {files[0]}")
        if not names.issuperset(sum(column_names(specs[0]), ["key", "url", "scope", "facts"])):
            raise FileError(f"{file}: a column is missing")
        count += len(first_words) - first_words.null_count
    return specs[0], count


def read_prints(files: Iterable[Path], spec: IndexSpec) -> Iterator[Entry]:
    """Yield the pages of some files that have fingerprints, as an index takes them."""
    _, parquet = pyarrow()
    words, blocks = column_names(spec)
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(ROWS):
            rows = batch.filter(batch.column("f0").is_valid())
            numbers = [
                np.stack([rows.column(name).to_numpy() for name in names], 1).astype(kind)
                for names, kind in ((words, ">i8"), (blocks, "<i4"))
            ]
            texts = [rows.column(name).to_pylist() for name in ("key", "scope", "facts", "time")]
            for key, scope, facts, time, bits, values in zip(*texts, *numbers, strict=True):
                value = int.from_bytes(bits.tobytes(), "big")
                fingerprint = Fingerprint(value, spec.bits, values.tobytes())
                yield Entry(key, fingerprint, scope, facts, time)


def print_of(entry: Entry) -> Print:
    """Return the row of an entry of an index."""
    fingerprint, facts = entry.fingerprint, entry.facts
    return Print(entry.key, None, entry.scope, int(entry.time), None, fingerprint, facts)
