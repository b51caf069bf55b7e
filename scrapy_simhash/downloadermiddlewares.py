"""The downloader middleware, under the name by which settings place it."""

from scrapy_simhash.crawl.pages import NearDuplicateDownloaderMiddleware

__all__ = ["NearDuplicateDownloaderMiddleware"]
