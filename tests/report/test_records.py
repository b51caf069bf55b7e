"""Pages that may be records: report, explain and compare show what only one of two has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash.report.dedup_log import read_log
from scrapy_simhash.report.records import pattern_of
from tests.commands.running import simhash
from tests.crawl.spiders import Following
from tests.pages import article, html

ROWS = "<ul><li>Street: Elm Road</li><li>Views: {}</li></ul>"


class Flats(Following):
    name = "flats"

    def __init__(self, site: Any) -> None:
        super().__init__(site, ["/flat/1"])

    async def start(self) -> Any:
        yield Request(f"{self.base}/")


@pytest.fixture
def log(crawl: Any, site: Any, tmp_path: Path) -> Path:
    """The log of a crawl of flats that differ in one value, a count by its name."""
    flats = [f"/flat/{rooms}" for rooms in (3, 4, 5)]
    site.pages = {
        path: html(article(1), title="A flat in Elm Road", top=ROWS.format(path[-1]))
        for path in flats
    }
    site.pages["/"] = html(article(9), title="Flats", links=flats)
    log = tmp_path / "dedup.jsonl"
    crawl(Flats, settings={"SIMHASH_ACTION": "flag", "SIMHASH_LOG": str(log)}, site=site)
    return log


def test_report_explain_and_compare_show_the_value_that_only_one_of_two_records_has(
    log: Path, site: Any, tmp_path: Path, capsys: Any
) -> None:
    line = next(each for each in read_log([log]) if each.verdict == "duplicate")
    assert line.original is not None
    one, other = f"Views: {line.original[-1]}", f"Views: {line.url[-1]}"
    assert simhash("explain", line.url, "--log", log) == 0
    assert f"    {other} | {one}\n" in capsys.readouterr().out
    assert simhash("compare", line.original, line.url) == 0
    said = capsys.readouterr().out
    assert f"\n{one} | {other}\n" in said
    assert "the same" not in said
    file = tmp_path / "report.html"
    simhash("report", log, "-o", file)
    first = file.read_text("utf-8").split('<section id="doubtful"')[1].split("<h3>")[1]
    assert first.startswith("May be two records")
    assert re.search(r"<code>[^<]*/flat/\*</code>: 2 drops", first)
    assert re.search(rf"<del>{one}</del></td>\s*<td><ins>{other}</ins>", first)


@pytest.mark.parametrize(
    ("one", "other", "pattern"),
    [
        ("/flat/1", "/flat/2", "/flat/*"),
        ("/flat?id=1&page=2", "/flat?id=3&page=2", "/flat?id=*&page=2"),
        ("/flat", "/flat?id=3", "/flat?id=*"),
        ("/a/b", "/a", "/**"),
    ],
)
def test_a_star_stands_where_two_addresses_differ(one: str, other: str, pattern: str) -> None:
    assert pattern_of(f"http://a.example{one}", f"http://a.example{other}") == f"a.example{pattern}"
