"""`scrapy simhash fingerprint`, and `dedupe` of what it writes: a corpus of any size."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_existing
from tests.commands.running import interrupted, simhash, waiting
from tests.commands.test_dedupe import KEPT, feed
from tests.pages import article, html

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_bytes(feed())
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return found


def test_what_dedupe_keeps_is_kept(items: Path, tmp_path: Path, capsys: Any) -> None:
    prints, to, kept = tmp_path / "prints", tmp_path / "to.parquet", tmp_path / "kept.parquet"
    assert simhash("fingerprint", items, "--to", prints) == 0
    assert simhash("dedupe", prints, "--verdicts", to, "--kept", kept) == 0
    assert "6 pages: 3 to keep, 3 copies\n" in capsys.readouterr().out
    assert [row["key"] for row in rows(to) if row["kept"]] == KEPT
    simhash("dedupe", items, "--verdicts", tmp_path / "v.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    names = ("key", "kept", "verdict", "original", "distance", "reason")
    assert [[row[n] for n in names] for row in rows(to)] == [[x[n] for n in names] for x in lines]
    # What is kept is an index, and what comes later can be joined with it.
    index = tmp_path / "i.sqlite"
    assert simhash("import", kept, "--index", index) == 0
    with closing(open_existing(f"sqlite:///{index}")) as filled:
        assert [entry.key for entry in filled] == KEPT[:2]
    assert simhash("dedupe", kept, prints, "--verdicts", to) == 0
    assert [row["key"] for row in rows(to) if row["kept"]] == [*KEPT[:2], KEPT[2]]
    assert {row["reason"] for row in rows(to)[2:4]} == {"key"}


def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, text in zip(files, (article(1), article(2) + " wait here"), strict=True):
        file.write_bytes(feed({f"http://{file.name}/": html(text)}))
    first = tmp_path / "prints" / "a.jsonl.000000.parquet"
    arguments = ["fingerprint", *files, "--to", first.parent, *waiting(tmp_path, monkeypatch)]
    interrupted(*arguments, folder=tmp_path, when=first.exists)
    assert [path.name for path in first.parent.iterdir()] == [first.name]
    before = first.stat().st_mtime_ns
    monkeypatch.setenv("GO", "1")
    assert simhash(*arguments, "-s", "SIMHASH_PROCESSES=0") == 0
    assert "1 page written, 1 were there\n" in capsys.readouterr().out
    assert first.stat().st_mtime_ns == before
    assert len(rows(first)) == 1


def test_an_index_is_filled_from_a_folder_of_prints(items: Path, tmp_path: Path) -> None:
    simhash("fingerprint", items, "--to", tmp_path / "prints")
    assert simhash("import", tmp_path / "prints", "--index", tmp_path / "i.sqlite") == 0
    with closing(open_existing(f"sqlite:///{tmp_path}/i.sqlite")) as index:
        assert len(index) == 5
