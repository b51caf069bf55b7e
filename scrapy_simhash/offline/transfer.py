"""An index as a file, the same whatever store it comes from and goes to: JSON lines or Parquet.

The first of the JSON lines says how the index is opened, and the last one how many pages stand
between them. The page "Reference" of the documentation has an example.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.keys import key_of
from scrapy_simhash.offline.files import (
    FileError,
    json_lines,
    json_object,
    lines,
    opened,
    table,
    unpacked_name,
)
from scrapy_simhash.offline.prints import print_files, read_prints, spec_of_prints

_FORMAT = "scrapy-simhash index"
_VERSION = 2
_SPEC = ("recipe", "bits", "distance", "blocks")


def write_entries(file: IO[bytes], spec: IndexSpec, entries: Iterable[Entry]) -> int:
    """Write an index as JSON lines; return the number of its pages."""
    count = 0
    head = {"format": _FORMAT, "version": _VERSION} | {name: getattr(spec, name) for name in _SPEC}
    _write(file, head)
    for entry in entries:
        values = {
            "key": entry.key,
            "fingerprint": str(entry.fingerprint),
            "blocks": b64encode(entry.fingerprint.blocks).decode(),
            "facts": b64encode(entry.facts).decode(),
            "time": int(entry.time),
            "scope": entry.scope,
        }
        _write(file, {name: value for name, value in values.items() if value != ""})
        count += 1
    _write(file, {"count": count})
    return count


def _write(file: IO[bytes], values: dict[str, Any]) -> None:
    # ASCII, because not every key is text that UTF-8 can hold.
    file.write(json.dumps(values).encode() + b"\n")


def is_parquet(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() == ".parquet"


def spec_of_file(path: Path) -> tuple[IndexSpec, int] | None:
    """Read an exported index to its end; return how its index is opened, and its number of pages.

    None if it is another file. An index that is cut off, or of another version, is a FileError.
    """
    if is_parquet(path):
        return spec_of_prints(print_files([path]))
    with opened(path) as (file, _):
        rest = lines(file)
        head = json_object(next(rest, None) or b"") or {}
        if head.get("format") != _FORMAT:
            return None
        if head.get("version") != _VERSION:
            raise FileError(
                f"{path}: version {head.get('version')!r:.20} of the format; this scrapy-simhash "
                f"reads version {_VERSION}, because another one finds pages differently"
            )
        last, count = b"", -1
        for line in rest:
            last, count = line or b"", count + 1
    if (json_object(last) or {}).get("count") != count:
        raise FileError(
            f"{path}: cut off or damaged: its last line does not have the count of {count:,} "
            "pages; export it again"
        )
    try:
        return IndexSpec(*(head[name] for name in _SPEC)), count
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: its first line is of no index: {error!r:.200}") from None


def read_entries(path: Path, spec: IndexSpec, count: int) -> Iterator[Entry]:
    """Yield the pages of an exported index, of which :func:`spec_of_file` said spec and count."""
    if is_parquet(path):
        yield from read_prints(print_files([path]), spec)
        return
    with opened(path) as (file, _):
        for where, values in islice(json_lines(file, path), 1, count + 1):
            # Another program may have written it.
            try:
                blocks, facts = (b64decode(values.get(name, "")) for name in ("blocks", "facts"))
                fingerprint = Fingerprint(int(values["fingerprint"], 16), spec.bits, blocks)
                key, time = str(values["key"]), values["time"]
                if not 0 <= time < 1 << 32:
                    raise ValueError(f"the time {time} is not one of 32 bits")
            except (KeyError, TypeError, ValueError) as error:
                raise FileError(f"{where}: no page of an index: {error!r:.200}") from None
            yield Entry(key, fingerprint, values.get("scope", ""), facts, time)


def read_foreign(
    path: Path, recipe: Recipe, time: float, key: str, fingerprint: str, base: int
) -> Iterator[Entry]:
    """Yield what a CSV, TSV or JSON lines file has, as entries of a given time.

    ``key`` and ``fingerprint`` are names of columns or fields; ``base`` is 16 or 10, for a
    fingerprint that is text. A negative number stands for its bits, as in languages whose integers
    are signed: -1 has all. A line without them, or a recipe whose block values cannot be made of
    the fingerprint alone, is a FileError.
    """
    try:
        recipe.restored(0)
    except ValueError as error:
        raise FileError(
            f"{path} is no exported index, and {error}: import the pages with "
            '"scrapy simhash dedupe --index", or use a recipe of 64 bits'
        ) from None
    for where, row in _rows(path):
        for name in (key, fingerprint):
            if row.get(name) in (None, ""):
                names = ", ".join(list(row)[:10])
                raise FileError(f"{where}: there is no {name!r}; there are {names}")
        number = row[fingerprint]
        try:
            # A fraction is refused, because it has lost the last bits. Tables make one of a whole
            # number beside empty cells.
            value = number if type(number) is int else int(number, base)
            if -(1 << recipe.bits - 1) <= value < 0:
                value += 1 << recipe.bits
            restored = recipe.restored(value)
        except (ValueError, TypeError):
            kind = "hexadecimal" if base == 16 else "decimal"
            raise FileError(
                f"{where}: {number!r:.80} is no {kind} number of {recipe.bits} bits"
            ) from None
        try:
            # The key is that of a crawl, which would else take the page for a copy of itself.
            yield Entry(key_of(str(row[key])), restored, time=time)
        except ValueError as error:
            raise FileError(f"{where}: {row[key]!r:.200} is no address ({error})") from None


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if unpacked_name(path).endswith((".csv", ".tsv")):
        yield from table(path)
    else:
        with opened(path) as (file, _):
            yield from json_lines(file, path)
