"""The spider that crawls the archive, and spares the print views."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response

from example.site.archive import Archive


class ArchiveSpider(Spider):
    """Follows every link; the filter learns that print views are copies, and spares them.

    ``-a later=1`` crawls the archive as it is a month later.
    """

    name = "archive"
    custom_settings = {"SIMHASH_SPARE": "skip"}  # noqa: RUF012

    def __init__(self, later: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.source = Archive(later=bool(later))

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.source.front)

    def parse(self, response: Response) -> Iterator[Request | dict[str, str]]:
        if isinstance(response, HtmlResponse):
            change = response.meta.get("simhash", {}).get("change")
            title = response.css("h1::text").get("")
            yield {"url": response.url, "title": title, "change": change}
            yield from response.follow_all(css="a")
