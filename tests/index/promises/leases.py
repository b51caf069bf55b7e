"""A provisional entry lives as long as its lease."""

from __future__ import annotations

from scrapy_simhash.index.values import Report, Unsettled
from tests.index.promises.made import (
    DUPLICATE,
    FAR,
    ORIGINAL,
    REVISIT,
    at,
    fp,
    keys,
    page,
    values,
)
from tests.index.promises.store import OverStore, Store


class Leases(OverStore):
    """Entries are confirmed, released, renewed and settled."""

    def test_a_provisional_original_says_so_until_it_is_confirmed(self, store: Store) -> None:
        index = store.open()
        index.claim(page("a"))
        assert index.claim(page("b")).matches[0].provisional
        index.confirm(["a", "unknown"])
        assert not index.claim(page("b")).matches[0].provisional

    def test_a_released_original_is_gone(self, store: Store) -> None:
        index = store.open()
        index.claim(page("a"))
        index.release(["a", "unknown"])
        assert (len(index), index.query(fp(0))) == (0, [])
        assert index.claim(page("b")).outcome is ORIGINAL

    def test_a_confirmed_original_cannot_be_released(self, store: Store) -> None:
        index = store.open()
        index.claim(page("a"))
        index.confirm(["a"])
        index.release(["a"])
        assert keys(index) == ["a"]

    def test_a_claim_takes_the_place_of_expired_originals(self, store: Store) -> None:
        index = store.open(lease=60)
        at(index, 100).claim(page("a", 0))
        at(index, 100).claim(page("c", 0b111100))
        assert at(index, 159).claim(page("b", 0b1100)).outcome is DUPLICATE
        assert at(index, 160).claim(page("b", 0b1100)).outcome is ORIGINAL
        assert keys(index) == ["b"]

    def test_a_renewed_lease_runs_from_then_on(self, store: Store) -> None:
        index = store.open(lease=60)
        at(index, 100).claim(page("a"))
        at(index, 150).renew(["a", "unknown"])
        assert at(index, 209).claim(page("b")).outcome is DUPLICATE
        assert at(index, 210).claim(page("b")).outcome is ORIGINAL

    def test_a_renewal_of_what_is_confirmed_or_gone_brings_nothing_back(self, store: Store) -> None:
        index = store.open()
        index.claim_all([page("a", 0), page("b", FAR)])
        index.confirm(["a"])
        index.release(["b"])
        index.renew(["a", "b"])
        assert [(entry.key, entry.provisional) for entry in index] == [("a", False)]

    def test_a_revisit_takes_the_lease_over_from_another_crawler(self, shared_store: Store) -> None:
        one, other = shared_store.open(), shared_store.open()
        one.claim(page("a"))
        assert other.claim(page("a")).outcome is REVISIT
        one.release(["a"])
        assert len(other) == 1
        other.release(["a"])
        assert len(other) == 0

    def test_a_crawler_neither_releases_nor_renews_what_another_one_claimed(
        self, shared_store: Store
    ) -> None:
        one, other = shared_store.open(lease=60), shared_store.open(lease=60)
        at(one, 100).claim(page("a"))
        other.release(["a"])
        at(other, 150).renew(["a"])
        other.confirm(["a"])
        assert [(entry.key, entry.provisional) for entry in one] == [("a", True)]
        assert at(other, 160).claim(page("b")).outcome is ORIGINAL

    def test_unsettled_tells_provisional_and_gone_originals_from_confirmed_ones(
        self, store: Store
    ) -> None:
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

    def test_the_match_of_a_duplicate_names_the_entry_that_unsettled_knows(
        self, store: Store
    ) -> None:
        index = store.open()
        index.claim(page("a"))
        (match,) = index.claim(page("b")).matches
        assert index.unsettled([match.entry]).provisional == {match.entry}

    def test_a_revisit_leases_the_own_entry_anew(self, store: Store) -> None:
        index = store.open(lease=60)
        at(index, 100).claim(page("a"))
        assert at(index, 500).claim(page("a", 1)).outcome is REVISIT
        assert at(index, 559).claim(page("b")).outcome is DUPLICATE
        assert at(index, 560).claim(page("b")).outcome is ORIGINAL

    def test_a_confirmation_counts_although_another_crawler_has_the_page_by_now(
        self, shared_store: Store
    ) -> None:
        one, other = shared_store.open(), shared_store.open()
        at(one, 100).claim(page("a"))
        assert at(other, 1000).claim(page("a")).outcome is REVISIT
        one.confirm(["a"])
        other.release(["a"])
        assert [(entry.key, entry.provisional) for entry in other] == [("a", False)]

    def test_an_original_whose_place_was_taken_is_gone(self, store: Store) -> None:
        index = store.open()
        at(index, 100).claim(page("a"))
        (match,) = index.query(fp(0))
        at(index, 1000).claim(page("c", 1))
        assert index.unsettled([match.entry]).gone == {match.entry}

    def test_what_is_reported_in_one_call_is_done_before_it_is_answered(self, store: Store) -> None:
        index = at(store.open(lease=60), 100)
        numbers = values(5)
        index.claim_all([page(f"{n}", value) for n, value in enumerate(numbers)])
        entries = [index.query(fp(value))[0].entry for value in numbers]
        news = Report(failed=["1", "4"], delivered=["2", "4"], renewed=["3"], entries=entries)
        fate = at(index, 160).report(news)
        assert fate.provisional == {entries[3]}
        assert fate.gone == {entries[0], entries[1], entries[4]}
        assert index.report(Report()) == Unsettled(frozenset(), frozenset())
