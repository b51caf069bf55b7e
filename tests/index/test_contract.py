"""One contract over every back end: what index/contract.py promises of each single act.

Histories of many acts, races and batches are in test_histories.py.
"""

from __future__ import annotations

import logging
import random

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    MAX_ORPHANS,
    StoreMismatch,
    StoreUnavailable,
)
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import (
    BUCKET_LIMIT,
    MAX_FACTS,
    Arrival,
    Change,
    Entry,
    IndexSpec,
    Orphan,
    Run,
    Unsettled,
)
from scrapy_simhash.rule.ruling import Ruling
from tests.index.made import (
    BANDS,
    DUPLICATE,
    ORIGINAL,
    REVISIT,
    WIDTHS,
    at,
    blocked,
    flipped,
    fp,
    page,
    same_facts,
    spec,
    values,
)

FAR = 2**40 - 1


def keys(index):
    return [entry.key for entry in index]


# Outcomes.


@pytest.mark.parametrize(("bits", "distance"), WIDTHS)
def test_a_page_within_the_distance_is_a_duplicate_and_one_beyond_is_not(store, bits, distance):
    index = store.open(bits=bits, distance=distance)
    value = random.Random(bits).getrandbits(bits)
    assert index.claim(Arrival("a", fp(value, bits))).outcome is ORIGINAL
    index.confirm(["a"])
    at = index.claim(Arrival("b", fp(flipped(value, range(distance)), bits)))
    assert at.outcome is DUPLICATE
    assert [(m.key, m.distance, m.provisional) for m in at.matches] == [("a", distance, False)]
    beyond = flipped(value, range(bits - distance - 1, bits))
    assert index.claim(Arrival("c", fp(beyond, bits))).outcome is ORIGINAL
    assert len(index) == 2


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_the_top_bit_and_all_bits_are_ordinary(store, bits):
    index = store.open(bits=bits, distance=1)
    numbers = [0, 2**bits - 1, 2 ** (bits - 1) | 0b111]
    for value in numbers:
        assert index.claim(Arrival(str(value), fp(value, bits))).outcome is ORIGINAL
    for value in numbers:
        assert [(n.key, n.distance) for n in index.query(fp(value, bits))] == [(str(value), 0)]
        near = index.query(fp(value ^ 2 ** (bits - 1), bits))
        assert [(n.key, n.distance) for n in near] == [(str(value), 1)]
    assert [entry.fingerprint.value for entry in index] == numbers


def test_at_distance_0_only_the_same_fingerprint_matches(store):
    index = store.open(distance=0)
    index.claim(page("a", 5))
    assert index.claim(page("b", 5)).outcome is DUPLICATE
    assert index.claim(page("c", 4)).outcome is ORIGINAL


def test_a_wide_page_is_found_through_a_single_block_of_its_own(store):
    index = store.open(bits=256, distance=48)
    claimed = [index.claim(Arrival("a", blocked(0, range(BANDS))))]
    alike = [7 if block == 7 else 1000 + block for block in range(BANDS)]
    claimed.append(index.claim(Arrival("b", blocked(1, alike))))
    assert [claim.outcome for claim in claimed] == [ORIGINAL, DUPLICATE]


def test_a_page_is_never_a_duplicate_of_its_own_key(store):
    index = store.open()
    index.claim(page("a", 0))
    assert index.claim(page("a", 1)).outcome is REVISIT
    index.confirm(["a"])
    claim = index.claim(page("a", 3))
    assert claim.outcome is REVISIT
    assert [(m.key, m.distance, m.reason) for m in claim.matches] == [("a", 2, "key")]
    assert len(index) == 1


def test_a_key_has_one_entry_which_takes_the_text_with_which_its_page_comes_again(store):
    index = store.open()
    index.claim(page("a", 0))
    index.confirm(["a"])
    assert index.claim(page("a", FAR)).outcome is REVISIT
    assert [(entry.key, entry.provisional) for entry in index] == [("a", True)]
    assert index.query(fp(0)) == []
    index.confirm(["a"])
    assert index.claim(page("b", FAR)).matches[0].provisional is False


def test_a_text_that_repeats_another_page_changes_nothing_in_the_own_entry(store):
    index = store.open()
    index.claim_all([page("a", 0), page("b", FAR)])
    claim = index.claim(page("a", FAR))
    assert (claim.outcome, [match.key for match in claim.matches]) == (REVISIT, ["a", "b"])
    assert keys(index) == ["a", "b"]


def test_entries_of_keys_are_found_and_gone_in_any_scope(store):
    index = store.open()
    index.claim_all([page("a", 0), page("b", FAR), page("a", 0, scope="s"), page("c", FAR << 9)])
    index.confirm(["a", "c"])
    found = [(entry.key, entry.scope, entry.provisional) for entry in index.entries_of("ab")]
    assert found == [("a", "", False), ("b", "", True), ("a", "s", False)]
    assert [entry.fingerprint.value for entry in index.entries_of(["c", "d"])] == [FAR << 9]
    assert index.gone(["a", "d"]) == 2
    assert index.gone(["a"]) == 0
    assert keys(index) == ["b", "c"]
    assert index.claim(page("a", 0)).outcome is ORIGINAL


def test_keys_that_differ_in_scheme_or_www_have_entries_of_their_own(store):
    index = store.open()
    http, https, www = "http://h.example/", "https://h.example/", "http://www.h.example/"
    index.claim_all([page(http, 0), page(https, FAR), page(www, FAR << 9)])
    assert [entry.key for entry in index.entries_of([http, www])] == [http, www]
    assert index.claim(page(https, FAR)).outcome is REVISIT


def test_scopes_never_match_each_other(store):
    index = store.open()
    assert index.claim(page("a", scope="x")).outcome is ORIGINAL
    assert index.claim(page("a", scope="y")).outcome is ORIGINAL
    assert index.claim(page("c", scope="x")).matches[0].key == "a"
    assert index.query(fp(0)) == []
    assert [entry.scope for entry in index] == ["x", "y"]


def test_a_query_tells_what_is_near_nearest_first_then_oldest_and_writes_nothing(store):
    index = store.open(judge=same_facts)
    assert index.query(fp(0)) == []
    for number, value in enumerate([0b111, 0b1, 0b10]):
        at(index, 100.0 + number).claim(page(f"{number}", value, facts=b"%d" % number))
    index.confirm(["1"])
    near = index.query(fp(0))
    assert [(n.key, n.distance, n.facts) for n in near] == [
        ("1", 1, b"1"),
        ("2", 1, b"2"),
        ("0", 3, b"0"),
    ]
    assert [(n.time, n.provisional) for n in near] == [(101, False), (102, True), (100, True)]
    assert len(index) == 3


def test_iteration_gives_the_entries_as_they_are_in_the_order_of_the_log(store):
    index = store.open(bits=256, distance=48)
    entries = [
        Entry(f"{i}", fp(value, 256, text=i), "s" * (i % 2), bytes(i), 100.0 + i, i % 3 > 0)
        for i, value in enumerate(values(5, bits=256))
    ]
    for e in entries:
        at(index, e.time).claim(Arrival(e.key, e.fingerprint, e.scope, e.facts))
    index.confirm(["0", "3"])
    assert list(index) == entries
    blocks = [entry.fingerprint.blocks for entry in index.with_blocks()]
    assert blocks == [entry.fingerprint.blocks for entry in entries]


def test_clear_leaves_a_usable_index_whose_positions_go_on(store):
    index = store.open()
    index.claim(page("a", request="A"))
    (before,) = index.query(fp(0))
    index.clear()
    assert (len(index), list(index), at(index, 4e9).orphans()) == (0, [], [])
    assert index.census()[:2] == (0, 0)
    assert index.claim(page("b")).outcome is ORIGINAL
    assert index.query(fp(0))[0].entry != before.entry
    assert index.unsettled([before.entry]).gone == {before.entry}


def test_closing_twice_does_no_harm_and_a_closed_index_says_so(store):
    index = store.open()
    index.close()
    index.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        index.claim(page("a"))


def test_a_census_counts_the_entries_and_the_provisional_ones(store):
    index = store.open()
    for number, value in enumerate(values(5)):
        index.claim(page(f"{number}", value))
    index.confirm(["0", "1"])
    census = index.census()
    assert (census.pages, census.provisional) == (5, 3)
    assert all(size > 0 for size in census.sizes.values())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://x/y",
        "sqlite:",
        "sqlite:///",
        "sqlite://host/a",
        "sqlite:a",
        "sqlite:/a",
        "memory://x",
        "http://[x",
    ],
)
def test_an_unknown_url_is_refused_with_the_known_ones(url):
    with pytest.raises(ValueError, match=r"memory://, sqlite:///relative") as error:
        open_index(url, spec())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"bits": 65},
        {"distance": 64},
        {"distance": -1},
        {"blocks": 0},
        {"blocks": 257},
        {"lease": 0},
    ],
)
def test_a_spec_out_of_range_is_refused(changed):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        spec(**changed)


@pytest.mark.parametrize(
    "arrival",
    [
        Arrival("a", Fingerprint(0, 64)),
        Arrival("a", Fingerprint(0, 64, b"x" * 12)),
        Arrival("a", fp(0, 128)),
        Arrival("a", fp(0), facts=bytes(MAX_FACTS + 1)),
        Arrival("a" * 65536, fp(0)),
        Arrival("a", fp(0), scope="a" * 65536),
        Arrival("\ud800", fp(0)),
        Arrival("a", fp(0), scope="\udfff"),
    ],
)
def test_a_page_that_could_not_be_found_again_is_refused_and_nothing_is_written(store, arrival):
    index = store.open()
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        index.claim_all([page("b", FAR), arrival])
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        index.put([Entry(arrival.key, arrival.fingerprint, arrival.scope, arrival.facts)])
    assert len(index) == 0


def test_another_recipe_width_or_number_of_blocks_is_refused_and_named(shared_store):
    shared_store.open().claim(page("a"))
    for changed in ({"recipe": "another"}, {"bits": 128}, {"blocks": 5}):
        with pytest.raises(StoreMismatch, match=r"test|64|4") as error:
            shared_store.open(**changed)
        assert "\n" not in str(error.value)
    assert len(shared_store.open(distance=2)) == 1


def test_a_whole_index_has_nothing_to_tell_of(store):
    index = store.open()
    assert index.check() == []
    index.claim_all([page(f"{v}", v) for v in values(90)])
    index.confirm([f"{v}" for v in values(70)])
    index.release([f"{v}" for v in values(80)[70:]])
    assert (index.check(), index.damaged) == ([], 0)


# The judge.


def test_a_near_page_that_is_judged_to_be_another_becomes_an_original(store):
    index = store.open(judge=same_facts)
    index.claim(page("a", 0, facts=b"1"))
    other = index.claim(page("b", 1, facts=b"2"))
    assert (other.outcome, other.matches) == (ORIGINAL, ())
    assert [(m.key, m.distance, m.reason) for m in other.near] == [("a", 1, "other facts")]
    assert keys(index) == ["a", "b"]


def test_everything_within_the_distance_is_judged_not_only_the_nearest(store):
    index = store.open(judge=same_facts)
    index.claim_all([page(f"{i}", 1 << i, facts=b"%d" % i) for i in range(5)])
    claim = index.claim(page("b", 0b1, facts=b"4"))
    assert claim.outcome is DUPLICATE
    assert [(m.key, m.distance, m.reason) for m in claim.matches] == [("4", 2, "facts")]


def test_the_judge_is_asked_about_pages_beyond_the_distance_that_are_within_reach(store):
    index = store.open(judge=same_facts, distance=3, reach=5)
    index.claim(page("a", 0, facts=b"1"))
    within, beyond = page("b", 0b11111, facts=b"1"), page("c", 0b111111, facts=b"1")
    assert index.claim(within).outcome is DUPLICATE
    assert index.claim_all([beyond, within])[1].outcome is DUPLICATE
    assert keys(index) == ["a", "c"]


def test_the_judge_is_given_keys_facts_and_distance_of_both_pages(store):
    seen = []

    def judge(*given):
        seen.append(given)
        return Ruling(True, "always")

    index = store.open(judge=judge)
    index.claim(page("old", 0, facts=bytes(24)))
    claim = index.claim(page("new", 0b101, facts=b"n"))
    assert seen == [(("new", b"n"), ("old", bytes(24)), 2)]
    assert claim.matches[0].reason == "always"


def test_the_own_key_is_a_revisit_whatever_the_judge_says(store):
    index = store.open(judge=same_facts)
    index.claim(page("a", 0, facts=b"1"))
    assert index.claim(page("a", 0, facts=b"2")).outcome is REVISIT
    assert len(index) == 1


def test_an_expired_page_that_is_judged_to_be_another_keeps_its_place(store):
    index = store.open(judge=same_facts)
    at(index, 0).claim(page("a", 0, facts=b"1"))
    claim = at(index, 1000).claim(page("b", 0, facts=b"2"))
    assert (claim.outcome, claim.near) == (ORIGINAL, ())
    assert keys(index) == ["a", "b"]


def test_of_many_near_pages_the_nearest_are_judged_and_the_own_entry_is_found(store):
    given = []

    def judge(own, other, distance):
        given.append(distance)
        return same_facts(own, other, distance)

    index = store.open(judge=judge)
    count = 2 * RULINGS
    far = [page(f"{i}", 0b11 << i, facts=b"%d" % i) for i in range(count - 4)]
    index.put([Entry(p.key, p.fingerprint, p.scope, p.facts) for p in far])
    index.claim(page("near", 1, facts=b"n"))
    given.clear()
    claim = index.claim(page("copy", 0, facts=b"n"))
    assert (claim.outcome, claim.matches[0].key) == (DUPLICATE, "near")
    assert (len(given), given[0]) == (RULINGS, 1)
    assert len(index.query(fp(0))) == count - 3
    if "buckets=local" not in store.url:  # where the own entry is one of the near ones
        assert index.claim(page(f"{count - 5}", 0, facts=b"other")).outcome is REVISIT


# The life of an entry.


def test_a_provisional_original_says_so_until_it_is_confirmed(store):
    index = store.open()
    index.claim(page("a"))
    assert index.claim(page("b")).matches[0].provisional
    index.confirm(["a", "unknown"])
    assert not index.claim(page("b")).matches[0].provisional


def test_a_released_original_is_gone(store):
    index = store.open()
    index.claim(page("a", request="A"))
    index.release(["a", "unknown"])
    assert (len(index), index.query(fp(0)), at(index, 4e9).orphans()) == (0, [], [])
    assert index.claim(page("b")).outcome is ORIGINAL


def test_a_confirmed_original_cannot_be_released(store):
    index = store.open()
    index.claim(page("a"))
    index.confirm(["a"])
    index.release(["a"])
    assert keys(index) == ["a"]


def test_a_claim_takes_the_place_of_expired_originals(store):
    index = store.open(lease=60)
    at(index, 100).claim(page("a", 0))
    at(index, 100).claim(page("c", 0b111100))
    assert at(index, 159).claim(page("b", 0b1100)).outcome is DUPLICATE
    assert at(index, 160).claim(page("b", 0b1100)).outcome is ORIGINAL
    assert keys(index) == ["b"]


def test_a_renewed_lease_runs_from_then_on(store):
    index = store.open(lease=60)
    at(index, 100).claim(page("a"))
    at(index, 150).renew(["a", "unknown"])
    assert at(index, 209).claim(page("b")).outcome is DUPLICATE
    assert at(index, 210).claim(page("b")).outcome is ORIGINAL


def test_a_renewal_of_what_is_confirmed_or_gone_brings_nothing_back(store):
    index = store.open()
    index.claim_all([page("a", 0), page("b", FAR)])
    index.confirm(["a"])
    index.release(["b"])
    index.renew(["a", "b"])
    assert [(entry.key, entry.provisional) for entry in index] == [("a", False)]


def test_a_revisit_leases_the_own_entry_anew_with_its_own_request(shared_store):
    index = shared_store.open(lease=60)
    at(index, 100).claim(page("a", request="first"))
    assert at(index, 500).claim(page("a", 1, request="second")).outcome is REVISIT
    assert at(index, 559).claim(page("b")).outcome is DUPLICATE
    assert at(shared_store.open(), 560).orphans() == [Orphan("a", "second")]


def test_a_revisit_takes_the_lease_over_from_another_crawler(shared_store):
    one, other = shared_store.open(), shared_store.open()
    one.claim(page("a"))
    assert other.claim(page("a")).outcome is REVISIT
    one.release(["a"])
    assert len(other) == 1
    other.release(["a"])
    assert len(other) == 0


def test_a_crawler_neither_releases_nor_renews_what_another_one_claimed(shared_store):
    one, other = shared_store.open(lease=60), shared_store.open(lease=60)
    at(one, 100).claim(page("a"))
    other.release(["a"])
    at(other, 150).renew(["a"])
    other.confirm(["a"])
    assert [(entry.key, entry.provisional) for entry in one] == [("a", True)]
    assert at(other, 160).claim(page("b")).outcome is ORIGINAL


def test_a_confirmation_counts_although_another_crawler_has_adopted_the_page(shared_store):
    one, other = shared_store.open(), shared_store.open()
    at(one, 100).claim(page("a", request="A"))
    assert at(other, 1000).orphans() == [Orphan("a", "A")]
    one.confirm(["a"])
    other.release(["a"])
    assert [(entry.key, entry.provisional) for entry in other] == [("a", False)]


# Orphans.


def test_orphans_are_the_expired_entries_leased_anew_to_whoever_asks(shared_store):
    dead, index = shared_store.open(lease=60), shared_store.open(lease=60)
    at(dead, 100).claim(page("a", 0, request="A"))
    at(dead, 120).claim(page("b", FAR, request="B"))
    assert at(index, 159).orphans() == []
    assert at(index, 160).orphans() == [Orphan("a", "A")]
    assert at(index, 160).orphans() == []
    assert at(index, 219).claim(page("copy", 1)).outcome is DUPLICATE
    assert at(index, 220).orphans() == [Orphan("b", "B")]
    index.confirm(["a", "b"])
    assert at(shared_store.open(), 4e9).orphans() == []


def test_a_crawler_never_adopts_what_it_has_in_progress_itself(store):
    index = at(store.open(lease=60), 100)
    index.claim(page("a", request="A"))
    assert at(index, 1e9).orphans() == []
    index.release(["a"])
    assert len(index) == 0


def test_an_adopted_page_that_is_crawled_again_is_a_revisit_and_the_adopters(shared_store):
    one, other = shared_store.open(), shared_store.open()
    at(one, 100).claim(page("a", request="A"))
    at(other, 1000).orphans()
    assert at(other, 1000).claim(page("a", request="A")).outcome is REVISIT
    one.release(["a"])
    assert len(other) == 1
    other.confirm(["a"])
    assert [entry.provisional for entry in other] == [False]


def test_an_adopted_page_that_fails_is_gone(shared_store):
    one, other = shared_store.open(), shared_store.open()
    at(one, 100).claim(page("a", request="A"))
    at(other, 1000).orphans()
    other.release(["a"])
    assert len(one) == 0


def test_a_page_that_has_ended_too_many_crawlers_is_deleted_with_a_warning(shared_store, caplog):
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


def test_an_expired_entry_without_a_request_is_deleted_in_silence(shared_store, caplog):
    index = shared_store.open()
    at(index, 100).claim(page("a"))
    assert at(shared_store.open(), 1000).orphans() == []
    assert (len(index), caplog.text) == (0, "")


def test_a_call_adopts_a_bounded_number_of_orphans(shared_store):
    dead, index = shared_store.open(), shared_store.open()
    at(dead, 100).claim_all([page(f"{v}", v, request="R") for v in values(250)])
    found = []
    for _ in range(3):
        some = at(index, 1000).orphans()
        assert len(some) <= MAX_ORPHANS
        found += [orphan.key for orphan in some]
    assert sorted(found) == sorted(str(v) for v in values(250))


def test_only_a_crawler_of_the_same_spider_adopts_a_page(shared_store):
    one, other = shared_store.open(spider="one"), shared_store.open(spider="other")
    at(one, 100).claim(page("a", request="A"))
    at(other, 100).claim(page("b", FAR))
    assert at(other, 1000).orphans() == []
    assert at(shared_store.open(spider="one"), 1000).orphans() == [Orphan("a", "A")]


def test_a_page_that_another_spider_revisits_is_that_spiders_to_adopt(shared_store):
    one, other = shared_store.open(spider="one"), shared_store.open(spider="other")
    at(one, 100).claim(page("a", request="A"))
    at(other, 100).claim(page("a", request="theirs"))
    assert at(shared_store.open(spider="one"), 1000).orphans() == []
    assert at(shared_store.open(spider="other"), 1000).orphans() == [Orphan("a", "theirs")]


# How originals fared.


def test_unsettled_tells_provisional_and_gone_originals_from_confirmed_ones(store):
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
        frozenset([positions[3]]), frozenset([positions[1], positions[2], positions[4], 987_654])
    )
    assert index.unsettled([]) == Unsettled(frozenset(), frozenset())


def test_an_original_whose_place_was_taken_is_gone_and_an_adopted_one_is_provisional(
    shared_store,
):
    index, other = shared_store.open(), shared_store.open()
    at(index, 100).claim_all([page("a", 0, request="A"), page("b", FAR, request="B")])
    entries = [index.query(fp(v))[0].entry for v in (0, FAR)]
    at(index, 1000).claim(page("c", 1))
    at(other, 1000).orphans()
    assert at(index, 1000).unsettled(entries) == Unsettled(
        frozenset(entries[1:]), frozenset(entries[:1])
    )


def test_the_match_of_a_duplicate_names_the_entry_that_unsettled_knows(store):
    index = store.open()
    index.claim(page("a"))
    (match,) = index.claim(page("b")).matches
    assert index.unsettled([match.entry]).provisional == {match.entry}


# Import.


def test_what_is_put_comes_out_as_it_was_but_confirmed(store):
    numbers = values(300, bits=256)
    entries = [
        Entry(f"k{i}", fp(v, 256, text=i), "s" * (i % 3), bytes(i % 25), 1e9 + i)
        for i, v in enumerate(numbers)
    ]
    index = store.open(bits=256, distance=48)
    assert index.put(iter(entries)) == 300
    assert list(index) == entries
    blocks = [entry.fingerprint.blocks for entry in index.with_blocks()]
    assert blocks == [entry.fingerprint.blocks for entry in entries]
    claim = index.claim(Arrival("new", fp(numbers[0] ^ 1, 256, text=0)))
    assert [(m.key, m.provisional) for m in claim.matches] == [("k0", False)]


def test_what_is_there_already_is_not_put_again(store):
    index = store.open()
    entries = [Entry("a", fp(0)), Entry("a", fp(1)), Entry("b", fp(0)), Entry("a", fp(0), "s")]
    assert index.put(entries) == 3
    assert index.put([*entries, Entry("c", fp(0)), Entry("c", fp(0))]) == 1
    assert [(e.key, e.fingerprint.value) for e in index] == [("a", 0), ("b", 0), ("a", 0), ("c", 0)]


def test_the_first_of_equal_entries_that_are_put_together_counts(store):
    index = store.open()
    assert index.put([Entry("a", fp(0), "", b"1", 1), Entry("a", fp(0), "", b"2", 2)]) == 1
    assert [(entry.facts, entry.time) for entry in index] == [(b"1", 1)]


@pytest.mark.parametrize("key", ["a\0b", "\0", "", "'\"\\\n", "\U0001f600"])
def test_an_entry_of_any_key_can_be_removed(store, key):
    index = store.open()
    index.put([Entry(key, fp(0)), Entry("a", fp(FAR))])
    assert index.gone([key]) == 1
    assert keys(index) == ["a"]


def test_a_provisional_entry_does_not_keep_a_confirmed_one_out(store):
    index = store.open()
    index.claim(page("a"))
    assert index.put([Entry("a", fp(0))]) == 1
    index.release(["a"])
    assert [(entry.key, entry.provisional) for entry in index] == [("a", False)]


# Floods.


def test_of_a_flooded_bucket_the_newest_entries_are_read_and_the_look_up_is_counted(store):
    index = store.open(bits=256, distance=48)
    count = 4 * BUCKET_LIMIT
    flood = [
        Entry(f"{i}", blocked(v, [0, *range(i * BANDS, i * BANDS + BANDS - 1)]))
        for i, v in enumerate(values(count, bits=256))
    ]
    index.put(flood)
    newest, oldest = flood[-1].fingerprint.value, flood[0].fingerprint.value
    alone = [0, *range(10**6, 10**6 + BANDS - 1)]
    assert [n.key for n in index.query(blocked(newest, alone))] == [f"{count - 1}"]
    index.query(blocked(oldest, alone))
    assert index.flooded > 0
    assert index.claim(Arrival("x", blocked(newest, alone))).outcome is DUPLICATE
    # The other blocks still find what this one does not.
    assert [n.key for n in index.query(blocked(oldest, [1, *range(BANDS - 1)]))] == ["0"]


def test_a_spec_is_one_value_whatever_its_judge():
    assert spec() == IndexSpec("test", 64, 3, 4, judge=same_facts, reach=4)


# Runs.


def in_run(store, *pages, finished=True, **changed):
    """Let the pages be seen in a new run, confirm them, and return the run with their claims."""
    index = store.open(**changed)
    run = index.begin_run()
    claims = index.claim_all(pages)
    index.confirm([one.key for one in pages])
    index.end_run(finished=finished)
    return run, claims


def told(claims):
    """Return outcome, change, and key and distance of the entry of an earlier run."""
    return [(c.outcome, c.change, c.before and (c.before.key, c.before.distance)) for c in claims]


def test_runs_have_numbers_spiders_and_ends(run_store):
    now = 1000.0
    index = at(run_store.open(spider="one"), now)
    assert (index.runs(), index.missing_count(1), list(index.missing(1))) == ([], 0, [])
    run = index.begin_run()
    assert run == Run(1, "one", now)
    index.claim_all([page("a", 0), page("b", FAR)])
    assert index.runs() == [run._replace(pages=2)]
    at(index, now + 5).end_run(finished=True)
    assert index.runs() == [Run(1, "one", now, now + 5, finished=True, pages=2)]
    assert index.begin_run() == Run(2, "one", now + 5)


def test_the_first_run_finds_new_pages_and_a_claim_outside_of_runs_too(run_store):
    index = run_store.open()
    assert told([index.claim(page("a", 0))]) == [(ORIGINAL, Change.NEW, None)]
    index.begin_run()
    assert told([index.claim(page("b", FAR))]) == [(ORIGINAL, Change.NEW, None)]
    assert index.claim(page("b", FAR)).change is None
    assert [entry.run for entry in index] == [0, 1]


def test_a_later_run_tells_same_changed_moved_and_new_pages(run_store):
    one, two, three = FAR, FAR << 9, FAR << 18
    in_run(run_store, page("a", 0), page("b", one), page("c", two))
    run, claims = in_run(
        run_store, page("a", 0), page("b", three), page("d", two ^ 1), page("e", FAR << 24)
    )
    assert told(claims) == [
        (ORIGINAL, Change.SAME, ("a", 0)),
        (ORIGINAL, Change.CHANGED, ("b", (one ^ three).bit_count())),
        (ORIGINAL, Change.MOVED, ("c", 1)),
        (ORIGINAL, Change.NEW, None),
    ]
    assert [claim.before.run for claim in claims[:3]] == [run.number - 1] * 3
    index = run_store.open()
    assert sorted((e.key, e.run, e.provisional) for e in index) == [
        (key, run.number, False) for key in "abde"
    ]
    assert [run.pages for run in index.runs()] == [0, 4]


def test_in_one_run_a_page_that_comes_again_is_a_revisit_and_its_copy_a_duplicate(run_store):
    in_run(run_store, page("a", 0))
    index = run_store.open()
    index.begin_run()
    claims = index.claim_all([page("a", 0), page("copy", 1), page("a", 0)])
    assert told(claims) == [
        (ORIGINAL, Change.SAME, ("a", 0)),
        (DUPLICATE, None, None),
        (REVISIT, None, None),
    ]


def test_the_old_address_of_a_moved_page_is_a_copy_of_the_new_one(run_store):
    in_run(run_store, page("old", 0))
    _, claims = in_run(run_store, page("new", 1), page("old", 0))
    assert told(claims) == [(ORIGINAL, Change.MOVED, ("old", 1)), (DUPLICATE, None, None)]
    assert keys(run_store.open()) == ["new"]


def test_a_text_that_was_superseded_makes_no_copies(run_store):
    in_run(run_store, page("list/1", 0), page("list/2", FAR))
    _, claims = in_run(run_store, page("list/1", FAR << 9), page("list/2", 0))
    assert [claim.change for claim in claims] == [Change.CHANGED, Change.CHANGED]


def test_a_page_that_becomes_a_copy_of_another_one_of_its_run_gives_up_its_own_entry(run_store):
    in_run(run_store, page("a", 0), page("b", FAR))
    _, claims = in_run(run_store, page("a", 0), page("b", 1))
    assert told(claims)[1] == (DUPLICATE, None, None)
    assert keys(run_store.open()) == ["a"]


def test_a_page_with_an_alias_in_an_earlier_run_has_moved_from_there_at_any_distance(run_store):
    in_run(run_store, page("http://www.h.example/a", 0), page("/short", FAR))
    moved = page("https://h.example/a", FAR << 9, aliases=("http://www.h.example/a",))
    other = page("https://h.example/b", FAR << 18, aliases=("/none", "/short"))
    _, claims = in_run(run_store, moved, other)
    assert [(c.change, c.before.key) for c in claims] == [
        (Change.MOVED, "http://www.h.example/a"),
        (Change.MOVED, "/short"),
    ]
    assert keys(run_store.open()) == [moved.key, other.key]


def test_an_alias_with_an_entry_of_this_run_or_of_another_scope_moves_nothing(run_store):
    in_run(run_store, page("old", 0, scope="s"))
    index = run_store.open()
    index.begin_run()
    index.claim(page("a", FAR))
    claim = index.claim(page("b", FAR << 9, aliases=("a", "old")))
    assert told([claim]) == [(ORIGINAL, Change.NEW, None)]
    assert keys(index) == ["old", "a", "b"]


def test_a_copy_of_another_spiders_page_is_a_duplicate_in_every_run(run_store):
    in_run(run_store, page("a", 0), spider="one")
    _, claims = in_run(run_store, page("b", 1, aliases=("a",)), spider="other")
    assert told(claims) == [(DUPLICATE, None, None)]
    _, claims = in_run(run_store, page("a", 0), spider="other")
    assert told(claims) == [(ORIGINAL, Change.SAME, ("a", 0))]


def test_a_page_that_is_the_same_may_differ_as_the_rule_allows(run_store):
    given = []

    def same(*facts):
        given.append(facts)
        return True

    in_run(run_store, page("a", 0, facts=b"1"))
    _, claims = in_run(run_store, page("a", FAR, facts=b"2"), same=same)
    assert told(claims) == [(ORIGINAL, Change.SAME, ("a", 40))]
    assert given == [(b"2", b"1", 40)]
    assert [(e.fingerprint.value, e.facts) for e in run_store.open()] == [(0, b"1")]


def test_a_page_that_is_the_same_and_fails_is_what_it_was(run_store):
    in_run(run_store, page("a", 0))
    index = run_store.open()
    index.begin_run()
    index.claim(page("a", 0, request="A"))
    assert [(entry.run, entry.provisional) for entry in index] == [(2, True)]
    assert index.census()[:2] == (1, 1)
    index.release(["a"])
    assert [(entry.run, entry.provisional) for entry in index] == [(1, False)]
    assert [run.pages for run in index.runs()] == [1, 0]
    assert told([index.claim(page("copy", 1))]) == [(ORIGINAL, Change.MOVED, ("a", 1))]


def test_a_page_that_is_the_same_and_ends_its_crawlers_is_what_it_was(run_store):
    in_run(run_store, page("a", 0))
    index = at(run_store.open(), 5000.0)
    index.begin_run()
    index.claim(page("a", 0))
    assert at(run_store.open(), 9000.0).orphans() == []
    assert [(entry.run, entry.provisional) for entry in index] == [(1, False)]


def test_a_page_that_is_the_same_keeps_what_was_confirmed_of_it(run_store):
    in_run(run_store, page("a", 0, facts=b"f"))
    before = [entry._replace(run=2) for entry in run_store.open()]
    in_run(run_store, page("a", 0, facts=b"f", request="A"))
    assert list(run_store.open()) == before


def test_a_page_that_was_never_delivered_is_new_in_the_next_run(run_store):
    index = run_store.open(lease=60)
    index.begin_run()
    index.claim_all([page("a", 0), page("b", FAR), page("c", FAR << 9)])
    index.end_run(finished=False)
    _, claims = in_run(run_store, page("a", 0), page("b", FAR << 18), page("copy", FAR << 9 ^ 1))
    assert told(claims) == [(ORIGINAL, Change.NEW, None)] * 3
    assert sorted(keys(run_store.open())) == ["a", "b", "copy"]


def test_the_entries_of_earlier_runs_that_were_not_seen_are_missing(run_store):
    in_run(run_store, page("other", FAR << 18), spider="other")
    in_run(run_store, page("a", 0), page("b", FAR))
    run, _ = in_run(run_store, page("a", 0), page("c", FAR << 9))
    index = run_store.open()
    assert [(entry.key, entry.run) for entry in index.missing(run.number)] == [("b", 2)]
    assert index.missing_count(run.number) == 1
    assert (list(index.missing(2)), index.missing_count(2)) == ([], 0)
    assert index.gone(["b"]) == 1
    assert index.missing_count(run.number) == 0


def test_entries_of_old_runs_expire_a_few_at_a_time(run_store):
    numbers = values(60)
    in_run(run_store, *(page(f"{v}", v) for v in numbers))
    in_run(run_store, *(page(f"{v}", v) for v in numbers[:20]), finished=False)
    in_run(run_store, *(page(f"{v}", v) for v in numbers[:10]))
    index = run_store.open()
    assert index.expire(2, 100) == 0
    in_run(run_store, page("a", FAR))
    assert [index.expire(2, 15) for _ in range(5)] == [15, 15, 15, 5, 0]
    assert [(run.number, run.pages) for run in index.runs()] == [(3, 10), (4, 1)]
    assert sorted(keys(index)) == sorted([*(f"{v}" for v in numbers[:10]), "a"])
    assert run_store.open(spider="other").expire(1, 100) == 0


def test_crawlers_of_a_spider_that_live_at_the_same_time_are_in_one_run(run_store):
    one, two = run_store.open(lease=60), run_store.open(lease=60)
    other = run_store.open(spider="other")
    assert [index.begin_run().number for index in (one, two, other)] == [1, 1, 2]
    two.end_run(finished=True)
    assert [(run.ended, run.finished) for run in one.runs()] == [(None, False)] * 2
    one.end_run(finished=False)
    assert [run.finished for run in two.runs()] == [False, False]
    assert two.begin_run().number == 3
    two.end_run(finished=True)
    assert [run.finished for run in two.runs()] == [False, False, True]


def test_a_run_whose_crawlers_are_dead_is_joined_by_its_number_only(run_store):
    one = at(run_store.open(lease=60), 1000)
    one.begin_run()
    at(one, 1050).renew([])
    two = at(run_store.open(lease=60), 1109)
    assert two.begin_run().number == 1
    two.end_run(finished=False)
    late = at(run_store.open(lease=60), 1111)
    assert late.begin_run().number == 2
    again = at(run_store.open(lease=60), 1111).begin_run(resumed=1)
    assert (again.number, again.ended) == (1, None)
    late.end_run(finished=True)
    assert run_store.open().begin_run(resumed=2).number == 3
    assert run_store.open(spider="other").begin_run(resumed=1).number == 4


def test_a_page_that_two_crawlers_bring_with_a_new_text_has_one_entry(run_store):
    in_run(run_store, page("a", 0), page("b", FAR))
    one, two = run_store.open(), run_store.open()
    one.begin_run(), two.begin_run()
    first, second = one.claim(page("a", FAR << 9)), two.claim(page("a", FAR << 9 ^ 1))
    assert (first.change, second.outcome) == (Change.CHANGED, REVISIT)
    two.confirm(["a"])
    assert [(entry.key, entry.provisional) for entry in one] == [("b", False), ("a", False)]


def test_clear_forgets_the_runs_but_not_their_numbers(run_store):
    index = run_store.open()
    in_run(run_store, page("a"))
    index.clear()
    assert index.runs() == []
    assert index.begin_run().number > 1


def test_a_page_that_is_the_same_and_fails_is_gone_for_its_run(run_store):
    """Copies that wait for it would be delivered by nobody."""
    in_run(run_store, page("a", 0))
    index = run_store.open()
    index.begin_run()
    entry = index.claim(page("a", 0)).before.entry
    assert index.unsettled([entry]) == Unsettled(frozenset({entry}), frozenset())
    index.release(["a"])
    assert index.unsettled([entry]) == Unsettled(frozenset(), frozenset({entry}))
    index.claim(page("a", 0))
    index.confirm(["a"])
    assert index.unsettled([entry]) == Unsettled(frozenset(), frozenset())
