"""One running crawl: verdicts asked for, pages in progress, upkeep, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from scrapy_simhash.exceptions import SettingError

if TYPE_CHECKING:
    from scrapy_simhash.crawl.filter import CrawlFilter

_COMMANDS = ("scrapy.commands.fetch", "scrapy.commands.parse", "scrapy.commands.check")


def filter_of(crawler: Crawler) -> CrawlFilter:
    """Return the filter of a crawl, which is the same for all of its components.

    Raises:
        NotConfigured: the filter is switched off, or a command only shows pages.
        SettingError: a setting cannot be used.
    """
    if not is_enabled(crawler.settings):
        raise NotConfigured
    # The crawler has the filter, so that both go together, even if the crawl never
    # starts.
    crawl_filter: CrawlFilter | None = getattr(crawler, "_simhash_filter", None)
    if crawl_filter is None:
        # A page that somebody only looks at must not get into the index, and must not
        # be hidden. "scrapy shell" makes components outside of any crawl; "fetch",
        # "parse" and "check" give the spider a start of their own.
        start = getattr(crawler.spidercls, "start", None)
        if not crawler.crawling or getattr(start, "__module__", "") in _COMMANDS:
            raise NotConfigured
        # A filter that is switched off imports nothing heavy.
        from scrapy_simhash.crawl.filter import CrawlFilter

        crawl_filter = CrawlFilter(crawler)
        crawler._simhash_filter = crawl_filter  # type: ignore[attr-defined]
    return crawl_filter


def is_enabled(settings: BaseSettings) -> bool:
    """Return whether the filter runs.

    Raises:
        SettingError: SIMHASH_ENABLED is neither true nor false.
    """
    try:
        return settings.getbool("SIMHASH_ENABLED", True)
    except (TypeError, ValueError):
        said = f"{settings.get('SIMHASH_ENABLED')!r:.80} is neither true nor false"
        raise SettingError(f"SIMHASH_ENABLED: {said}") from None
