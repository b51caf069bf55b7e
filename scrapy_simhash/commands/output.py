"""What subcommands show while they work, and leave when they are done."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import TextIO

from scrapy.exceptions import UsageError

_WIDTH = 30
_INTERVAL = 0.1


class ProgressBar:
    """A line on a terminal that says how far the work is; elsewhere it says nothing.

    Args:
        label: what is being done.
        stream: standard error by default.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._begun = time.monotonic()
        self._next = 0.0

    def __enter__(self) -> ProgressBar:
        self._write(self._label)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._write("")

    def __call__(self, done: int, total: int) -> None:
        """Show that so many of so many are done."""
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + _INTERVAL
        left = (now - self._begun) * (total - done) / max(done, 1)
        bar = "#" * (_WIDTH * done // max(total, 1))
        self._write(f"{self._label} [{bar:.<{_WIDTH}}] {done:,}/{total:,}, {left:.0f} s left")

    def _write(self, line: str) -> None:
        if self._shown:
            # Back to the start of the line; what was behind the new text is erased.
            self._stream.write(f"\r{line}\x1b[K")
            self._stream.flush()


def check_writable(path: str) -> None:
    """Raise a UsageError unless a file can be made there: before the work, not after it."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise UsageError(f"{path}: it is a folder")
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: the folder {folder} cannot be written")


def write_file(path: str, data: bytes) -> None:
    """Write a file that is there whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    folder = Path(path).absolute().parent
    try:
        with tempfile.TemporaryDirectory(prefix=".simhash-", dir=folder) as beside:
            whole = Path(beside) / "whole"
            whole.write_bytes(data)
            whole.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
