"""The request of one copy waits beside its original's lease, in case its crawler dies."""

from __future__ import annotations

import pytest

from scrapy_simhash.index.contract import MAX_ADOPTIONS
from scrapy_simhash.index.values import MAX_WAITING, Change, Orphan
from scrapy_simhash.testing.made import DUPLICATE, FAR, ORIGINAL, REVISIT, at, fp, keys, page
from scrapy_simhash.testing.store import OverStore, Store


class Waiting(OverStore):
    """A copy that waits is adopted when its original is taken back."""

    def test_a_copy_that_waits_outlives_its_crawler_when_the_original_fails(
        self, shared_store: Store
    ) -> None:
        one, dead, other = (at(shared_store.open(), 100) for _ in range(3))
        one.claim(page("a", request="A"))
        assert dead.claim(page("b", 1, request="B")).outcome is DUPLICATE
        one.claim(page("c", 2, request="C"))
        one.release(["a"])
        assert dead.orphans() == []  # it has its copy itself
        assert other.orphans() == [Orphan("a", "B")]
        assert other.claim(page("b", 1, request="B")).outcome is DUPLICATE
        other.release(["a"])
        assert other.claim(page("b", 1, request="B")).outcome is ORIGINAL
        other.confirm(["b"])
        assert [(entry.key, entry.provisional) for entry in one] == [("b", False)]

    def test_a_copy_waits_no_longer_than_its_original_is_in_progress(
        self, shared_store: Store
    ) -> None:
        one, other = (at(shared_store.open(), 100) for _ in range(2))
        one.claim_all([page("a", request="A"), page("b", 1, request="B")])
        one.confirm(["a"])
        other.claim(page("c", 1, request="C"))
        one.release(["a"])
        assert (at(other, 4e9).orphans(), keys(one)) == ([], ["a"])

    def test_the_copy_of_a_page_that_is_taken_back_waits_for_nobody(self, store: Store) -> None:
        index = at(store.open(), 100)
        index.claim_all([page("a", request="A"), page("b", 1, request="B")])
        (match,) = index.query(fp(0))
        index.release(["a"])
        assert index.unsettled([match.entry]).gone == {match.entry}
        assert index.claim(page("c", 2)).outcome is ORIGINAL
        assert keys(index) == ["c"]

    def test_a_copy_waits_on_whoever_has_its_original(self, shared_store: Store) -> None:
        """The original is renewed, revisited and adopted, and then given up."""
        one, two, dead = (at(shared_store.open(lease=60), 100) for _ in range(3))
        one.claim(page("a", request="A"))
        dead.claim(page("b", 1, request="B"))
        at(one, 150).renew(["a"])
        assert at(two, 160).claim(page("a", request="A")).outcome is REVISIT
        now = 160
        for _ in range(MAX_ADOPTIONS):
            now += 60
            assert at(shared_store.open(lease=60), now).orphans() == [Orphan("a", "A")]
        last = at(shared_store.open(), now + 60)
        assert (last.orphans() or last.orphans()) == [Orphan("a", "B")]

    def test_a_copy_waits_on_the_page_that_takes_the_place_of_its_original(
        self, shared_store: Store
    ) -> None:
        one, dead, other = (at(shared_store.open(lease=60), 100) for _ in range(3))
        one.claim(page("a"))
        dead.claim(page("b", 1, request="B"))
        assert at(other, 160).claim(page("c", 2, request="C")).outcome is ORIGINAL
        other.release(["c"])
        assert at(one, 160).orphans() == [Orphan("c", "B")]

    def test_a_dead_crawlers_page_waits_on_the_copy_that_takes_its_place(
        self, shared_store: Store
    ) -> None:
        """Else it is lost when the copy fails. It goes before copies, whose crawlers may live."""
        dead, one, other = (at(shared_store.open(lease=60), 100) for _ in range(3))
        dead.claim(page("a", request="A"))
        assert other.claim(page("c", 1, request="C")).outcome is DUPLICATE
        assert one.claim(page("b", 1, request="B")).outcome is DUPLICATE
        assert at(one, 160).claim(page("b", 1, request="B")).outcome is ORIGINAL
        one.release(["b"])
        assert at(other, 160).orphans() == [Orphan("b", "A")]
        assert other.claim(page("a", request="A")).outcome is DUPLICATE
        other.release(["b"])
        assert other.claim(page("a", request="A")).outcome is ORIGINAL
        other.release(["a"])
        assert len(one) == 0

    def test_a_page_that_comes_again_waits_on_nobody(self, shared_store: Store) -> None:
        dead, other = (at(shared_store.open(lease=60), 100) for _ in range(2))
        dead.claim(page("a", request="A"))
        other.query(fp(0))  # it knows of the entry
        at(other, 160).claim(page("a", FAR, request="again"))
        other.release(["a"])
        assert len(other) == 0

    def test_a_copy_is_its_own_spiders(self, shared_store: Store) -> None:
        one, dead = (at(shared_store.open(spider=s), 100) for s in ("one", "other"))
        one.claim(page("a", request="A"))
        dead.claim(page("b", 1, request="B"))
        assert at(shared_store.open(spider="other"), 100).orphans() == []
        one.release(["a"])
        assert at(shared_store.open(spider="one"), 1000).orphans() == []
        assert at(shared_store.open(spider="other"), 1000).orphans() == [Orphan("a", "B")]

    def test_a_page_that_waits_on_another_spiders_copy_is_its_own_spiders(
        self, shared_store: Store
    ) -> None:
        dead, other = (at(shared_store.open(lease=60, spider=s), 100) for s in ("one", "other"))
        dead.claim(page("a", request="A"))
        assert at(other, 160).claim(page("b", 1, request="B")).outcome is ORIGINAL
        other.release(["b"])
        assert at(shared_store.open(spider="other"), 1000).orphans() == []
        assert at(shared_store.open(spider="one"), 1000).orphans() == [Orphan("b", "A")]

    @pytest.mark.parametrize("request_", [None, "B" * (MAX_WAITING + 1)])
    def test_a_copy_that_nobody_can_request_or_that_is_too_large_is_not_kept(
        self, store: Store, request_: str | None
    ) -> None:
        index = store.open()
        index.claim_all([page("a", request="A"), page("b", 1, request=request_)])
        index.release(["a"])
        assert len(index) == 0

    def test_a_copy_of_a_page_of_an_earlier_run_leaves_it_as_it_was_if_it_fails_too(
        self, run_store: Store
    ) -> None:
        index = at(run_store.open(), 100)
        index.begin_run()
        index.claim(page("a"))
        index.confirm(["a"])
        index.end_run(finished=True)
        index.begin_run()
        index.claim_all([page("a", request="A"), page("b", 1, request="B")])
        index.release(["a"])
        other = at(run_store.open(), 200)
        assert other.orphans() == [Orphan("a", "B")]
        other.release(["a"])
        assert [(entry.key, entry.run, entry.provisional) for entry in index] == [("a", 1, False)]
        claim = index.claim(page("b", 1))
        assert (claim.change, claim.before and claim.before.key) == (Change.MOVED, "a")

    def test_a_copy_is_left_to_its_crawler_while_that_lives_in_the_run(
        self, run_store: Store
    ) -> None:
        one, dropper, other = (at(run_store.open(lease=60), 100) for _ in range(3))
        for index in (one, dropper, other):
            index.begin_run()
        one.claim(page("a", request="A"))
        dropper.claim(page("b", 1, request="B"))
        one.release(["a"])
        assert at(other, 159).orphans() == []
        assert at(other, 221).orphans() == [Orphan("a", "B")]

    @pytest.mark.parametrize("failed", [False, True])
    def test_a_crawler_that_ends_takes_its_own_copies_along(
        self, shared_store: Store, failed: bool
    ) -> None:
        one, dropper = (at(shared_store.open(), 100) for _ in range(2))
        one.claim_all([page("a", request="A"), page("c", FAR, request="C")])
        claims = dropper.claim_all([page("b", 1, request="B"), page("d", FAR, request="D")])
        entries = [claim.matches[0].entry for claim in claims]
        if failed:
            one.release(["a"])
        one.withdraw(entries)
        assert len(one) == 2
        dropper.withdraw(entries[:1])
        one.release(["a", "c"])
        assert at(shared_store.open(), 100).orphans() == [Orphan("c", "D")]
        assert keys(one) == ["c"]
