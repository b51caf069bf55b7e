"""A worker process that turns pages into fingerprints, away from the crawl's event loop.

It is started as a program of its own, not by multiprocessing: a crawl started from a script
without a ``__main__`` guard, as Scrapy's documentation has it, must not start again in the child.

Parent and child talk in frames over the child's standard input and output::

    page     u32 header length | header, JSON {"url", "declared"} | u32 body length | body
    answer   u32 header length | header, JSON {"reason", "exact", "error"} | u32 length |
             fingerprint bytes, then its float32 margins if it has any; length 0 without one

The first frame's header carries the recipe. The child ends when its input does.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import struct
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from typing import IO, Any

import numpy as np

from scrapy_simhash.detector import PageAnalysis, analyse_html
from scrapy_simhash.extraction import decode_html
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.recipe import Recipe, named_recipe

# Extraction libraries keep caches that only grow; a new process costs less than half a second.
PAGES_PER_PROCESS = 20_000
# A child that does not even end itself at the time limit (stopped, or still starting on a busy
# machine) gets so many seconds more.
GRACE = 10.0

_LENGTH = struct.Struct("!I")


class PageFailed(Exception):
    """The analysis of a page failed; the message is the child's traceback or its exit."""


class PageTimeout(PageFailed):
    """The analysis of a page took longer than the time limit."""


def analyse_body(
    body: bytes, declared: str | None, url: str | None, recipe: Recipe
) -> PageAnalysis:
    """Decode, extract and fingerprint the body of a response.

    Args:
        body: the decompressed bytes; the caller bounds their number.
        declared: the charset of the Content-Type header, if it names one.
        url: the page's address, if it has one.
        recipe: from text to fingerprint.
    """
    return analyse_html(decode_html(body, declared), recipe, url)


class WorkerProcess:
    """One child; calls come from one thread at a time.

    Args:
        recipe: one of the named recipes, with any of its values replaced that settings can
            replace.
        timeout: seconds that one page may take.
    """

    def __init__(self, recipe: Recipe, timeout: float) -> None:
        self._recipe = recipe
        self._timeout = timeout
        self._child: subprocess.Popen[bytes] | None = None
        self._pages = 0

    def analyse(self, body: bytes, declared: str | None, url: str | None) -> PageAnalysis:
        """Return the analysis of one page.

        Raises:
            PageTimeout: the time limit ran out; the child was killed and the next call starts
                another.
            PageFailed: the extractor raised, or the child died.
        """
        if self._pages >= PAGES_PER_PROCESS:
            self.close()
        child = self._child or self._start()
        self._pages += 1
        assert child.stdin is not None
        assert child.stdout is not None
        begun = time.monotonic()
        # Writing waits for a child that does not read, too.
        last_resort = threading.Timer(self._timeout + GRACE, child.kill)
        last_resort.start()
        try:
            _write(child.stdin, {"url": url, "declared": declared}, body)
            header, payload = _read(child.stdout)
        except (EOFError, BrokenPipeError):
            status = child.wait()
            self.close()
            took = time.monotonic() - begun
            # The child's watchdog and a failed start both end it with status 1.
            if took >= self._timeout + GRACE or (status == 1 and took >= self._timeout):
                raise PageTimeout(f"no answer within {self._timeout:g} seconds") from None
            raise PageFailed(f"the worker process ended with status {status}") from None
        finally:
            last_resort.cancel()
        if header["error"] is not None:
            raise PageFailed(header["error"])
        fingerprint = _unpack(payload, self._recipe.bits) if payload else None
        return PageAnalysis(fingerprint, header["reason"], header["exact"])

    def close(self) -> None:
        """End the child, at once; the next call starts another."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            assert stream is not None
            # What was still buffered for the dead child is of no use.
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-c", "from scrapy_simhash.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # An extractor given by import path must be found where the crawl finds it.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            # Ctrl-C at the terminal is for the crawl, which ends the child when it is done.
            start_new_session=True,
        )
        assert child.stdin is not None
        self._child, self._pages = child, 0
        recipe = self._recipe
        _write(
            child.stdin,
            {
                "name": recipe.name,
                "timeout": self._timeout,
                "values": {
                    "extractor": recipe.extractor,
                    "min_length": recipe.min_length,
                    "seed": recipe.seed,
                    "tell_apart": recipe.tell_apart,
                },
            },
            b"",
        )
        return child


def main() -> None:
    """Answer pages from standard input until it ends."""
    pages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever an extractor prints must not get between the frames.
    os.dup2(2, 1)
    try:
        header, _ = _read(pages)
    except EOFError:
        return
    values = {**header["values"], "tell_apart": tuple(header["values"]["tell_apart"])}
    recipe = replace(named_recipe(header["name"]), **values)
    timeout = header["timeout"]
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - faulthandler wants a descriptor
        while True:
            try:
                header, body = _read(pages)
            except EOFError:
                return
            # Ends the process from outside the interpreter, even inside an endless C loop.
            faulthandler.dump_traceback_later(timeout, exit=True, file=nowhere)
            answer: dict[str, Any] = {"reason": None, "exact": False, "error": None}
            payload = b""
            try:
                analysis = analyse_body(body, header["declared"], header["url"], recipe)
            except Exception:  # noqa: BLE001 - anything may come from an extractor; it is reported
                answer["error"] = traceback.format_exc()
            else:
                answer["reason"], answer["exact"] = analysis.reason, analysis.exact
                if analysis.fingerprint is not None:
                    payload = _pack(analysis.fingerprint)
            faulthandler.cancel_dump_traceback_later()
            try:
                _write(answers, answer, payload)
            except BrokenPipeError:
                return


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
    margins = fingerprint.margins
    return fingerprint.to_bytes() + (b"" if margins is None else margins.astype("<f4").tobytes())


def _unpack(payload: bytes, bits: int) -> Fingerprint:
    value, margins = payload[: bits // 8], payload[bits // 8 :]
    return Fingerprint(
        int.from_bytes(value, "big"), bits, np.frombuffer(margins, "<f4") if margins else None
    )
