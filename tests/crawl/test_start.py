"""Errors of the index that waiting cannot heal stop the start, with one line."""

from collections.abc import Iterator

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import filter as module
from scrapy_simhash.exceptions import SettingError
from tests import servers
from tests.crawl.spiders import Pages


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The place of a server with a password, and a user who may only read."""
    redis = pytest.importorskip("redis", reason="redis is not installed")
    with servers.redis_server() as server:
        with redis.Redis.from_url(server.url) as client:
            client.acl_setuser(
                "reader", enabled=True, passwords=["+word-5"], categories=["+@read"], keys=["*"]
            )
            client.config_set("requirepass", "pass-word-5")
        yield server.url.partition("://")[2].partition("/")[0]


@pytest.mark.parametrize(
    "url",
    [
        "redis://{}/0",
        "redis://:wrong-5@{}/0",
        "redis://nobody:pass-word-5@{}/0",
        "redis://:pass-word-5@{}/99",
        "redis://:pass-word-5@no-such-host.invalid/0",
        "redis://:pass-word-5@{}/zero",
        "rediz://:pass-word-5@{}/0",
        "redis+cluster://:pass-word-5@{}",
        "rediss://:pass-word-5@{}/0?socket_timeout=3",
        "redis://reader:%2Bword-5@{}/0",
    ],
)
def test_no_crawl_starts_with_an_index_that_it_will_never_reach(crawl, site, guarded, url):
    settings = {"SIMHASH_INDEX_URL": url.format(guarded), "SIMHASH_ON_UNAVAILABLE": "continue"}
    with pytest.raises(SettingError) as caught:
        crawl(Pages, settings=settings, site=site, paths=["/"])
    message = str(caught.value)
    assert "SIMHASH_INDEX_URL" in message
    assert len(message.splitlines()) == 1
    shown = f"{message}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert not any(part in shown for part in ("word-5", "nobody", "reader"))
    assert not site.hits


def test_a_crawl_needs_asyncio_with_a_reactor_or_without(monkeypatch):
    monkeypatch.setattr(module, "is_asyncio_reactor_installed", lambda: False)
    crawler = get_crawler()
    crawler.settings = Settings({"TWISTED_REACTOR_ENABLED": True})
    with pytest.raises(SettingError, match="TWISTED_REACTOR: scrapy-simhash needs"):
        module.CrawlFilter(crawler)
    crawler.settings.set("TWISTED_REACTOR_ENABLED", False)
    module.CrawlFilter(crawler)
