"""`scrapy simhash explain`: what became of a page, and why."""

from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.values import Arrival, Entry
from scrapy_simhash.report.dedup_log import to_json
from scrapy_simhash.report.words import moment
from scrapy_simhash.rule.rule import REASONS
from tests.commands.running import filled, printed
from tests.index.promises.made import at, fp
from tests.report.lines import copy, line, spared, write

A, COPY = "http://a.example/1", "http://m.example/1"
SINCE = moment(1.7e9)


@pytest.fixture
def url(tmp_path: Path) -> str:
    scoped = Entry(f"{A}s", fp(2**40), "a.example", time=1.7e9)
    url = filled(tmp_path / "i.sqlite", [Entry(A, fp(1), time=1.7e9), scoped])
    with closing(open_existing(url)) as index:
        at(index, 1.7e9).claim(Arrival(f"{A}p", fp(2**60 - 1)))
    return url


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [
        line(url=A, text="a flat of two rooms"),
        line(url=A, text="a flat of three rooms"),
        line(url=A),
        copy(f"{COPY}b", A, 2, reason="same-text", text="a flat of four rooms"),
        line(url=f"{COPY}c", near=A, distance=3, reason="other-heading"),
        line(url=f"{COPY}d", verdict="skipped", reason="status"),
        line(url=f"{COPY}e", change="same", action="drop"),
        line(url=f"{COPY}f", change="new"),
        line(url=f"{COPY}g", change="moved", moved_from=A),
        spared(f"{A}?print", "/{number}?print", time=1.7e9),
    ]
    path = write(tmp_path / "dedup.jsonl", lines)
    path.write_text(path.read_text() + '{"url": "half a line\n')
    return path


def test_the_index_says_since_when_it_has_a_page(url, log, capsys):
    """It is enough alone."""
    alone = printed(capsys, "explain", A, settings={"SIMHASH_INDEX_URL": url})
    out = printed(capsys, "explain", A, "--index", url, "--log", log)
    assert out.startswith(alone)
    assert "log" not in alone
    assert f"original, in the index since {SINCE} UTC\n" in out
    assert "repeated by 1 page\n" in out
    places = ("--index", url, "--log", log)
    assert "not in the index" in printed(capsys, "explain", f"{COPY}b", *places)
    for page, says in (
        ("s", f"  original, in the index since {SINCE} UTC, among the pages of a.example\n"),
        ("p", f"  in progress, in the index since {SINCE} UTC\n"),
    ):
        assert says in printed(capsys, "explain", A + page, *places)
    nowhere = printed(capsys, "explain", "http://nowhere.example/", *places, status=1)
    assert "not in the log" in nowhere


def test_the_log_says_what_became_of_a_page(log, capsys):
    at = "2027-01-15 08:00:00 UTC\n"
    for page, says in (
        ("m.example/1b", f"duplicate (drop) at {at}    2 bits (k = 48) from "),
        ("M.example/1b#top", f"{REASONS['same-text']} (same-text)"),
        (f"{COPY}b", "{+only that page shows+}\n    a flat of [-four-]{+three+} rooms\n"),
        (f"{COPY}c", f"3 bits (k = 48) from {A}\n    the headings differ (other-heading)"),
        (f"{COPY}d", f"skipped at {at}    status\n"),
        (f"{COPY}e", "the same as in earlier runs, so SIMHASH_RECRAWL withheld its items\n"),
        (f"{COPY}f", "in no earlier run, and it was delivered\n"),
        (f"{COPY}g", f"moved since earlier runs from {A}, and it was delivered\n"),
        (
            f"{A}?print",
            f"spared at {SINCE} UTC\n    not sent, because pages of a.example/{{number}}?",
        ),
    ):
        out = printed(capsys, "explain", page, settings={"SIMHASH_LOG": str(log)})
        assert says in out
        assert "index" not in out


def test_a_copy_that_a_later_run_does_not_request_is_one_still(log, capsys):
    with log.open("a") as lines:
        lines.write(to_json(spared(f"{COPY}b", "/*", time=1.9e9)) + "\n")
    assert "repeated by 1 page\n" in printed(capsys, "explain", A, "--log", log)
