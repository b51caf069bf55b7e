"""`scrapy simhash forget`, `requeue` and `explain`: why a page was dropped, and how to undo it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider

from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.values import Entry
from scrapy_simhash.report.dedup_log import SparedLine, to_json
from scrapy_simhash.report.words import moment
from scrapy_simhash.rule.rule import REASONS
from tests.commands.running import log_line, simhash
from tests.index.promises.made import fp, spec
from tests.pages import article, edited, html

A, B, C = "http://a.example/1", "http://a.example/2", "http://b.example:8080/1"


def entry(key: str, value: int, time: float = 1_700_000_000.0) -> Entry:
    return Entry(key, fp(value), time=time)


NOW = time.time()
ENTRIES = [
    entry(A, 1, NOW - 400 * 86400),
    entry(B, 0xFF00, NOW - 600 * 86400),
    entry(C, 0xFF0000, NOW - 400 * 86400),
]
SINCE = moment(int(ENTRIES[0].time))


@pytest.fixture
def url(stores: Callable[[str], Any]) -> str:
    """An index of three pages."""
    store = stores("sqlite")
    store.open().put(ENTRIES)
    return str(store.url)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which two pages repeat A, one C, and one repeated B but came in later."""
    path = tmp_path / "dedup.jsonl"
    lines = [
        log_line(A),
        log_line(B),
        log_line("http://m.example/1", "duplicate", original=A, distance=2),
        log_line("http://m.example/2", "duplicate", original=A, distance=0),
        log_line("http://m.example/3", "duplicate", original=C, distance=1),
        log_line("http://m.example/4", "duplicate", original=B, distance=1),
        log_line("http://m.example/4"),
        log_line("http://m.example/5", "duplicate", original=A, distance=1, action="flag"),
        log_line("POST 0123456789abcdef http://m.example/6", "duplicate", original=A, distance=1),
        log_line("http://m.example/7", "skipped", reason="status"),
    ]
    path.write_text("".join(lines))
    return path


def keys(url: str) -> list[str]:
    index = open_existing(url)
    try:
        return [entry.key for entry in index]
    finally:
        index.close()


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ([A], [B, C]),
        ([A + "#fragment", "http://a.example/1?"], [B, C]),
        (["--host", "a.example"], [C]),
        (["--host", "A.EXAMPLE", "--host", "b.example:8080"], []),
        (["--host", "b.example:8080"], [A, B]),
        (["--host", "b.example"], [A, B]),
        (["--older-than", "500"], [A, C]),
        (["--older-than", "300", "--host", "a.example"], [C]),
        (["--older-than", "0"], []),
    ],
)
def test_what_is_chosen_is_forgotten(arguments: list[str], left: list[str], url: str) -> None:
    assert simhash("forget", *arguments, "--yes", "--index", url) == 0
    assert keys(url) == left


def test_an_address_is_no_host(url: str, capsys: Any) -> None:
    assert simhash("forget", "--host", "http://a.example", "--yes", "--index", url) == 2
    assert "--host http://a.example: it must be a host" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--run", "--missing-since"])
def test_a_run_that_is_not_there_is_told(option: str, url: str, capsys: Any) -> None:
    assert simhash("forget", option, "99", "--yes", "--index", url) == 2
    assert "there is no such run" in capsys.readouterr().err


def test_nothing_is_forgotten_unasked(url: str, monkeypatch: Any, capsys: Any) -> None:
    asked = []
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert simhash("forget", A, "--index", url) == 2
    assert "--yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or "n")
    assert simhash("forget", A, "--index", url) == 1
    assert simhash("forget", "http://nowhere.example/", "--index", url, "--yes") == 1
    assert keys(url) == [A, B, C]
    assert asked == ["Forget 1 page? y or n: "]
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    capsys.readouterr()
    assert simhash("forget", A, "--index", url) == 0
    out = capsys.readouterr().out
    assert f"1 of 3 pages\n  {A}\n" in out
    assert "1 page forgotten" in out


def test_a_page_that_came_in_twice_is_forgotten_with_both_contents(url: str) -> None:
    index = open_existing(url)
    index.put([entry(B, 0xFF000000, NOW)])
    index.close()
    assert simhash("forget", B, "--older-than", "500", "--yes", "--index", url) == 0
    assert keys(url) == [A, C]


def test_requeue_writes_what_was_dropped_because_of_them(url: str, log: Path, capsys: Any) -> None:
    arguments = ["requeue", "--log", log, "--index", url]
    assert simhash(*arguments) == 1
    assert capsys.readouterr() == ("", "no page is to be crawled again\n")
    simhash("forget", A, "--yes", "--index", url)
    capsys.readouterr()
    assert simhash(*arguments) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == ["http://m.example/1", "http://m.example/2"]
    assert "left out: 1 page not asked for with GET" in printed.err
    simhash("forget", C, "--yes", "--index", url)
    capsys.readouterr()
    assert simhash(*arguments) == 0
    assert capsys.readouterr().out.split()[2:] == ["http://m.example/3"]


def test_what_came_in_since_is_not_requeued(url: str, log: Path, capsys: Any) -> None:
    simhash("forget", A, "--yes", "--index", url)
    index = open_existing(url)
    index.put([entry("http://m.example/1", 3)])
    index.close()
    capsys.readouterr()
    assert simhash("requeue", "--log", log, "--index", url) == 0
    assert capsys.readouterr().out.split() == ["http://m.example/2"]


CHOICES: dict[str, tuple[list[str], list[int]]] = {
    "host": (["--host", "M.example"], [1, 2, 3]),
    "another host": (["--host", "a.example"], []),
    "reason": (["--reason", "other-site"], [3]),
    "original": (["--original", "a.example/1#top"], [1, 2]),
    "all of them": (["--original", A, "--reason", "other-site"], []),
    "any of one": (["--original", A, "--original", C], [1, 2, 3]),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_requeue_gives_back_what_is_chosen_from_a_log_alone(
    choice: str, log: Path, capsys: Any
) -> None:
    log.write_text(
        log.read_text()
        + log_line("http://m.example/3", "duplicate", original=C, distance=1, reason="other-site")
    )
    arguments, numbers = CHOICES[choice]
    urls = [f"http://m.example/{n}" for n in numbers]
    assert simhash("requeue", *arguments, "--log", log) == (0 if urls else 1)
    assert capsys.readouterr().out.split() == urls
    simhash("requeue", *arguments, "--log", log, "--json")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"url": url, "meta": {"dont_simhash": True}} for url in urls]


@pytest.mark.parametrize("address", ["m.example/1", "M.example/1#top", "http://m.example/1"])
def test_explain_takes_an_address_as_browsers_show_it(address: str, log: Path, capsys: Any) -> None:
    assert simhash("explain", address, "--log", log) == 0
    assert f"2 bits (k = 48) from {A}\n" in capsys.readouterr().out


def test_explain_says_what_became_of_a_page(url: str, log: Path, capsys: Any) -> None:
    about = ["--log", log, "--index", url]
    assert simhash("explain", A, *about) == 0
    out = capsys.readouterr().out
    assert f"original, in the index since {SINCE} UTC" in out
    assert "repeated by 4 pages\n" in out
    assert simhash("explain", "http://m.example/1#x", *about) == 0
    out = capsys.readouterr().out
    assert "not in the index" in out
    assert f"duplicate (drop) at 2027-01-15 08:00:00 UTC\n    2 bits (k = 48) from {A}\n" in out
    assert simhash("explain", "http://m.example/7", *about) == 0
    assert "skipped at 2027-01-15 08:00:00 UTC\n    status\n" in capsys.readouterr().out
    assert simhash("explain", "http://nowhere.example/", *about) == 1
    assert "not in the log" in capsys.readouterr().out


def test_explain_takes_the_index_or_the_log_alone(url: str, log: Path, capsys: Any) -> None:
    assert simhash("explain", B, settings={"SIMHASH_INDEX_URL": url}) == 0
    assert "repeat" not in capsys.readouterr().out
    assert simhash("explain", "http://m.example/1", settings={"SIMHASH_LOG": str(log)}) == 0
    assert "index" not in capsys.readouterr().out
    assert simhash("explain", A, "--log", log) == 0
    assert "repeated by 4 pages\n" in capsys.readouterr().out


def test_explain_names_the_sentence_of_the_rule(tmp_path: Path, capsys: Any) -> None:
    log = tmp_path / "dedup.jsonl"
    log.write_text(
        log_line("http://m.example/1", "duplicate", original=A, distance=2, reason="long-text")
        + log_line("http://m.example/2", near=A, distance=3, reason="other-heading")
    )
    assert simhash("explain", "http://m.example/1", "--log", log) == 0
    assert f"{REASONS['long-text']} (long-text)" in capsys.readouterr().out
    assert simhash("explain", "http://m.example/2", "--log", log) == 0
    out = capsys.readouterr().out
    assert "unique at 2027-01-15 08:00:00 UTC" in out
    assert f"3 bits (k = 48) from {A}\n    the headings differ (other-heading)" in out


def test_explain_says_that_a_page_was_spared(tmp_path: Path, capsys: Any) -> None:
    log = tmp_path / "dedup.jsonl"
    log.write_text(to_json(SparedLine(1.7e9, f"{A}?print", "a.example", "/{number}?print")) + "\n")
    assert simhash("explain", f"{A}?print", "--log", log) == 0
    out = capsys.readouterr().out
    assert "not sent at 2023-11-14 22:13:20 UTC" in out
    assert "pages of a.example/{number}?print were copies" in out


def test_explain_judges_the_pages_of_the_index_that_are_near(tmp_path: Path, capsys: Any) -> None:
    url = f"sqlite:///{tmp_path}/i.sqlite"
    recipe = named_recipe("default")
    texts = {"http://a.example/1": article(1), "http://m.example/1": edited(article(1), 1)}
    with closing(open_index(url, spec_of(recipe))) as index:
        for key, text in texts.items():
            made = analyse_html(html(text, title=key).decode(), recipe)
            index.put([Entry(key, made.fingerprint, facts=made.facts, time=1.7e9)])
    assert simhash("explain", "http://a.example/1", "--index", url) == 0
    out = capsys.readouterr().out
    assert "near it: 1 page of the index" in out
    assert "another page: the headings differ" in out


@pytest.mark.parametrize("backend", ["sqlite", "redis"])
def test_explain_looks_as_far_as_a_crawl_does(
    backend: str, stores: Callable[[str], Any], capsys: Any
) -> None:
    wide = stores(backend).url
    recipe = named_recipe("default")
    page = analyse_html(html(article(1), title=article(1, 10)).decode(), recipe)
    assert page.fingerprint is not None
    value = page.fingerprint.value ^ ((1 << 60) - 1)
    far = replace(page.fingerprint, value=value)
    with closing(open_index(wide, spec_of(recipe))) as index:
        for key, made in (("http://a.example/1", page.fingerprint), ("http://b.example/1", far)):
            index.put([Entry(key, made, facts=page.facts, time=1.7e9)])
    assert simhash("explain", "http://a.example/1", "--index", wide) == 0
    out = capsys.readouterr().out
    assert "60 bits  http://b.example/1  (beyond k = 48)" in out
    assert "a copy: " in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["forget"], "name the pages to forget"),
        (["forget", A], "or that of a job with -s JOBDIR=FOLDER"),
        (["forget", A, "--index", "OTHER"], "there is no index"),
        (["forget", "--host", "", "--index", "URL"], "--host : it must be a host"),
        (["forget", "--older-than", "nan", "--index", "URL"], "--older-than nan: it must be"),
        (["forget", "--older-than", "-1", "--index", "URL"], "--older-than -1: it must be"),
        (["requeue", "--index", "URL"], "name a dedup log"),
        (["requeue", "--index", "URL", "--log", "/nowhere.jsonl"], "/nowhere.jsonl"),
        (["explain", A], "name a dedup log with --log FILE"),
        (["explain", A, "--log", "/nowhere.jsonl"], "/nowhere.jsonl"),
        (["explain", A, "--log", "OTHER_FILE"], "no line of it is one of a dedup log"),
        (["requeue", "--index", "URL", "--log", "OTHER_FILE"], "no line of it is one of a dedup"),
        (["explain", A, "--index", "redis://127.0.0.1:1/0"], "cannot use"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, capsys: Any
) -> None:
    url = f"sqlite:///{tmp_path}/i.sqlite"
    open_index(url, spec()).close()
    items = tmp_path / "items.jsonl"
    items.write_text('{"url": "http://a.example/1"}\n')
    known = {"URL": url, "OTHER": str(tmp_path / "other"), "OTHER_FILE": str(items)}
    assert simhash(*(known.get(argument, argument) for argument in arguments)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "other").exists()


def test_after_forgetting_a_new_crawl_lets_the_twin_in(
    crawl: Callable[..., Any], site: Any, tmp_path: Path, capsys: Any
) -> None:
    """Crawl, forget the original, crawl what requeue gives: the twins come in."""
    text = article(1)
    site.pages = {
        "/a": html(text),
        "/b": html(text, links=("/x",)),
        "/c": html(text, links=("/y",)),
        "/other": html(article(2)),
    }
    url = f"sqlite:///{tmp_path}/index.sqlite"
    log = tmp_path / "dedup.jsonl"
    settings = {
        "SIMHASH_INDEX_URL": url,
        "SIMHASH_LOG": str(log),
        "CONCURRENT_REQUESTS": 1,
    }

    class Pages(Spider):
        name = "pages"
        urls: list[str]

        async def start(self) -> Any:
            for address in self.urls:
                yield Request(address)

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    everything = [f"{site.url}/{name}" for name in ("a", "b", "c", "other")]
    first = crawl(Pages, settings=settings, urls=everything)
    assert sorted(item["url"] for item in first.items) == [everything[0], everything[3]]
    assert simhash("forget", everything[0], "--yes", "--index", url) == 0
    capsys.readouterr()
    assert simhash("requeue", "--index", url, "--log", log) == 0
    again = capsys.readouterr().out.split()
    assert sorted(again) == everything[1:3]
    second = crawl(Pages, settings=settings, urls=again)
    assert [item["url"] for item in second.items] == again[:1]
    assert simhash("requeue", "--index", url, "--log", log) == 1


def test_index_can_be_emptied(url: str, capsys: Any) -> None:
    assert simhash("forget", "--all", "--host", "a.example", "--yes", "--index", url) == 2
    assert "--all forgets every page" in capsys.readouterr().err
    assert simhash("forget", "--all", "--yes", "--index", url) == 0
    assert keys(url) == []
