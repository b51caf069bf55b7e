"""Everything that a store promises; see :class:`.Store`."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.index.store import Answer, PackedState, Part, Store, StoreMismatch, StoreMissing
from scrapy_simhash.index.values import Arrival, IndexSpec

BLOCKS = 4
SPEC = IndexSpec("suite", 64, 3, BLOCKS, reach=5)
# States of a confirmed entry that was seen in run 1, and of one in progress in run 1.
CONFIRMED, LEASED = (1, b""), (1, b"lease")


def page(key: str, value: int = 0, text: object = 0, **arguments: Any) -> Arrival:
    """Return a page; pages of one text share all their block values."""
    blocks = random.Random(f"{text}").randbytes(4 * BLOCKS)
    return Arrival(key, Fingerprint(value, 64, blocks), **arguments)


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


class StoreContract:
    """A subclass has the fixture ``new_url``, which makes the URL of an empty store."""

    @pytest.fixture
    def new_url(self) -> Callable[[], str]:
        raise NotImplementedError("the subclass has a fixture new_url, which makes URLs of stores")

    @pytest.fixture
    def opened(self) -> Iterator[Callable[..., Store]]:
        """Open stores, and close them in the end."""
        stores: list[Store] = []

        def make(url: str, spec: IndexSpec | None = SPEC) -> Store:
            store, _ = store_of(url).open(url, spec)
            stores.append(store)
            return stores[-1]

        yield make
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[..., Store], new_url: Callable[[], str]) -> Store:
        return opened(new_url())

    def test_positions_grow_and_are_never_used_twice(self, store):
        positions = admitted(store, *(page(f"{n}") for n in range(20)))
        store.commit([Part((), {positions[-1]: CONFIRMED}, {}, {positions[-1]: None})])
        positions += admitted(store, page("a"))
        assert positions == sorted({*positions})
        store.clear()
        assert not {*admitted(store, page("b"))} & {*positions}

    def test_what_is_written_is_read(self, store):
        arrival = page("a", 5, scope="s")
        (position,) = admitted(store, arrival, state=LEASED)
        assert store.read([position, position + 1 << 20])[position].state == LEASED
        stored = store.read([position])[position]
        assert stored[:2] == (LEASED, b"a")
        assert stored.content[:8] == looked(arrival).contents[0][:8]
        assert store.read([]) == {}

    def test_near_entries_are_found_by_one_shared_value_and_no_others(self, store):
        far, near, other_text = admitted(
            store, page("far", 0b111111), page("near", 0b11111), page("text", 0, text=1)
        )
        answer = store.find(looked(page("a"), page("b", text=2)))
        assert answer.near == {0: [(5, near)], 1: []}
        assert [*answer.entries] == [near]
        assert answer.ends[0] > max(far, near, other_text)

    def test_entries_of_a_key_or_an_alias_are_found_at_any_distance(self, store):
        named, alias = admitted(store, page("k", 2**40 - 1, 1), page("alias", 2**50 - 1, 2))
        assert store.find(looked(page("k", 0, 3))).near[0] == [(40, named)]
        answer = store.find(looked(page("k", 0, 3, aliases=("alias",))))
        assert answer.near[0] == [(40, named), (50, alias)]

    def test_scopes_are_apart_but_for_keys_that_are_sought_everywhere(self, store):
        scopes = [f"{n}" for n in range(8)]
        positions = admitted(store, *(page("k", scope=scope) for scope in scopes))
        near = store.find(looked(page("copy", 1, scope="3"))).near[0]
        assert (1, positions[3]) in near
        assert {at for d, at in near if d <= SPEC.reach} == {positions[3]}
        everywhere = store.find(Lookups.of_keys(["k", "none"], SPEC))
        assert everywhere.entries.keys() >= {*positions}

    def test_a_part_is_refused_for_what_came_near_since_and_told_of_it(self, store):
        (old,) = admitted(store, page("old"))
        seen = store.find(looked(page("a"))).ends[0]
        assert admit(store, page("a"), since=seen).written != [None]
        answer = admit(store, page("b"), page("far", 2**40 - 1), since=seen)
        assert answer.written[0] is None
        assert answer.written[1] is not None
        near = [at for _, at in answer.found.near[0]]
        assert (len(near), near[0]) == (2, old)
        assert answer.found.entries.keys() == {*near}
        assert admit(store, page("c"), since=answer.found.ends[0]).written[0] is not None

    def test_a_part_is_refused_if_a_state_that_it_checks_has_changed_and_told_of_it(self, store):
        first, second = admitted(store, page("a"), page("b"), state=LEASED)
        parts = [
            Part((), {first: CONFIRMED}, {}, {first: None}),
            Part((), {second: LEASED}, {}, {second: CONFIRMED}),
        ]
        written, found = store.commit(parts)
        assert (written[0], written[1] is None) == (None, False)
        assert found.entries[first].state == LEASED
        states = {at: stored.state for at, stored in store.read([first, second]).items()}
        assert states == {first: LEASED, second: CONFIRMED}
        assert store.commit(parts).written == [None, None]

    def test_a_page_replaces_an_entry_in_one_part_or_not_at_all(self, store):
        (old,) = admitted(store, page("a"))
        for state, is_refused in ((LEASED, True), (CONFIRMED, False)):
            part = Part((0,), {old: state}, {0: (LEASED, b"new")}, {old: None}, 1 << 90)
            (written,) = store.commit([part], looked(page("a", 1))).written
            assert (written is None) is is_refused
            assert (old in store.read([old])) is is_refused
        assert [stored.body for _, stored in store.scan()] == [b"new"]
        assert [d for d, _ in store.find(looked(page("b"))).near[0]] == [1]

    def test_entries_are_counted_by_run_and_in_progress(self, store):
        first, second, third = admitted(store, page("a"), page("b"), page("c"), state=LEASED)
        later = 0x200, b"lease"
        states = {first: CONFIRMED, second: later, third: None}
        store.commit([Part((), {at: LEASED}, {}, {at: state}) for at, state in states.items()])
        assert store.counts() == ({1: 1, 0x200: 1}, 1)
        store.commit([Part((), {second: later}, {}, {second: (0x200, b"")})])
        assert store.counts() == ({1: 1, 0x200: 1}, 0)
        store.clear()
        assert store.counts() == ({}, 0)
        assert [*store.scan()] == []

    def test_a_scan_yields_all_entries_with_what_they_were_made_of(self, opened, new_url):
        store = opened(url := new_url())
        pages = {f"{n}": page(f"{n}", n, n, scope=f"{n % 3}") for n in range(50)}
        admitted(store, *pages.values())
        rows = [*store.scan(blocks=True)]
        contents = {stored.body.decode(): stored.content for _, stored in rows}
        assert [at for at, _ in store.scan(rows[9][0])] == [at for at, _ in rows[10:]]
        size = None if store_of(url).lasting else SPEC.bits // 8
        made_of = {key: looked(arrival).contents[0][:-4] for key, arrival in pages.items()}
        assert {key: content[:size] for key, content in contents.items()} == {
            key: content[:size] for key, content in made_of.items()
        }

    def test_a_cell_is_set_only_if_it_has_the_value_that_is_expected(self, store):
        assert store.swap("family:a", None, b"1")
        assert not store.swap("family:a", None, b"2")
        assert not store.swap("family:a", b"0", b"2")
        assert store.swap("family:a", b"1", b"")
        assert store.swap("family:b", None, b"3")
        store.clear()
        assert store.cells("family:") == {"family:a": b"", "family:b": b"3"}
        assert store.cells("family:b") == {"family:b": b"3"}
        assert store.cells("families:") == {}
        assert store.swap("family:a", b"", None)
        assert store.cells("family:") == {"family:b": b"3"}

    def test_another_opens_what_is_there_and_nothing_else(self, opened, new_url):
        url = new_url()
        with pytest.raises(StoreMissing):
            opened(url, None)
        if not store_of(url).lasting:
            return
        (position,) = admitted(opened(url), page("a"))
        _, spec = store_of(url).open(url, None)
        assert (spec.recipe, spec.bits, spec.distance, spec.blocks) == ("suite", 64, 3, BLOCKS)
        assert opened(url).find(looked(page("b"))).near == {0: [(0, position)]}
        for recipe, bits, blocks in (("another", 64, 4), ("suite", 128, 4), ("suite", 64, 5)):
            with pytest.raises(StoreMismatch, match=r"^[^\n]*(suite|64|4)[^\n]*$"):
                opened(url, IndexSpec(recipe, bits, 3, blocks))
        opened(url, IndexSpec("suite", 64, 2, BLOCKS))
