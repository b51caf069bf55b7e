"""Files of lines, tables and JSON, read as if they were not packed (.gz, .xz, .bz2, .zst).

A packed file may unpack to any size, so that a line and a page have a limit.
"""

import bz2
import codecs
import contextlib
import csv
import gzip
import json
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

#: Bytes of a line, or of a page, beyond which it is passed over unread.
LARGEST = 1 << 24
#: Bytes that are read at a time.
PIECE = 1 << 16
_BETWEEN = re.compile(r"[\s,\[]*")  # two elements of a JSON array


class FileError(ValueError):
    """A file cannot be read; the message is one line that names the file and the place."""


def pyarrow() -> tuple[Any, Any]:
    """Return the modules of Arrow and of Parquet, which come with an extra."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileError("Parquet needs pyarrow: pip install 'scrapy-simhash[corpus]'") from None
    return pyarrow, parquet


def _zstd(raw: IO[bytes]) -> Any:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise FileError(".zst needs Zstandard: pip install 'scrapy-simhash[warc]'") from None
    return zstd.open(raw)


_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open, ".zst": _zstd}


def unpacked_name(path: Path) -> str:
    """Return the name of a file in lower case, without the suffix of its packing."""
    name = Path(path.name.lower())
    return name.stem if name.suffix in _OPENERS else name.name


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file; yield it, and the file on the disk, whose ``tell()`` says how far it was read.

    A file that cannot be read is a FileError.
    """
    opener = _OPENERS.get(path.suffix.lower(), contextlib.nullcontext)
    try:
        with path.open("rb") as raw, opener(raw) as file:
            yield file, raw
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or f"damaged ({problem})"
        raise FileError(f"{path}: {reason}") from None
    except Exception as problem:
        if type(problem).__name__ != "ZstdError":
            raise
        raise FileError(f"{path}: damaged ({problem})") from None


def lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of a file; None for one that has more than ``LARGEST`` bytes."""
    while line := file.readline(LARGEST + 1):
        if len(line) <= LARGEST:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(PIECE)
        yield None


def json_object(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line of JSON holds, if it holds one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_lines(
    file: IO[bytes], path: Path, passed_over: Counter[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with its place; others are a FileError.

    A line that is too long is counted; without a counter, it is a FileError, too.
    """
    for number, line in enumerate(lines(file), 1):
        where = f"{path}, line {number}"
        if line is None:
            if passed_over is None:
                raise FileError(f"{where}: longer than {LARGEST:,} bytes")
            passed_over[f"line of more than {LARGEST:,} bytes"] += 1
            continue
        value = json_object(line)
        if value is None and line.strip():
            raise FileError(f"{where}: not a JSON object")
        if value is not None:
            yield where, value


def json_array(file: IO[bytes], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON array, each with its place; anything else is a FileError."""
    reader = codecs.getreader("utf-8-sig")(file, "replace")
    decoder, text, number = json.JSONDecoder(), "", 0
    # An object that is not all there is tried again when twice as much is.
    while piece := reader.read(max(PIECE, len(text))):
        text, at = text + piece, 0
        while (at := _BETWEEN.match(text, at).end()) < len(text) and text[at] != "]":  # type: ignore[union-attr]
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            number += 1
            if not isinstance(value, dict):
                raise FileError(f"{path}, element {number}: not a JSON object")
            yield f"{path}, element {number}", value
        text = text[at:]
        if len(text) > LARGEST:
            raise FileError(f"{path}: no JSON object of at most {LARGEST:,} characters")
    if text.strip() != "]":
        raise FileError(f"{path}: cut off, or no JSON, after {number:,} elements")


def table(path: Path, *columns: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a CSV or TSV file by its columns, each with its place.

    A column that is missing, and a line that is no row, are a FileError.
    """
    with opened(path) as (file, _):
        # A line that is too long becomes one that is not UTF-8, which is an error.
        text = codecs.iterdecode((line or b"\xff" for line in lines(file)), "utf-8-sig")
        if unpacked_name(path).endswith(".tsv"):
            reader = csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            reader = csv.DictReader(text)
        try:
            if not {*columns} <= {*(reader.fieldnames or ())}:
                named = ", ".join(columns)
                raise FileError(f"{path}, line 1: the first line must name the columns {named}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise FileError(f"{where}: not as many columns as in the first line")
                yield where, row
        except (UnicodeDecodeError, csv.Error) as error:
            where = f"{path}, line {reader.line_num + 1}"
            raise FileError(f"{where}: no row in UTF-8 ({error})") from None
