"""Files of JSON, read as if they were not packed (.gz, .xz, .bz2).

A packed file may unpack to any size, so that an object and a page have a limit.
"""

import bz2
import codecs
import contextlib
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tqdm.utils import CallbackIOWrapper

#: Bytes of a page beyond which it is passed over unread, and characters of an object of
#: JSON.
LARGEST_PAGE = 1 << 24
#: Ends of the names of files of JSON.
JSON_SUFFIXES = (".jsonl", ".jl", ".ndjson", ".json")
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_BETWEEN = re.compile(r"[\s,\[\]]*")  # two objects: lines, or elements of an array


class FileError(ValueError):
    """A file cannot be read; the message is one line that names the file and the place."""


def unpacked_name(path: Path) -> str:
    """Return the name of a file in lower case, without the suffix of its packing."""
    name = Path(path.name.lower())
    return name.stem if name.suffix in _OPENERS else name.name


@contextlib.contextmanager
def opened(
    path: Path, report: Callable[[int], object] = lambda _: None
) -> Iterator[IO[bytes]]:
    """Open a file, and report the bytes on the disk as they are read.

    A file that cannot be read is a FileError.
    """
    opener = _OPENERS.get(path.suffix.lower(), contextlib.nullcontext)
    try:
        with path.open("rb") as raw, opener(CallbackIOWrapper(report, raw)) as file:
            yield file
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or f"damaged ({problem})"
        raise FileError(f"{path}: {reason}") from None


def json_objects(file: IO[bytes], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines or of a JSON array; anything else is a FileError."""
    reader = codecs.getreader("utf-8-sig")(file, "replace")
    decoder = json.JSONDecoder()
    text = ""
    number = 0
    # An object that is not all there is tried again when twice as much is.
    while piece := reader.read(max(1 << 18, len(text))):
        text += piece
        at = 0
        while (at := _BETWEEN.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            number += 1
            if not isinstance(value, dict):
                raise FileError(f"{path}, entry {number}: not a JSON object")
            yield value
        text = text[at:]
        if len(text) > LARGEST_PAGE:
            raise FileError(
                f"{path}, entry {number + 1}: no JSON object of at most {LARGEST_PAGE:,} characters"
            )
    if text.strip():
        raise FileError(f"{path}, entry {number + 1}: cut off, or no JSON object")
