"""`scrapy simhash stats`: the pages of an index, and its runs."""

import json
import re
import sqlite3
from contextlib import closing

from scrapy_simhash.index import open_index
from scrapy_simhash.index.values import Arrival, Entry
from tests.commands.running import printed, refused
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
    out = printed(capsys, "stats", "--index", store.url)
    assert all(text in out for text in ("1,001", "recipe      test\n", "distance    48\n"))


def test_runs_have_times_in_utc_and_what_is_unknown_is_null(tmp_path, capsys):
    """A run that was killed is not said to go on if another follows."""
    url = f"sqlite:///{tmp_path}/i"
    for day, finished in ((1, None), (2, True), (3, False), (4, None)):
        with closing(open_index(url, spec(spider="news"))) as index:
            at(index, day * 86400).begin_run()
            if finished is not None:
                index.end_run(finished=finished)
    stats = json.loads(printed(capsys, "stats", "--index", url, "--json"))
    assert stats["pages"] == 0
    runs = [(run["begun"], run["ended"], run["state"]) for run in stats["runs"]]
    assert runs == [
        ("1970-01-02 00:00:00Z", None, "unfinished"),
        ("1970-01-03 00:00:00Z", "1970-01-03 00:00:00Z", "finished"),
        ("1970-01-04 00:00:00Z", "1970-01-04 00:00:00Z", "stopped"),
        ("1970-01-05 00:00:00Z", None, "running"),
    ]


def test_a_damaged_index_is_told_from_a_whole_one(tmp_path, capsys):
    path = tmp_path / "i.sqlite"
    with closing(open_index(f"sqlite:///{path}", spec())) as index:
        index.claim(page("a"))
        index.confirm(["a"])
    assert re.search("^whole +yes$", printed(capsys, "stats", "--check", "--index", path), re.M)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET body = X'00'")
        connection.commit()
    out = printed(capsys, "stats", "--check", "--index", path, status=1)
    assert re.search("^damaged +.*entry 1", out, re.M)


def test_where_a_name_is_unknown_those_that_are_there_are_listed(stores, capsys):
    url = stores("redis").url
    for name in ("news", "shop"):
        open_index(re.sub(r"name=[^&]*", f"name={name}", url), spec()).close()
    error = refused(capsys, "stats", "--index", re.sub(r"name=[^&]*", "name=blog", url))
    assert re.search("there is no index 'blog' .*; there are (.*, )?news, (.*, )?shop", error)
