"""The dedup log: one line of JSON for each page or item that was judged.

A line is one object in UTF-8, as in Scrapy's JSON Lines feeds, and all lines have the
same fields. Times are in seconds since 1970; a host has its port if the address names
one. Several processes may write to one log.
"""

import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from scrapy_simhash.core.verdict import Verdict, VerdictKind
from scrapy_simhash.keys import host_of
from scrapy_simhash.printable import logger_of, without_userinfo

logger = logger_of(__name__)

#: Characters of each page's text.
TEXT_LENGTH = 1000
_WHAT = ("page", "item", "spared")
_VERDICTS = (*get_args(VerdictKind), "spared")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A page or item that was judged, or a request that was not sent.

    The documentation of the dedup log describes the fields.
    """

    time: float
    what: str
    url: str
    key: str
    host: str
    verdict: str
    reason: str | None = None
    action: str | None = None
    original: str | None = None
    near: str | None = None
    distance: int | None = None
    k: int | None = None
    bytes: int | None = None
    text: str = ""
    run: int | None = None
    change: str | None = None
    moved_from: str | None = None
    better: str | None = None
    details: str = ""
    doubtful: bool = False
    crawl: str = ""
    signature: str | None = None

    @property
    def shown(self) -> list[str]:
        """The lines of the page, as far as the log has it."""
        return [self.text, *self.details.split("\n")]


# The types that each field may have in JSON; a time may be written without a fraction.
_TYPES = {
    name: get_args(hint) or (hint,) for name, hint in get_type_hints(LogLine).items()
}
_TYPES["time"] = (float, int)


def line_of(what: str, url: str, verdict: Verdict, **fields: Any) -> LogLine:
    """Return the line of a page or item that was judged now.

    ``fields``: what the verdict does not say: action, k, bytes, run, crawl.
    """
    is_near = verdict.near and verdict.kind == "unique" and not verdict.before
    near = verdict.near[0] if is_near else None
    text, _, details = verdict.excerpt.partition("\n")
    return LogLine(
        time=round(time.time(), 3),
        what=what,
        url=without_userinfo(url),
        key=verdict.key,
        host=host_of(url),
        verdict=verdict.kind,
        reason=near.reason if near else verdict.reason,
        original=verdict.original,
        near=near.key if near else None,
        distance=near.distance if near else verdict.distance,
        text=text,
        change=verdict.change,
        moved_from=verdict.moved_from,
        better=verdict.better or None,
        details=details,
        doubtful=verdict.doubtful,
        **fields,
    )


def line_of_spared(url: str, signature: str, crawl: str) -> LogLine:
    """Return the line of a request that was not sent, by the signature of its address."""
    url = without_userinfo(url)
    return LogLine(
        time=round(time.time(), 3),
        what="spared",
        url=url,
        key=url,
        host=host_of(url),
        verdict="spared",
        crawl=crawl,
        signature=signature,
    )


def to_json(line: LogLine) -> str:
    values = {name: getattr(line, name) for name in _TYPES}
    text = json.dumps(values, ensure_ascii=False)
    # A lone surrogate becomes \udXXX, which can be written, and which JSON reads as
    # such.
    return text.encode("utf-8", "backslashreplace").decode()


def parse_line(text: str | bytes) -> LogLine | None:
    """Return the values of a line, None if it cannot be read; unknown fields are left out."""
    try:
        values = json.loads(text)
        line = LogLine(**{name: values[name] for name in _TYPES if name in values})
    except (ValueError, TypeError, RecursionError):
        return None
    for name, types in _TYPES.items():
        value = getattr(line, name)
        # The bound is a time in the year 9892, and above any size.
        is_in_range = not isinstance(value, int | float) or 0 <= value < 2.5e11
        if type(value) not in types or not is_in_range:
            return None
    return line if line.what in _WHAT and line.verdict in _VERDICTS else None


class DedupLog:
    """Appends lines to a log.

    The file and its folder are made when there is something to write. The file is
    opened anew for each line, so that it may be moved aside. A line that cannot be
    written, because the disk is full or the folder is gone, is lost; there is one
    warning.

    Args:
        path: the path of the file.
        most: bytes; a file that has more is moved aside, in place of the one before it.
    """

    def __init__(self, path: Path, most: float = math.inf) -> None:
        self.path = path
        self._most = most
        self._is_failing = False

    def write(self, line: LogLine) -> None:
        try:
            self._append(f"{to_json(line)}\n".encode())
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                logger.warning(
                    "SIMHASH_LOG: %s cannot be written (%s); the crawl goes on without these lines",
                    self.path,
                    error.strerror or error,
                )
            self._is_failing = True

    def _append(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            # A process that was killed may have left half a line.
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                data = b"\n" + data
            try:
                while data:
                    data = data[os.write(file.fileno(), data) :]
            except OSError:
                # The file gets no half lines, and no line twice.
                file.truncate(end)
                raise
            # Another process may have moved the file aside meanwhile.
            present = self.path.stat()
            is_here = os.path.samestat(os.fstat(file.fileno()), present)
            if is_here and end > self._most:
                self.path.replace(aside(self.path))


def aside(path: Path) -> Path:
    """Return the path to which a full log is moved."""
    return path.with_name(f"{path.name}.1")


def read_lines(
    paths: Iterable[str | Path], passed: Callable[[int], object] = lambda _: None
) -> Iterator[LogLine | None]:
    """Yield the lines of logs, one log after the other.

    A line that cannot be read, such as the half one of a process that was killed, gives
    None; a line above 16 MB gives several. A file that cannot be read is an OSError.
    ``passed`` is called with the bytes of each line.
    """
    for path in map(Path, paths):
        with path.open("rb") as file:
            while text := file.readline(1 << 24):
                passed(len(text))
                yield parse_line(text)


def read_log(paths: Iterable[str | Path]) -> Iterator[LogLine]:
    """Yield the pages and items of logs, without spared requests and lines that cannot be read.

    Raises:
        FileNotFoundError: a log is not there; raised at the first line, not by the
            call.
        OSError: a file cannot be read.
    """
    return (line for line in read_lines(paths) if line and line.what != "spared")
