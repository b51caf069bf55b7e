"""The spider middleware, under the name by which settings place it."""

from scrapy_simhash.crawl.outputs import NearDuplicateSpiderMiddleware

__all__ = ["NearDuplicateSpiderMiddleware"]
