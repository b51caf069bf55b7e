"""The item pipeline, under the name by which settings place it."""

from scrapy_simhash.crawl.items import NearDuplicatePipeline

__all__ = ["NearDuplicatePipeline"]
