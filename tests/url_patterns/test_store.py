"""The contract of pattern stores; every implementation runs through it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrapy_simhash.url_patterns.counts import Counts
from scrapy_simhash.url_patterns.store import MemoryPatternStore, PatternStore, Row

MakeStore = Callable[[int], PatternStore]


@pytest.fixture
def make_store() -> MakeStore:
    return MemoryPatternStore


def rows(number: int) -> list[Row]:
    return [Row("a.test", f"/{n}?b=*", Counts(1, 1, 0, 2, 0, 10)) for n in range(number)]


def test_counts_add_up(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(2))
    store.add([Row("a.test", "/0?b=*", Counts(3, 1, 1, -1, 1, 5))])
    assert {row.signature: row.counts for row in store.changes()[0]} == {
        "/0?b=*": Counts(4, 2, 1, 1, 1, 15),
        "/1?b=*": Counts(1, 1, 0, 2, 0, 10),
    }


def test_changes_are_told_once(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(3))
    _, since = store.changes()
    assert store.changes(since) == ([], since)
    store.add(rows(1))
    changed, _ = store.changes(since)
    assert [row.signature for row in changed] == ["/0?b=*"]


def test_changes_come_in_bounded_parts_that_miss_nothing(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(10))
    found, since = [], 0
    while part := store.changes(since, 3):
        if not part[0]:
            break
        assert len(part[0]) <= 3
        found += part[0]
        since = part[1]
    assert found == rows(10)


def test_a_mark_stays_until_it_is_taken_away(make_store: MakeStore) -> None:
    store = make_store(100)
    name = ("a.test", "/?b=*")
    store.add([Row(*name, mark="forbidden")])
    store.add([Row(*name, Counts(1), example="http://a.test/?b=1")])
    assert store.changes()[0] == [Row(*name, Counts(1), "forbidden", "http://a.test/?b=1")]
    store.add([Row(*name, mark="none")])
    assert store.changes()[0] == [Row(*name, Counts(1), "", "http://a.test/?b=1")]


def test_a_removed_row_is_gone(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(2))
    assert store.remove("a.test", "/0?b=*")
    assert not store.remove("a.test", "/0?b=*")
    assert [row.signature for row in store.changes()[0]] == ["/1?b=*"]


def test_the_rows_changed_longest_ago_go(make_store: MakeStore) -> None:
    store = make_store(5)
    store.add(rows(5))
    store.add(rows(1))
    store.add([Row("b.test", "/?c=*", Counts(1))])
    assert {row.signature for row in store.changes(0, 100)[0]} == {
        "/2?b=*",
        "/3?b=*",
        "/4?b=*",
        "/0?b=*",
        "/?c=*",
    }
