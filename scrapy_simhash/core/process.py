"""The parent's side of a worker process: the event loop writes it pages and reads its answers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.core.worker import LENGTHS, pack_frame, unpack_answer

# Extraction libraries keep caches that only grow; a new process costs less than half a second.
PAGES_PER_PROCESS = 20_000
# A child that does not even end itself at the time limit (stopped, or still starting on a busy
# machine) gets so many seconds more.
GRACE = 10.0
# Pages that a child has at a time: the one it works on and the next.
AHEAD = 2
# Bytes of the socket's buffer, so that a page ahead goes into it at once; a system may allow fewer.
SOCKET_BYTES = 1 << 20

# The folder of the crawl is "" in sys.path, and -c puts it first. It goes to the end, because
# modules in it may have names of Python's own.
_PROGRAM = (
    "import sys; sys.path.sort(key=''.__eq__); from scrapy_simhash.core.worker import main; main()"
)


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A page to be analysed, and who waits for it."""

    body: Body
    answer: asyncio.Future[PageAnalysis]

    def end(self, analysis: PageAnalysis) -> None:
        """Answer, unless nobody waits any more."""
        if not self.answer.done():
            self.answer.set_result(analysis)


class WorkerProcess(asyncio.Protocol):
    """One child, which answers pages in their order.

    Args:
        order: the first frame, see :mod:`.worker`.
        timeout: seconds that one page may take.
        freed: called when the child can take a page.
        ended: called when the child has ended, with the pages that it has not begun.

    Raises:
        OSError: no process can be started.
    """

    def __init__(
        self,
        order: bytes,
        *,
        bits: int,
        timeout: float,
        freed: Callable[[], None],
        ended: Callable[[WorkerProcess, deque[Job]], None],
    ) -> None:
        self._order = order
        self._bits = bits
        self._timeout = timeout
        self._freed = freed
        self._ended = ended
        self._jobs: deque[Job] = deque()
        self._pages = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._too_late = False
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        ours, its = socket.socketpair()
        with ours, its:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=its.fileno(),
                stdout=its.fileno(),
                env={
                    # numpy starts threads for each core, which take a third of the child's start.
                    "OPENBLAS_NUM_THREADS": "1",
                    **os.environ,
                    # An extractor given by import path must be found where the crawl finds it.
                    # Python passes over a Path in sys.path, too.
                    "PYTHONPATH": os.pathsep.join(p or "." for p in sys.path if isinstance(p, str)),
                },
                # Ctrl-C at the terminal is for the crawl, which ends the child when it is done.
                start_new_session=True,
            )
            own = ours.dup()
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self._connecting = loop.create_task(loop.create_unix_connection(lambda: self, sock=own))

    @property
    def load(self) -> int:
        """How many pages the child has not answered."""
        return len(self._jobs)

    @property
    def ready(self) -> bool:
        """True if the child can take a page."""
        return (
            self._transport is not None
            and len(self._jobs) < AHEAD
            and self._pages < PAGES_PER_PROCESS
        )

    def send(self, job: Job) -> None:
        """Give the child a page; only if it is ready."""
        assert self._transport is not None
        self._jobs.append(job)
        self._pages += 1
        if len(self._jobs) == 1:
            self._begin_page()
        header = {"charset": job.body.charset, "reader": job.body.reader}
        self._transport.write(pack_frame(header, job.body.data))

    def _begin_page(self) -> None:
        """Give the child its time for the first of its pages."""
        if self._alarm is not None:
            self._alarm.cancel()
        loop = asyncio.get_running_loop()
        seconds = self._timeout + GRACE
        self._alarm = loop.call_later(seconds, self._give_up) if self._jobs else None

    def _give_up(self) -> None:
        self._too_late = True
        self.kill()

    def kill(self) -> None:
        self._child.kill()
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """End the child, and wait until it has ended."""
        self.kill()
        # Once it is connected, the socket closes by itself, because the child is dead.
        await self._connecting
        await self._over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A transport of uvloop is not of asyncio's class.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._order)
        self._freed()

    def data_received(self, data: bytes) -> None:
        self._received += data
        before = self.load
        while (frame := self._next_frame()) is not None:
            self._jobs.popleft().end(unpack_answer(*frame, self._bits))
        if self.load < before:
            self._begin_page()
            if self._pages >= PAGES_PER_PROCESS and not self._jobs:
                self.kill()
            self._freed()

    def _next_frame(self) -> tuple[dict[str, str], bytes] | None:
        """Take a frame from what was received, if it is all there."""
        begin = LENGTHS.size
        if len(self._received) < begin:
            return None
        head, body = LENGTHS.unpack_from(self._received)
        end = begin + head + body
        if len(self._received) < end:
            return None
        frame = bytes(self._received[begin:end])
        del self._received[:end]
        return json.loads(frame[:head]), frame[head:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Answer the page that ended the child, and give back the others."""
        # A child that closed its socket may still run.
        self._child.kill()
        status = self._child.wait()
        if self._alarm is not None:
            self._alarm.cancel()
        if self._jobs:
            self._jobs.popleft().end(self._failure(status))
        self._ended(self, self._jobs)
        self._over.set_result(None)

    def _failure(self, status: int) -> PageAnalysis:
        if self._too_late or status == -signal.SIGALRM:
            error = f"no answer within {self._timeout:g} seconds"
            return PageAnalysis(None, reason="timeout", error=error)
        error = f"the worker process ended with status {status}"
        return PageAnalysis(None, reason="extractor_error", error=error)
