"""An item pipeline that has stored an item when it says so: what survives a kill."""

from __future__ import annotations

import os
from typing import Any

from scrapy.crawler import Crawler


class Delivery:
    """Appends the URL of each item to the file that DELIVERY_FILE names."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Delivery:
        return cls(crawler.settings["DELIVERY_FILE"])

    def process_item(self, item: Any, spider: Any = None) -> Any:
        os.write(self._file, item.url.encode() + b"\n")
        return item

    def close_spider(self, spider: Any = None) -> None:
        os.close(self._file)
