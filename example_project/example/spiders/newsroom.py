"""The spider that crawls the generated newspapers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response

from example.site.newsroom import Newsroom


class NewsroomSpider(Spider):
    """Follows every link from the front pages; what it gets to see, it keeps."""

    name = "newsroom"
    # Read the papers from front to back (https://docs.scrapy.org/en/latest/faq.html).
    custom_settings = {  # noqa: RUF012
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.source = Newsroom()

    async def start(self) -> AsyncIterator[Request]:
        for url in self.source.fronts:
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
