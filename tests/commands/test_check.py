"""``scrapy simhash check``: whether an index is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy_simhash.index import open_index
from scrapy_simhash.testing.made import page, spec
from tests.commands.running import simhash


def test_check_tells_whether_an_index_is_whole(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "i.sqlite"
    with closing(open_index(f"sqlite:///{path}", spec())) as index:
        index.claim(page("a"))
        index.confirm(["a"])
    assert simhash("check", "--index", path) == 0
    assert capsys.readouterr().out == "whole: 1 page\n"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET facts = 'text'")
        connection.commit()
    assert simhash("check", "--index", path) == 1
    out = capsys.readouterr().out
    assert out.startswith("damaged: ")
    assert "entry 1 has a wrong value" in out
