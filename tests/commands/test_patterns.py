"""`scrapy simhash patterns` and `requeue --spared`."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_existing
from scrapy_simhash.url_patterns.rows import Row, Rows, SharedRows
from tests.commands.running import filled, printed, simhash
from tests.report.lines import line, spared, write

SESSION, PRINT, MIXED = "/item?sid={token}", "/item/*?view=print", "/list?sort=*"
ROWS = {
    "a.test": {
        SESSION: Row(50, 50, bytes=900_000,
            example="http://a.test/item?sid=0123456789abcdef0 http://a.test/item"),
        PRINT: Row(40, 40, bytes=500_000,
            example="http://a.test/item/1?view=print http://a.test/item/1"),
    },
    "b.test": {MIXED: Row(5, 5, distinct=5, bytes=1000)},
}  # fmt: skip


def learned(path: Path, rows: dict[str, Rows]) -> str:
    """Return the URL of an index with the rows of some hosts."""
    url = filled(path, [])
    with closing(open_existing(url)) as index:
        for host, of_host in rows.items():
            SharedRows().add(index, host, of_host)
    return url


@pytest.fixture
def url(tmp_path: Path) -> str:
    return learned(tmp_path / "i.sqlite", ROWS)


def listed(url: str, capsys: Any, *options: str) -> list[str]:
    simhash("patterns", "--index", url, *options)
    head, *lines = capsys.readouterr().out.splitlines()
    return [line[head.index("signature") :] for line in lines if "such as" not in line]


def test_patterns_are_listed_the_largest_first(url, capsys):
    assert listed(url, capsys) == ["a.test" + SESSION, "a.test" + PRINT]
    assert listed(url, capsys, "--all")[-1] == "b.test" + MIXED
    out = printed(capsys, "patterns", "--index", url)
    assert "such as http://a.test/item/1?view=print" in out
    assert "\n50      0         93%       900 kB    a.test/item?sid={token}\n" in out


def test_signatures_that_are_no_patterns_are_counted(tmp_path, capsys):
    url = learned(tmp_path / "i.sqlite", {"b.test": ROWS["b.test"]})
    out = printed(capsys, "patterns", "--index", url, status=1)
    assert out == "no pattern among 1 signature; --all lists them\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [spared(f"http://a.test/item/{n}?view=print", PRINT) for n in range(3)]
    lines.append(line(url="http://a.test/item/1?view=print"))
    return write(tmp_path / "dedup.jsonl", lines)


def test_spared_addresses_are_given_back_but_for_those_that_came_in(log, capsys):
    out = printed(capsys, "requeue", "--log", log, "--spared", "--host", "a.test")
    lines = [*map(json.loads, out.splitlines())]
    urls = ["http://a.test/item/0?view=print", "http://a.test/item/2?view=print"]
    assert lines == [{"url": url, "meta": {}} for url in urls]
    assert simhash("requeue", "--log", log, "--spared", "--host", "b.test") == 1
