"""`scrapy simhash forget` and `requeue`: how to undo what was dropped."""

import io
import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.values import Entry
from tests.commands.running import entries_in, filled, printed, simhash
from tests.index.promises.made import fp
from tests.report.lines import copy, line, write

A, B, C = "http://a.example/1", "http://a.example/2", "http://b.example:8080/1"
COPIES = [f"http://m.example/{n}" for n in range(1, 4)]
_NOW = time.time()


def entry(key: str, value: int, days: int) -> Entry:
    return Entry(key, fp(value), time=_NOW - days * 86400)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """An index of three pages."""
    pages = [entry(A, 1, 400), entry(B, 0xFF00, 600), entry(C, 0xFF0000, 400)]
    return filled(tmp_path / "i.sqlite", pages)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which two pages repeat A, one C, and one repeated B but came in later."""
    lines = [
        line(url=A),
        line(url=B),
        copy(COPIES[0], A, 2),
        copy(COPIES[1], A),
        copy(COPIES[2], C, key="a key without a host"),
        copy("http://m.example/4", B, 1),
        line(url="http://m.example/4"),
        copy("http://m.example/5", A, 1, action="flag"),
        copy("POST 0123456789abcdef http://m.example/6", A, 1),
        line(url="http://m.example/7", verdict="skipped", reason="status"),
        line(url=COPIES[0], verdict="skipped", reason="status"),
        copy("7", A, what="item"),
    ]
    return write(tmp_path / "dedup.jsonl", lines)


def keys(url: str) -> list[str]:
    return [entry.key for entry in entries_in(url)]


def requeued(capsys: Any, *arguments: object) -> list[str]:
    capsys.readouterr()
    status = simhash("requeue", *arguments)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == (0 if lines else 1)
    meta = {} if "--index" in arguments else {"dont_simhash": True}
    assert all(line["meta"] == meta for line in lines)
    return [line["url"] for line in lines]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ([A + "#fragment", "http://a.example/1?"], [B, C]),
        (["--host", "A.EXAMPLE", "--host", "b.example:8080"], []),
        (["--host", "b.example"], [A, B]),
        (["--older-than", "500"], [A, C]),
        (["--older-than", "300", "--host", "a.example"], [C]),
        (["--older-than", "0"], []),
        (["--all"], []),
    ],
)
def test_what_is_chosen_is_forgotten(arguments, left, url):
    assert simhash("forget", *arguments, "--yes", "--index", url) == 0
    assert keys(url) == left


def test_the_first_of_many_pages_are_named(tmp_path, capsys):
    pages = [entry(f"{A}{n}", n, 9) for n in range(6)]
    posted = entry(f"POST 0123456789abcdef {A}", 0xFF, 9)
    url = filled(tmp_path / "i.sqlite", [*pages, posted])
    named = [f"  {A}{n}" for n in range(5)]
    out = printed(capsys, "forget", "--host", "a.example", "--yes", "--index", url)
    assert out.splitlines() == ["7 of 7 pages", *named, "7 pages forgotten"]


def test_nothing_is_forgotten_unasked(url, monkeypatch, capsys):
    forget = ("forget", A, "--index", url)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert simhash(*forget) == 2
    assert "--yes" in capsys.readouterr().err
    questions = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: questions.append(question) or "n")
    assert simhash(*forget) == 1
    assert simhash("forget", "http://nowhere.example/", "--index", url, "--yes") == 1
    assert questions == ["Forget 1 page? y or n: "]
    assert keys(url) == [A, B, C]
    monkeypatch.setattr("builtins.input", lambda question: "y")
    capsys.readouterr()
    assert printed(capsys, *forget) == f"1 of 3 pages\n  {A}\n1 page forgotten\n"


def test_requeue_writes_what_was_dropped_because_of_forgotten_pages(url, log, capsys):
    arguments = ("--log", log, "--index", url)
    assert simhash("requeue", *arguments) == 1
    assert capsys.readouterr() == ("", "no page is to be crawled again\n")
    simhash("forget", A, "--yes", "--index", url)
    capsys.readouterr()
    simhash("requeue", *arguments)
    assert "left out: 1 page not asked for with GET" in capsys.readouterr().err
    assert requeued(capsys, *arguments) == COPIES[:2]
    with closing(open_existing(url)) as index:
        index.put([entry(COPIES[0], 3, 0)])  # it came in since
    simhash("forget", C, "--yes", "--index", url)
    assert requeued(capsys, *arguments) == COPIES[1:]


@pytest.mark.parametrize(
    ("arguments", "urls"),
    [
        (["--host", "M.example"], COPIES),
        (["--host", "a.example"], []),
        ([COPIES[0]], COPIES[:1]),
        (["--original", "a.example/1#top"], COPIES[:2]),
        (["--original", A, "--host", "a.example"], []),
        (["--original", A, "--original", C], COPIES),
    ],
)
def test_requeue_takes_what_is_chosen_from_the_log_alone(arguments, urls, log, capsys):
    assert requeued(capsys, *arguments, "--log", log) == urls


def test_a_page_leaves_the_index_and_the_log_by_one_command(url, log, capsys):
    with log.open("a") as file:
        file.write('{"url": "half a line')
    out = printed(capsys, "forget", A, "--index", url, "--log", log, "--yes")
    assert out.splitlines()[2:] == [
        "1 page forgotten",
        "1 line of the log removed: of these pages",
        "1 line of the log removed: not readable",
    ]
    assert len(log.read_text().splitlines()) == 11
    assert A not in keys(url)
    text = log.read_text()
    assert f'"{A}"' not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["original"] for line in lines if line["action"] == "drop"][:3] == [None, None, C]
    # A page that was dropped stands in the log alone.
    assert simhash("forget", COPIES[2], "--index", url, "--log", log, "--yes") == 0
    assert COPIES[2] not in log.read_text()
    assert simhash("forget", "--older-than", 1, "--index", url, "--log", log, "--yes") == 2
