"""Crawls of one site on several days: nothing is lost, and what changed is told."""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.extensions.httpcache import DummyPolicy, RFC2616Policy

from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl import runs
from scrapy_simhash.crawl.requests import COPY, QUEUED
from scrapy_simhash.crawl.runs import resumed_run
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.index import open_existing
from scrapy_simhash.index.values import Match
from scrapy_simhash.report.dedup_log import read_log
from tests.commands.running import entries_in
from tests.crawl.spiders import ONE_AT_A_TIME, Blog, paths, until
from tests.pages import article, edited, html

POSTS = 12
# Pages come in the order of the links to them.
FIFO = "scrapy.squeues.FifoMemoryQueue"


class OtherBlog(Blog):
    name = "other-blog"


@pytest.fixture
def index(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'pages.sqlite'}"


@pytest.fixture
def day(crawl: Any, index: str) -> Callable[..., Any]:
    """Crawl a site, always on the same index."""

    def run(
        site: Any, spider: Any = Blog, start: str = "/", meta: Any = None, **settings: Any
    ) -> Any:
        settings = {"SIMHASH_INDEX_URL": index, "SCHEDULER_MEMORY_QUEUE": FIFO} | settings
        given = {"site": site, "start": start, "meta": meta}
        return crawl(spider, settings=ONE_AT_A_TIME | settings, **given)

    return run


def front(*links: str, seed: int = 1000) -> bytes:
    return html(article(seed), title="The front page", links=links)


def posts(site: Any, numbers: Any) -> list[str]:
    """Put posts on a site, and a front page that links to them; return their paths."""
    links = [f"/post-{number}" for number in numbers]
    for number, link in zip(numbers, links, strict=True):
        site.pages[link] = html(article(number), title=f"Post {number}")
    site.pages["/"] = front(*links)
    return links


def changes(crawled: Any) -> dict[str, str]:
    return {item["path"]: item["page"]["change"] for item in crawled.items}


def test_mirrors_that_swap_places_are_no_news_and_none_is_missing(day, site):
    for host in ("one", "two"):
        site.pages[f"/{host}"] = html(article(1), title="Story", top=f"<nav>Sport of {host}</nav>")
    for links in (("/one", "/two"), ("/two", "/one")) * 2:
        site.pages["/"] = front(*links)
        crawled = day(site, SIMHASH_RECRAWL="changed")
        assert crawled.stat("missing") == 0
    assert crawled.items == []


def test_host_that_redirects_to_its_www_is_delivered_as_moved(day, site, monkeypatch):
    links = posts(site, range(POSTS))
    pages = {path: site.pages.pop(path) for path in ["/", *links]}
    monkeypatch.setenv("http_proxy", site.url)
    site.url = "http://blog.test"
    site.pages = {f"{site.url}{path}": body for path, body in pages.items()}
    assert len(day(site).items) == POSTS + 1
    for path, body in pages.items():
        site.pages[f"http://www.blog.test{path}"] = body
        site.pages[site.url + path] = 301, {"Location": f"http://www.blog.test{path}"}, b""
    # Its address alone tells which page that was.
    site.pages["http://www.blog.test/post-3"] = html(article(99), title="Post 99")
    second = day(site)
    assert len(second.items) == second.stat("moved") == POSTS + 1
    assert second.items[1]["page"]["moved_from"] == f"{site.url}/post-0"


class Crashing(Blog):
    """Fails with one page, and waits a second for another one."""

    def parse(self, response: Any) -> Any:
        if response.url.endswith("/post-7"):
            raise RuntimeError("no delivery")
        for output in super().parse(response):
            if getattr(output, "url", "").endswith("/post-6"):
                output.meta["download_timeout"] = 1
            yield output


def test_page_that_a_server_or_a_callback_failed_to_give_is_not_missing(day, site, caplog):
    posts(site, range(30))
    day(site)
    good = dict(site.pages)
    done = threading.Event()

    def held(_: Any) -> tuple[int, dict[str, str], bytes]:
        done.wait(30)
        return 200, {}, b""

    robots = b"User-agent: *\nDisallow: /post-0"
    answers = {f"/post-{status % 100}": (status, {}, b"") for status in (503, 404, 410)}
    site.pages |= {**answers, "/post-6": held, "/robots.txt": (200, {}, robots)}
    site.pages["/post-8"] = 302, {"Location": "/down"}, b""
    site.pages["/down"] = 429, {}, b""
    bad = day(site, Crashing, ROBOTSTXT_OBEY=True, RETRY_ENABLED=False)
    done.set()
    assert (bad.stat("missing"), bad.stat("failed")) == (2, 5)
    why = "it saw 24 of 31 known pages, and 5 failed"
    assert f"Run 2 does not count for SIMHASH_KEEP_RUNS: {why}" in caplog.text
    site.pages |= good
    assert {*changes(day(site)).values()} == {"same"}
    assert caplog.text.count("does not count") == 1


@pytest.mark.parametrize(
    ("cache", "warns"),
    [
        ({}, True),
        ({"POLICY": DummyPolicy}, True),
        ({"POLICY": RFC2616Policy}, False),
        ({"EXPIRATION_SECS": 60}, False),
        ({"ENABLED": False}, False),
    ],
)
def test_cache_that_hides_changes_is_told_at_the_start(day, site, caplog, tmp_path, cache, warns):
    posts(site, range(2))
    cache = {"ENABLED": True, "DIR": str(tmp_path / "cache")} | cache
    named = {f"HTTPCACHE_{name}": value for name, value in cache.items()}
    day(site, SIMHASH_RECRAWL="changed", **named)
    assert ("SIMHASH_RECRAWL sees no change" in caplog.text) is warns


@pytest.mark.parametrize("recrawl", ["all", "changed"])
def test_edited_rewritten_new_moved_and_removed_posts_are_told_apart(
    day, site, recrawl, tmp_path, caplog
):
    """If only what changed is to come out, the links of other pages are followed."""
    posts(site, range(POSTS))
    assert len(day(site, SIMHASH_RECRAWL=recrawl).items) == POSTS + 1
    links = posts(site, [*range(8), 50])  # four are removed, one is new
    site.pages["/moved"] = site.pages["/post-8"]
    site.pages["/"] = front(*links, "/moved")
    site.pages["/post-0"] = html(edited(article(0), 1, 0.05), title="Post 0")
    site.pages["/post-1"] = html(article(70), title="Post 1")
    site.pages["/post-2"] = html(article(2), title="Post 2", links=("/behind",))
    site.pages["/behind"] = html(article(60), title="Behind a page that is the same")
    log = tmp_path / "log"
    second = day(site, SIMHASH_RECRAWL=recrawl, SIMHASH_LOG=log)
    same = dict.fromkeys(("/", *links[2:8]), "same") | {"/moved": "moved"}
    told = {"/post-0": "changed", "/post-1": "changed", "/post-50": "new", "/behind": "new"}
    assert changes(second) == (told if recrawl == "changed" else told | same)
    withheld = [line.change for line in read_log([log]) if line.action == "follow"]
    assert sorted(withheld) == sorted(same.values()) * (recrawl == "changed")
    assert second.stat("items_unchanged") == len(withheld)
    assert "run 2" in caplog.text
    assert "2 new, 2 changed, 1 moved, 7 same, 3 missing" in caplog.text
    page = next(item["page"] for item in second.items if item["path"] == "/post-0")
    assert 0 < page["distance"] < 100
    assert 1.7e9 < page["last_seen"] < 1e11


def test_unfinished_run_misses_nothing_and_its_job_goes_on_with_it(
    day, site, index, tmp_path, caplog
):
    posts(site, range(POSTS))
    day(site)
    caplog.clear()
    job = {"JOBDIR": str(tmp_path / "job")}
    part = day(site, CLOSESPIDER_PAGECOUNT=4, **job)
    assert "Since earlier runs: " in caplog.text
    assert "missing" not in caplog.text
    rest = day(site, **job)
    assert len(part.items) + len(rest.items) >= POSTS + 1
    with closing(open_existing(index)) as opened:
        *_, run = opened.runs()
    assert (run.number, run.finished, run.pages, run.missing) == (2, True, POSTS + 1, 0)


def test_a_run_that_is_stopped_forgets_no_address_of_a_page_that_has_moved(day, site, index):
    """It may not have got as far as that address."""
    posts(site, range(2))
    day(site)
    site.pages["/moved"] = site.pages["/post-0"]
    site.pages["/"] = front("/moved", "/post-1")
    assert day(site, CLOSESPIDER_PAGECOUNT=2).stat("moved") == 1
    assert f"{site.url}/post-0" in {entry.key for entry in entries_in(index)}


def test_copy_of_a_page_of_another_spider_is_a_copy_on_each_day(day, site, caplog):
    links = posts(site, range(4))
    day(site)
    assert "recrawl: all\n" in caplog.text
    site.pages["/other"] = html(article(500), title="Of the other", links=("/twin", "/own"))
    site.pages["/twin"] = html(article(1), title="Post 1", links=("/other",))
    site.pages["/own"] = html(article(600), title="Own")
    for _ in range(2):
        other = day(site, spider=OtherBlog, start="/other")
        assert paths(other) == ["/other", "/own"]
        assert other.stat("missing") == 0
        assert other.stat("dropped_for_others") == other.stat("dropped") == 1
        assert "recrawl: all, shared with blog" in caplog.text
        assert "1 of these for pages of other spiders" in caplog.text
    assert len(day(site).items) == len(links) + 1


def test_copies_of_pages_of_no_run_or_of_runs_that_nobody_knows_are_not_those_of_others():
    """An import has no run, and an index that was away at the start has not told any."""
    for begun, run, is_other in (({7: 1.0}, 0, 0), ({7: 1.0}, 8, 1), ({}, 8, 0)):
        counts = Counter[str]()
        crawl_run = runs.CrawlRun(Mock(), Mock(), Mock(), counts)
        crawl_run.begun = begun
        match = Match(1, "original", 0, 0.0, provisional=False, run=run)
        verdict = Verdict("duplicate", "copy", matches=(match,))
        crawl_run.judged(Judged(Mock(), Mock(), verdict, action="drop"))
        assert counts["dropped_for_others"] == is_other


def test_neither_a_copy_that_waits_nor_what_a_component_asks_for_has_failed():
    dedup = Mock()
    crawl_run = runs.CrawlRun(Mock(), Mock(), dedup, Counter())
    for meta in ({}, {QUEUED: True, COPY: []}, {QUEUED: True}):
        crawl_run.failed(Request("http://a.test/", meta=meta))
    dedup.upkeep.missed.assert_called_once()


def test_page_that_is_the_same_waits_for_its_delivery(day, site):
    class Failing(Blog):
        async def parse(self, response: Any) -> Any:
            if response.url.endswith("/post-0") and response.meta["simhash"]["change"] == "same":
                await until(lambda: self.counted("dropped"))
                raise RuntimeError("no delivery")
            for output in super().parse(response):
                yield output

    posts(site, range(2))
    site.pages["/copy"] = html(article(0), title="Post 0", links=("/",))
    site.pages["/"] = front("/post-0", "/copy", "/post-1")
    assert paths(day(site, spider=Failing)) == ["/", "/post-0", "/post-1"]
    second = day(site, spider=Failing, CONCURRENT_REQUESTS=8)
    assert sorted(paths(second)) == ["/", "/copy", "/post-1"]


def test_pages_that_no_kept_run_has_seen_are_forgotten(day, site, index):
    posts(site, range(4))
    day(site)
    posts(site, range(2))
    for _ in range(3):
        day(site, SIMHASH_KEEP_RUNS=1)
    keys = {entry.key.removeprefix(site.url) for entry in entries_in(index)}
    assert keys == {"/", "/post-0", "/post-1"}


def test_crawl_whose_start_requests_were_all_dropped_gets_a_warning(day, site, caplog):
    posts(site, range(2))
    site.pages["/index"] = site.pages["/"]
    day(site)
    assert day(site, OtherBlog, "/index", {"simhash_action": "drop"}).items == []
    assert "All start requests were dropped as copies" in caplog.text


def test_queue_that_is_kept_in_redis_goes_on_with_the_last_run():
    settings = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler"}
    assert resumed_run(Crawler(Blog, settings)) is None
    settings["SCHEDULER_PERSIST"] = "1"
    assert resumed_run(Crawler(Blog, settings)) == "last"
    settings["SCHEDULER_FLUSH_ON_START"] = "1"
    assert resumed_run(Crawler(Blog, settings)) is None


def test_queue_that_is_flushed_forgets_what_the_spider_has_seen(day, site, index, monkeypatch):
    posts(site, range(3))
    site.pages["/other"] = html(article(500), title="Of the other")
    day(site)
    day(site, spider=OtherBlog, start="/other")
    monkeypatch.setattr(runs, "uses_scrapy_redis", lambda settings: True)
    second = day(site, SCHEDULER_FLUSH_ON_START=True)
    assert (second.stat("new"), second.stat("same")) == (4, 0)
    assert f"{site.url}/other" in {entry.key for entry in entries_in(index)}
