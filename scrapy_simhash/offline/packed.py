"""Files that may be packed (.gz, .xz, .bz2), read as if they were not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def unpacked_name(path: Path) -> str:
    """Return the name of a file in lower case, without the suffix of its packing."""
    name = path.name.lower()
    return Path(name).stem if Path(name).suffix in _OPENERS else name


@contextlib.contextmanager
def unpacked(path: Path, error: type[ValueError]) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file for reading.

    Args:
        path: the file.
        error: the type of what is raised if the file is not there, cannot be read or is damaged;
            its message is one line that names the file.

    Yields:
        the file, which gives lines when it is iterated; and the file as it is on the disk, whose
        ``tell()`` says how far it has been read.
    """
    try:
        with path.open("rb") as raw, _opener(path)(raw, "rb") as file:
            yield file, raw
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or f"damaged ({problem})"
        raise error(f"{path}: {reason}") from None


def _opener(path: Path) -> Any:
    return _OPENERS.get(path.suffix.lower(), lambda raw, _: contextlib.nullcontext(raw))
