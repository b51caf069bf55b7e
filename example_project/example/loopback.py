"""Pages served on loopback under their own addresses, by a server that acts as an HTTP proxy.

A client that uses the server as its proxy asks it for whole addresses, so many hosts
can be crawled under their real names with no DNS and no way out: what the source does
not hold is 404."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol


@dataclass(frozen=True)
class Answer:
    """The answer of the server for one address."""

    body: bytes = b""
    content_type: str = "text/html"
    status: int = 200
    location: str | None = None


class Source(Protocol):
    """Pages by address."""

    def get(self, url: str) -> Answer | None:
        """Return the answer for an absolute http:// address, None when there is no such page."""


@contextlib.contextmanager
def serve(source: Source) -> Iterator[str]:
    """Serve the pages until the block ends; the value is the address of the proxy."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.source = source
    thread = threading.Thread(target=server.serve_forever, name="loopback", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    source: Source
    daemon_threads = True
    # Idle keep-alive connections of the client must not hold up the end.
    block_on_close = False
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # One packet per answer: a header sent alone waits 40 ms for the client's
    # acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        answer = self.server.source.get(self.path) or Answer(
            b"not here\n", "text/plain", 404
        )
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the crawl has its own log."""
