"""A provisional entry lives as long as its lease."""

from __future__ import annotations

from scrapy_simhash.index.values import Report, Unsettled
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import (
    DUPLICATE,
    ORIGINAL,
    REVISIT,
    at,
    fp,
    keys,
    page,
    values,
)

pytestmark = ON_SQLITE_AND_REDIS


def test_a_claim_takes_the_place_of_expired_originals(store):
    index = store.open(lease=60)
    at(index, 100).claim(page("a", 0))
    at(index, 100).claim(page("c", 0b111100))
    assert at(index, 159).claim(page("b", 0b1100)).outcome is DUPLICATE
    assert at(index, 160).claim(page("b", 0b1100)).outcome is ORIGINAL
    assert keys(index) == ["b"]


def test_unsettled_tells_provisional_and_gone_originals_from_confirmed_ones(store):
    index = store.open()
    numbers = values(5)
    at(index, 100).claim_all([page(str(i), v) for i, v in enumerate(numbers)])
    positions = [index.query(fp(v))[0].entry for v in numbers]
    assert at(index, 100).unsettled(positions) == Unsettled(frozenset(positions), frozenset())
    index.confirm(["0"])
    index.release(["1"])
    index.gone(["2"])
    at(index, 130).renew(["3"])
    assert at(index, 170).unsettled([*positions, 987_654]) == Unsettled(
        frozenset([positions[3]]),
        frozenset([positions[1], positions[2], positions[4], 987_654]),
    )
    assert index.unsettled([]) == Unsettled(frozenset(), frozenset())


def test_a_confirmation_counts_although_another_crawler_has_the_page_by_now(shared_store):
    one, other = shared_store.open(), shared_store.open()
    at(one, 100).claim(page("a"))
    assert at(other, 1000).claim(page("a")).outcome is REVISIT
    one.confirm(["a"])
    other.release(["a"])
    assert [(entry.key, entry.provisional) for entry in other] == [("a", False)]


def test_what_is_reported_in_one_call_is_done_before_it_is_answered(store):
    index = at(store.open(lease=60), 100)
    numbers = values(5)
    index.claim_all([page(f"{n}", value) for n, value in enumerate(numbers)])
    entries = [index.query(fp(value))[0].entry for value in numbers]
    news = Report(failed=["1", "4"], delivered=["2", "4"], renewed=["3"], entries=entries)
    fate = at(index, 160).report(news)
    assert fate.provisional == {entries[3]}
    assert fate.gone == {entries[0], entries[1], entries[4]}
    assert index.report(Report()) == Unsettled(frozenset(), frozenset())
