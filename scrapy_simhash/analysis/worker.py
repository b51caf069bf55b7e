"""A worker process that turns pages into fingerprints, away from the crawl's event loop.

It is started as a program of its own, not by multiprocessing: a crawl started from a script
without a ``__main__`` guard, as Scrapy's documentation has it, must not start again in the child.

Parent and child talk in frames over the child's standard input and output::

    page     u32 header length | header, JSON {"url", "declared"} | u32 body length | body
    answer   u32 header length | header, JSON {"reason", "exact", "excerpt", "error"} | u32 length |
             fingerprint bytes, then its block values; length 0 without one

The first frame's header carries the recipe. The child ends when its input does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import replace
from typing import IO, Any, NamedTuple

if sys.platform == "linux":
    import fcntl

from scrapy_simhash.detector import PageAnalysis, analyse_html
from scrapy_simhash.extraction.extractor import decode_html
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint

# Extraction libraries keep caches that only grow; a new process costs less than half a second.
PAGES_PER_PROCESS = 20_000
# A child that does not even end itself at the time limit (stopped, or still starting on a busy
# machine) gets so many seconds more.
GRACE = 10.0
WATCH_SECONDS = 0.5
# Pages that a child has at a time: the one it works on and the next.
AHEAD = 2
# So that a page ahead goes into the pipe at once; most are larger than the 64 kB of a common one.
PIPE_BYTES = 1 << 20

_LENGTH = struct.Struct("!I")


class PageFailed(Exception):
    """The analysis of a page failed; the message is the child's traceback or its exit."""


class PageTimeout(PageFailed):
    """The analysis of a page took longer than the time limit."""


def analyse_body(
    body: bytes, declared: str | None, url: str | None, recipe: Recipe, excerpt_length: int = 0
) -> PageAnalysis:
    """Decode, extract and fingerprint the body of a response.

    Args:
        body: the decompressed bytes; the caller bounds their number.
        declared: the charset of the Content-Type header, if it names one.
        url: the page's address, if it has one.
        recipe: from text to fingerprint.
        excerpt_length: characters of the main text that the analysis has with it.
    """
    return analyse_html(decode_html(body, declared), recipe, url, excerpt_length)


class Body(NamedTuple):
    """The body of a response, the charset that its header declares, and its address."""

    body: bytes
    declared: str | None
    url: str | None


class WorkerProcess:
    """One child, which answers pages in their order; calls come from one thread at a time.

    Args:
        recipe: one of the named recipes, with any of its values replaced that settings can
            replace.
        timeout: seconds that one page may take.
        excerpt_length: characters of the main text that each analysis has with it.
    """

    def __init__(self, recipe: Recipe, timeout: float, excerpt_length: int = 0) -> None:
        self._recipe = recipe
        self._timeout = timeout
        self._excerpt_length = excerpt_length
        self._child: subprocess.Popen[bytes] | None = None
        self._pages = 0
        self._sent: deque[Body] = deque()
        # When the child began with the first of them.
        self._begun = 0.0
        self._ended = threading.Event()

    @property
    def ready(self) -> bool:
        """Whether the child can do with one more page before the next answer is read."""
        return not self._sent or (len(self._sent) < AHEAD and self._pages < PAGES_PER_PROCESS)

    def analyse(self, body: bytes, declared: str | None, url: str | None) -> PageAnalysis:
        """Return the analysis of one page; see :meth:`receive`."""
        self.send(Body(body, declared, url))
        return self.receive()

    def send(self, page: Body) -> None:
        """Give the child a page; only if it is ready.

        Raises:
            PageFailed: no child can be started.
        """
        if self._pages >= PAGES_PER_PROCESS:
            self.close()
        child = self._child or self._start()
        if not self._sent:
            self._begun = time.monotonic()
        self._sent.append(page)
        self._write_page(child, page)

    def receive(self) -> PageAnalysis:
        """Return the analysis of the first page that was sent and not received.

        Raises:
            PageTimeout: the time limit ran out; the child was killed and another one goes on.
            PageFailed: the extractor raised, or the child died.
        """
        child = self._child
        try:
            child = child or self._start()
            assert child.stdout is not None
            header, payload = _read(child.stdout)
        except EOFError:
            assert child is not None
            raise self._end_of(child) from None
        finally:
            self._sent.popleft()
        self._begun = time.monotonic()
        if header["error"] is not None:
            raise PageFailed(header["error"])
        fingerprint = _unpack(payload, self._recipe.bits) if payload else None
        return PageAnalysis(fingerprint, header["reason"], header["exact"], header["excerpt"])

    def _end_of(self, child: subprocess.Popen[bytes]) -> PageFailed:
        """Return why a child ended in the middle of a page."""
        status = child.wait()
        self.close()
        took = time.monotonic() - self._begun
        if took >= self._timeout + GRACE or (sys.platform != "win32" and status == -signal.SIGALRM):
            return PageTimeout(f"no answer within {self._timeout:g} seconds")
        return PageFailed(f"the worker process ended with status {status}")

    def _write_page(self, child: subprocess.Popen[bytes], page: Body) -> None:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            _write(child.stdin, {"url": page.url, "declared": page.declared}, page.body)
            self._pages += 1

    def _watch(self, child: subprocess.Popen[bytes], ended: threading.Event) -> None:
        # Reading and writing wait for a child that does neither; only its end frees them.
        while not ended.wait(WATCH_SECONDS):
            if self._sent and time.monotonic() - self._begun > self._timeout + GRACE:
                child.kill()
                return

    def close(self) -> None:
        """End the child, at once; the next call starts another, which gets what is not answered."""
        child, self._child = self._child, None
        if child is None:
            return
        self._ended.set()
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            assert stream is not None
            # What was still buffered for the dead child is of no use.
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            child = subprocess.Popen(
                [sys.executable, "-c", "from scrapy_simhash.analysis.worker import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # An extractor given by import path must be found where the crawl finds it.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
                # Ctrl-C at the terminal is for the crawl, which ends the child when it is done.
                start_new_session=True,
            )
        except OSError as error:
            raise PageFailed(f"no worker process can be started: {error}") from None
        assert child.stdin is not None
        self._child, self._pages = child, 0
        self._begun, self._ended = time.monotonic(), threading.Event()
        threading.Thread(target=self._watch, args=(child, self._ended), daemon=True).start()
        _widen(child.stdin)
        recipe = self._recipe
        values = {
            "extractor": recipe.extractor,
            "min_length": recipe.min_length,
            "seed": recipe.seed,
            "layout": recipe.layout,
        }
        header = {
            "name": recipe.name,
            "timeout": self._timeout,
            "excerpt_length": self._excerpt_length,
            "values": values,
        }
        # Whoever receives finds that the child is dead.
        with contextlib.suppress(BrokenPipeError):
            _write(child.stdin, header, b"")
        for page in self._sent:
            self._write_page(child, page)
        return child


def main() -> None:
    """Answer pages from standard input until it ends."""
    pages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever an extractor prints must not get between the frames.
    os.dup2(2, 1)
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a parent may have had it ignored
    try:
        header, _ = _read(pages)
    except EOFError:
        return
    recipe = replace(named_recipe(header["name"]), **header["values"])
    timeout, excerpt_length = header["timeout"], header["excerpt_length"]
    while True:
        try:
            header, body = _read(pages)
        except EOFError:
            return
        answer: dict[str, Any] = {"reason": None, "exact": False, "excerpt": "", "error": None}
        payload = b""
        _limit(timeout)
        try:
            analysis = analyse_body(body, header["declared"], header["url"], recipe, excerpt_length)
        except Exception:  # noqa: BLE001 - anything may come from an extractor; it is reported
            answer["error"] = traceback.format_exc()
        else:
            for name in ("reason", "exact", "excerpt"):
                answer[name] = getattr(analysis, name)
            if analysis.fingerprint is not None:
                payload = _pack(analysis.fingerprint)
        _limit(0)
        try:
            _write(answers, answer, payload)
        except BrokenPipeError:
            return


def _limit(seconds: float) -> None:
    """Have the system end this process in so many seconds, unless told otherwise; 0: never."""
    # Without a handler, SIGALRM ends the process even inside an endless loop of C code. A thread
    # that watches would cost as much as decoding a page. Windows has the parent's watch only.
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _widen(stream: IO[bytes]) -> None:
    # Where that is possible: Linux, and as long as the user's pipes are not too many.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _write(stream: IO[bytes], header: dict[str, Any], body: bytes) -> None:
    head = json.dumps(header).encode()
    stream.write(_LENGTH.pack(len(head)) + head + _LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def _read(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    header: dict[str, Any] = json.loads(_read_part(stream))
    return header, _read_part(stream)


def _read_part(stream: IO[bytes]) -> bytes:
    length = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))[0]
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _pack(fingerprint: Fingerprint) -> bytes:
    return fingerprint.to_bytes() + fingerprint.blocks


def _unpack(payload: bytes, bits: int) -> Fingerprint:
    value, blocks = payload[: bits // 8], payload[bits // 8 :]
    return Fingerprint(int.from_bytes(value, "big"), bits, blocks)
