"""The parent's side of a worker process, by asyncio's streams.

Pools of multiprocessing, such as those of concurrent.futures, pebble and loky, pickle what they
send and import a script without a ``__main__`` guard again, or cannot end a job that hangs.
asyncio's own subprocesses may lose the status of a child that ends as it is killed.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys

from scrapy_simhash.core.analysis import Body, PageAnalysis
from scrapy_simhash.core.worker import pack_page, unpack_answer

# Seconds that a child may take to start, on a machine that is busy.
START_SECONDS = 60.0
LONGEST_ANSWER = 64 << 20  # bytes

# The folder of the crawl is "" in sys.path, and -c puts it first. It goes to the end, because
# modules in it may have names of Python's own.
_PROGRAM = (
    "import sys; sys.path.sort(key=''.__eq__); from scrapy_simhash.core.worker import main; main()"
)


class WorkerProcess:
    """One child, which analyses one page at a time. See :meth:`start`."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        timeout: float,
    ) -> None:
        self._child = child
        self._reader, self._writer = reader, writer
        self._timeout = timeout

    @classmethod
    async def start(cls, order: bytes, timeout: float) -> "WorkerProcess":
        """Return a child that has imported all that it needs.

        Args:
            order: what it gets first, see :mod:`.worker`.
            timeout: seconds that one page may take.

        Raises:
            OSError: it does not start.
        """
        parent_end, child_end = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=parent_end, limit=LONGEST_ANSWER)
        with child_end:
            try:
                child = _start_child(child_end.fileno())
            except BaseException:
                writer.transport.abort()
                raise
        process = cls(child, reader, writer, timeout)
        try:
            if await process._ask(order, START_SECONDS):
                return process
        except BaseException:
            process.end()
            raise
        raise OSError(f"it ended with status {process.end()}")

    async def _ask(self, message: bytes, seconds: float) -> bytes:
        """Return the line that answers a message; after some seconds, the child is killed."""
        # asyncio.wait_for may overlook that it is cancelled.
        alarm = asyncio.get_running_loop().call_later(seconds, self._child.kill)
        try:
            self._writer.write(message)
            return await self._reader.readline()
        except ConnectionError:
            return b""
        finally:
            alarm.cancel()

    @property
    def has_ended(self) -> bool:
        return self._child.poll() is not None

    async def analyse(self, body: Body) -> PageAnalysis:
        """Return the analysis of a page. If there is an error, the child may have ended."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            # The child ends itself after the first timeout, unless it was stopped.
            return unpack_answer(await self._ask(pack_page(body), 2 * self._timeout))
        except ValueError:
            status = self.end()
        if status == -signal.SIGALRM or loop.time() > begun + 2 * self._timeout:
            error = f"no answer within {self._timeout:g} seconds (SIMHASH_TIMEOUT)"
            return PageAnalysis(None, reason="timeout", error=error)
        error = f"the worker process ended with status {status}"
        return PageAnalysis(None, reason="crash", error=error)

    def end(self) -> int:
        """End the child, and return its status."""
        # It may have closed its socket and still run.
        self._child.kill()
        self._writer.transport.abort()
        return self._child.wait()


def _start_child(stream: int) -> subprocess.Popen[bytes]:
    """Start a child whose input and output are the socket with this descriptor."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=stream,
        stdout=stream,
        env={
            # numpy starts threads for each core, which takes a third of the start.
            "OPENBLAS_NUM_THREADS": "1",
            **os.environ,
            # An extractor given by import path must be found where the crawl finds it. Python
            # passes over a Path in sys.path, too.
            "PYTHONPATH": os.pathsep.join(
                path or "." for path in sys.path if isinstance(path, str)
            ),
        },
        # Ctrl-C at the terminal is for the crawl, which ends the child when it is done.
        start_new_session=True,
    )
