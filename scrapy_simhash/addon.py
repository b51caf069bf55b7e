"""The one line: ``ADDONS = {"scrapy_simhash.Addon": 500}``."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from scrapy_simhash.downloadermiddlewares import NearDuplicateDownloaderMiddleware
from scrapy_simhash.pipelines import NearDuplicatePipeline
from scrapy_simhash.settings import FilterSettings, is_enabled, queue_name, uses_scrapy_redis
from scrapy_simhash.spidermiddlewares import NearDuplicateSpiderMiddleware

# Of scrapy-redis, by all their names.
_QUEUES = {
    "scrapy_redis.queue.PriorityQueue": "PriorityQueue",
    "scrapy_redis.queue.SpiderPriorityQueue": "PriorityQueue",
    "scrapy_redis.queue.FifoQueue": "FifoQueue",
    "scrapy_redis.queue.SpiderQueue": "FifoQueue",
    "scrapy_redis.queue.LifoQueue": "LifoQueue",
    "scrapy_redis.queue.SpiderStack": "LifoQueue",
}


class Addon:
    """Puts the middlewares and the item pipeline in their places.

    A component that the project has placed itself (or disabled with None) stays where it is. The
    queues of scrapy-redis give way to those that lose no request, see :mod:`.queues`.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to the settings, at add-on priority.

        Raises:
            SettingError: a setting cannot be used. Here, since Scrapy 2.13 hides what a middleware
                raises behind an error of its own.
        """
        if is_enabled(settings):
            FilterSettings.from_settings(settings)
        # After retry, redirects, decompression and the cache: final, decoded responses.
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", NearDuplicateDownloaderMiddleware, 545
        )
        # Next to the engine: it counts what really goes on to the pipelines.
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", NearDuplicateSpiderMiddleware, 10
        )
        # Before anything stores an item.
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", NearDuplicatePipeline, 50)
        queue = queue_name(settings)
        if is_enabled(settings) and uses_scrapy_redis(settings) and queue in _QUEUES:
            name = f"scrapy_simhash.queues.{_QUEUES[queue]}"
            priority = settings.getpriority("SCHEDULER_QUEUE_CLASS")
            settings.set("SCHEDULER_QUEUE_CLASS", name, "addon" if priority is None else priority)
