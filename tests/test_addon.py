"""The one line: what the add-on puts where, and that it costs nothing when it is switched off."""

import json
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_simhash import Addon
from tests.commands.running import python

COMPONENTS = {
    "DOWNLOADER_MIDDLEWARES": (
        "scrapy_simhash.downloadermiddlewares.NearDuplicateDownloaderMiddleware",
        545,
    ),
    "SPIDER_MIDDLEWARES": ("scrapy_simhash.spidermiddlewares.NearDuplicateSpiderMiddleware", 10),
    "ITEM_PIPELINES": ("scrapy_simhash.pipelines.NearDuplicatePipeline", 50),
}


def placed(settings: Settings, name: str) -> dict[Any, int]:
    return {load_object(key): place for key, place in settings.getdict(name).items()}


@pytest.mark.parametrize("own", [None, 7])
def test_components_get_their_places_unless_the_project_has_placed_them(own):
    settings = Settings({name: {path: own} for name, (path, _) in COMPONENTS.items() if own})
    Addon().update_settings(settings)
    for name, (path, place) in COMPONENTS.items():
        assert placed(settings, name) == {load_object(path): own or place}


# The modules of the package that a project which switches the filter off may import, and no
# others; nor those of the libraries that take long.
LIGHT = {
    *("addon", "downloadermiddlewares", "exceptions", "keys", "loading", "pipelines", "printable"),
    *("signals", "spidermiddlewares", "crawl", "crawl.requests"),
}
CRAWL = """
import json, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

process = CrawlerProcess(json.loads(sys.argv[1]))
process.crawl(type("Nothing", (Spider,), {"name": "nothing"}))
process.start()
ours = [name for name in sys.modules if name.startswith("scrapy_simhash.")]
heavy = [name for name in ("numpy", "trafilatura", "jieba", "redis") if name in sys.modules]
print(json.dumps([[name.partition(".")[2] for name in ours], heavy]))
"""


@pytest.mark.parametrize("one_by_one", [False, True])
def test_filter_that_is_switched_off_imports_nothing_heavy(one_by_one):
    settings: dict[str, Any] = {"SIMHASH_ENABLED": False, "LOG_ENABLED": False}
    settings["TELNETCONSOLE_ENABLED"] = False
    if one_by_one:
        settings |= {name: {path: place} for name, (path, place) in COMPONENTS.items()}
    else:
        settings["ADDONS"] = {"scrapy_simhash.Addon": 500}
    ours, heavy = json.loads(python(CRAWL, json.dumps(settings)))
    assert set(ours) <= LIGHT
    assert heavy == []
