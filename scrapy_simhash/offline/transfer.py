"""An index as a file: JSON lines, the same whatever store it comes from and goes to.

The first line says what it is, each of the others is one page, the last one ends it::

    {"format": "scrapy-simhash index", "version": 1, "recipe": "simhash/1 bits=256 ...",
     "bits": 256, "distance": 48}
    {"key": "http://example.com/", "fingerprint": "8f3c...", "time": 1763640000}
    {"key": "http://example.com/a", "fingerprint": "07aa...", "time": 1763640001, "scope": "b.com"}
    {"count": 2, "checksum": "blake2b:5d1f..."}

*fingerprint* is hexadecimal, *time* in whole seconds since 1970, *scope* is left out where it is
empty. The checksum is the BLAKE2b digest, 16 bytes, of all lines before it with their ends. A
name that ends with ``.gz`` means that it is packed. Pages are in the order of their admission;
those whose callback has not finished are left out.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.fingerprint.simhash import BITS, Fingerprint
from scrapy_simhash.index import Entry

FORMAT = "scrapy-simhash index"
VERSION = 1


class TransferError(ValueError):
    """A file is no index, or is not whole; the message is one line that says what and where."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line says.

    Attributes:
        recipe: identity of the recipe that made the fingerprints.
        bits: their width.
        distance: k.
    """

    recipe: str
    bits: int
    distance: int


def write(file: IO[bytes], header: Header, entries: Iterable[Entry]) -> tuple[int, int]:
    """Write an index; return how many pages there are, and how many more were provisional."""
    digest = blake2b(digest_size=16)

    def put(values: dict[str, Any]) -> None:
        # ASCII, because not every key is text that UTF-8 can hold.
        line = json.dumps(values).encode() + b"\n"
        digest.update(line)
        file.write(line)

    about = {"recipe": header.recipe, "bits": header.bits, "distance": header.distance}
    put({"format": FORMAT, "version": VERSION, **about})
    count = provisional = 0
    for entry in entries:
        if entry.provisional:
            provisional += 1
            continue
        values = {
            "key": entry.key,
            "fingerprint": str(entry.fingerprint),
            "time": int(entry.time),
        }
        put({**values, "scope": entry.scope} if entry.scope else values)
        count += 1
    last = {"count": count, "checksum": f"blake2b:{digest.hexdigest()}"}
    file.write(json.dumps(last).encode() + b"\n")
    return count, provisional


def read_header(path: Path) -> Header | None:
    """Return what the first line of a file says, None if it is no exported index.

    Raises:
        TransferError: it cannot be read, or is of another version.
    """
    with _opened(path) as lines:
        try:
            about = json.loads(next(lines, b""))
        except (ValueError, RecursionError):
            return None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        return None
    if about.get("version") != VERSION:
        raise TransferError(
            f"{path}: version {about.get('version')} of the format; this scrapy-simhash reads "
            f"{VERSION}: export it again with this one, or use a newer one"
        )
    recipe, bits, distance = (about.get(name) for name in ("recipe", "bits", "distance"))
    if not isinstance(recipe, str) or bits not in BITS or not isinstance(distance, int):
        raise TransferError(f"{path}, line 1: not the header of an index")
    return Header(recipe, bits, distance)


def check(path: Path) -> int:
    """Read an exported index to its end; return how many pages it has.

    Raises:
        TransferError: it is not whole.
    """
    digest = blake2b(digest_size=16)
    count, last = -1, b""
    with _opened(path) as lines:
        for line in lines:
            if last:
                digest.update(last)
                count += 1
            last = line
    try:
        end = json.loads(last)
        told = end["count"], end["checksum"]
    except (ValueError, KeyError, TypeError):
        raise TransferError(f"{path}: its end is missing; export it again") from None
    if told != (count, f"blake2b:{digest.hexdigest()}"):
        raise TransferError(
            f"{path}: damaged: {count:,} pages do not give the count and checksum of its last line"
        )
    return count


def read_entries(path: Path, bits: int) -> Iterator[Entry]:
    """Yield the pages of an exported index, which was checked before.

    Raises:
        TransferError: a line is no page.
    """
    with _opened(path) as lines:
        next(lines)
        for number, line in enumerate(lines, 2):
            if line.startswith(b'{"count"'):
                return
            try:
                about = json.loads(line)
                fingerprint = Fingerprint(int(about["fingerprint"], 16), bits)
                time = float(about["time"])
                yield Entry(about["key"], fingerprint, about.get("scope", ""), time, False)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise TransferError(f"{path}, line {number}: not a page of an index") from None


@dataclass(frozen=True, slots=True)
class Columns:
    """Where fingerprints made elsewhere are.

    Attributes:
        key: the column, or field, that names the page.
        fingerprint: the one with the fingerprint.
        bits: its width.
        base: 16 or 10: how a fingerprint is written that is text.
    """

    key: str
    fingerprint: str
    bits: int
    base: int


def read_foreign(path: Path, columns: Columns, time: float) -> Iterator[Entry]:
    """Yield what a CSV or JSON lines file has, as entries of a given time.

    A negative number is what languages make of it whose integers are signed: -1 has all bits.

    Raises:
        TransferError: a line has no key or fingerprint.
    """
    for where, row in _rows(path):
        for name in (columns.key, columns.fingerprint):
            if row.get(name) in (None, ""):
                there = ", ".join(str(name) for name in list(row)[:10])
                raise TransferError(f"{where}: there is no {name!r}; there are {there}")
        given = row[columns.fingerprint]
        try:
            value = int(given, columns.base) if isinstance(given, str) else int(given)
            if -(1 << columns.bits - 1) <= value < 0:
                value += 1 << columns.bits
            fingerprint = Fingerprint(value, columns.bits)
        except (ValueError, TypeError):
            base = "hexadecimal" if columns.base == 16 else "decimal"
            raise TransferError(
                f"{where}: {given!r:.80} is no {base} number of {columns.bits} bits"
            ) from None
        yield Entry(str(row[columns.key]), fingerprint, "", time, False)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    name = path.name.removesuffix(".gz")
    with _opened(path) as lines:
        try:
            if name.endswith((".csv", ".tsv")):
                texts = (line.decode() for line in lines)
                delimiter = "," if name.endswith(".csv") else "\t"
                for number, row in enumerate(csv.DictReader(texts, delimiter=delimiter), 2):
                    yield f"{path}, line {number}", row
            else:
                for number, line in enumerate(lines, 1):
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise TransferError(f"{path}, line {number}: not a JSON object")
                    yield f"{path}, line {number}", row
        except TransferError:
            raise
        except (ValueError, csv.Error) as error:
            raise TransferError(
                f"{path}: no exported index, .csv, .tsv or JSON lines, in UTF-8 ({error})"
            ) from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a file for its lines."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield iter(file)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"damaged ({error})"
        raise TransferError(f"{path}: {reason}") from None
