"""`scrapy simhash runs`, `changes`, and `forget` by runs: a site that was crawled on three days."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from scrapy import Request

from scrapy_simhash.index import open_existing
from tests.commands.running import log_line, simhash
from tests.crawl.spiders import Following
from tests.pages import article, html


class Blog(Following):
    name = "blog"

    def __init__(self, site: Any) -> None:
        super().__init__(site, ["/"])

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.base + "/")


@pytest.fixture
def chosen(crawl: Any, site: Any, tmp_path: Path) -> list[str]:
    """The options that name the index and the log of three days: one edit, one move, one loss."""
    url, log = f"sqlite:///{tmp_path / 'pages.sqlite'}", tmp_path / "dedup.jsonl"
    settings = {"SIMHASH_INDEX_URL": url, "SIMHASH_LOG": str(log)}

    def crawl_day(posts: dict[str, str]) -> None:
        site.pages = {path: html(text, title=text[:20]) for path, text in posts.items()}
        site.pages["/"] = html(article(99), title="Front", links=(*posts,))
        crawl(Blog, settings=settings, site=site)

    texts = {f"/{number}": article(number) for number in range(5)}
    crawl_day(texts)
    first, *rest = texts["/1"].split()
    edited = " ".join([first, "Unheard-of", *rest])
    crawl_day({**texts, "/1": edited, "/7": article(7)})
    third = {**texts, "/1": edited, "/8": article(8)}
    third["/moved"] = third.pop("/2")
    third.pop("/3")
    site.pages.clear()
    crawl_day(third)
    return ["--index", url, "--log", str(log)]


def test_changes_of_the_last_run_are_listed_with_what_differs(
    chosen: list[str], site: Any, capsys: Any
) -> None:
    assert simhash("changes", *chosen) == 0
    said = capsys.readouterr().out
    assert said.startswith("run 3 of blog, ")
    assert "1 new, 0 changed, 1 moved, 3 missing" in said
    assert f"missing  {site.url}/3\n" in said
    assert f"moved    {site.url}/moved\n         from {site.url}/2\n" in said
    assert simhash("changes", "--run", "2", "--json", *chosen) == 0
    rows = json.loads(capsys.readouterr().out)["changes"]
    assert [(row["change"], row["key"].removeprefix(site.url)) for row in rows] == [
        ("new", "/7"), ("changed", "/1"),
    ]  # fmt: skip
    assert rows[1]["differs"][0].startswith("title: ")
    assert "{+Unheard-of+}" in rows[1]["differs"][-1]
    assert rows[1]["distance"] > 0


def test_changes_between_two_runs_leave_out_what_came_and_went(
    chosen: list[str], site: Any, capsys: Any
) -> None:
    assert simhash("changes", "--since", "1", "--csv", *chosen) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert [(row["change"], row["url"].removeprefix(site.url)) for row in rows] == [
        ("new", "/8"), ("changed", "/1"), ("moved", "/moved"), ("missing", "/2"), ("missing", "/3"),
    ]  # fmt: skip


def test_runs_are_listed_with_the_pages_that_were_last_seen_in_them(
    chosen: list[str], capsys: Any
) -> None:
    assert simhash("runs", *chosen[:2]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [(*line.split()[:2], *line.split()[-2:]) for line in lines] == [
        ("1", "blog", "finished", "0"), ("2", "blog", "finished", "3"),
        ("3", "blog", "finished", "6"),
    ]  # fmt: skip


def test_killed_run_that_another_one_follows_is_not_said_to_run(
    chosen: list[str], capsys: Any
) -> None:
    with closing(sqlite3.connect(chosen[1].removeprefix("sqlite:///"))) as file, file:
        ((cell,),) = file.execute("SELECT value FROM cells WHERE name = 'index:runs'")
        runs = json.loads(cell)
        for run in runs:
            if run["number"] != 2:
                run |= {"ended": None, "finished": False}
        cell = json.dumps(runs).encode()
        file.execute("UPDATE cells SET value = ? WHERE name = 'index:runs'", (cell,))
    assert simhash("runs", *chosen[:2]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2] for line in lines] == ["unfinished", "finished", "running"]


def test_pages_are_forgotten_by_the_run_that_saw_them_last(
    chosen: list[str], site: Any, capsys: Any
) -> None:
    index = chosen[:2]
    assert simhash("forget", "--missing-since", "3", "--yes", *index) == 0
    assert "3 pages forgotten" in capsys.readouterr().out
    assert simhash("forget", "--run", "3", "--yes", *index) == 0
    left = open_existing(chosen[1])
    assert [*left] == []
    left.close()


def test_report_has_what_is_moved_new_and_missing_as_its_section_on_runs(
    chosen: list[str], site: Any, tmp_path: Path
) -> None:
    index, log = chosen[:2], chosen[3]
    assert simhash("report", log, *index, "-o", str(tmp_path / "report.html")) == 0
    text = (tmp_path / "report.html").read_text("utf-8")
    section = lxml.html.fromstring(text).xpath("//h2[text()='Since earlier runs']/..")[0]
    shown = " ".join(section.text_content().split())
    assert "1 new, 0 changed, 1 moved" in shown
    for path in ("/3", "/7"):
        assert f"missing: {site.url}{path} last seen in the run of " in shown
    assert f"moved: {site.url}/moved from {site.url}/2" in shown


@pytest.mark.parametrize("option", ["--run", "--since"])
def test_a_run_that_is_not_there_is_refused(option: str, chosen: list[str], capsys: Any) -> None:
    assert simhash("changes", option, "9", *chosen) == 2
    assert "there is no such run" in capsys.readouterr().err
    assert simhash("forget", "--run", "9", "--yes", *chosen[:2]) == 2
    assert "--run 9: there is no such run" in capsys.readouterr().err


def test_without_a_log_of_the_run_only_what_is_missing_is_counted(
    chosen: list[str], tmp_path: Path, capsys: Any
) -> None:
    foreign = tmp_path / "other.jsonl"
    foreign.write_text(log_line("http://a.example/"))
    for options, why in (
        ([], "without a dedup log, only missing pages are known"),
        (["--log", str(foreign)], "the log has no page of run 3, so only missing pages are known"),
    ):
        assert simhash("changes", *chosen[:2], *options) == 0
        printed = capsys.readouterr()
        assert why in printed.err
        assert printed.out.splitlines()[0].endswith(" UTC: 3 missing")


def test_explain_says_why_a_page_was_withheld(chosen: list[str], site: Any, capsys: Any) -> None:
    assert simhash("explain", f"{site.url}/0", *chosen) == 0
    assert 'SIMHASH_RECRAWL = "changed" withholds its items' in capsys.readouterr().out
    assert simhash("explain", f"{site.url}/8", *chosen) == 0
    assert "new since earlier runs, so it is delivered" in capsys.readouterr().out


def test_index_that_was_emptied_is_said_to_have_no_runs(chosen: list[str], capsys: Any) -> None:
    assert simhash("forget", "--all", "--yes", *chosen[:2]) == 0
    assert simhash("changes", *chosen) == 2
    assert (
        "the index has no runs: no crawl has used it, or it was emptied" in capsys.readouterr().err
    )
