"""What a dropped page hides: the addresses that no other page leads to."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.hidden import Hidden, links_of
from scrapy_simhash.report.dedup_log import read_log
from tests.commands.running import simhash
from tests.crawl.spiders import ONE_AT_A_TIME, Following

HOST = "http://a.example"


def page(*links: str) -> HtmlResponse:
    body = "".join(f"<p><a class=x href='{link}'>on</a></p>" for link in links)
    return HtmlResponse(f"{HOST}/here", body=body.encode(), encoding="utf-8")


def test_the_crawl_counts_and_logs_what_only_a_dropped_page_links_to(
    crawl: Any, twins: Any, tmp_path: Path, capsys: Any, caplog: Any
) -> None:
    log = tmp_path / "dedup.jsonl"
    settings = {**ONE_AT_A_TIME, "SIMHASH_LOG": str(log)}
    crawled = crawl(Following, settings=settings, site=twins, paths=["/first", "/second"])
    assert crawled.stat("hidden") == 1
    assert "1 more not asked for, because only those link to them" in caplog.text
    [dropped] = [line for line in read_log([log]) if line.verdict == "duplicate"]
    assert dropped.hides == f"{twins.url}/after-second"
    assert simhash("explain", f"{twins.url}/after-second", "--log", log) == 0
    said = capsys.readouterr().out
    assert f"not in the log\n  linked only from {twins.url}/second, which was dropped\n" in said


def test_what_is_asked_for_before_or_after_is_not_hidden(crawl: Any, twins: Any) -> None:
    paths = ["/after-second", "/first", "/second", "/other"]
    crawled = crawl(Following, settings=ONE_AT_A_TIME, site=twins, paths=paths)
    assert crawled.stat("dropped") == 1
    assert crawled.stat("hidden") == 0
    counts = Counter[str]()
    hidden = Hidden(counts)
    assert hidden.dropped(page("/a", "/b")) == [f"{HOST}/a", f"{HOST}/b"]
    assert hidden.dropped(page("/b#top", "/c")) == [f"{HOST}/c"]
    assert counts["hidden"] == 3
    hidden.asked(f"{HOST}/b#middle")
    assert counts["hidden"] == 2


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("x?a=1&amp;b=2#c", f"{HOST}/x?a=1&b=2"),
        (f"{HOST}", f"{HOST}/"),
        ("/été", f"{HOST}/%C3%A9t%C3%A9"),
        ("http://b.example/", None),
        ("mailto:a@a.example", None),
        ("javascript:go()", None),
        ("http://[", None),
    ],
)
def test_links_are_those_that_a_request_would_have(link: str, url: str | None) -> None:
    assert [*links_of(page(link))] == ([url] if url else [])


@pytest.mark.parametrize("piece", ["<a ", "<a href=", "<a x" + " " * 500, "<a " + "href " * 99])
def test_hostile_pages_take_no_time(piece: str) -> None:
    body = (piece * 1_000_000)[:5_000_000].encode()
    response = HtmlResponse(f"{HOST}/", body=body, encoding="utf-8")
    begun = time.process_time()
    assert len(links_of(response)) <= 1000
    assert time.process_time() - begun < 2
