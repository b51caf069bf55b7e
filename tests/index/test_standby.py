"""The index whose store may be away: whatever the pattern of outages, no page is lost."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import (
    Arrival,
    Index,
    Outcome,
    Page,
    StoreMismatch,
    StoreUnavailable,
    index_from_url,
    primary,
)
from scrapy_simhash.index.standby import CaughtUp, StandbyIndex

ABOUT: dict[str, Any] = {"recipe": "test", "bits": 64, "distance": 3, "lease": 60.0}
CENTRES = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF00FF00FF, 0xA5A5A5A55A5A5A5A]
COPIES = 4


class Store:
    """A primary in a file, whose answers a test switches: up, refused, or lost when done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answer: Callable[[], str] = lambda: "up"
        self.calls: list[str] = []

    def open(self) -> Index:
        if self.answer() != "up":
            raise StoreUnavailable("the store is away")
        return Switched(self)  # type: ignore[return-value]


class Switched:
    """One worker's way to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = index_from_url(f"sqlite:///{store.path}", **ABOUT)
        self.layout, self.close = self._index.layout, self._index.close

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = self._store.answer()
            self._store.calls.append(name)
            if answer == "refused":
                raise StoreUnavailable("the store is away")
            done = getattr(self._index, name)(*args, **kwargs)
            if answer == "lost":
                raise StoreUnavailable("the answer is lost")
            return done

        return call


def page(key: str) -> Arrival:
    """A page whose key says which: the number of its cluster, and of the copy."""
    cluster, copy = map(int, key.split("-"))
    return Arrival(key, Fingerprint(CENTRES[cluster] ^ 1 << copy, 64), request=f"GET {key}")


def claim(index: Index, key: str) -> Outcome:
    (answer,) = index.claim_all([page(key)])
    return answer.outcome


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "primary.sqlite")


@pytest.fixture
def index(store: Store, tmp_path: Path) -> Iterator[StandbyIndex]:
    index = StandbyIndex(store.open, tmp_path / "standby.sqlite", pages=10, **ABOUT)
    yield index
    index.close()


def go(store: Store, answer: str) -> None:
    store.answer = lambda: answer


def inside(store: Store) -> list[str]:
    """The keys of the confirmed pages in the primary."""
    index = index_from_url(f"sqlite:///{store.path}", **ABOUT)
    keys = [entry.key for entry in index if not entry.provisional]
    index.close()
    return keys


def test_pages_are_compared_with_each_other_while_the_store_is_away(
    index: StandbyIndex, store: Store
) -> None:
    claim(index, "0-0")
    index.confirm(["0-0"])
    go(store, "refused")
    assert claim(index, "0-1") is Outcome.ORIGINAL  # only the far store knows the other
    assert claim(index, "0-2") is Outcome.DUPLICATE
    assert claim(index, "1-0") is Outcome.ORIGINAL


@pytest.mark.parametrize("away", ["refused", "lost"])
def test_what_was_let_through_ends_in_the_store_unless_it_repeats_an_older_page(
    index: StandbyIndex, store: Store, away: str
) -> None:
    claim(index, "0-0")
    index.confirm(["0-0"])
    go(store, away)
    for key in ("0-1", "1-1"):
        claim(index, key)
    index.confirm(["0-1", "1-1"])
    assert not index.catch_up(at_once=True).reconciled
    go(store, "up")
    done = index.catch_up(at_once=True)
    assert (done.let_through, done.reconciled, done.duplicates) == (0, 2, 1)
    assert inside(store) == ["0-0", "1-1"]
    assert index.left() == 0
    assert index.catch_up() == CaughtUp()


def test_outage_while_the_store_catches_up_loses_nothing(index: StandbyIndex, store: Store) -> None:
    go(store, "refused")
    claim(index, "0-0")
    claim(index, "1-1")
    index.confirm(["1-1"])
    for away in ("refused", "lost"):
        go(store, away)
        assert index.catch_up(at_once=True).reconciled == 0
    go(store, "up")
    assert index.catch_up(at_once=True).reconciled == 1
    assert inside(store) == ["1-1"]


def test_page_in_progress_stays_in_the_standby_until_it_is_settled(
    index: StandbyIndex, store: Store
) -> None:
    go(store, "refused")
    claim(index, "0-0")
    claim(index, "1-0")
    go(store, "up")
    assert index.catch_up(at_once=True).reconciled == 0
    assert claim(index, "0-1") is Outcome.DUPLICATE
    assert [page.key for page in index.release(["0-0"])] == ["0-1"]
    index.confirm(["1-0"])
    index.catch_up()
    assert inside(store) == ["1-0"]


def test_page_that_the_standby_has_handed_back_is_not_handed_back_again(
    store: Store, tmp_path: Path
) -> None:
    index = StandbyIndex(store.open, tmp_path / "standby.sqlite", pages=10, **ABOUT)
    go(store, "refused")
    claim(index, "0-0")
    claim(index, "0-1")
    index.release(["0-0"])
    go(store, "up")
    index.catch_up(at_once=True)
    assert claim(index, "0-1") is Outcome.ORIGINAL
    index.confirm(["0-1"])
    index.catch_up()
    assert inside(store) == ["0-1"]
    index.close()
    index = StandbyIndex(store.open, tmp_path / "standby.sqlite", pages=10, **ABOUT)
    assert index.orphans() == []
    index.close()


def test_what_was_settled_in_the_absence_of_the_store_is_told_it_afterwards(
    index: StandbyIndex, store: Store
) -> None:
    for key in ("0-0", "1-0", "1-1"):
        claim(index, key)
    go(store, "refused")
    index.confirm(["0-0"])
    assert index.release(["1-0"]) == []
    go(store, "up")
    assert [page.key for page in index.catch_up(at_once=True).pages] == ["1-1"]
    assert inside(store) == ["0-0"]


def test_store_that_is_away_is_left_alone_and_said_so_once(
    index: StandbyIndex, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "scrapy_simhash")
    go(store, "refused")
    store.calls.clear()
    for key in ("0-0", "1-0", "2-0"):
        claim(index, key)
        index.confirm([key])
        index.renew([key])
        index.orphans()
        index.last_lease()
        index.catch_up()
    assert store.calls == ["claim_all"]
    go(store, "up")
    index.catch_up(at_once=True)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_no_body_is_known_while_the_store_is_away(index: StandbyIndex, store: Store) -> None:
    """And it is not asked again and again, nor told what will be forgotten."""
    own = Fingerprint(1, 64)
    index.note_bodies({b"12345678": own})
    go(store, "refused")
    assert index.find_bodies([b"12345678", b"87654321"]) == [None, None]
    store.calls.clear()
    index.note_bodies({b"87654321": own})
    assert index.find_bodies([b"12345678"]) == [None]
    assert store.calls == []
    go(store, "up")
    index.catch_up(at_once=True)
    assert index.find_bodies([b"12345678", b"87654321"]) == [own, None]


def test_store_that_is_too_full_for_bodies_still_answers_claims(
    index: StandbyIndex, store: Store
) -> None:
    claim(index, "0-0")
    index.confirm(["0-0"])
    store.answer = lambda: "refused"
    with pytest.raises(StoreUnavailable):
        index.note_bodies({b"12345678": Fingerprint(1, 64)})
    go(store, "up")
    assert not index.away
    assert claim(index, "0-1") is Outcome.DUPLICATE


def test_full_standby_still_knows_the_copies_of_its_pages(
    index: StandbyIndex, store: Store
) -> None:
    go(store, "refused")
    for number in range(10):
        index.claim(str(number), Fingerprint(0x9E3779B97F4A7C15 * number % 2**64, 64))
    assert index.claim("copy", Fingerprint(1, 64)).outcome is Outcome.DUPLICATE
    go(store, "up")
    assert index.claim("other", Fingerprint(2, 64)).outcome is Outcome.DUPLICATE


def test_full_standby_takes_no_more(index: StandbyIndex, store: Store) -> None:
    go(store, "refused")
    arrivals = [Arrival(str(n), Fingerprint(0x9E3779B97F4A7C15 * n % 2**64, 64)) for n in range(11)]
    index.claim_all(arrivals[:10])
    with pytest.raises(StoreUnavailable, match="full"):
        index.claim_all(arrivals[10:])


def test_index_starts_without_its_store_and_connects_later(store: Store, tmp_path: Path) -> None:
    go(store, "refused")
    with pytest.raises(StoreUnavailable):
        StandbyIndex(store.open, None, pages=10, start_without=False, **ABOUT)
    index = StandbyIndex(store.open, None, pages=10, **ABOUT)
    assert claim(index, "0-0") is Outcome.ORIGINAL
    index.confirm(["0-0"])
    go(store, "up")
    index.catch_up(at_once=True)
    assert inside(store) == ["0-0"]
    index.close()


def test_store_of_another_recipe_that_is_reached_later_is_refused(
    store: Store, tmp_path: Path
) -> None:
    index_from_url(f"sqlite:///{store.path}", **{**ABOUT, "recipe": "another"}).close()
    go(store, "refused")
    index = StandbyIndex(store.open, None, pages=10, **ABOUT)
    go(store, "up")
    index.catch_up(at_once=True)
    assert isinstance(index.refused, StoreMismatch)
    index.close()


class Crawl:
    """Crawls pages, some of which fail, over an index that is away or dies at times."""

    def __init__(self, folder: Path, answers: Iterable[str], bad: set[str]) -> None:
        self.store, self.standby = Store(folder / "primary.sqlite"), folder / "standby.sqlite"
        script = iter(answers)
        self.store.answer = lambda: next(script, "up")
        self.bad = bad
        self.arrived: set[str] = set()
        self.delivered: set[str] = set()
        self.unchecked: set[str] = set()
        self.progress: set[str] = set()
        self.again: list[str] = []
        self.index = self._open()

    def _open(self) -> StandbyIndex:
        return StandbyIndex(self.store.open, self.standby, pages=6, **ABOUT)

    def arrive(self, keys: Iterable[str]) -> None:
        keys = [key for key in dict.fromkeys(keys) if key not in self.progress]
        self.arrived.update(keys)
        try:
            claims = self.index.claim_all(list(map(page, keys)))
        except StoreUnavailable:
            self.unchecked.update(set(keys) - self.bad)
            return
        for key, claim in zip(keys, claims, strict=True):
            self._crawl_again(claim.handed_back)
            if claim.outcome is not Outcome.DUPLICATE:
                self.progress.add(key)

    def settle(self, keys: Iterable[str]) -> None:
        keys = [key for key in dict.fromkeys(keys) if key in self.progress]
        self.progress.difference_update(keys)
        self._crawl_again(self.index.release([key for key in keys if key in self.bad]))
        good = [key for key in keys if key not in self.bad]
        self.delivered.update(good)
        self.index.confirm(good)

    def catch_up(self, keys: Iterable[str] = ()) -> None:
        self._crawl_again(self.index.catch_up(at_once=True).pages)

    def take_over(self, keys: Iterable[str] = ()) -> None:
        self._crawl_again(self.index.orphans())
        again, self.again = self.again, []
        self.arrive(again)

    def die(self, keys: Iterable[str] = ()) -> None:
        self.index.close()
        self.progress.clear()
        self.again.clear()
        self.index = self._open()

    def finish(self) -> None:
        self.store.answer = lambda: "up"
        for _ in range(2):
            self.index.catch_up(at_once=True)
            for _ in range(8):
                self.settle(list(self.progress))
                self.catch_up()
                self.take_over()
            # The second time around every lease has run out.
            self.die()

    def _crawl_again(self, pages: Iterable[Page]) -> None:
        self.again += [page.key for page in pages]


KEYS = st.lists(
    st.builds(
        lambda cluster, copy: f"{cluster}-{copy}",
        st.integers(0, len(CENTRES) - 1),
        st.integers(0, COPIES - 1),
    ),
    max_size=5,
)
ACTS = st.tuples(
    st.sampled_from(["arrive", "arrive", "settle", "settle", "catch_up", "take_over"]), KEYS
)


@given(
    lives=st.lists(st.lists(ACTS, max_size=14), min_size=1, max_size=2),
    answers=st.lists(
        st.tuples(st.sampled_from(["up", "refused", "lost"]), st.integers(1, 6)), max_size=12
    ),
    bad=KEYS,
    retry=st.sampled_from([0.0, 1000.0]),
)
@settings(max_examples=60)
def test_no_cluster_is_lost_and_what_is_delivered_ends_in_the_store(
    lives: list[list[tuple[str, list[str]]]],
    answers: list[tuple[str, int]],
    bad: list[str],
    retry: float,
) -> None:
    """Whatever the pattern of outages and of kills, and whichever pages fail."""
    script = [answer for answer, times in answers for _ in range(times)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_RETRY_SECONDS", "RETRY_SECONDS"):
            patch.setattr(primary, name, retry)
        crawl = Crawl(Path(folder), script, set(bad))
        for number, acts in enumerate(lives):
            if number:
                crawl.die()
            for act, keys in acts:
                getattr(crawl, act)(keys)
        crawl.finish()
        clusters = {key[0] for key in crawl.arrived - crawl.bad}
        unchecked = {key[0] for key in crawl.unchecked}
        assert {key[0] for key in crawl.delivered} | unchecked == clusters
        assert {key[0] for key in inside(crawl.store)} == {key[0] for key in crawl.delivered}
        assert crawl.index.left() == 0
        crawl.index.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, int], list[float]]:
    """Attempts of so many seconds each, and then one that succeeds; what is between them."""
    now = [1000.0]
    monkeypatch.setattr(primary.time, "monotonic", lambda: now[0])
    store = primary.Primary(MagicMock(), start_without=True)

    def pauses(seconds: float, attempts: int) -> list[float]:
        starts, ends = [], []

        def fails(index: Any) -> None:
            starts.append(now[0])
            now[0] += seconds
            ends.append(now[0])
            raise StoreUnavailable("away")

        while len(starts) < attempts:
            store.attempt(fails)
            now[0] += 0.125
        now[0] += 10
        store.attempt(lambda _: None)
        return [start - end for start, end in zip(starts[1:], ends, strict=False)]

    return pauses


def test_a_store_that_stays_away_is_asked_ever_less_often(pauses):
    assert pauses(0.5, 8) == [0.5, 1, 2, 4, 8, 10, 10]


def test_a_store_that_was_back_for_a_moment_only_is_left_alone_as_before(pauses):
    assert pauses(0.5, 4) == [0.5, 1, 2]
    assert pauses(0.5, 4) == [8, 10, 10]


def test_a_store_that_refuses_at_once_is_asked_twice_a_second(pauses):
    assert pauses(0.001, 50) == [0.5] * 49


def test_a_store_that_refuses_soon_is_asked_so_often_that_it_hardly_costs_time(pauses):
    assert pauses(0.0625, 4) == [0.5, 1, 1.25]


def test_a_store_that_refuses_at_once_and_comes_and_goes_is_left_alone(pauses):
    assert pauses(0.001, 3) == [0.5, 0.5]
    assert pauses(0.001, 7) == [1, 2, 4, 8, 10, 10]


def test_page_of_the_standby_that_is_given_up_is_the_stores_again(
    index: StandbyIndex, store: Store
) -> None:
    claim(index, "0-0")
    index.confirm(["0-0"])
    go(store, "refused")
    claim(index, "1-0")
    claim(index, "1-1")
    assert [page.key for page in index.release(["1-0"])] == ["1-1"]
    go(store, "up")
    index.catch_up(at_once=True)
    index.give_up(["1-1"])
    assert index.orphans(now=1e10) == []
    near_the_first = Fingerprint(CENTRES[0] ^ 2, 64)
    assert index.claim("1-1", near_the_first).outcome is Outcome.DUPLICATE
