"""One contract over every store of address patterns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import redis

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import StoreDamaged, StoreMissing, StoreUnavailable
from scrapy_simhash.testing.made import spec
from scrapy_simhash.url_patterns import open_patterns, redis_store, sqlite_store
from scrapy_simhash.url_patterns.store import Counts, PatternStore, Tally
from tests.index.conftest import Store

MakeStore = Callable[[int], PatternStore]


@pytest.fixture(params=["sqlite", "redis", "redis-unix", "sentinel", "cluster"])
def place(request: pytest.FixtureRequest, stores: Callable[[str], Store]) -> Store:
    return stores(request.param)


@pytest.fixture
def make_store(place: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeStore]:
    with contextlib.ExitStack() as stack:
        place.open()

        def make(most: int) -> PatternStore:
            for module in (sqlite_store, redis_store):
                monkeypatch.setattr(module, "MOST_ROWS", most)
            return stack.enter_context(contextlib.closing(open_patterns(place.url)))

        yield make


def rows(number: int) -> list[Tally]:
    return [Tally("a.test", f"/{n}?b=*", Counts(1, 1, 2, 0, 10)) for n in range(number)]


def test_counts_add_up(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(2))
    store.add([Tally("a.test", "/0?b=*", Counts(3, 1, -1, 1, 5))])
    assert {row.signature: row.counts for row in store.changes()[0]} == {
        "/0?b=*": Counts(4, 2, 1, 1, 15),
        "/1?b=*": Counts(1, 1, 2, 0, 10),
    }


def test_changes_are_told_once(make_store: MakeStore) -> None:
    store = make_store(100)
    store.add(rows(3))
    _, since = store.changes()
    assert store.changes(since) == ([], since)
    store.add(rows(1))
    changed, _ = store.changes(since)
    assert [row.signature for row in changed] == ["/0?b=*"]


def test_changes_come_in_bounded_parts_that_miss_nothing(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_store, redis_store):
        monkeypatch.setattr(module, "BATCH", 3)
    store = make_store(100)
    store.add(rows(10))
    found, since = [], 0
    while part := store.changes(since):
        if not part[0]:
            break
        assert len(part[0]) <= 3
        found += part[0]
        since = part[1]
    assert found == rows(10)


def test_a_mark_stays_until_another_one_comes(make_store: MakeStore) -> None:
    store = make_store(100)
    name = ("a.test", "/?b=*")
    store.add([Tally(*name, mark="forbidden")])
    store.add([Tally(*name, Counts(1), example="http://a.test/?b=1")])
    assert store.changes()[0] == [Tally(*name, Counts(1), "forbidden", "http://a.test/?b=1")]
    store.add([Tally(*name, mark="pinned")])
    assert store.changes()[0] == [Tally(*name, Counts(1), "pinned", "http://a.test/?b=1")]


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
    store.add([Tally("b.test", "/?c=*", Counts(1))])
    assert {row.signature for row in store.changes()[0]} == {
        "/2?b=*",
        "/3?b=*",
        "/4?b=*",
        "/0?b=*",
        "/?c=*",
    }


def test_two_crawlers_add_to_the_same_rows(make_store: MakeStore) -> None:
    one, other = make_store(100), make_store(100)
    one.add(rows(2))
    other.add(rows(1))
    assert one.changes()[0] == other.changes()[0]
    assert {row.counts.duplicates for row in one.changes()[0]} == {1, 2}


def test_any_text_comes_back(make_store: MakeStore) -> None:
    store = make_store(100)
    row = Tally("ä.test:8080", "/a b?c=*&é=[x]", Counts(1), "pinned", "http://ä.test/%0A")
    store.add([row])
    assert store.changes()[0] == [row]


@pytest.mark.parametrize("place", ["redis"], indirect=True)
@pytest.mark.parametrize(
    "command",
    [
        ("HSET", "", "a.test\n/0?b=*", "rubbish"),
        ("HSET", "", "a.test\n/0?b=*", "1 2 3 4 5 6\n\n"),
        ("HSET", "", "a.test\n/0?b=*", "1 2 3 4 inf\n\n"),
        ("ZADD", ":changed", "inf", "a.test\n/0?b=*"),
    ],
)
def test_rubbish_in_redis_is_damage(
    place: Store, make_store: MakeStore, command: tuple[str, ...]
) -> None:
    store = make_store(100)
    store.add(rows(1))
    name, part, *values = command
    url, _, index = place.url.partition("?name=")
    with redis.Redis.from_url(url) as client:
        client.execute_command(name, f"{{{index}}}:patterns{part}", *values)
    with pytest.raises(StoreDamaged, match="address patterns"):
        store.changes()


def test_an_index_in_memory_shares_nothing() -> None:
    with pytest.raises(StoreMissing):
        open_patterns("memory://")


def test_a_file_that_is_not_there_is_refused(tmp_path: object) -> None:
    with pytest.raises(StoreUnavailable):
        open_patterns(f"sqlite:///{tmp_path}/none.sqlite")


def test_the_index_of_the_file_is_still_one(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/index.sqlite"
    open_index(url, spec()).close()
    with contextlib.closing(open_patterns(url)) as store:
        store.add(rows(1))
    open_index(url, spec()).close()
