"""Downloads that code asks the engine for by itself, such as those in the middle of a callback."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http.request import NO_CALLBACK


def mark_downloads(engine: ExecutionEngine) -> None:
    """Give each request that the engine is told to download the callback ``NO_CALLBACK``.

    Scrapy tells such requests from those of its queue by nothing else, and leaves it to the caller
    to set it. Without it, the page might be dropped in favour of the page whose callback has asked
    for it, and that callback would fail.
    """
    for name in ("download", "download_async"):
        if (download := getattr(engine, name, None)) is not None:  # Scrapy 2.13 has only the first
            setattr(engine, name, _marking(download))


def _marking(download: Callable[[Request], Any]) -> Callable[[Request], Any]:
    @wraps(download)
    def marked(request: Request) -> Any:
        if request.callback is not NO_CALLBACK:
            # Another one, because the caller may yield the first, too.
            request = request.replace(callback=NO_CALLBACK)
        return download(request)

    return marked
