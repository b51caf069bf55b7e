"""The spider that crawls the generated newspapers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import UsageError
from scrapy.http import HtmlResponse, Response

from example.site.newsroom import Newsroom


class NewsroomSpider(Spider):
    """Follows every link from the front pages, and keeps what it gets to see.

    Args:
        part: ``1/3`` to crawl the first of three parts of the newspapers, and so on.
    """

    name = "newsroom"
    # Read the papers from front to back (https://docs.scrapy.org/en/latest/faq.html).
    custom_settings = {  # noqa: RUF012
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    def __init__(self, part: str = "1/1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.source = Newsroom()
        number, _, parts = part.partition("/")
        if not (
            number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)
        ):
            raise UsageError(f"part is like 1/3, not {part!r}")
        self._fronts = self.source.fronts[int(number) - 1 :: int(parts)]

    async def start(self) -> AsyncIterator[Request]:
        for url in self._fronts:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Request | dict[str, str]]:
        if not isinstance(response, HtmlResponse):
            yield {"url": response.url, "title": "", "text": ""}
            return
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(""),
            "text": response.xpath("normalize-space(//body)").get(""),
        }
        for link in response.css("a"):
            yield response.follow(link)
        for link in response.css("a.live"):
            # The live reports change all the time: read them again.
            yield response.follow(link, dont_filter=True)
