"""Sites whose pages time out: the rest of their pages is delivered all the same."""

from __future__ import annotations

from typing import Any

from scrapy_simhash.core.workers import STRIKES
from tests.crawl.spiders import ONE_AT_A_TIME, Pages
from tests.pages import article, html


def test_pages_of_a_host_that_times_out_are_delivered_without_an_analysis(
    crawl: Any, site: Any
) -> None:
    for number in range(8):
        site.pages[f"/{number}"] = b"hang"
    site.pages["/9"] = html(article(1))
    settings = {
        **ONE_AT_A_TIME,
        "SIMHASH_PROCESSES": 1,
        "SIMHASH_TIMEOUT": 0.5,
        "SIMHASH_EXTRACTOR": "tests.core.test_workers.hostile",
    }
    paths = [f"/{number}" for number in range(8)] + ["/9"]
    # Each is a page of its own, though its body is that of the others.
    crawled = crawl(Pages, settings=settings, site=site, paths=paths)
    assert len(crawled.items) == 9
    assert crawled.stat("skipped/timeout") == STRIKES
    assert crawled.stat("skipped/slow_host") == 9 - STRIKES
