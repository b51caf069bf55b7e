"""Everything that a store promises, see :class:`.Store`, and the URLs that name one."""

import contextlib
import re

import pytest

from scrapy_simhash.index import open_existing, open_index, registry
from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.registry import Scheme
from scrapy_simhash.index.sqlite_store import open_sqlite
from scrapy_simhash.index.store import Answer, PackedState, Part, Store, StoreMismatch, StoreMissing
from scrapy_simhash.index.values import Arrival, IndexSpec
from tests.index import conftest
from tests.index.conftest import CONNECTED
from tests.index.promises.made import DUPLICATE, ORIGINAL, fp, page, query, spec

SPEC = spec(reach=5)
# States of a confirmed entry that was seen in run 1, and of one in progress in run 1.
CONFIRMED, LEASED = (1, b""), (1, b"lease")


def looked(*pages: Arrival) -> Lookups:
    return Lookups(pages, SPEC)


def admit(
    store: Store, *pages: Arrival, state: PackedState = CONFIRMED, since: int = 1 << 90
) -> Answer:
    """Commit a part for each page, with its key as the body."""
    parts = [
        Part((n,), {}, {n: (state, arrival.key.encode())}, {}, since)
        for n, arrival in enumerate(pages)
    ]
    return store.commit(parts, looked(*pages))


def admitted(store: Store, *pages: Arrival, state: PackedState = CONFIRMED) -> list[int]:
    answer = admit(store, *pages, state=state)
    return [position for written in answer.written for position in written or ()]


@pytest.fixture(params=["memory", "sqlite", "redis", "redis-shards", "cluster-shards"])
def place(request, stores) -> conftest.Store:
    """An empty place; a project adds its own store to the names of the places."""
    return stores(request.param)


@pytest.fixture
def store(place) -> Store:
    return place.open(reach=SPEC.reach)._store


def test_a_part_is_refused_for_what_came_near_since_and_told_of_it(store):
    (old,) = admitted(store, page("old"))
    refused = admit(store, page("a"), since=0)
    assert refused.written == [None]
    assert admit(store, page("a"), since=refused.ends[0]).written != [None]
    answer = admit(store, page("b"), page("far", 2**40 - 1), since=refused.ends[0])
    assert answer.written[0] is None
    assert answer.written[1] is not None
    near = [at for _, at in answer.near[0]]
    assert (len(near), near[0]) == (2, old)
    assert answer.entries.keys() == {*near}
    assert admit(store, page("c"), since=answer.ends[0]).written[0] is not None


def test_a_part_is_refused_if_a_state_that_it_checks_has_changed_and_told_of_it(store):
    first, second = admitted(store, page("a"), page("b"), state=LEASED)
    parts = [
        Part((), {first: CONFIRMED}, {}, {first: None}),
        Part((), {second: LEASED}, {}, {second: CONFIRMED}),
    ]
    answer = store.commit(parts)
    assert (answer.written[0], answer.written[1] is None) == (None, False)
    assert answer.entries[first].state == LEASED
    states = {at: stored.state for at, stored in store.read([first, second]).items()}
    assert states == {first: LEASED, second: CONFIRMED}
    assert store.commit(parts).written == [None, None]


def test_a_scan_yields_all_entries_with_what_they_were_made_of(store, place):
    pages = {f"{n}": page(f"{n}", n, scope=f"{n % 3}") for n in range(50)}
    admitted(store, *pages.values())
    rows = [*store.scan(blocks=True)]
    contents = {stored.body.decode(): stored.content for _, stored in rows}
    for n in (9, 29, 30, 31):  # some end a group of entries in Redis
        assert [at for at, _ in store.scan(rows[n][0])] == [at for at, _ in rows[n + 1 :]]
    size = None if place.shared else SPEC.bits // 8
    made_of = {key: looked(arrival).contents[0][:-4] for key, arrival in pages.items()}
    assert {key: content[:size] for key, content in contents.items()} == {
        key: content[:size] for key, content in made_of.items()
    }


def test_a_cell_is_set_only_if_it_has_the_value_that_is_expected(store):
    assert store.swap("family:a", None, b"1")
    assert not store.swap("family:a", None, b"2")
    assert not store.swap("family:a", b"0", b"2")
    assert store.swap("family:a", b"1", b"")
    assert store.swap("family:b", None, b"3")
    store.clear()
    assert store.cells("family:") == {"family:a": b"", "family:b": b"3"}
    assert store.cells("families:") == {}
    assert store.swap("family:a", b"", None)
    assert store.cells("family:") == {"family:b": b"3"}


def test_another_opens_what_is_there_and_nothing_else(place):
    with pytest.raises(StoreMissing):
        open_existing(place.url)
    if not place.shared:
        return
    (position,) = admitted(place.open()._store, page("a"))
    with contextlib.closing(open_existing(place.url)) as index:
        found = index.spec
        assert (found.recipe, found.bits, found.distance, found.blocks) == ("test", 64, 3, 4)
        assert index._store.find(looked(page("b"))).near == {0: [(0, position)]}
    for wrong in ({"recipe": "another"}, {"bits": 128}, {"blocks": 5}):
        with pytest.raises(StoreMismatch, match=r"^[^\n]*(test|64|4)[^\n]*$"):
            place.open(**wrong)
    place.open(distance=2)


def open_mine(url: str, asked: IndexSpec | None) -> tuple[Store, IndexSpec]:
    return open_sqlite(url.replace(f"{__name__}.MINE://", "sqlite:///"), asked)


MINE = Scheme(f"{__name__}.open_mine", remote=False)


def test_a_store_is_named_by_its_import_path(tmp_path):
    url = f"{__name__}.MINE://{tmp_path}/pages"
    for key, outcome in (("a", ORIGINAL), ("b", DUPLICATE)):
        with contextlib.closing(open_index(url, spec())) as index:
            assert index.claim(page(key)).outcome == outcome
            index.confirm([key])
    assert registry.file_of("sqlitecloud.MINE://host/pages") is None


@pytest.mark.parametrize("path", [f"{__name__}.NONE", "no.such.module", f"{__name__}.DUPLICATE"])
def test_an_import_path_that_names_no_store_is_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match=re.escape(path)):
        registry.store_of(f"{path}://host")


def test_the_registry_tells_which_stores_last_and_which_may_be_away():
    far = dict.fromkeys(("valkey://h", "redis+cluster://h", "unix:///a"), (True, True))
    for url, told in {"memory://": (False, False), "sqlite:///a": (True, False), **far}.items():
        scheme = registry.store_of(url)
        assert (scheme.lasting, scheme.remote) == told, url


@pytest.mark.parametrize("backend", CONNECTED)
def test_crawlers_share_an_index_however_they_connect(stores, backend):
    place = stores(backend)
    index, other = place.open(), place.open()
    assert index.claim(page("a")).outcome == ORIGINAL
    assert other.claim(page("b")).outcome == DUPLICATE
    index.confirm(["a"])
    assert [near.provisional for near in query(other, fp(0))] == [False]
