"""The parent's side of a worker process, by asyncio's streams.

Pools of multiprocessing, such as those of concurrent.futures, pebble and loky, pickle what they
send and import a script without a ``__main__`` guard again, or cannot end a job that hangs.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.core.worker import LENGTHS, pack_frame, unpack_answer

# Seconds that a child may take to start, on a machine that is busy.
START_SECONDS = 60.0

# The folder of the crawl is "" in sys.path, and -c puts it first. It goes to the end, because
# modules in it may have names of Python's own.
_PROGRAM = (
    "import sys; sys.path.sort(key=''.__eq__); from scrapy_simhash.core.worker import main; main()"
)


class WorkerProcess:
    """One child, which analyses one page at a time. See :meth:`start`."""

    def __init__(self, bits: int, timeout: float) -> None:
        self._bits = bits
        self._timeout = timeout
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter | None = None
        self._socket, its = socket.socketpair()
        with its:
            try:
                self._child = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM],
                    stdin=its.fileno(),
                    stdout=its.fileno(),
                    env={
                        # numpy starts threads for each core, which takes a third of the start.
                        "OPENBLAS_NUM_THREADS": "1",
                        **os.environ,
                        # An extractor given by import path must be found where the crawl finds it.
                        # Python passes over a Path in sys.path, too.
                        "PYTHONPATH": os.pathsep.join(
                            path or "." for path in sys.path if isinstance(path, str)
                        ),
                    },
                    # Ctrl-C at the terminal is for the crawl, which ends the child when it is done.
                    start_new_session=True,
                )
            except BaseException:
                self._socket.close()
                raise

    @classmethod
    async def start(cls, order: bytes, bits: int, timeout: float) -> WorkerProcess:
        """Return a child that has imported all that it needs.

        Args:
            order: the first frame, see :mod:`.worker`.
            bits: of the fingerprints.
            timeout: seconds that one page may take.

        Raises:
            OSError: it does not start.
        """
        process = cls(bits, timeout)
        try:
            process._reader, process._writer = await asyncio.open_unix_connection(
                sock=process._socket
            )
            await process._ask(order, START_SECONDS)
        except (EOFError, OSError) as error:
            raise OSError(f"it ended with status {process.end()}") from error
        except BaseException:
            process.end()
            raise
        return process

    async def _ask(self, frame: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Return the frame that answers another; after some seconds, the child is killed."""
        assert self._writer is not None
        # asyncio.wait_for may overlook that it is cancelled.
        alarm = asyncio.get_running_loop().call_later(seconds, self._child.kill)
        try:
            self._writer.write(frame)
            head, body = LENGTHS.unpack(await self._reader.readexactly(LENGTHS.size))
            header = json.loads(await self._reader.readexactly(head))
            return header, await self._reader.readexactly(body)
        finally:
            alarm.cancel()

    @property
    def has_ended(self) -> bool:
        return self._child.poll() is not None

    async def analyse(self, body: Body) -> PageAnalysis:
        """Return the analysis of a page. If there is an error, the child may have ended."""
        page = pack_frame({"charset": body.charset, "reader": body.reader}, body.data)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            # The child ends itself after the first timeout, unless it was stopped.
            return unpack_answer(*await self._ask(page, 2 * self._timeout), self._bits)
        except (EOFError, OSError, ValueError):
            status = self.end()
        if status == -signal.SIGALRM or loop.time() > begun + 2 * self._timeout:
            error = f"no answer within {self._timeout:g} seconds"
            return PageAnalysis(None, reason="timeout", error=error)
        error = f"the worker process ended with status {status}"
        return PageAnalysis(None, reason="extractor_error", error=error)

    def end(self) -> int:
        """End the child, and return its status."""
        # It may have closed its socket and still run.
        self._child.kill()
        if self._writer is None:
            self._socket.close()
        else:
            self._writer.transport.abort()
        return self._child.wait()
