"""A claim is answered as the contract says, alone and among others."""

from scrapy_simhash.index.values import Arrival
from scrapy_simhash.rule.ruling import Ruling
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import (
    FAR,
    LEASE,
    ORIGINAL,
    REVISIT,
    at,
    fp,
    page,
    same_facts,
    values,
)

pytestmark = ON_SQLITE_AND_REDIS


def test_keys_that_differ_in_scheme_or_www_have_entries_of_their_own(store):
    index = store.open()
    http, https, www = "http://h.example/", "https://h.example/", "http://www.h.example/"
    index.claim_all([page(http, 0), page(https, FAR), page(www, FAR << 9)])
    assert [entry.key for entry in index.entries_of([http, www])] == [http, www]
    assert index.claim(page(https, FAR)).outcome == REVISIT


def test_the_judge_is_given_keys_facts_and_distance_of_both_pages(store):
    seen = []

    def judge(*given: object) -> Ruling:
        seen.append(given)
        return Ruling(True, "always")

    index = store.open(judge=judge)
    index.claim(page("old", 0, facts=bytes(24)))
    claim = index.claim(page("new", 0b101, facts=b"n"))
    assert seen == [(("new", b"n"), ("old", bytes(24)), 2)]
    assert claim.matches[0].reason == "always"


def test_pages_that_claim_together_get_the_answers_of_one_after_the_other(store):
    index = store.open()
    pages = values(700)
    pages[1], pages[699] = pages[0] ^ 1, pages[0] ^ 2
    claims = index.claim_all([Arrival(f"{i}", fp(value)) for i, value in enumerate(pages)])
    assert [i for i, c in enumerate(claims) if c.outcome != ORIGINAL] == [1, 699]
    assert [claims[i].matches[0].key for i in (1, 699)] == ["0", "0"]
    entry = claims[1].matches[0].entry
    assert index.unsettled([entry]) == ({entry}, frozenset())
    assert index.claim_all([]) == []


def test_a_page_that_another_crawler_has_taken_over_is_confirmed_by_either(store):
    index, other = store.open(), store.open()
    index.claim(page("a"))
    assert other.claim(page("a")).outcome == REVISIT
    index.confirm(["a"])
    assert [entry.provisional for entry in other] == [False]


def test_a_page_that_waits_for_one_before_it_keeps_the_place_that_it_takes(store):
    """The page "copy" takes the place of "old", so the later page of that key is no revisit."""
    index = store.open(judge=same_facts, lease=LEASE)
    at(index, 0).claim_all([page("old", 0, facts=b"1"), page("far", 0b111111, facts=b"2")])
    index.confirm(["far"])
    pages = [
        page("other", 0b1111, facts=b"3"),
        page("copy", 0b11, facts=b"1"),
        page("old", 1 << 9, facts=b"4"),
    ]
    assert [claim.outcome for claim in at(index, 1000).claim_all(pages)] == [ORIGINAL] * 3
