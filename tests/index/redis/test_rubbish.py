"""What the index in Redis does when what it reads is rubbish."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.index import open_existing, open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreDamaged, StoreMismatch
from tests import servers
from tests.index.promises.made import fp, page, query, release, renew, spec, values
from tests.index.redis.cases import keep

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


class Victim:
    """An index with everything in it, which can be put back as it was."""

    def __init__(self, server: servers.RedisServer, url: str) -> None:
        self.client = server.client()
        self.url = url
        self.opened: list[Index] = []
        index = self.open()
        for value in values(70):
            keep(index, value)
        for number, value in enumerate(values(4, seed=1)):
            index.claim(page(f"a{number}", value))
        release(index, "a0")
        name = url.partition("name=")[2]
        self.dumps = {key: self.client.dump(key) for key in self.client.scan_iter(f"*{name}*")}

    def open(self) -> Index:
        self.opened.append(open_index(self.url, spec(lease=1e5)))
        return self.opened[-1]

    def restore(self) -> None:
        for index in self.opened:
            with contextlib.suppress(StoreDamaged):
                index.close()
        self.opened.clear()
        with self.client.pipeline() as pipeline:
            pipeline.delete(*self.dumps)
            for key, dump in self.dumps.items():
                pipeline.restore(key, 0, dump, replace=True)
            pipeline.execute()

    def keys(self, part: str) -> list[bytes]:
        return sorted(key for key in self.dumps if part.encode() in key)

    def spoil(self, key: bytes, draw: Callable[[list[bytes]], bytes], rubbish: bytes) -> None:
        """Put rubbish into a key: instead of a value, or of a name."""

        def worse(whole: bytes) -> bytes:
            return draw([rubbish, whole + rubbish, rubbish + whole, whole[:-1]])

        kind = self.client.type(key)
        if kind == b"string":
            self.client.set(key, worse(self.client.get(key)))
        elif kind == b"hash":
            field = draw(sorted(self.client.hkeys(key)))
            whole = self.client.hget(key, field)
            what = draw([b"value", b"name", b"name more"])
            self.client.hset(
                key, *((field, worse(whole)) if what == b"value" else (rubbish, whole))
            )
            if what == b"name" and field != rubbish:
                self.client.hdel(key, field)
        else:
            place = int(draw([b"0", b"5", b"-1"]))
            self.client.lset(key, place, worse(self.client.lindex(key, place)))
            if draw([b"longer", b"as long"]) == b"longer":
                self.client.rpush(key, rubbish)

    def use(self) -> None:
        """Do everything that may be done with an index; damage may be told of."""
        with contextlib.suppress(StoreDamaged, StoreMismatch):
            self.open()
        if not self.opened:
            return
        index = self.opened[0]
        value, other = values(2, seed=1)
        calls: list[Callable[[], Any]] = [
            *(lambda v=v: keep(index, v ^ 1, f"near{v}") for v in (*values(70)[::23], value)),
            lambda: keep(index, values(1, seed=5)[0]),
            lambda: query(index, fp(other)),
            lambda: len(index),
            lambda: list(iter(index)),
            lambda: index.census(),
            lambda: index.claim(page("mine", values(1, seed=6)[0])),
            lambda: renew(index, "mine"),
            lambda: release(index, "mine"),
            lambda: index.gone([str(values(1)[0])]),
            lambda: index.unsettled([near.entry for near in query(index, fp(value))]),
            lambda: index.put(index.with_blocks()),
        ]
        for call in calls:
            # The header is read again when the log has changed.
            with contextlib.suppress(StoreDamaged, StoreMismatch):
                call()


@pytest.fixture(scope="module")
def victim(server) -> Iterator[Victim]:
    made = Victim(server, f"{server.url}?name=victim")
    yield made
    made.client.close()


RUBBISH = (
    st.binary(max_size=40)
    | st.sampled_from([b"", b"0", b"-1", b"64", b"1e300", b"nan", b"inf", b"99999999999"])
    | st.text(max_size=10).map(str.encode)
)


@pytest.mark.parametrize("part", [":meta", ":0", ":leases", "}:"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), rubbish=RUBBISH)
def test_rubbish_in_a_key_is_passed_over_or_told_as_damage(victim, part, data, rubbish):
    victim.restore()
    if not (keys := victim.keys(part)):
        return
    victim.spoil(
        data.draw(st.sampled_from(keys)), lambda of: data.draw(st.sampled_from(of)), rubbish
    )
    victim.use()


def test_a_lease_with_rubbish_is_passed_over(victim):
    victim.restore()
    index = victim.open()
    victim.client.hset(victim.keys(":leases")[0], "72", b"rubbish")
    assert (len([*index]), index.damaged) == (72, 1)


@pytest.mark.parametrize("end", [b"-1", b"536870912", b"1e300", b"nan", b"x"])
def test_a_last_position_that_cannot_be_is_told_as_damage(victim, end):
    victim.restore()
    index = victim.open()
    victim.client.hset(victim.keys(":meta")[0], "last", end)
    for act in (victim.open, lambda: list(index)):
        with pytest.raises(StoreDamaged):
            act()
    # A crawler that knows a later position goes on from there.
    with contextlib.nullcontext() if end == b"-1" else pytest.raises(StoreDamaged):
        keep(index, values(70)[0] ^ 1, "near")


@pytest.mark.parametrize("count", [b"inf", b"nan", b"-inf", b"1e300", b"2097153", b"8191", b"x"])
def test_a_number_of_leaves_that_cannot_be_is_told_as_damage(victim, count):
    victim.restore()
    index = victim.open()
    victim.client.hset(victim.keys(":meta")[0], "leaves", count)
    for act in (lambda: keep(index, values(1, seed=5)[0]), victim.open, lambda: index.census()):
        with pytest.raises(StoreDamaged):
            act()


@pytest.mark.parametrize("pages", [b"-9", b"9" * 30])
def test_a_number_of_entries_that_cannot_be_is_passed_over_and_told_of(victim, pages):
    victim.restore()
    index = victim.open()
    victim.client.hset(victim.keys(":meta")[0], "0:pages", pages)
    assert len(index) == 0
    assert len(index.check()) == 1


def test_an_entry_whose_run_has_too_many_bytes_can_be_deleted(victim):
    victim.restore()
    index = victim.open()
    (group,) = victim.keys(":0")
    entry = victim.client.lindex(group, 5)
    run = b"\x05\0\0\0\0\x01"
    victim.client.lset(group, 5, run + entry[1 + entry[0] :])
    assert index.gone([str(values(70)[4])]) == 1


@pytest.mark.parametrize("count", [b"0", b"-1", b"1025", b"99999999999", b"x"])
def test_an_index_whose_number_of_shards_cannot_be_is_damaged_when_it_is_opened(victim, count):
    victim.restore()
    victim.client.hset(victim.keys(":meta")[0], "shards", count)
    for open_victim in (victim.open, lambda: open_existing(victim.url)):
        with pytest.raises(StoreDamaged):
            open_victim()


@pytest.mark.parametrize("part", [":meta", ":0", ":leases"])
def test_a_damaged_index_can_be_cleared(victim, part):
    victim.restore()
    index = victim.open()
    for key in victim.keys(part):
        if victim.client.type(key) == b"list":
            victim.client.lset(key, 0, b"\xff\xfe")
        else:
            fields = [b"last"] if part == ":meta" else victim.client.hkeys(key)
            victim.client.hset(key, mapping=dict.fromkeys(fields, b"\xff\xfe"))
    index.clear()
    assert len(index) == 0
    assert keep(index, values(1)[0]) == "unique"
