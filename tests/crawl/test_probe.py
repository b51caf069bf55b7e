"""SIMHASH_PROBE: a host is asked once for an address that cannot exist."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.crawl.spiders import Following
from tests.pages import article, html

SETTINGS = {"SIMHASH_PROBE": True}
NUMBER = 100


class Missing(dict[str, Any]):
    """Answers each address that is not there with a page and status 200, or with a redirect."""

    def __init__(self, pages: dict[str, Any], answer: Any) -> None:
        super().__init__(pages)
        self.answer = answer

    def get(self, path: str, default: Any = None) -> Any:
        if path == "/robots.txt":
            return super().get(path, default)
        return self[path] if path in self else self.answer(path)


@pytest.fixture
def host(site: Any) -> Any:
    """A host with real pages, and links to pages that are not there."""
    for n in range(NUMBER):
        site.pages[f"/item/{n}"] = html(article(n, 60), title=f"Item {n}")
    names = [link for n in range(NUMBER) for link in (f"/item/{n}", f"/gone/{n}")]
    site.pages["/"] = html(article(999), links=tuple(names))
    return site


def flagged(crawled: Any) -> list[str]:
    return [item["path"] for item in crawled.items if item["page"]["soft_404"]]


def asked(site: Any) -> list[str]:
    """What was asked for and is linked nowhere."""
    return [path for path in site.hits if path.count("/") == 1 and len(path) == 25]


def echoes(path: str) -> bytes:
    return html(article(7), title=f"{path} was not found", links=("/",))


def front_page(path: str) -> bytes:
    return html(article(999), title="Welcome")


def redirects(path: str) -> Any:
    return html(article(7)) if path == "/missing" else (302, {"Location": "/missing"}, b"")


@pytest.mark.parametrize("answer", [echoes, front_page, redirects])
def test_the_soft_404s_of_a_host_are_known_and_no_real_page_is_taken_for_one(
    crawl: Any, host: Any, answer: Any, caplog: Any
) -> None:
    host.pages = Missing(host.pages, answer)
    crawled = crawl(
        Following, settings=SETTINGS | {"SIMHASH_ACTION": "flag"}, site=host, paths=["/"]
    )
    gone = {path for path in host.hits if "/gone/" in path}
    soft = {*flagged(crawled)}
    if answer is redirects:
        assert soft == {"/missing"}
    else:
        assert len(soft & gone) >= 0.99 * NUMBER
        assert soft <= gone
    assert len(asked(host)) == crawled.stat("probes") == 1
    told = [record for record in caplog.records if "cannot exist" in record.getMessage()]
    assert len(told) == 1


def test_no_real_page_is_dropped_where_the_front_page_is_served_for_all_that_is_missing(
    crawl: Any, host: Any
) -> None:
    host.pages["/"] = host.pages["/"].replace(b"A page", b"Welcome")
    host.pages = Missing(host.pages, front_page)
    crawled = crawl(Following, settings=SETTINGS, site=host, paths=["/"])
    got = {item["path"] for item in crawled.items}
    assert got == {"/", *(f"/item/{n}" for n in range(NUMBER))}
    assert flagged(crawled) == []


def test_a_host_that_says_404_has_no_soft_404s(crawl: Any, host: Any) -> None:
    crawled = crawl(Following, settings=SETTINGS, site=host, paths=["/"])
    assert flagged(crawled) == []
    assert len(asked(host)) == 1
    assert crawled.stat("unique") == NUMBER + 1


def test_a_host_is_not_asked_for_what_its_robots_txt_forbids(crawl: Any, host: Any) -> None:
    host.pages["/robots.txt"] = b"User-agent: *\nDisallow: /\nAllow: /item\nAllow: /$"
    settings = SETTINGS | {"ROBOTSTXT_OBEY": True}
    crawled = crawl(Following, settings=settings, site=host, paths=["/", "/item/0"])
    assert asked(host) == []
    assert "/item/1" in {item["path"] for item in crawled.items}


def test_a_host_that_does_not_answer_holds_no_page_up(
    crawl: Any, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.crawl.probe.PATIENCE", 0.1)
    site.pages["/"] = html(article(1))

    def slow(path: str) -> Any:
        time.sleep(0.5)
        return 500, {}, b""

    site.pages = Missing(site.pages, slow)
    crawled = crawl(Following, settings=SETTINGS, site=site, paths=["/"])
    assert len(crawled.items) == 1


def test_no_host_is_asked_by_default(crawl: Any, host: Any) -> None:
    crawl(Following, site=host, paths=["/"])
    assert asked(host) == []
