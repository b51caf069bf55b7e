"""Sites that whole crawls are made of."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import servers
from tests.conftest import Crawl
from tests.crawl.spiders import ONE_AT_A_TIME, Pages
from tests.pages import article, html


@pytest.fixture
def visit(crawl: Callable[..., Crawl]) -> Callable[..., Crawl]:
    """Crawl paths of a site one after the other."""

    def run(
        site: Any, *paths: str, spider: Any = Pages, meta: Any = None, **settings: Any
    ) -> Crawl:
        options = {"site": site, "paths": [*paths]} | ({"meta": meta} if meta else {})
        return crawl(spider, settings=ONE_AT_A_TIME | settings, **options)

    return run


@pytest.fixture
def twins(site: Any) -> Any:
    """A page, a copy with other links, and a page of its own."""
    text = article(1)
    site.pages = {
        "/first": html(text, links=("/after-first",)),
        "/second": html(text, links=("/after-second",)),
        "/other": html(article(3)),
        "/after-first": html(article(4)),
        "/after-second": html(article(5)),
    }
    return site


@pytest.fixture
def articles(site: Any) -> Any:
    for number in range(3):
        site.pages[f"/{number}"] = html(article(number))
        site.pages[f"/{number}/copy"] = html(article(number))
    return site


@pytest.fixture
def on_redis() -> Iterator[dict[str, Any]]:
    """Its scheduler on a Redis; the clients are closed here, because it never closes them."""
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    from redis import Redis

    with contextlib.ExitStack() as stack:

        class Closed(Redis):
            @classmethod
            def from_url(cls, url: str, **options: Any) -> Redis:
                return stack.enter_context(Redis.from_url(url, **options))

        url = stack.enter_context(servers.redis_server()).url
        yield {
            **ONE_AT_A_TIME,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": url,
            "REDIS_PARAMS": {"redis_cls": Closed},
        }
