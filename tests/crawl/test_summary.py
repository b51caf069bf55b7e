"""What a crawl says of itself: the dedup log, the stats and the summary."""

import logging
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl import summary as summary_module
from scrapy_simhash.crawl.summary import _FATES, Judged, Summary
from scrapy_simhash.index.values import Match
from scrapy_simhash.report.dedup_log import read_log
from scrapy_simhash.settings import FilterSettings
from tests.crawl.spiders import InTurn, until
from tests.pages import article, html

PATHS = ["/first", "/second", "/other", "/image"]


@pytest.fixture
def twins(twins: Any) -> Any:
    twins.pages["/image"] = 200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" * 50
    return twins


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "dedup.jsonl"


def test_every_judged_page_is_a_line_of_the_log_and_counts_in_the_summary(
    visit, twins, log, caplog
):
    """robots.txt is none of them."""
    twins.pages["/large"] = html(article(4, 900))
    settings = {"SIMHASH_MAX_BODY_SIZE": 6000, "HTTPERROR_ALLOW_ALL": True, "ROBOTSTXT_OBEY": True}
    asked = *PATHS, "/first", "/gone", "/large"
    crawled = visit(twins, *asked, SIMHASH_LOG=str(log), **settings)
    assert len(crawled.items) == len(asked) - 1
    assert twins.hits["/robots.txt"] == crawled.stat("no_page") == 1
    lines = [*read_log([log])]
    verdicts = Counter(line.verdict for line in lines)
    assert verdicts == {"unique": 2, "duplicate": 1, "revisit": 1, "skipped": 3}
    assert verdicts.total() == crawled.stat("responses")
    for verdict, number in verdicts.items():
        assert crawled.stat(verdict) == number
    rows = [" ".join(row.split()) for row in summary_of(caplog).splitlines()]
    assert rows == [
        "Near-duplicates of pages: 7 pages judged",
        *("2 kept", "1 kept, crawled before", "1 dropped"),
        "3 not compared: 1 other_type, 1 status, 1 too_large",
        f"What each repeats: scrapy simhash report {log}",
    ]
    first, second, _, image, *_ = lines
    assert (second.original, second.action, second.k) == (first.key, "drop", 48)
    assert second.distance in range(49)
    assert second.bytes == len(twins.pages["/second"]) == crawled.stat("bytes_dropped")
    assert (image.verdict, image.reason, image.action) == ("skipped", "other_type", None)
    assert twins.url == f"http://{second.host}"
    # A line has an excerpt of the main text.
    assert all(0 < len(line.text) <= 1000 for line in (first, second))
    assert first.text.startswith(article(1)[:30])


INTERRUPTED = """
import os, signal, scrapy

class Interrupted(scrapy.Spider):
    name = "interrupted"
    start_urls = ["data:text/html,page"]

    def parse(self, response):
        os.killpg(0, signal.SIGINT)
"""


def test_a_crawl_that_ctrl_c_ends_has_its_log_and_its_summary(log):
    """As a terminal does: the signal goes to the workers, too."""
    log.with_name("spider.py").write_text(INTERRUPTED)
    chosen = {"ADDONS": '{"scrapy_simhash.Addon": 500}', "SIMHASH_LOG": log, "SIMHASH_PROCESSES": 1}
    options = [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", *options]
    done = subprocess.run(
        command, cwd=log.parent, capture_output=True, text=True, timeout=60, start_new_session=True
    )
    assert "Near-duplicates of interrupted: 1 page judged" in done.stderr
    assert "Traceback" not in done.stderr
    assert [line.reason for line in read_log([log])] == ["too_short"]


def summary_of(caplog: Any) -> str:
    [summary] = [
        r.getMessage() for r in caplog.records if re.search("pages? judged", r.getMessage())
    ]
    return str(summary)


def text_of(counts: dict[str, int], sparing: str = "", **settings: Any) -> list[str]:
    checked = FilterSettings.from_settings(Settings(settings))
    return Summary(checked, Counter(counts), "news").text(sparing).splitlines()


def test_summary_has_at_most_twenty_lines_and_ends_with_what_to_do_next(log):
    reasons = ("empty", "too_short", "status", "other_type", "timeout", "unavailable")
    counts = dict.fromkeys(_FATES, 1)
    counts |= dict.fromkeys(("new", "changed", "moved", "same", "missing", "responses"), 2)
    counts |= {"duplicate": 3} | {f"skipped/{reason}": 4 for reason in reasons}
    lines = text_of(counts, "9 pages spared", SIMHASH_LOG=log.with_name("a log"))
    assert len(lines) <= 20
    assert "Since earlier runs: 2 new, 2 changed, 2 moved, 2 same, 2 missing" in lines
    assert lines[-2:] == [
        "9 pages spared",
        f"Look at the doubtful drops: scrapy simhash report '{log.with_name('a log')}'",
    ]
    first_run = {"responses": 497, "unique": 497, "new": 497, "missing": 0}
    text = ["Near-duplicates of news: 497 pages judged", "         497 kept"]
    assert text_of(first_run) == text


def test_pages_without_a_match_of_a_selector_are_counted_and_in_the_summary(visit, twins, caplog):
    settings = {"SIMHASH_CONTENT": "article", "SIMHASH_IGNORE": {"127.0.0.1": "nav"}}
    crawled = visit(twins, "/first", "/other", **settings)
    assert crawled.stat("unmatched/content") == 2
    assert "simhash/unmatched/ignore" not in crawled.stats
    assert "2 left to the extraction: SIMHASH_CONTENT matches nothing" in summary_of(caplog)


def test_verdicts_are_logged_as_they_are_counted(log):
    """A revisit is near no other page: else each page of a template would be in a report."""
    counts: Counter[str] = Counter()
    summary = Summary(FilterSettings.from_settings(Settings({"SIMHASH_LOG": log})), counts, "news")
    url, match = "http://a.example/", Match(1, "http://x/", 1, 0.0, False, "distance")
    for verdict, action in (
        (Verdict("duplicate", url, matches=(match,), doubtful=True), "drop"),
        (Verdict("duplicate", url, matches=(match,)), "drop"),
        (Verdict("unique", url, near=(match,)), None),
        (Verdict("revisit", url, near=(match,)), None),
    ):
        summary.judged(Judged(Request(url), Response(url), verdict, action))
    assert counts["doubtful"] == counts["near_kept/distance"] == 1
    first, second, kept, revisit = read_log([log])
    assert (first.doubtful, second.doubtful) == (True, False)
    assert (kept.near, kept.reason, kept.distance) == ("http://x/", "distance", 1)
    assert (revisit.near, revisit.reason, revisit.distance) == (None, None, None)


def test_line_each_minute_says_how_the_crawl_goes(crawl, twins, caplog, monkeypatch):
    async def wait(_: InTurn) -> None:
        monkeypatch.setattr(summary_module, "SECONDS_BETWEEN_LINES", 0.3)
        await until(lambda: " a minute), " in caplog.text)

    twins.pages["/sibling"] = html(article(1, 150), title="Another release")
    crawl(InTurn, site=twins, acts=[*PATHS, "/sibling", wait])
    line = next(r for r in caplog.records if " a minute), " in r.getMessage())
    said = "Near-duplicates of pages: 5 pages (5 a minute), 3 kept, 1 repeated, 0 spared"
    assert (line.levelname, line.getMessage()) == ("INFO", said)


def test_lines_of_a_crawl_have_its_name_and_no_secret(visit, twins, log, tmp_path, caplog):
    settings = {"SIMHASH_INDEX_URL": f"sqlite:///{tmp_path}/{{spider}}", "SIMHASH_SEED": "s3cret"}
    visit(twins, *PATHS, SIMHASH_LOG=log, **settings)
    ours = [record for record in caplog.records if record.name.startswith("scrapy_simhash")]
    messages = [record.getMessage() for record in ours if record.levelno == logging.INFO]
    place = f"sqlite:///{tmp_path}/pages"
    assert messages[0].startswith(f"Near-duplicates of pages: 0 pages in {place}, run 1, ")
    assert all(" of pages: " in message for message in messages)
    assert "s3cret" not in caplog.text
    assert "s3cret" not in log.read_text()
    [name] = {line.crawl for line in read_log([log])}
    assert re.fullmatch(r"pages, run 1, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", name)
