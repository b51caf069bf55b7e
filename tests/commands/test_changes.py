"""`scrapy simhash changes`, and what is said of runs: a site that was crawled on three days."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_index
from tests.commands.running import entries_in, printed, simhash
from tests.conftest import Site
from tests.crawl.spiders import Blog
from tests.index.promises.made import page, spec
from tests.pages import article, html
from tests.report.lines import line, write


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with closing(Site()) as site:
        yield site


@pytest.fixture(scope="module")
def crawled(crawl: Any, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the index and the log of three days: an edit, a move, and a loss."""
    folder = tmp_path_factory.mktemp("days")
    settings = {
        "SIMHASH_INDEX_URL": f"sqlite:///{folder}/pages.sqlite",
        "SIMHASH_LOG": f"{folder}/dedup.jsonl",
        "SIMHASH_RECRAWL": "changed",
    }

    def crawl_day(posts: dict[str, str]) -> None:
        site.pages.clear()
        site.pages |= {path: html(text, title=text[:20]) for path, text in posts.items()}
        site.pages["/"] = html(article(99), title="Front", links=(*posts,))
        crawl(Blog, settings=settings, site=site)

    texts = {f"/{number}": article(number) for number in range(5)}
    crawl_day(texts)
    first, *rest = texts["/1"].split()
    texts["/1"] = " ".join([first, "Unheard-of", *rest])
    crawl_day({**texts, "/7": article(7)})
    texts |= {"/8": article(8), "/moved": texts.pop("/2")}
    del texts["/3"]
    crawl_day(texts)
    return folder


@pytest.fixture
def three_days(crawled: Path, tmp_path: Path) -> list[str]:
    """The options for a copy of the three days."""
    folder = shutil.copytree(crawled, tmp_path / "days")
    return ["--index", f"sqlite:///{folder}/pages.sqlite", "--log", f"{folder}/dedup.jsonl"]


def listed(site: Any, capsys: Any, *arguments: str) -> list[tuple[str, str]]:
    changes = json.loads(printed(capsys, "changes", "--json", *arguments))["changes"]
    return [(change["change"], change["url"].removeprefix(site.url)) for change in changes]


def test_changes_of_the_last_run_are_listed(three_days, site, capsys):
    out = printed(capsys, "changes", *three_days)
    assert out.startswith("run 3 of blog, ")
    assert "1 new, 0 changed, 1 moved, 2 missing, 0 failed" in out
    assert re.search(f"missing  {site.url}/3\n +last seen in the run of 20.* UTC\n", out)
    assert f"moved    {site.url}/moved\n         from {site.url}/2\n" in out


def test_an_earlier_run_is_listed_with_what_differs(three_days, site, capsys):
    earlier = ("--run", "2", *three_days)
    assert listed(site, capsys, *earlier) == [("new", "/7"), ("changed", "/1")]
    changed = json.loads(printed(capsys, "changes", "--json", *earlier))["changes"][1]
    assert changed["differs"][0].startswith("title: ")
    assert "{+Unheard-of+}" in changed["differs"][-1]
    assert changed["distance"] > 0


def test_without_a_log_of_the_run_only_missing_pages_are_listed(three_days, tmp_path, capsys):
    other = write(tmp_path / "other.jsonl", [line()])
    for options, why in (
        ([], "without --log dedup.jsonl, only missing and failed pages"),
        (["--log", str(other)], "the log has no page of run 3, so only missing and failed pages"),
    ):
        assert simhash("changes", *three_days[:2], *options) == 0
        printed = capsys.readouterr()
        assert why in printed.err
        assert printed.out.splitlines()[0].endswith(" UTC: 2 missing, 0 failed")


def _runs(index: list[str], capsys: Any) -> list[tuple[str, str, str]]:
    table = printed(capsys, "stats", *index).split("\n\n")[1]
    rows = [line.split() for line in table.splitlines()[1:]]
    return [(row[0], row[-4], " ".join(row[-3:])) for row in rows]


def test_summary_stats_and_changes_tell_one_story_of_a_run(three_days, crawl, site, caplog, capsys):
    """Also of an earlier run, when what it missed has come again."""
    settings = {"SIMHASH_INDEX_URL": three_days[1], "RETRY_ENABLED": False}
    good = dict(site.pages)
    site.pages |= {"/0": (503, {}, b""), "/1": (404, {}, b"")}
    crawl(Blog, settings=settings, site=site)
    # The two pages that the third day missed are missing.
    assert "3 missing, 1 failed" in caplog.text
    days = [("1", "finished", "6 0 0"), ("2", "finished", "7 0 0"), ("3", "finished", "6 2 0")]
    assert _runs(three_days[:2], capsys) == [*days, ("4", "counted", "4 3 1")]
    assert ("failed", "/0") in listed(site, capsys, *three_days[:2])
    site.pages |= good
    crawl(Blog, settings=settings, site=site)
    first, second, *pages = printed(capsys, "changes", "--run", "4", *three_days[:2]).splitlines()
    assert first.endswith("3 missing, 1 failed")
    assert second.strip() == "(2 of the missing and failed came later, or left the index)"
    assert [line.split()[0] for line in pages if "http" in line] == ["missing", "missing"]


def test_missing_pages_are_forgotten(three_days, capsys):
    index = three_days[:2]
    assert "2 pages forgotten" in printed(capsys, "forget", "--missing-since", "3", "--yes", *index)
    assert {entry.run for entry in entries_in(index[1])} == {3}


def test_a_run_that_goes_on_lacks_no_page_yet(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/i"
    for number in (1, 2):
        with closing(open_index(url, spec(spider="news"))) as index:
            index.begin_run()
            says = printed(capsys, "changes", "--run", number, "--index", url, status=1)
            assert says.endswith(": 0 missing, 0 failed\n")
            assert printed(capsys, "changes", "--index", url, status=1).startswith("run 1 of news")
            index.claim(page("a" * number))
            index.confirm(["a" * number])
            if number == 1:
                index.end_run(finished=True)
