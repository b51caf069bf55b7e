"""The dedup log: one line of JSON for each page or item that was judged.

A line is one object in UTF-8, as in Scrapy's JSON Lines feeds. Pages and items always have the
same fields; a request that was not sent has other fields. Times are in seconds since 1970; a
host has its port if the address names one. Several processes may write to one log.
"""

import fcntl
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from scrapy_simhash.core.verdict import Verdict, VerdictKind
from scrapy_simhash.keys import host_of
from scrapy_simhash.printable import logger_of, without_userinfo
from scrapy_simhash.report.difference import Shown

logger = logger_of(__name__)

VERDICT_KINDS = get_args(VerdictKind)
#: Characters of each page's text.
TEXT_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class SparedLine:
    """A request that was not sent, and the signature of its address, without the host."""

    time: float
    url: str
    host: str
    signature: str
    crawl: str = ""
    what: str = "spared"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One judged page or item; the documentation of the dedup log describes the fields."""

    time: float
    what: str
    url: str
    key: str
    host: str
    verdict: str
    reason: str | None
    action: str | None
    original: str | None
    near: str | None
    distance: int | None
    k: int
    bytes: int | None
    text: str
    run: int | None
    change: str | None
    moved_from: str | None
    better: str | None = None
    details: str = ""
    doubtful: bool = False
    crawl: str = ""

    @property
    def shown(self) -> Shown:
        """The page, as far as the log has it."""
        return Shown.of(f"{self.text}\n{self.details}")


Line = LogLine | SparedLine

_LINE_TYPES: dict[str, type[Line]] = {"page": LogLine, "item": LogLine, "spared": SparedLine}


def _types_of(hint: Any) -> tuple[type, ...]:
    types = get_args(hint) or (hint,)
    return (*types, int) if float in types else types


# The types that each field may have in JSON; a number with a fraction may be written without it.
_FIELD_TYPES: dict[type, dict[str, tuple[type, ...]]] = {
    kind: {name: _types_of(hint) for name, hint in get_type_hints(kind).items()}
    for kind in _LINE_TYPES.values()
}


def line_of(
    what: str,
    url: str,
    verdict: Verdict,
    action: str | None,
    k: int,
    *,
    size: int | None = None,
    run: int | None = None,
    crawl: str = "",
) -> LogLine:
    """Return the line of a page or item that was judged now."""
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
        action=action,
        original=verdict.original,
        near=near.key if near else None,
        distance=near.distance if near else verdict.distance,
        k=k,
        bytes=size,
        text=text,
        run=run,
        change=verdict.change,
        moved_from=verdict.moved_from,
        better=verdict.better or None,
        details=details,
        doubtful=verdict.doubtful,
        crawl=crawl,
    )


def to_json(line: Line) -> str:
    values = {name: getattr(line, name) for name in _FIELD_TYPES[type(line)]}
    text = json.dumps(values, ensure_ascii=False)
    # A lone surrogate becomes \udXXX, which can be written, and which JSON reads as such.
    return text.encode("utf-8", "backslashreplace").decode()


def parse_line(text: str | bytes) -> Line | None:
    """Return the values of a line, None if it cannot be read; unknown fields are left out."""
    try:
        values = json.loads(text)
        kind = _LINE_TYPES[values["what"]]
        fields = {name: values[name] for name in _FIELD_TYPES[kind]}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if fields.get("verdict", "unique") not in VERDICT_KINDS:
        return None
    for name, types in _FIELD_TYPES[kind].items():
        # True and false are no numbers.
        if type(fields[name]) not in types:
            return None
        # The bound is a time in the year 9892, and above any size.
        if type(fields[name]) in (int, float) and not 0 <= fields[name] < 2.5e11:
            return None
    return kind(**fields)


class DedupLog:
    """Appends lines to a log from another thread, so that no page waits for the disk.

    The file and its folder are made when there is something to write, and opened anew each time, so
    that it may be moved aside. Up to 20,000 lines that cannot be written, because the disk is full
    or the folder is gone, wait for the next attempt; there is one warning.

    Args:
        path: the path of the file.
        most: bytes; a file that has more is moved aside, in place of the one before it.
    """

    # Seconds until a line is written, and lines that wait in memory while the disk takes none.
    pause = 1.0
    most_waiting = 20_000

    def __init__(self, path: Path, most: float = math.inf) -> None:
        self.path = path
        self._most = most
        # The crawl appends, the writer takes from the beginning; both are single steps.
        # They are bytes, because making lines anew for each attempt would take a third of a core.
        self._waiting: list[bytes] = []
        self._is_due = False
        self._failing = False
        self._ended = threading.Event()
        # Python waits for its work also when a crawl is not given the time to end as it should.
        self._writer = ThreadPoolExecutor(1, "simhash-log")

    def write(self, line: Line) -> None:
        """Add a line; it is on its way to the disk within a second."""
        if len(self._waiting) < self.most_waiting:
            self._waiting.append(f"{to_json(line)}\n".encode())
        if not (self._is_due or self._ended.is_set()):
            self._is_due = True
            self._writer.submit(self._write_soon)

    def close(self) -> None:
        self._ended.set()
        self._writer.submit(self._write_soon)
        self._writer.shutdown()

    def _write_soon(self) -> None:
        self._ended.wait(self.pause)
        self._is_due = False
        lines = self._waiting[:]
        if not lines:
            return
        try:
            self._append(b"".join(lines))
        except OSError as error:
            if not self._failing:
                logger.warning(
                    "SIMHASH_LOG: %s cannot be written (%s); the crawl goes on, and so do the "
                    "attempts",
                    self.path,
                    error.strerror or error,
                )
            self._failing = True
        else:
            del self._waiting[: len(lines)]
            self._failing = False

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
) -> Iterator[Line | None]:
    """Yield the lines of logs, one log after the other.

    A line that cannot be read, such as the half one of a process that was killed, gives None, and
    more than one if it is above 16 MB; a file that cannot be read is an OSError. ``passed`` is
    called with the bytes of each line.
    """
    for path in map(Path, paths):
        with path.open("rb") as file:
            while text := file.readline(1 << 24):
                passed(len(text))
                yield parse_line(text)


def read_log(paths: Iterable[str | Path]) -> Iterator[LogLine]:
    """Yield the pages and items of logs; lines that cannot be read are left out.

    Raises:
        FileNotFoundError: a log is not there; raised at the first line, not by the call.
        OSError: a file cannot be read.
    """
    return (line for line in read_lines(paths) if isinstance(line, LogLine))
