"""A line on the terminal that says how the crawl is going."""

from __future__ import annotations

import asyncio
import sys
import time

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured


class ProgressLine:
    """An extension that writes over its own line, and does nothing where there is no terminal."""

    def __init__(self, crawler: Crawler) -> None:
        if not sys.stderr.isatty():
            raise NotConfigured
        self._crawler = crawler
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ProgressLine:
        return cls(crawler)

    async def spider_opened(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._show())

    def spider_closed(self) -> None:
        self._task.cancel()
        sys.stderr.write("\x1b[K")

    async def _show(self) -> None:
        begun = time.monotonic()
        while True:
            await asyncio.sleep(0.25)
            pages, kept, dropped = map(
                self._count, ("responses", "unique", "duplicate")
            )
            # Back at the start of the line, so that whatever is logged next writes over
            # it.
            sys.stderr.write(
                f"{pages:,} pages, {kept:,} kept, {dropped:,} near-duplicates, "
                f"{pages / (time.monotonic() - begun):,.0f} pages/s\x1b[K\r"
            )
            sys.stderr.flush()

    def _count(self, name: str) -> int:
        assert self._crawler.stats is not None
        return int(self._crawler.stats.get_value(f"simhash/{name}", 0))
