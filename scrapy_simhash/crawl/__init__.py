"""One running crawl: verdicts asked for, pages in progress, upkeep, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_simhash.settings import is_enabled

if TYPE_CHECKING:
    from scrapy_simhash.crawl.filter import CrawlFilter


def filter_of(crawler: Crawler) -> CrawlFilter:
    """Return the filter of a crawl, which is the same for all of its components.

    Raises:
        NotConfigured: the filter is switched off.
        SettingError: a setting cannot be used.
    """
    if not is_enabled(crawler.settings):
        raise NotConfigured
    # A filter that is switched off imports nothing heavy.
    from scrapy_simhash.crawl.filter import CrawlFilter

    # On the crawler itself, so that it goes with it, also when the crawl never starts.
    found: CrawlFilter | None = getattr(crawler, "_simhash_filter", None)
    if found is None:
        found = CrawlFilter(crawler)
        crawler._simhash_filter = found  # type: ignore[attr-defined]
    return found
