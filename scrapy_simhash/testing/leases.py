"""A provisional entry lives as long as its lease."""

from __future__ import annotations

import logging

import pytest

from scrapy_simhash.index.contract import MAX_ADOPTIONS, MAX_ORPHANS
from scrapy_simhash.index.values import Orphan, Report, Unsettled
from scrapy_simhash.testing.made import (
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
from scrapy_simhash.testing.store import OverStore, Store


class Leases(OverStore):
    """Entries are confirmed, released, renewed, adopted and settled."""

    def test_a_provisional_original_says_so_until_it_is_confirmed(self, store: Store) -> None:
        index = store.open()
        index.claim(page("a"))
        assert index.claim(page("b")).matches[0].provisional
        index.confirm(["a", "unknown"])
        assert not index.claim(page("b")).matches[0].provisional

    def test_a_released_original_is_gone(self, store: Store) -> None:
        index = store.open()
        index.claim(page("a", request="A"))
        index.release(["a", "unknown"])
        assert (len(index), index.query(fp(0)), at(index, 4e9).orphans()) == (0, [], [])
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

    def test_a_revisit_leases_the_own_entry_anew_with_its_own_request(
        self, shared_store: Store
    ) -> None:
        index = shared_store.open(lease=60)
        at(index, 100).claim(page("a", request="first"))
        assert at(index, 500).claim(page("a", 1, request="second")).outcome is REVISIT
        assert at(index, 559).claim(page("b")).outcome is DUPLICATE
        assert at(shared_store.open(), 560).orphans() == [Orphan("a", "second")]

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

    def test_a_confirmation_counts_although_another_crawler_has_adopted_the_page(
        self, shared_store: Store
    ) -> None:
        one, other = shared_store.open(), shared_store.open()
        at(one, 100).claim(page("a", request="A"))
        assert at(other, 1000).orphans() == [Orphan("a", "A")]
        one.confirm(["a"])
        other.release(["a"])
        assert [(entry.key, entry.provisional) for entry in other] == [("a", False)]

    def test_orphans_are_the_expired_entries_leased_anew_to_whoever_asks(
        self, shared_store: Store
    ) -> None:
        dead, index = shared_store.open(lease=60), shared_store.open(lease=60)
        at(dead, 100).claim(page("a", 0, request="A"))
        at(dead, 120).claim(page("b", FAR, request="B"))
        assert at(index, 159).orphans() == []
        assert at(index, 160).orphans() == [Orphan("a", "A")]
        assert at(index, 160).orphans() == []
        assert at(index, 219).claim(page("copy", 1)).outcome is DUPLICATE
        index.confirm(["a"])
        assert at(index, 220).orphans() == [Orphan("b", "B")]
        index.confirm(["b"])
        assert at(shared_store.open(), 4e9).orphans() == []

    def test_a_crawler_never_adopts_what_it_has_in_progress_itself(self, store: Store) -> None:
        index = at(store.open(lease=60), 100)
        index.claim(page("a", request="A"))
        assert at(index, 1e9).orphans() == []
        index.release(["a"])
        assert len(index) == 0

    def test_an_adopted_page_that_is_crawled_again_is_a_revisit_and_the_adopters(
        self, shared_store: Store
    ) -> None:
        one, other = shared_store.open(), shared_store.open()
        at(one, 100).claim(page("a", request="A"))
        at(other, 1000).orphans()
        assert at(other, 1000).claim(page("a", request="A")).outcome is REVISIT
        one.release(["a"])
        assert len(other) == 1
        other.confirm(["a"])
        assert [entry.provisional for entry in other] == [False]

    def test_an_adopted_page_that_fails_is_gone(self, shared_store: Store) -> None:
        one, other = shared_store.open(), shared_store.open()
        at(one, 100).claim(page("a", request="A"))
        at(other, 1000).orphans()
        other.release(["a"])
        assert len(one) == 0

    def test_a_page_that_has_ended_too_many_crawlers_is_deleted_with_a_warning(
        self, shared_store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        now = 100
        at(shared_store.open(lease=60), now).claim(page("a", request="A"))
        for _ in range(MAX_ADOPTIONS):
            index = shared_store.open(lease=60)
            now += 60
            assert at(index, now - 1).orphans() == []
            assert at(index, now).orphans() == [Orphan("a", "A")]
            # Crawled again, it does not begin to count from nothing.
            at(index, now).claim(page("a", request="A"))
        with caplog.at_level(logging.WARNING):
            assert at(shared_store.open(), now + 60).orphans() == []
        assert "a" in caplog.text
        assert len(index) == 0

    def test_an_expired_entry_without_a_request_is_deleted_in_silence(
        self, shared_store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        index = shared_store.open()
        at(index, 100).claim(page("a"))
        assert at(shared_store.open(), 1000).orphans() == []
        assert (len(index), caplog.text) == (0, "")

    def test_a_call_adopts_a_bounded_number_of_orphans(self, shared_store: Store) -> None:
        dead, index = shared_store.open(), shared_store.open()
        at(dead, 100).claim_all([page(f"{v}", v, request="R") for v in values(250)])
        found = []
        for _ in range(3):
            some = at(index, 1000).orphans()
            assert len(some) <= MAX_ORPHANS
            found += [orphan.key for orphan in some]
            assert index.orphans() == []
            index.release([orphan.key for orphan in some])
        assert sorted(found) == sorted(str(v) for v in values(250))

    def test_a_page_that_ends_its_crawlers_takes_no_other_along(self, shared_store: Store) -> None:
        keys = [f"{v}" for v in values(120)]
        first = at(shared_store.open(lease=60), 100)
        first.claim_all([page(key, int(key), request="R") for key in keys])
        poison, now, done = keys[50], 100, list[str]()
        for _ in range(MAX_ADOPTIONS + 1):
            index, now = at(shared_store.open(lease=60), now + 60), now + 60
            while some := [orphan.key for orphan in index.orphans()]:
                if poison in some:
                    break  # the crawler dies of it
                index.confirm(some)
                done += some
        assert sorted(done) == sorted(key for key in keys if key != poison)
        assert poison not in {entry.key for entry in index}

    def test_only_a_crawler_of_the_same_spider_adopts_a_page(self, shared_store: Store) -> None:
        one, other = shared_store.open(spider="one"), shared_store.open(spider="other")
        at(one, 100).claim(page("a", request="A"))
        at(other, 100).claim(page("b", FAR))
        assert at(other, 1000).orphans() == []
        assert at(shared_store.open(spider="one"), 1000).orphans() == [Orphan("a", "A")]

    def test_a_page_that_another_spider_revisits_is_that_spiders_to_adopt(
        self, shared_store: Store
    ) -> None:
        one, other = shared_store.open(spider="one"), shared_store.open(spider="other")
        at(one, 100).claim(page("a", request="A"))
        at(other, 100).claim(page("a", request="theirs"))
        assert at(shared_store.open(spider="one"), 1000).orphans() == []
        assert at(shared_store.open(spider="other"), 1000).orphans() == [Orphan("a", "theirs")]

    def test_unsettled_tells_provisional_and_gone_originals_from_confirmed_ones(
        self, store: Store
    ) -> None:
        index = store.open()
        numbers = values(5)
        at(index, 100).claim_all([page(str(i), v, request="R") for i, v in enumerate(numbers)])
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

    def test_an_original_whose_place_was_taken_is_gone_and_an_adopted_one_is_provisional(
        self, shared_store: Store
    ) -> None:
        index, other = shared_store.open(), shared_store.open()
        at(index, 100).claim_all([page("a", 0, request="A"), page("b", FAR, request="B")])
        entries = [index.query(fp(v))[0].entry for v in (0, FAR)]
        at(index, 1000).claim(page("c", 1))
        at(other, 1000).orphans()
        assert at(index, 1000).unsettled(entries) == Unsettled(
            frozenset(entries[1:]), frozenset(entries[:1])
        )

    def test_the_match_of_a_duplicate_names_the_entry_that_unsettled_knows(
        self, store: Store
    ) -> None:
        index = store.open()
        index.claim(page("a"))
        (match,) = index.claim(page("b")).matches
        assert index.unsettled([match.entry]).provisional == {match.entry}

    def test_what_is_reported_in_one_call_is_done_in_the_order_of_its_fields(
        self, shared_store: Store
    ) -> None:
        dead, one = (at(shared_store.open(lease=60), 100) for _ in range(2))
        numbers = values(5)
        dead.claim(page("dead", numbers[0], request="D"))
        one.claim_all([page(f"{n}", numbers[n], request="R") for n in range(1, 5)])
        entries = [one.query(fp(value))[0].entry for value in numbers]
        news = Report(failed=["1"], delivered=["2"], renewed=["3"], entries=entries)
        unsettled = at(one, 160).report(news)
        assert unsettled.provisional == {entries[3]}
        assert unsettled.gone == {entries[0], entries[1], entries[4]}
        assert one.report(Report()) == Unsettled(frozenset(), frozenset())
