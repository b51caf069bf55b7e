"""The index whose store may be away: whatever the pattern of outages, no page is lost."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.core import breaker
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import Index, StoreMismatch, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Unsettled
from tests.index.made import Over
from tests.index.promises.made import DUPLICATE, ORIGINAL, REVISIT, fp, same_facts, spec, values

CENTRES = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF00FF00FF, 0xA5A5A5A55A5A5A5A]
COPIES = 4


class Store:
    """A store in a file, whose answers a test switches: up, refused, or lost when done."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self.answer: Callable[[], str] = lambda: "up"
        self.calls: list[str] = []
        self.spec = spec()

    def open(self) -> Index:
        if self.answer() != "up":
            raise StoreUnavailable("the store is away")
        return Switched(self)  # type: ignore[return-value]

    def go(self, answer: str) -> None:
        self.answer = lambda: answer

    def keys(self, *, provisional: bool = True) -> list[str]:
        with contextlib.closing(open_index(self.url, self.spec)) as index:
            return [entry.key for entry in index if provisional or not entry.provisional]

    def confirmed(self) -> list[str]:
        return self.keys(provisional=False)


class Switched:
    """One crawler's way to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = open_index(store.url, store.spec)
        self.close, self.flooded = self._index.close, 0

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = self._store.answer()
            self._store.calls.append(name)
            if answer == "refused" or (answer == "full" and name not in ("__len__", "unsettled")):
                raise StoreUnavailable("the store is away")
            done = getattr(self._index, name)(*args, **kwargs)
            if answer == "lost":
                raise StoreUnavailable("the answer is lost")
            return done

        return call

    def __len__(self) -> int:
        return int(self.__getattr__("__len__")())


def page(key: str, **given: Any) -> Arrival:
    """A page whose key tells the number of its cluster, and that of the copy."""
    cluster, copy = map(int, key.split("-"))
    return Arrival(key, fp(CENTRES[cluster] ^ 1 << copy), **given)


def claim(index: Index, key: str) -> Any:
    return index.claim(page(key)).outcome


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


@pytest.fixture
def index(store: Store):
    index = Over(store.open, store.spec, pages=10)
    yield index
    index.close()


def test_pages_are_compared_with_each_other_while_the_store_is_away(index, store):
    claim(index, "0-0")
    index.confirm(["0-0"])
    store.go("refused")
    assert claim(index, "0-1") is ORIGINAL  # only the store knows the other
    assert claim(index, "0-2") is DUPLICATE
    assert claim(index, "1-0") is ORIGINAL
    assert (index.away, index.left) == (True, 2)


@pytest.mark.parametrize("away", ["refused", "lost"])
def test_what_was_let_through_ends_in_the_store_unless_it_repeats_an_older_page(index, store, away):
    claim(index, "0-0")
    index.confirm(["0-0"])
    store.go(away)
    for key in ("0-1", "1-1"):
        claim(index, key)
    index.confirm(["0-1", "1-1"])
    index.catch_up(at_once=True)
    assert index.counts == {"let_through": 2, "reconciled": 0, "duplicates": 0, "damaged": 0}
    store.go("up")
    assert not index.catch_up(at_once=True)
    assert index.counts == {"let_through": 2, "reconciled": 2, "duplicates": 1, "damaged": 0}
    assert store.confirmed() == ["0-0", "1-1"]
    assert index.left == 0


def test_an_outage_while_the_store_catches_up_loses_nothing(index, store):
    store.go("refused")
    claim(index, "0-0")
    claim(index, "1-1")
    index.confirm(["1-1"])
    for away in ("refused", "lost"):
        store.go(away)
        index.catch_up(at_once=True)
        assert index.counts["reconciled"] == 0
    store.go("up")
    index.catch_up(at_once=True)
    assert index.counts["reconciled"] == 1
    assert store.confirmed() == ["1-1"]


def test_a_page_in_progress_stays_in_memory_until_it_is_settled(index, store):
    store.go("refused")
    claim(index, "0-0")
    claim(index, "1-0")
    index.confirm(["1-0"])
    store.go("up")
    index.catch_up(at_once=True)
    assert (index.away, index.left) == (False, 1)
    copy = index.claim(page("0-1"))
    assert (copy.outcome, index.claim(page("0-0")).outcome) == (DUPLICATE, REVISIT)
    entry = copy.matches[0].entry
    assert index.unsettled([entry]) == Unsettled(frozenset([entry]), frozenset())
    index.release(["0-0"])
    assert index.unsettled([entry]) == Unsettled(frozenset(), frozenset([entry]))
    assert store.confirmed() == ["1-0"]
    assert claim(index, "0-1") is ORIGINAL


def test_while_pages_of_an_outage_are_in_progress_only_their_end_brings_the_store_back(
    index, store
):
    store.go("refused")
    claim(index, "0-0")
    store.go("up")
    index.catch_up(at_once=True)
    assert index.away
    index.release(["0-0"])
    index.catch_up(at_once=True)
    assert not index.away


def test_a_copy_learns_that_its_original_of_an_outage_was_confirmed(index, store):
    store.go("refused")
    claim(index, "0-0")
    entry = index.claim(page("0-1")).matches[0].entry
    index.confirm(["0-0"])
    store.go("up")
    index.catch_up(at_once=True)
    assert index.unsettled([entry]) == Unsettled(frozenset(), frozenset())


def test_originals_of_the_store_count_as_provisional_while_it_is_away(index, store):
    claim(index, "0-0")
    entry = index.claim(page("0-1")).matches[0].entry
    store.go("refused")
    claim(index, "1-0")
    assert index.unsettled([entry]).provisional == {entry}


def test_originals_of_a_store_that_is_away_for_longer_than_a_lease_count_as_gone(
    store, monkeypatch
):
    """Whoever has them could not renew their leases either."""
    now = [1000.0]
    monkeypatch.setattr(breaker.time, "monotonic", lambda: now[0])
    store.spec = spec(lease=60)
    index = Over(store.open, store.spec, pages=10)
    for _ in range(2):
        index.claim(page("0-0"))
        entry = index.claim(page("0-1")).matches[0].entry
        store.go("refused")
        claim(index, "1-0")
        here = index.claim(page("1-1")).matches[0].entry
        now[0] += 60
        asked = [entry, here]
        assert index.unsettled(asked) == Unsettled(frozenset(asked), frozenset())
        now[0] += 1
        assert index.unsettled(asked) == Unsettled(frozenset([here]), frozenset([entry]))
        index.release(["1-0"])
        # The absence is over: the next one begins anew.
        store.go("up")
        index.catch_up(at_once=True)
    index.close()


def test_a_page_that_is_confirmed_twice_is_taken_to_the_store_once(index, store):
    store.go("refused")
    claim(index, "0-0")
    index.confirm(["0-0", "0-0"])
    assert index.left == 1
    store.go("up")
    index.catch_up(at_once=True)
    assert index.counts == {"let_through": 1, "reconciled": 1, "duplicates": 0, "damaged": 0}


def test_pages_that_fail_in_an_outage_leave_nothing_behind(index, store):
    store.go("refused")
    for number in values(30):
        index.claim(Arrival(f"{number}", fp(number)))
        index.release([f"{number}"])
    assert (index.left, len(index._owed)) == (0, 1)


def test_what_was_settled_in_the_absence_of_the_store_is_told_it_afterwards(index, store):
    for key in ("0-0", "1-0", "2-0"):
        claim(index, key)
    store.go("refused")
    index.confirm(["0-0"])
    index.release(["1-0"])
    store.go("up")
    index.catch_up(at_once=True)
    assert store.confirmed() == ["0-0"]
    assert claim(index, "1-1") is ORIGINAL
    assert claim(index, "2-1") is DUPLICATE


@pytest.mark.parametrize("failed", [True, False])
def test_the_store_is_told_how_its_own_page_fared_and_not_the_one_that_came_meanwhile(
    index, store, failed
):
    claim(index, "0-0")
    entry = index.claim(page("0-1")).matches[0].entry
    store.go("refused")
    (index.release if failed else index.confirm)(["0-0"])
    # The same key with another text.
    assert index.claim(Arrival("0-0", page("1-0").fingerprint)).outcome is ORIGINAL
    (index.confirm if failed else index.release)(["0-0"])
    store.go("up")
    index.catch_up(at_once=True)
    assert index.unsettled([entry]).gone == ({entry} if failed else set())
    assert store.confirmed() == ["0-0"]


def test_what_the_store_admitted_without_an_answer_is_taken_back_where_memory_did_not(index, store):
    kept, between, beyond = (Arrival(f"{value:b}", fp(value)) for value in (0, 0b111, 0b111111))
    index.claim(kept)
    index.confirm([kept.key])
    store.go("lost")
    # In the store the first one repeats the old page, so the second one does not repeat the first.
    claims = index.claim_all([between, beyond])
    assert [claim.outcome for claim in claims] == [ORIGINAL, DUPLICATE]
    index.confirm([between.key])
    store.go("up")
    index.catch_up(at_once=True)
    assert index.counts["duplicates"] == 1
    assert index.unsettled([2]).gone == {2}
    assert store.keys() == [kept.key]


def test_many_pages_are_reconciled_a_few_at_a_time(store):
    index = Over(store.open, store.spec, pages=1000)
    store.go("refused")
    numbers = values(2 * breaker.RECONCILED_AT_ONCE + 1)
    index.claim_all([Arrival(f"{v}", fp(v)) for v in numbers])
    index.confirm([f"{v}" for v in numbers])
    store.go("up")
    steps = [(index.catch_up(at_once=True), index.counts["reconciled"]) for _ in range(3)]
    assert steps == [
        (True, breaker.RECONCILED_AT_ONCE),
        (True, 2 * breaker.RECONCILED_AT_ONCE),
        (False, len(numbers)),
    ]
    index.close()


def test_a_store_that_is_away_is_left_alone_and_said_so_once(index, store, caplog):
    caplog.set_level(logging.INFO, "scrapy_simhash")
    store.go("refused")
    store.calls.clear()
    for key in ("0-0", "1-0", "2-0"):
        claim(index, key)
        index.confirm([key])
        index.renew([key])
        index.catch_up()
    assert store.calls == ["claim_all"]
    store.go("up")
    index.catch_up(at_once=True)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_store_that_can_be_read_and_not_written_is_not_said_to_be_back(index, store, caplog):
    claim(index, "0-0")
    index.confirm(["0-0"])
    store.go("full")
    claim(index, "1-0")
    index.confirm(["1-0"])
    caplog.set_level(logging.INFO, "scrapy_simhash")
    for _ in range(5):
        index.catch_up(at_once=True)
        assert index.away
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_judged_other_pages_of_an_outage_do_not_keep_a_page_from_the_store(tmp_path):
    store = Store(tmp_path / "store.sqlite")
    store.spec = spec(judge=same_facts)
    index = Over(store.open, store.spec, pages=10)
    store.go("refused")
    index.claim(page("0-0", facts=b"1"))
    claim(index, "1-0")
    index.confirm(["1-0"])
    store.go("up")
    index.catch_up(at_once=True)
    store.calls.clear()
    assert index.claim(page("0-1", facts=b"2")).outcome is ORIGINAL
    assert store.calls == ["claim_all"]
    index.close()


def test_a_full_memory_takes_no_more_but_knows_the_copies_of_its_pages(index, store):
    store.go("refused")
    numbers = values(11)
    index.claim_all([Arrival(f"{v}", fp(v)) for v in numbers[:10]])
    assert index.claim(Arrival("copy", fp(numbers[0] ^ 1))).outcome is DUPLICATE
    with pytest.raises(StoreUnavailable, match="10 pages"):
        index.claim(Arrival("new", fp(numbers[10])))


def test_a_bad_fingerprint_does_not_make_the_store_away(index):
    with pytest.raises(ValueError, match="64"):
        index.claim(Arrival("a", fp(0, 128)))
    assert not index.away


def test_an_index_starts_without_its_store_and_connects_later(store):
    store.go("refused")
    with pytest.raises(StoreUnavailable):
        Over(store.open, store.spec, pages=10, start_without=False)
    index = Over(store.open, store.spec, pages=10)
    assert claim(index, "0-0") is ORIGINAL
    index.confirm(["0-0"])
    store.go("up")
    index.catch_up(at_once=True)
    assert store.confirmed() == ["0-0"]
    index.close()


def test_a_store_of_another_recipe_is_refused_at_the_start_and_later(store):
    open_index(store.url, spec(recipe="another")).close()
    with pytest.raises(StoreMismatch):
        Over(store.open, store.spec, pages=10)
    store.go("refused")
    index = Over(store.open, store.spec, pages=10)
    store.go("up")
    index.catch_up(at_once=True)
    assert isinstance(index.refused, StoreMismatch)
    index.close()


class Crawl:
    """Crawls pages, some of which fail, over an index whose store is away at times."""

    def __init__(self, folder: Path, answers: Iterable[str], bad: set[str]) -> None:
        self.store = Store(folder / "store.sqlite")
        script = iter(answers)
        self.store.answer = lambda: next(script, "up")
        self.bad = bad
        self.arrived: set[str] = set()
        self.delivered: set[str] = set()
        self.unchecked: set[str] = set()
        self.progress: set[str] = set()
        self.waiting: dict[str, int] = {}
        self.index = Over(self.store.open, self.store.spec, pages=6)

    def arrive(self, keys: Iterable[str]) -> None:
        keys = [key for key in dict.fromkeys(keys) if key not in self.progress]
        self.arrived.update(keys)
        try:
            claims = self.index.claim_all(list(map(page, keys)))
        except StoreUnavailable:
            self.unchecked.update(set(keys) - self.bad)
            return
        for key, claim in zip(keys, claims, strict=True):
            if claim.outcome is not DUPLICATE:
                self.progress.add(key)
            elif all(match.provisional for match in claim.matches):
                self.waiting[key] = claim.matches[0].entry

    def settle(self, keys: Iterable[str]) -> None:
        keys = [key for key in dict.fromkeys(keys) if key in self.progress]
        self.progress.difference_update(keys)
        self.index.release([key for key in keys if key in self.bad])
        good = [key for key in keys if key not in self.bad]
        self.delivered.update(good)
        self.index.confirm(good)

    def upkeep(self, keys: Iterable[str] = ()) -> None:
        self.index.catch_up(at_once=True)
        unsettled = self.index.unsettled(self.waiting.values())
        gone = [key for key, entry in self.waiting.items() if entry in unsettled.gone]
        self.waiting = {k: e for k, e in self.waiting.items() if e in unsettled.provisional}
        self.arrive(gone)

    def finish(self) -> None:
        self.store.answer = lambda: "up"
        for _ in range(12):
            self.settle(list(self.progress))
            self.upkeep()
        self.index.close()


KEYS = st.lists(
    st.builds(
        lambda cluster, copy: f"{cluster}-{copy}",
        st.integers(0, len(CENTRES) - 1),
        st.integers(0, COPIES - 1),
    ),
    max_size=5,
)
ACTS = st.tuples(st.sampled_from(["arrive", "arrive", "settle", "settle", "upkeep"]), KEYS)


@given(
    acts=st.lists(ACTS, max_size=24),
    answers=st.lists(
        st.tuples(st.sampled_from(["up", "refused", "lost"]), st.integers(1, 6)), max_size=12
    ),
    bad=KEYS,
    pause=st.sampled_from([0.0, 1000.0]),
)
@settings(max_examples=60, deadline=None)
def test_no_cluster_is_lost_and_what_is_delivered_ends_in_the_store(acts, answers, bad, pause):
    """Whatever the pattern of outages, and whichever pages fail."""
    script = [answer for answer, times in answers for _ in range(times)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(breaker, "PAUSE", pause)
        crawl = Crawl(Path(folder), script, set(bad))
        for act, keys in acts:
            getattr(crawl, act)(keys)
        crawl.finish()
        clusters = {key[0] for key in crawl.arrived - crawl.bad}
        unchecked = {key[0] for key in crawl.unchecked}
        assert {key[0] for key in crawl.delivered} | unchecked == clusters
        assert {key[0] for key in crawl.store.confirmed()} == {key[0] for key in crawl.delivered}
        assert (crawl.index.left, crawl.waiting) == (0, {})


@pytest.mark.parametrize(("seconds", "pause"), [(0, 1), (0.1, 1), (0.5, 2.5), (4, 20)])
def test_a_store_is_left_alone_for_longer_the_longer_its_failures_take(
    index, store, monkeypatch, seconds, pause
):
    now = [1000.0]
    monkeypatch.setattr(breaker.time, "monotonic", lambda: now[0])

    def fail() -> str:
        now[0] += seconds
        return "refused"

    store.answer = fail
    claim(index, "0-0")
    index.confirm(["0-0"])
    store.calls.clear()
    for _ in range(2):
        now[0] += pause - 0.125
        index.catch_up()
        assert store.calls == []
        now[0] += 0.125
        index.catch_up()
        assert len(store.calls) == 1
        store.calls.clear()
