"""What is read in a store may be rubbish: it is passed over, or told as damage."""

import contextlib
import json
import logging
import math
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.registry import file_of
from scrapy_simhash.index.store import StoreDamaged, StoreError, StoreMismatch
from scrapy_simhash.index.values import Entry, Report, Run
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import ORIGINAL, fp, page, query, release, renew, values

KEYS = [str(number) for number in range(70)]
ENTRIES = [Entry(key, fp(value)) for key, value in zip(KEYS, values(70), strict=True)]
Draw = Callable[[Sequence[Any]], Any]


class InFile:
    """What another program may do to an index in a file."""

    # A file whose last position is the last one that SQLite has is full.
    told = (StoreError,)
    parts = (
        *("entries.run", "entries.body", "entries.content", "leases.lease", "cells.value"),
        *("sqlite_sequence.seq", "runs.pages"),
    )
    rubbish = st.text(max_size=10) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
    last, lasts = "sqlite_sequence.seq", ((1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1e300)
    pages, numbers = "runs.pages", ("text", b"\0", 1.5, -9, (1 << 63) - 1)

    def __init__(self, url: str) -> None:
        self.path = file_of(url)

    def spoil(self, part: str, rubbish: Any, _: Draw) -> None:
        self.set(part, rubbish)

    def set(self, part: str, value: Any, where: str = "1") -> None:
        table, column = part.split(".")
        with contextlib.closing(sqlite3.connect(self.path)) as file, file:
            file.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))

    def spoil_entry_and_lease(self) -> None:
        self.set("entries.body", "rubbish", "position = 1")
        self.set("leases.lease", b"rubbish", "position = 71")


class InRedis:
    """What another program may do to an index in Redis."""

    told = (StoreDamaged, StoreMismatch)
    parts = (":meta", ":leases", ":cells:index", ":0", ";*")
    rubbish = st.sampled_from([b"", b"0", b"-1", b"64", b"1e300", b"nan", b"inf", b"99999999999"])
    last, lasts = "last", (b"536870912", b"1e300", b"nan", b"x")
    pages, numbers = "0:pages", (b"-9", b"9" * 30)

    def __init__(self, url: str) -> None:
        self.client = Redis.from_url(url.partition("?")[0])
        self.name = url.rpartition("name=")[2]

    def keys(self, part: str) -> list[bytes]:
        return sorted(self.client.keys(f"{{{self.name}}}*{part}"))

    def spoil(self, part: str, rubbish: bytes, draw: Draw) -> None:
        """Put rubbish in the place of a value, or of the name of a field."""

        def worse(whole: bytes) -> bytes:
            return draw([rubbish, whole + rubbish, rubbish + whole, whole[:-1]])

        key = draw(self.keys(part))
        if part == ";*":
            self.client.set(key, worse(self.client.get(key)))
        elif part == ":0":
            place = draw([0, 5, -1])
            self.client.lset(key, place, worse(self.client.lindex(key, place)))
            self.client.rpush(key, *draw([[], [rubbish]]), b"")
        else:
            field = draw(sorted(self.client.hkeys(key)))
            whole = self.client.hget(key, field)
            self.client.hset(key, *draw([(field, worse(whole)), (rubbish, whole)]))

    def set(self, field: str, value: bytes) -> None:
        self.client.hset(self.keys(":meta")[0], field, value)

    def spoil_entry_and_lease(self) -> None:
        (group,) = self.keys(":0")
        entry = self.client.lindex(group, 1)
        self.client.lset(group, 1, entry.replace(b"\0\0\0", b"\xff\xff\xff"))
        self.client.hset(self.keys(":leases")[0], "71", b"rubbish")


VICTIMS = {"sqlite": InFile, "redis": InRedis}


def each(name: str) -> Any:
    """Mark a test that goes through what each victim has of a name."""
    pairs = [(backend, of) for backend in VICTIMS for of in getattr(VICTIMS[backend], f"{name}s")]
    return pytest.mark.parametrize(("backend", name), pairs)


def filled(store: Any) -> Index:
    """Return an index with everything in it: entry 1 is confirmed, and 71 in progress."""
    index = store.open(lease=1e5)
    index.begin_run()
    index.put(ENTRIES)
    for number, value in enumerate(values(4, seed=1)):
        index.claim(page(f"a{number}", value))
    release(index, "a1")
    return index


@pytest.fixture
def victim(backend, store) -> Any:
    return VICTIMS[backend](store.url)


def use(index: Index, told: tuple[type[StoreError], ...]) -> None:
    """Do everything that may be done with an index; damage may be told of."""
    value, absent = values(2, seed=1)[0], values(1, seed=5)[0]
    calls: list[Callable[[], Any]] = [
        *(lambda v=v: index.claim(page(f"near{v}", v ^ 1)) for v in (*values(70)[::23], value)),
        lambda: index.claim(page("mine", absent)),
        lambda: index.report(
            Report(["a0"], ["mine"], ["a2"], [m.entry for m in query(index, fp(value))])
        ),
        *(lambda: [*index], index.counts, index.runs, index.begin_run),
        *(lambda: renew(index, "mine"), lambda: index.expire(1), lambda: index.gone(KEYS[:1])),
        lambda: index.end_run(finished=True),
        lambda: index.put(index.entries(blocks=True)),
    ]
    for call in calls:
        with contextlib.suppress(*told):
            call()


@each("part")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rubbish_is_passed_over_or_told_as_damage_and_can_be_cleared(backend, stores, part, data):
    store = stores(backend)
    index, victim = filled(store), VICTIMS[backend](store.url)
    rubbish = data.draw(victim.rubbish | st.binary(max_size=40))
    victim.spoil(part, rubbish, lambda of: data.draw(st.sampled_from(of)))
    use(index, victim.told)
    with contextlib.suppress(*victim.told):
        store.open(lease=1e5)
    index.clear()
    assert (len(index), index.runs()) == (0, [])
    if part != "sqlite_sequence.seq":  # positions go on
        assert index.claim(page("a")).outcome == ORIGINAL


@ON_SQLITE_AND_REDIS
def test_what_cannot_be_read_is_passed_over_and_told_of_once(store, victim, caplog):
    index = filled(store)
    victim.spoil_entry_and_lease()
    assert index.claim(page("copy", values(70)[0] ^ 1)).outcome == ORIGINAL
    assert len([*index]) == 70 + 3 - 2 + 1
    assert index.damaged == 2
    assert [r.levelno for r in caplog.records] == [logging.ERROR]
    assert "simhash stats --check" in caplog.text
    assert len(index.check()) == 2


@each("last")
def test_a_last_position_that_cannot_be_is_damage_and_admits_no_page(store, victim, last):
    """An entry at such a position would be found by no crawler, or by none ever again."""
    index = filled(store)
    victim.set(victim.last, last)
    with pytest.raises(StoreError, match=r"last position|full|damaged"):
        index.claim(page("b", values(1, seed=5)[0]))


@each("number")
def test_a_number_of_entries_that_cannot_be_is_passed_over_and_told_of(store, victim, number):
    index = store.open()
    index.put(ENTRIES)
    victim.set(victim.pages, number)
    assert len(index) == 0
    assert index.begin_run().number == 1
    assert len(index.check()) == 1


HEADERS = {
    "leaves": (b"inf", b"nan", b"-inf", b"1e300", b"2097153", b"8191", b"x", b"9" * 999),
    "shard": (b"0 of 0", b"0 of -1", b"0 of 1025", b"0 of 99999999999", b"x"),
    "last": (b"-1",),
}


@pytest.mark.parametrize(
    ("field", "number"), [(field, number) for field in HEADERS for number in HEADERS[field]]
)
def test_a_number_in_the_header_that_cannot_be_is_damage(stores, field, number):
    """A crawler that knows a later position, or the number of shards, goes on."""
    store = stores("redis")
    index = filled(store)
    InRedis(store.url).set(field, number)
    running = [lambda: index.claim(page("new", 1))] * (field == "leaves")
    for act in (store.open, lambda: open_existing(store.url), *running):
        with pytest.raises(StoreDamaged, match=r"^.{,999}$"):
            act()
    if not running:
        assert index.claim(page("near", values(70)[0] ^ 1)).outcome == "duplicate"


@pytest.mark.parametrize("backend", ["redis"])
def test_an_entry_whose_run_has_too_many_bytes_can_be_deleted(store, victim):
    index = filled(store)
    (group,) = victim.keys(":0")
    entry = victim.client.lindex(group, 5)
    victim.client.lset(group, 5, b"\x05\0\0\0\0\x01" + entry[1 + entry[0] :])
    assert index.gone([KEYS[4]]) == 1


RUN = Run(1, "s", 1.0)._asdict() | {"living": {}}


@pytest.mark.parametrize(
    ("last", "change"),
    [
        *((last, {}) for last in (math.inf, [], "x", 1 << 31, 1 << 63)),
        *((1, {name: value}) for name in ("begun", "ended") for value in (1e300, -1.0, math.inf)),
        *((1, {"number": number}) for number in (-1, 1 << 31, 10**400)),
    ],
)
def test_a_list_of_runs_that_cannot_be_is_damage_until_it_is_cleared(opened, last, change):
    index = opened("memory://")
    index.swap("index:runs", None, json.dumps({"last": last, "rows": [RUN | change]}).encode())
    for act in (index.runs, index.begin_run):
        with pytest.raises(StoreDamaged, match="list of runs"):
            act()
    index.clear()
    assert index.begin_run() in index.runs()
