"""`scrapy simhash stats`: the pages of an index, and its size."""

import json
import re
import sqlite3
import time
from contextlib import closing
from datetime import datetime

from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, Entry
from tests.commands.running import printed, refused, simhash
from tests.index.promises.made import at, fp, page, spec, values


def test_stats_are_those_of_the_index(stores, capsys):
    store = stores("redis")
    index = store.open(bits=256, distance=48)
    index.put(
        Entry(f"http://a.example/{n}", fp(value, 256, text=n))
        for n, value in enumerate(values(1000, bits=256))
    )
    index.claim(Arrival("in progress", fp(5, 256)))
    stats = json.loads(printed(capsys, "stats", "--index", store.url, "--json"))
    assert (stats["pages"], stats["in_progress"]) == (1001, 1)
    assert (stats["recipe"], stats["distance"]) == ("test", 48)
    # A fingerprint has 32 bytes, its block values have 96.
    assert 1000 * 128 < stats["bytes"] < 1000 * 5000
    out = printed(capsys, "stats", "--index", store.url)
    assert all(text in out for text in ("1,001", "recipe      test\n", "distance    48\n"))


def test_times_of_runs_say_that_they_are_utc(tmp_path, capsys):
    with closing(open_index(f"sqlite:///{tmp_path}/i", spec(spider="news"))) as index:
        index.begin_run()
        index.end_run(finished=True)
    [run] = json.loads(printed(capsys, "stats", "--index", tmp_path / "i", "--json"))["runs"]
    for name in ("begun", "ended"):
        told = datetime.strptime(run[name], "%Y-%m-%d %H:%M:%S%z")
        assert abs(time.time() - told.timestamp()) < 60


def test_a_run_that_was_killed_is_not_said_to_run_if_another_follows(tmp_path, capsys):
    url = f"sqlite:///{tmp_path}/i"
    for day in (1, 2):
        with closing(open_index(url, spec(spider="news"))) as index:
            at(index, day * 86400).begin_run()
    runs = json.loads(printed(capsys, "stats", "--index", url, "--json"))["runs"]
    assert [run["state"] for run in runs] == ["unfinished", "running"]


def test_a_damaged_index_is_told_from_a_whole_one(tmp_path, capsys):
    path = tmp_path / "i.sqlite"
    with closing(open_index(f"sqlite:///{path}", spec())) as index:
        index.claim(page("a"))
        index.confirm(["a"])
    assert re.search("^whole +yes$", printed(capsys, "stats", "--check", "--index", path), re.M)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET body = X'00'")
        connection.commit()
    assert simhash("stats", "--check", "--index", path) == 1
    assert re.search("^damaged +.*entry 1", capsys.readouterr().out, re.M)


def test_what_is_unknown_is_null(tmp_path, monkeypatch, capsys):
    with closing(open_index(f"sqlite:///{tmp_path}/i", spec(spider="news"))) as index:
        index.begin_run()
        monkeypatch.setattr(type(index._store), "size", lambda store: 0)
        stats = json.loads(printed(capsys, "stats", "--index", tmp_path / "i", "--json"))
        assert (stats["pages"], stats["bytes"], stats["runs"][0]["ended"]) == (0, None, None)
        assert "\nbytes       -\n" in printed(capsys, "stats", "--index", tmp_path / "i")


def test_where_a_name_is_unknown_those_that_are_there_are_listed(stores, capsys):
    url = stores("redis").url
    for name in ("news", "shop"):
        open_index(re.sub(r"name=[^&]*", f"name={name}", url), spec()).close()
    error = refused(capsys, "stats", "--index", re.sub(r"name=[^&]*", "name=blog", url))
    assert re.search("there is no index 'blog' .*; there are (.*, )?news, (.*, )?shop", error)
