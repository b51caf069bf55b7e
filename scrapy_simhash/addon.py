"""The one line: ``ADDONS = {"scrapy_simhash.Addon": 500}``."""

from scrapy.settings import BaseSettings

from scrapy_simhash.crawl import is_enabled
from scrapy_simhash.downloadermiddlewares import NearDuplicateDownloaderMiddleware
from scrapy_simhash.pipelines import NearDuplicatePipeline
from scrapy_simhash.spidermiddlewares import NearDuplicateSpiderMiddleware


class Addon:
    """Puts the middlewares and the item pipeline in their places.

    A component that the project has placed itself (or disabled with None) stays where
    it is.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to the settings, at add-on priority.

        Raises:
            SettingError: a setting cannot be used. It is raised here, because Scrapy
                2.13 hides the errors of middlewares behind another one.
        """
        if not is_enabled(settings):
            return
        # A filter that is switched off imports nothing heavy.
        from scrapy_simhash.settings import FilterSettings

        FilterSettings.from_settings(settings)
        # It comes after retry, redirects, decompression and the cache: responses are
        # final and decoded.
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", NearDuplicateDownloaderMiddleware, 545
        )
        # It is next to the engine, so it counts the items that really go on to the
        # pipelines.
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", NearDuplicateSpiderMiddleware, 10
        )
        # It comes before any pipeline that stores items.
        settings.setdefault_in_component_priority_dict(
            "ITEM_PIPELINES", NearDuplicatePipeline, 50
        )
