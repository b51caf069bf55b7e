"""The first pages of a cluster become originals, as many as ``IndexSpec.copies`` says."""

from __future__ import annotations

from scrapy_simhash.index.values import MAX_COPIES, Arrival
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import DUPLICATE, ORIGINAL, REVISIT, at, fp, page
from tests.index.test_races import race

pytestmark = ON_SQLITE_AND_REDIS


def test_as_many_pages_of_a_cluster_as_are_asked_for_become_originals(store):
    index = store.open(copies=3)
    claims = [index.claim(page(key, 1 << n)) for n, key in enumerate("abcde")]
    assert [claim.outcome for claim in claims] == [ORIGINAL] * 3 + [DUPLICATE] * 2
    assert [{match.key for match in claim.matches} for claim in claims] == [
        *(set(), {"a"}, {"a", "b"}),
        *({"a", "b", "c"}, {"a", "b", "c"}),
    ]
    assert index.claim(page("b", 2)).outcome is REVISIT
    assert len(index) == 3


def test_a_copy_that_failed_gives_its_place_to_the_next_one(store):
    index = store.open(copies=2)
    index.claim_all([page("a"), page("b")])
    index.confirm(["a"])
    index.release(["b"])
    assert [index.claim(page(key)).outcome for key in "cd"] == [ORIGINAL, DUPLICATE]


def test_expired_copies_lose_their_places_only_when_these_are_needed(shared_store):
    dead, index = (at(shared_store.open(copies=3, spider="s"), 0) for _ in range(2))
    dead.claim_all([page(key) for key in "ab"])
    at(index, 1000)
    claims = [index.claim(page(key)) for key in "cde"]
    assert [claim.outcome for claim in claims] == [ORIGINAL] * 3
    assert {entry.key for entry in index} == {"c", "d", "e"}
    assert index.claim(page("f")).outcome is DUPLICATE


def test_a_later_run_keeps_as_many_in_any_order(shared_store):
    for order in ("abcd", "abcd", "bdca", "dcba", "cadb"):
        index = shared_store.open(copies=2)
        index.begin_run()
        claims = [index.claim(page(key)) for key in order]
        assert [claim.outcome for claim in claims].count(ORIGINAL) == 2
        index.confirm(order)
        index.end_run(finished=True)


def test_pages_that_claim_at_once_take_no_more_places_than_there_are(store):
    opened = [store.open(copies=2) for _ in range(4 if store.shared else 1)]
    for claims in race([*opened, *opened, *opened, *opened][:4], 40):
        assert [claim.outcome for claim in claims].count(ORIGINAL) == 2


def test_a_page_among_as_many_others_as_are_judged_still_finds_its_copies(store):
    index = store.open(copies=MAX_COPIES)
    claims = [index.claim(Arrival(f"{n}", fp(0))) for n in range(2 * MAX_COPIES)]
    assert [claim.outcome for claim in claims].count(ORIGINAL) == MAX_COPIES
