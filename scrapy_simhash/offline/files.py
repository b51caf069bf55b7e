"""Files of lines, tables and JSON, read as if they were not packed (.gz, .xz, .bz2)."""

import bz2
import codecs
import contextlib
import csv
import gzip
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


class FileError(ValueError):
    """A file cannot be read; the message is one line that names the file and the place."""


def unpacked_name(path: Path) -> str:
    """Return the name of a file in lower case, without the suffix of its packing."""
    name = Path(path.name.lower())
    return name.stem if name.suffix in _OPENERS else name.name


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file; yield it, and the file on the disk, whose ``tell()`` says how far it was read.

    What cannot be read is a FileError.
    """
    opener = _OPENERS.get(path.suffix.lower(), contextlib.nullcontext)
    try:
        with path.open("rb") as raw, opener(raw) as file:
            yield file, raw
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or f"damaged ({problem})"
        raise FileError(f"{path}: {reason}") from None


def json_object(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line of JSON holds, if it holds one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def json_lines(lines: Iterable[bytes], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with its place; others are a FileError."""
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        found = json_object(line)
        if found is None and line.strip():
            raise FileError(f"{where}: not a JSON object")
        if found is not None:
            yield where, found


def rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a CSV, TSV or JSON lines file by their columns, each with its place."""
    if unpacked_name(path).endswith((".csv", ".tsv")):
        yield from table(path)
    else:
        with unpacked(path) as (file, _):
            yield from json_lines(file, path)


def table(path: Path, *columns: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a CSV or TSV file by its columns, each with its place.

    A column that is missing, and a line that is no row, are a FileError.
    """
    with unpacked(path) as (file, _):
        lines = codecs.iterdecode(file, "utf-8-sig")
        if unpacked_name(path).endswith(".tsv"):
            reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            reader = csv.DictReader(lines)
        try:
            if not {*columns} <= {*(reader.fieldnames or ())}:
                wanted = ", ".join(columns)
                raise FileError(f"{path}, line 1: the first line must name the columns {wanted}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise FileError(f"{where}: not as many columns as in the first line")
                yield where, row
        except (UnicodeDecodeError, csv.Error) as error:
            where = f"{path}, line {reader.line_num + 1}"
            raise FileError(f"{where}: no row in UTF-8 ({error})") from None
