"""The index whose store may be away: whatever the pattern of outages, no page is lost."""

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.core import breaker
from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.index.store import StoreUnavailable
from scrapy_simhash.index.values import Arrival, Claim, Report
from tests.core.crawling import CENTRES, Crawl, page
from tests.core.failing import FailingStore
from tests.index.promises.made import ORIGINAL, spec


@pytest.fixture
def index(store: FailingStore) -> Iterator[Breaker]:
    with contextlib.closing(Breaker(store.open, store.spec)) as index:
        yield index


def claim(index: Breaker, key: str) -> Claim:
    (answer,) = index.claim_all([page(key)])
    return answer


def come_back(index: Breaker, store: FailingStore) -> None:
    store.go("up")
    index.retry()
    index.report(Report())


def test_how_a_page_of_an_outage_fared_is_known_until_a_copy_asks(index, store):
    store.go("refused")
    for cluster in "012":
        claim(index, f"{cluster}-0")
    entries = [claim(index, f"{cluster}-1").matches[0].entry for cluster in "012"]
    news = index.report(Report(delivered=["0-0"], failed=["1-0"], entries=entries))
    assert news == {entries[0]: True, entries[1]: False}
    come_back(index, store)
    assert index.report(Report(entries=entries)) == news


def test_originals_of_the_store_are_provisional_for_a_lease_while_it_is_away(index, store, now):
    claim(index, "0-0")
    entry = claim(index, "0-1").matches[0].entry
    store.go("refused")
    now[0] += 1
    claim(index, "1-0")
    now[0] += store.spec.lease
    assert index.report(Report(entries=[entry])) == {}
    now[0] += 1
    assert index.report(Report(entries=[entry])) == {entry: False}


def test_a_page_that_failed_before_another_text_of_it_was_delivered_makes_no_copies(index, store):
    claim(index, "0-0")
    store.go("refused")
    index.report(Report(failed=["0-0"]))
    index.claim_all([Arrival("0-0", page("1-0").fingerprint)])
    index.report(Report(delivered=["0-0"]))
    come_back(index, store)
    assert claim(index, "0-1").outcome == ORIGINAL


def test_a_store_that_is_away_is_left_alone_and_said_so_once(index, store, caplog):
    caplog.set_level(logging.INFO, "scrapy_simhash")
    store.go("refused")
    for key in ("0-0", "1-0", "2-0"):
        claim(index, key)
    assert store.claims == [1]
    come_back(index, store)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "the store is away" in caplog.text


def test_a_store_that_can_be_read_and_not_written_is_said_once_to_be_away(index, store, caplog):
    """A full Redis still knows its copies."""
    index.claim_all([page("0-0")])
    for _ in range(3):
        store.go("refused")
        index.retry()
        index.report(Report(renewed=[]))
        store.go("up")
        index.retry()
        assert claim(index, "0-1").matches[0].key == "0-0"
    assert len(caplog.records) == 1


def test_a_page_whose_answer_was_lost_later_in_an_outage_holds_no_copy_back(index, store):
    store.go("refused")
    claim(index, "0-0")
    for answer, key in (("up", "1-0"), ("lost", "2-0")):
        store.go(answer)
        index.retry()
        claim(index, key)
    come_back(index, store)
    assert claim(index, "2-1").outcome == ORIGINAL


def test_a_full_memory_lets_pages_through_unchecked_and_forgets_the_oldest(
    index, store, monkeypatch
):
    monkeypatch.setattr(breaker, "MOST_PAGES", 2)
    keys = ["0-0", "1-0", "2-0"]
    index.claim_all([*map(page, keys)])
    store.go("refused")
    index.report(Report(delivered=keys))
    assert [claim(index, f"{cluster}-1") is None for cluster in "012"] == [False, False, True]
    come_back(index, store)
    assert store.confirmed() == keys[1:]


def test_an_index_starts_without_its_store_and_connects_later(store):
    store.go("refused")
    with pytest.raises(StoreUnavailable):
        Breaker(store.open, store.spec, start_without=False)
    index = Breaker(store.open, store.spec)
    index.retry()
    original = claim(index, "0-0")
    assert (original.outcome, original.change) == (ORIGINAL, None)
    assert (index.away, index.refused) == (True, None)
    come_back(index, store)
    claim(index, "1-0")
    index.report(Report(delivered=["1-0"]))
    assert store.confirmed() == ["1-0"]
    index.close()


@pytest.mark.parametrize(("seconds", "pause"), [(0.1, 1), (4, 20)])
def test_the_longer_failures_take_the_longer_a_store_has_peace(index, store, now, seconds, pause):
    def fail() -> str:
        now[0] += seconds
        return "refused"

    store.answer = fail
    claim(index, "0-0")
    store.go("up")
    now[0] += pause - 0.01
    index.report(Report())
    assert index.away
    now[0] += 0.02
    index.report(Report())
    assert not index.away


PAIRS = [f"{cluster}-{copy}" for cluster, _ in enumerate(CENTRES) for copy in range(4)]
KEYS = st.lists(st.sampled_from(PAIRS), max_size=5)
ACTS = st.tuples(st.sampled_from(["arrive", "arrive", "settle", "settle", "round"]), KEYS)


@given(
    acts=st.lists(ACTS, max_size=24),
    answers=st.lists(
        st.tuples(st.sampled_from(["up", "refused", "lost"]), st.integers(1, 6)), max_size=12
    ),
    bad=KEYS,
    pause=st.sampled_from([0.0, 1000.0]),
)
@settings(max_examples=40, deadline=None)
def test_no_cluster_is_lost(acts, answers, bad, pause):
    script = iter([answer for answer, times in answers for _ in range(times)])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(breaker, "STORE_PAUSE", pause)
        store = FailingStore(Path(folder) / "store.sqlite", spec())
        store.answer = lambda: next(script, "up")
        crawl = Crawl(store, bad)
        for act, keys in acts:
            getattr(crawl, act)(keys)
        crawl.finish()
        clusters = {key[0] for key in crawl.arrived - {*bad}}
        assert {key[0] for key in crawl.delivered} == clusters
        assert {key[0] for key in crawl.store.confirmed()} <= {key[0] for key in crawl.delivered}
        assert not crawl.waiting
