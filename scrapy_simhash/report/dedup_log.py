"""The dedup log: one line of JSON for each page or item that was judged.

A line is one object in UTF-8, as in Scrapy's JSON Lines feeds. Pages and items always have the
same fields; a crawl that begins adds a line that names its spider and settings. The log is rotated
by size, ``dedup.jsonl`` to ``dedup.jsonl.1`` and so on; several processes may write to one log.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

#: The files of one log, the one that is written to among them.
FILES = 10
FLUSH_SECONDS = 1.0
# Lines that wait in memory while the disk takes none.
MOST_WAITING = 20_000

VERDICTS = ("unique", "duplicate", "revisit", "skipped")


@dataclass(frozen=True, slots=True)
class CrawlStart:
    """A crawl that began to write to the log.

    Attributes:
        time: when it began, in seconds since 1970.
        spider: name of its spider.
        settings: those that decide what counts as a near-duplicate, with their values; no secrets.
    """

    time: float
    spider: str
    settings: dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class SparedLine:
    """A request that was not sent, because pages of addresses like its own were copies.

    Attributes:
        time: when it was spared, in seconds since 1970.
        url: the address.
        host: of the URL, with the port if it names one.
        signature: of the address, without the host.
    """

    time: float
    url: str
    host: str
    signature: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One judged page or item.

    Attributes:
        time: when it was judged, in seconds since 1970.
        what: ``page`` or ``item``.
        url: where it was found; an item has its key here.
        key: its name in the index, which copies of it give as their original.
        host: of the URL, with the port if it names one.
        verdict: ``unique``, ``duplicate``, ``revisit`` or ``skipped``.
        reason: why: short name of the rule's sentence that decided on a duplicate, or on a page
            that was kept though it is near another; why a skipped page was not compared.
        action: what was done with a duplicate: ``drop``, ``follow`` or ``flag``.
        original: key of the nearest page that a duplicate repeats.
        near: key of the nearest page that the rule told apart from a page that was kept.
        distance: bits to the original, or to the near page.
        k: the distance up to which pages are near.
        bytes: of the body, decompressed; None for an item.
        seconds: that the download took, where that is known.
        text: an excerpt of the main text, or nothing.
        pattern: host and signature of the address pattern that the request fitted, if it fitted
            one and was sent all the same.
    """

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
    seconds: float | None
    text: str
    pattern: str | None = None


Line = LogLine | CrawlStart | SparedLine
L = TypeVar("L", LogLine, CrawlStart, SparedLine)


def _types_of(hint: Any) -> tuple[type, ...]:
    types = (dict,) if get_origin(hint) is dict else get_args(hint) or (hint,)
    return (*types, int) if float in types else types


# The types that each field may have in JSON; a number with a fraction may be written without it.
_FIELDS: dict[type, dict[str, tuple[type, ...]]] = {
    kind: {name: _types_of(hint) for name, hint in get_type_hints(kind).items()}
    for kind in (LogLine, CrawlStart, SparedLine)
}
_MOST = 1e14  # above any time, size or duration


def to_json(line: Line) -> str:
    """Return a line of the log, without its end."""
    what = {CrawlStart: "crawl", SparedLine: "spared"}.get(type(line))
    values = {"what": what} if what else {}
    values |= {name: getattr(line, name) for name in _FIELDS[type(line)]}
    text = json.dumps(values, ensure_ascii=False)
    # A lone surrogate becomes \udXXX, which can be written, and which JSON reads as such.
    return text.encode("utf-8", "backslashreplace").decode()


def parse_line(text: str | bytes) -> Line:
    """Return what a line says; fields that this version does not know are left out.

    Raises:
        ValueError: it is no line of a dedup log.
    """
    values = json.loads(text)
    what = values.get("what") if isinstance(values, dict) else None
    if what == "spared":
        return _read(SparedLine, values)
    if what == "crawl":
        return _read(CrawlStart, values)
    line = _read(LogLine, values) if what in ("page", "item") else None
    if line is None or line.verdict not in VERDICTS:
        raise ValueError("neither a page nor an item that was judged")
    if line.verdict == "duplicate" and (line.original is None or line.distance is None):
        raise ValueError("a duplicate of nothing")
    return line


def _read(kind: type[L], values: dict[str, Any]) -> L:
    given: dict[str, Any] = {}
    for name, types in _FIELDS[kind].items():
        value: Any = values.get(name)
        # The type itself: true and false are no numbers here.
        is_number = type(value) in (int, float)
        if type(value) not in types or (is_number and not 0 <= value < _MOST):
            raise ValueError(f"{name} cannot be {value!r:.50}")
        given[name] = value
    return kind(**given)


def host_of(url: str) -> str:
    """Return the host of an address, with its port if it names one; empty if it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


class DedupLog:
    """Appends lines to a log from a thread of its own, so that nobody waits for the disk.

    Lines that cannot be written, because the disk is full or the folder is gone, wait for the next
    attempt, up to 20,000 of them; there is one warning.

    Args:
        path: the file; it and its folder are made when there is something to write.
        size: bytes that the log's files may have together, about.
    """

    def __init__(self, path: Path, *, size: int) -> None:
        self.path = path
        self._file_size = max(1, size // FILES)
        self._writing = threading.Lock()
        # The crawl appends, the writer takes from the beginning; both are single steps.
        self._waiting: list[Line] = []
        self._lost = 0
        self._failing = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def write(self, line: Line) -> None:
        """Add a line; it is on its way to the disk within a second."""
        if len(self._waiting) >= MOST_WAITING:
            self._lost += 1
            return
        self._waiting.append(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="simhash-log", daemon=True)
            self._thread.start()
            # For a crawl that is not given the time to end as it should.
            atexit.register(self.close)

    def flush(self) -> None:
        """Write what waits, now."""
        with self._writing:
            lines = self._waiting[:]
            if not lines:
                return
            try:
                self._append("".join(to_json(line) + "\n" for line in lines).encode())
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

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            atexit.unregister(self.close)
        self.flush()
        lost, self._lost = self._lost + len(self._waiting), 0
        self._waiting.clear()
        if lost:
            logger.warning("SIMHASH_LOG: %d lines could not be written to %s", lost, self.path)

    def _run(self) -> None:
        while not self._ended.wait(FLUSH_SECONDS):
            self.flush()

    def _append(self, data: bytes) -> None:
        file = self._locked()
        try:
            end = os.fstat(file).st_size
            # A process that was killed may have left half a line.
            if end and os.pread(file, 1, end - 1) != b"\n":
                data = b"\n" + data
            try:
                _write_all(file, data)
            except OSError:
                # No half lines, and none twice.
                os.ftruncate(file, end)
                raise
        finally:
            os.close(file)

    def _locked(self) -> int:
        """Return the open file, which is ours until it is closed; a full one is rotated."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                there = os.fstat(file)
                # Another process may have rotated it meanwhile.
                if os.path.samestat(there, self.path.stat()):
                    if there.st_size < self._file_size:
                        return file
                    self._rotate()
            except FileNotFoundError:
                pass
            except OSError:
                os.close(file)
                raise
            os.close(file)

    def _rotate(self) -> None:
        for number in range(FILES - 1, 0, -1):
            older = _numbered(self.path, number - 1)
            if older.exists():
                older.replace(_numbered(self.path, number))


def _write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def log_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the files of logs, each once, the oldest of each log first.

    Args:
        paths: of logs; the rotated files beside them are found.

    Raises:
        FileNotFoundError: there is no such log.
    """
    files: dict[Path, None] = {}
    for given in map(Path, paths):
        found = [file for n in range(FILES - 1, -1, -1) if (file := _numbered(given, n)).is_file()]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", str(given))
        files.update((file.resolve(), None) for file in found)
    return list(files)


def read_log(
    paths: Iterable[str | Path],
    unreadable: Callable[[Path], object] = lambda _: None,
    starts: Callable[[CrawlStart], object] = lambda _: None,
    spared: Callable[[SparedLine], object] = lambda _: None,
    passed: Callable[[int], object] = lambda _: None,
) -> Iterator[LogLine]:
    """Yield the pages and items of logs and of the rotated files beside them, the oldest first.

    Args:
        paths: of logs.
        unreadable: called with the file of each line that cannot be read, such as the half line
            that a process leaves when it is killed.
        starts: called with each line that says that a crawl began.
        spared: called with each line of a request that was spared.
        passed: called with the bytes of each line that was read.

    Raises:
        OSError: a file is not there or cannot be read.
    """
    for path in log_files(paths):
        with path.open("rb") as file:
            for text in file:
                passed(len(text))
                try:
                    line = parse_line(text)
                except (ValueError, RecursionError):
                    if text.strip():
                        unreadable(path)
                    continue
                if isinstance(line, CrawlStart):
                    starts(line)
                elif isinstance(line, SparedLine):
                    spared(line)
                else:
                    yield line
