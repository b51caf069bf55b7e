"""One contract over every back end: what index/base.py promises."""

from __future__ import annotations

import math
import random
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.index import (
    MAX_HANDOVERS,
    Arrival,
    Index,
    Outcome,
    Page,
    StoreMismatch,
    StoreUnavailable,
    base,
    buckets,
    index_from_url,
)

WIDTHS = [(64, 3), (128, 24), (256, 48)]
few_examples = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def fp(value: int, bits: int = 64) -> Fingerprint:
    return Fingerprint(value, bits)


def flipped(value: int, positions: Any) -> int:
    for position in positions:
        value ^= 1 << position
    return value


# Outcomes.


@pytest.mark.parametrize(("bits", "distance"), WIDTHS)
def test_a_page_within_the_distance_is_a_duplicate_and_one_beyond_is_not(store, bits, distance):
    index = store.open(bits=bits, distance=distance)
    value = random.Random(bits).getrandbits(bits)
    assert index.claim("a", fp(value, bits)).outcome is Outcome.ORIGINAL
    index.confirm(["a"])
    at = index.claim("b", fp(flipped(value, range(distance)), bits))
    assert at.outcome is Outcome.DUPLICATE
    assert [(m.key, m.distance, m.provisional) for m in at.matches] == [("a", distance, False)]
    beyond = index.claim("c", fp(flipped(value, range(bits - distance - 1, bits)), bits))
    assert beyond.outcome is Outcome.ORIGINAL
    assert beyond.matches == ()
    assert len(index) == 2


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_the_top_bit_and_all_bits_are_ordinary(store, bits):
    index = store.open(bits=bits, distance=1)
    values = [0, 2**bits - 1, 2 ** (bits - 1) | 0b111]
    for value in values:
        assert index.claim(str(value), fp(value, bits)).outcome is Outcome.ORIGINAL
    for value in values:
        (match,) = index.query(fp(value, bits))
        assert (match.key, match.distance) == (str(value), 0)
        (match,) = index.query(fp(value ^ 2 ** (bits - 1), bits))
        assert (match.key, match.distance) == (str(value), 1)
    assert [entry.fingerprint.value for entry in index] == values


def test_at_distance_0_only_the_same_fingerprint_matches(store):
    index = store.open(distance=0)
    index.claim("a", fp(5))
    assert index.claim("b", fp(5)).outcome is Outcome.DUPLICATE
    assert index.claim("c", fp(4)).outcome is Outcome.ORIGINAL


def test_a_page_is_never_a_duplicate_of_its_own_key(store):
    index = store.open()
    index.claim("a", fp(0))
    assert index.claim("a", fp(1)).outcome is Outcome.REVISIT
    index.confirm(["a"])
    claim = index.claim("a", fp(3))
    assert claim.outcome is Outcome.REVISIT
    assert [(m.key, m.distance) for m in claim.matches] == [("a", 2)]
    assert len(index) == 1


def test_a_key_whose_content_changed_has_several_entries_and_remove_takes_all(store):
    index = store.open()
    index.claim("a", fp(0))
    index.confirm(["a"])
    assert index.claim("a", fp(2**40 - 1)).outcome is Outcome.ORIGINAL
    assert len(index) == 2
    assert index.remove("a") == 2
    assert index.remove("a") == 0
    assert index.query(fp(0)) == []
    assert index.claim("b", fp(0)).outcome is Outcome.ORIGINAL


def test_scopes_never_match_each_other(store):
    index = store.open()
    assert index.claim("a", fp(0), scope="x").outcome is Outcome.ORIGINAL
    assert index.claim("b", fp(0), scope="y").outcome is Outcome.ORIGINAL
    assert index.claim("c", fp(0), scope="x").matches[0].key == "a"
    assert index.query(fp(0)) == []
    assert [entry.scope for entry in index] == ["x", "y"]


def test_query_never_writes(store):
    index = store.open()
    assert index.query(fp(0)) == []
    assert len(index) == 0


def test_iteration_gives_the_entries_in_the_order_of_the_log(store):
    index = store.open()
    for i in range(5):
        index.claim(str(i), fp(i << 20 | 0xFF << 8 * i), now=100.0 + i)
    index.confirm(["0", "3"])
    entries = list(index)
    assert [entry.key for entry in entries] == list("01234")
    assert [entry.time for entry in entries] == [100.0 + i for i in range(5)]
    assert [entry.provisional for entry in entries] == [False, True, True, False, True]


def test_clear_leaves_a_usable_index(store):
    index = store.open()
    index.claim("a", fp(0))
    index.claim("b", fp(0), request="b")
    index.clear()
    assert (len(index), list(index), index.last_lease()) == (0, [], None)
    assert index.claim("b", fp(0)).outcome is Outcome.ORIGINAL
    assert index.release(["b"]) == []


def test_closing_twice_does_no_harm_and_a_closed_index_says_so(store):
    index = store.open()
    index.close()
    index.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        index.claim("a", fp(0))


@pytest.mark.parametrize(
    "url", ["", "mysql://x/y", "sqlite:", "sqlite:///", "sqlite://host/a", "memory://x"]
)
def test_an_unknown_url_is_refused_with_the_known_ones(url):
    with pytest.raises(ValueError, match=r"memory://, sqlite:///relative") as error:
        index_from_url(url, recipe="r", bits=64, distance=3)
    assert "\n" not in str(error.value)


def test_pages_that_claim_together_get_the_answers_of_one_after_the_other(store):
    index = store.open()
    chance = random.Random(1)
    values = [chance.getrandbits(64) for _ in range(700)]
    values[1], values[699] = values[0] ^ 1, values[0] ^ 2
    claims = index.claim_all([Arrival(str(i), fp(value)) for i, value in enumerate(values)])
    outcomes = [claim.outcome for claim in claims]
    assert [i for i, o in enumerate(outcomes) if o is not Outcome.ORIGINAL] == [1, 699]
    assert [claims[i].matches[0].key for i in (1, 699)] == ["0", "0"]
    assert index.claim_all([]) == []


# As a full scan would.


@st.composite
def claims(draw: st.DrawFn, bits: int, reach: int) -> list[tuple[int, int]]:
    """Keys and fingerprints around a few centres, so that many are near."""
    seed = random.Random(draw(st.integers(0, 2**32)))
    centres = [seed.getrandbits(bits) for _ in range(3)]
    return [
        (
            seed.randrange(25),
            flipped(seed.choice(centres), seed.sample(range(bits), seed.randint(0, reach))),
        )
        for _ in range(40)
    ]


def answers_as_a_full_scan(index: Index, pages: list[tuple[int, int]]) -> None:
    log: list[tuple[int, int]] = []
    for key, value in pages:
        near = [
            (hamming_distance(value, other), position, name)
            for position, (name, other) in enumerate(log)
            if hamming_distance(value, other) <= index.distance
        ]
        expected = [(str(name), distance) for distance, _, name in sorted(near)]
        fingerprint = fp(value, index.layout.bits)
        assert [(m.key, m.distance) for m in index.query(fingerprint)] == expected
        claim = index.claim(str(key), fingerprint)
        assert [(m.key, m.distance) for m in claim.matches] == expected
        if any(name == str(key) for name, _ in expected):
            assert claim.outcome is Outcome.REVISIT
        elif expected:
            assert claim.outcome is Outcome.DUPLICATE
        else:
            assert claim.outcome is Outcome.ORIGINAL
            log.append((key, value))
        index.confirm([str(key)])
    assert [(int(e.key), e.fingerprint.value) for e in index] == log


@pytest.mark.parametrize(("bits", "distance"), WIDTHS)
@given(data=st.data())
@few_examples
def test_a_small_index_answers_as_a_full_scan(new_store, bits, distance, data):
    index = new_store().open(bits=bits, distance=distance)
    answers_as_a_full_scan(index, data.draw(claims(bits, distance)))


@pytest.mark.parametrize(("bits", "distance"), [(64, 3), (64, 7), (128, 15), (256, 15)])
@given(data=st.data())
@few_examples
def test_within_the_guaranteed_distance_buckets_answer_as_a_full_scan(
    new_store, bits, distance, data
):
    layout = plan_layout(bits, distance, 1)
    assert layout.guaranteed_distance >= distance
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "SCAN_LIMIT", dict.fromkeys(buckets.SCAN_LIMIT, 2))
        index = new_store().open(bits=bits, distance=distance, layout=layout)
        answers_as_a_full_scan(index, data.draw(claims(bits, distance)))


@given(seed=st.integers(0, 2**32))
@few_examples
def test_batches_get_the_answers_of_one_after_the_other(new_store, seed):
    """The same pages, alone and in batches: fresh and known keys, near ones in one batch."""
    chance = random.Random(seed)
    alone, together = new_store().open(), new_store().open()
    centres = [chance.getrandbits(64) for _ in range(4)]
    for batch in range(6):
        pages = [
            Arrival(
                str(chance.randrange(20)),
                fp(flipped(chance.choice(centres), chance.sample(range(64), chance.randrange(4)))),
                scope=chance.choice(["", "a"]),
                request=chance.choice([None, "R"]),
            )
            for _ in range(chance.randrange(8))
        ]
        now = 10.0 * batch
        for page, claim in zip(pages, together.claim_all(pages, now=now), strict=True):
            expected = alone.claim(
                page.key, page.fingerprint, scope=page.scope, request=page.request, now=now
            )
            # Beside a confirmed match, one that came in the same batch may be missed.
            missed = {match for match in expected.matches if match.provisional}
            if all(match.provisional for match in expected.matches):
                missed = set()
            found = tuple(m for m in expected.matches if m in claim.matches or m not in missed)
            assert claim == replace(expected, matches=found)
        settled = [page.key for page in pages if chance.random() < 0.5]
        # A page that waited and then repeats a confirmed one may be handed back all the same.
        act = chance.choice(["confirm", "release"])
        for index in (alone, together):
            getattr(index, act)(settled)
    assert list(alone) == list(together)


# Provisional entries.


def test_a_duplicate_of_a_provisional_original_waits_and_confirm_ends_that(store):
    index = store.open()
    index.claim("a", fp(0), request="A")
    claim = index.claim("b", fp(0), request="B")
    assert (claim.outcome, claim.waiting) == (Outcome.DUPLICATE, True)
    assert claim.matches[0].provisional
    index.confirm(["a", "unknown"])
    assert index.release(["a"]) == []
    claim = index.claim("b", fp(0), request="B")
    assert (claim.outcome, claim.waiting) == (Outcome.DUPLICATE, False)


def test_release_hands_back_the_pages_that_waited_and_not_the_released_one(store):
    index = store.open()
    index.claim("a", fp(0), request="A")
    index.claim("b", fp(0), request="B")
    index.claim("c", fp(1), request="C")
    assert index.release(["a"]) == [Page("b", "B"), Page("c", "C")]
    assert len(index) == 0
    assert index.claim("b", fp(0), request="B").outcome is Outcome.ORIGINAL
    assert index.claim("c", fp(1), request="C").waiting


def test_a_page_waits_on_the_nearest_of_several(store):
    index = store.open()
    index.claim("far", fp(0b111))
    index.claim("near", fp(0b1111 << 10))
    near = index.claim("x", fp(0b11 << 10), request="X")
    assert [(m.key, m.distance) for m in near.matches] == [("near", 2)]
    assert index.release(["far"]) == []
    assert index.release(["near"]) == [Page("x", "X")]


def test_a_page_does_not_wait_if_any_match_is_confirmed(store):
    index = store.open(distance=4)
    index.claim("old", fp(0))
    index.confirm(["old"])
    index.claim("new", fp(0b11111))
    claim = index.claim("x", fp(0b111), request="X")
    assert [(m.key, m.distance) for m in claim.matches] == [("new", 2), ("old", 3)]
    assert not claim.waiting
    assert index.release(["new"]) == []


def test_a_page_without_a_request_does_not_wait(store):
    index = store.open()
    index.claim("a", fp(0))
    assert not index.claim("b", fp(0)).waiting
    assert index.release(["a"]) == []


def test_release_leaves_confirmed_and_unknown_keys_alone(store):
    index = store.open()
    index.claim("a", fp(0))
    index.confirm(["a"])
    assert index.release(["a", "unknown"]) == []
    assert len(index) == 1


def test_an_expired_original_is_replaced_and_its_pages_are_handed_back(store):
    index = store.open(lease=10)
    index.claim("dead", fp(0), request="DEAD", now=0)
    index.claim("b", fp(1), request="B", now=1)
    claim = index.claim("new", fp(2), request="NEW", now=20)
    assert claim.outcome is Outcome.ORIGINAL
    assert claim.matches == ()
    assert claim.handed_back == (Page("b", "B"),)
    assert [entry.key for entry in index] == ["new"]
    # The expired original waits on the one that replaced it.
    assert index.release(["new"], now=21) == [Page("dead", "DEAD")]


def test_renew_starts_the_lease_anew(store):
    index = store.open(lease=10)
    index.claim("a", fp(0), request="A", now=0)
    index.renew(["a", "unknown"], now=9)
    assert index.claim("b", fp(0), now=15).outcome is Outcome.DUPLICATE
    assert index.orphans(now=15) == []
    assert index.orphans(now=20) == [Page("a", "A")]


def test_orphans_are_the_expired_entries_and_the_pages_that_waited_on_them(store):
    index = store.open(lease=10)
    index.claim("a", fp(0), request="A", now=0)
    index.claim("b", fp(0), request="B", now=5)
    index.claim("no request", fp(2**30 - 1), now=0)
    index.claim("living", fp(2**60 - 1), request="L", now=5)
    assert index.orphans(now=9) == []
    assert sorted(index.orphans(now=12), key=lambda page: page.key) == [
        Page("a", "A"),
        Page("b", "B"),
    ]
    assert [entry.key for entry in index] == ["living"]
    assert index.orphans(now=12) == []


def test_a_page_handed_over_too_often_is_given_up_with_a_warning(store, caplog):
    index = store.open(lease=10)
    index.claim("a", fp(0), now=0)
    index.claim("b", fp(0), request="B", now=0)
    assert index.release(["a"], now=0) == [Page("b", "B")]
    for i in range(1, MAX_HANDOVERS):
        assert index.orphans(now=20 * i) == [Page("b", "B")]
    assert not caplog.records
    assert index.orphans(now=1000) == []
    assert "b was handed over" in caplog.text
    assert index.orphans(now=2000) == []


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_claim_ends_the_hand_over_of_its_key(store, outcome):
    index = store.open(lease=10)
    index.claim("a", fp(0), now=0)
    index.claim("b", fp(0), request="B", now=0)
    index.release(["a"], now=0)
    if outcome is not Outcome.ORIGINAL:
        index.claim("b" if outcome is Outcome.REVISIT else "c", fp(2**40), now=0)
        index.confirm(["b", "c"])
    assert index.claim("b", fp(2**40), request="B", now=1).outcome is outcome
    index.confirm(["b"])
    assert index.orphans(now=1000) == []


def test_a_hand_over_ends_when_another_worker_claims(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    one.claim("a", fp(0), now=0)
    for key in "bc":
        one.claim(key, fp(0), request=key.upper(), now=0)
    assert {page.key for page in one.release(["a"], now=0)} == {"b", "c"}
    # Both lie in a queue, and the other takes them; the second is a mere copy of the first.
    for key in "bc":
        other.claim_all([Arrival(key, fp(0), request=key.upper(), again=True)], now=1)
        other.confirm([key])
    assert one.orphans(now=1000) == []


def test_a_hand_over_is_renewed_by_its_worker_until_the_page_claims(store):
    index = store.open(lease=10)
    index.claim("a", fp(0), now=0)
    index.claim("b", fp(0), request="B", now=0)
    assert index.release(["a"], now=0) == [Page("b", "B")]
    index.renew(["b", "unknown"], now=9)
    assert index.orphans(now=15) == []
    index.renew(["b"], now=18)
    assert index.orphans(now=25) == []
    index.claim("b", fp(0), request="B", now=25)
    index.confirm(["b"])
    index.renew(["b"], now=26)
    assert index.orphans(now=1000) == []


def test_removing_an_original_leaves_its_waiting_pages_to_orphans(store):
    index = store.open()
    index.claim("a", fp(0))
    index.claim("b", fp(0), request="B")
    assert index.remove("a") == 1
    assert index.orphans() == [Page("b", "B")]


# The memory of bodies.


def digests(first: int, last: int) -> list[bytes]:
    """What bodies of these numbers might be remembered by."""
    return [random.Random(number).randbytes(8) for number in range(first, last)]


@pytest.mark.parametrize(("bits", "distance"), WIDTHS)
def test_what_is_noted_of_a_body_is_found_without_margins(store, bits, distance):
    index = store.open(bits=bits, distance=distance)
    index.note_bodies({})
    assert index.find_bodies([]) == []
    known, unknown, again = digests(0, 3)
    margins = np.ones(bits, np.float32)
    index.note_bodies({known: Fingerprint(5, bits, margins), again: fp(2**bits - 1, bits)})
    index.note_bodies({again: fp(7, bits)})
    found = index.find_bodies([known, unknown, again, known])
    assert found == [fp(5, bits), None, fp(7, bits), fp(5, bits)]
    assert found[0].margins is None


def test_so_many_bodies_are_remembered_and_of_more_the_newest(new_store, monkeypatch):
    monkeypatch.setattr(base, "BODIES", 1200)
    index = new_store().open()
    everyone = digests(0, 4000)
    for start in range(0, 4000, 50):
        index.note_bodies({digest: fp(start) for digest in everyone[start : start + 50]})
    found = index.find_bodies(everyone)
    kept = len(found) - found.count(None)
    assert 600 <= kept <= 1200
    assert index.census().bodies == kept
    assert None not in found[-400:]


def test_no_body_is_remembered_after_clear(store):
    index = store.open()
    (digest,) = digests(0, 1)
    index.note_bodies({digest: fp(1)})
    index.clear()
    assert index.find_bodies([digest]) == [None]


# Several workers.


def test_bodies_that_one_worker_notes_are_known_to_all(shared_store):
    one, other = shared_store.open(), shared_store.open()
    (digest,) = digests(0, 1)
    one.note_bodies({digest: fp(1)})
    assert other.find_bodies([digest]) == [fp(1)]
    one.close()
    other.close()
    assert shared_store.open().find_bodies([digest]) == [fp(1)]


def test_workers_see_each_others_entries(shared_store):
    one, other = shared_store.open(), shared_store.open()
    one.claim("a", fp(0))
    claim = other.claim("b", fp(1), request="B")
    assert (claim.outcome, claim.waiting) == (Outcome.DUPLICATE, True)
    one.confirm(["a"])
    assert not other.query(fp(0))[0].provisional
    one.remove("a")
    assert other.query(fp(0)) == []
    one.clear()
    assert other.claim("c", fp(0)).outcome is Outcome.ORIGINAL


def test_only_its_own_worker_releases_and_renews_an_entry(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    one.claim("a", fp(0), request="A", now=0)
    assert other.release(["a"]) == []
    other.renew(["a"], now=9)
    assert len(one) == 1
    assert other.orphans(now=11) == [Page("a", "A")]


def test_a_revisit_takes_over_a_provisional_entry(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    one.claim("a", fp(0), request="old", now=0)
    assert other.claim("a", fp(0), request="new", now=8).outcome is Outcome.REVISIT
    assert one.release(["a"], now=9) == []
    assert one.orphans(now=15) == []
    assert one.orphans(now=30) == [Page("a", "new")]


def test_an_entry_taken_over_by_another_worker_is_still_confirmed(shared_store):
    one, other = shared_store.open(), shared_store.open()
    one.claim("a", fp(0))
    other.claim("a", fp(0))
    one.confirm(["a"])
    assert not other.query(fp(0))[0].provisional


def test_what_a_closed_worker_left_is_an_orphan_at_once(shared_store):
    dead, other = shared_store.open(), shared_store.open()
    dead.claim("a", fp(0), request="A")
    dead.claim("b", fp(0), request="B")
    dead.claim("c", fp(2**40 - 1))
    dead.claim("d", fp(2**40 - 1), request="D")
    assert dead.release(["c"]) == [Page("d", "D")]
    assert other.orphans() == []
    dead.close()
    assert sorted(page.key for page in other.orphans()) == ["a", "b", "d"]
    assert len(other) == 0


def test_a_dead_workers_entry_makes_no_duplicate(shared_store):
    dead, other = shared_store.open(), shared_store.open()
    dead.claim("a", fp(0), request="A")
    dead.close()
    assert other.claim("b", fp(0), request="B").outcome is Outcome.ORIGINAL
    assert other.release(["b"]) == [Page("a", "A")]


def test_confirm_leaves_alone_what_another_worker_claimed_under_the_same_key(shared_store):
    one, other = shared_store.open(), shared_store.open()
    one.claim("a", fp(0))
    other.claim("a", fp(2**40 - 1))
    one.confirm(["a"])
    assert [entry.provisional for entry in one] == [False, True]


def test_only_the_worker_to_whom_a_page_was_handed_over_renews_that(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    one.claim("a", fp(0), now=0)
    one.claim("b", fp(0), request="B", now=0)
    assert one.release(["a"], now=0) == [Page("b", "B")]
    other.renew(["b"], now=9)
    assert other.orphans(now=11) == [Page("b", "B")]
    one.renew(["b"], now=20)
    assert one.orphans(now=22) == [Page("b", "B")]


def test_a_dead_workers_pages_are_handed_to_workers_of_its_own_spider(shared_store):
    dead, other, heir = (
        shared_store.open(lease=10, spider=spider) for spider in ("news", "shop", "news")
    )
    dead.claim("a", fp(0), request="A", now=0)
    dead.claim("b", fp(0), request="B", now=0)
    dead.claim("s", fp(2**40 - 1), now=0)
    other.claim("t", fp(2**40 - 1), request="T", now=0)
    assert other.orphans(now=20) == [Page("t", "T")]
    assert other.orphans(now=40) == [Page("t", "T")]
    assert sorted(heir.orphans(now=40), key=lambda page: page.key) == [
        Page("a", "A"),
        Page("b", "B"),
    ]
    assert other.last_lease(now=40) == 10
    assert heir.last_lease(now=40) == 10
    # The dead one's heir dies, too.
    assert other.orphans(now=60) == [Page("t", "T")]
    assert {page.key for page in heir.orphans(now=60)} == {"a", "b"}


def test_what_waits_on_another_spiders_original_is_for_its_own_spider(shared_store):
    shop, news = (shared_store.open(lease=10, spider=spider) for spider in ("shop", "news"))
    shop.claim("s", fp(0), request="S", now=0)
    assert news.claim("n", fp(0), request="N", now=0).waiting
    assert shop.claim("t", fp(0), request="T", now=0).waiting
    assert shop.release(["s"], now=1) == [Page("t", "T")]
    assert news.orphans(now=1) == [Page("n", "N")]
    # Nor does it get what it replaces: the shop's page is near, the news' page that waits on it
    # may be far from it.
    news.claim("n", fp(0), request="N", now=2)
    shop.claim("u", fp(1), request="U", now=2)
    claim = shop.claim("v", fp(2**3 - 1), request="V", now=50)
    assert (claim.outcome, claim.handed_back) == (Outcome.ORIGINAL, (Page("u", "U"),))
    assert news.orphans(now=50) == []
    assert shop.release(["v"], now=51) == []
    assert news.orphans(now=51) == [Page("n", "N")]


def test_pages_of_other_spiders_cost_a_worker_one_look(shared_store, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis._AT_ONCE", 3)
    dead, other, heir = (
        shared_store.open(lease=10, spider=spider) for spider in ("news", "shop", "news")
    )
    dead.claim("a", fp(0), now=0)
    for key in "bcdefghij":
        dead.claim(key, fp(0), request=key.upper(), now=0)
    assert other.orphans(now=20) == []
    other.claim("x", fp(2**40 - 1), now=20)
    other.claim("y", fp(2**40 - 1), request="Y", now=20)
    assert other.release(["x"], now=20) == [Page("y", "Y")]
    assert other.orphans(now=40) == [Page("y", "Y")]
    assert {page.key for page in heir.orphans(now=40)} == set("bcdefghij")


def test_page_left_for_its_spider_stays_if_another_spider_claims_its_address(shared_store):
    shop, news = (shared_store.open(lease=10, spider=spider) for spider in ("shop", "news"))
    shop.claim("s", fp(0), request="S", now=0)
    assert news.claim("n", fp(0), request="N", now=0).waiting
    shop.claim("n", fp(2**40 - 1), request="own", now=0)
    assert shop.release(["s"], now=1) == []
    shop.release(["n"], now=1)
    assert news.orphans(now=1) == [Page("n", "N")]
    shop.claim("n", fp(2**40 - 1), now=1)
    assert news.orphans(now=20) == [Page("n", "N")]
    news.claim("n", fp(0), now=20)
    assert news.orphans(now=60) == []


def test_page_that_another_spider_noted_is_not_noted_as_waiting_instead(shared_store):
    shop, news = (shared_store.open(lease=10, spider=spider) for spider in ("shop", "news"))
    shop.claim("s", fp(0), request="S", now=0)
    assert news.claim("n", fp(0), request="N", now=0).waiting
    claim = shop.claim("n", fp(0), request="own", now=0)
    assert (claim.outcome, claim.waiting) == (Outcome.DUPLICATE, False)
    assert shop.release(["s"], now=1) == []
    shop.give_up(["n"])
    assert news.orphans(now=1) == [Page("n", "N")]


def test_handed_over_page_that_is_given_up_comes_no_more(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    stranger = shared_store.open(lease=10, spider="shop")
    one.claim("a", fp(0), now=0)
    for key in "bcd":
        one.claim(key, fp(0), request=key.upper(), now=0)
    one.give_up(["d"])
    assert {page.key for page in one.release(["a"], now=0)} == {"b", "c", "d"}
    other.give_up(["b", "unknown"])
    stranger.give_up(["c"])
    assert {page.key for page in other.orphans(now=20)} == {"c", "d"}


def test_last_lease_is_endless_while_a_page_waits_on_another_spiders(shared_store):
    shop, news, other = (
        shared_store.open(lease=10, spider=name) for name in ("shop", "news", "news")
    )
    shop.claim("s", fp(0), request="S", now=0)
    assert news.last_lease(now=1) == 9
    news.claim("n", fp(0), request="N", now=1)
    assert news.last_lease(now=1) == other.last_lease(now=1) == math.inf
    assert shop.last_lease(now=1) is None
    shop.release(["s"], now=2)
    assert news.orphans(now=2) == [Page("n", "N")]
    assert news.last_lease(now=3) == other.last_lease(now=3) == 9
    assert shop.last_lease(now=3) is None
    # A spider is not a stranger to itself, whether or not its page can be crawled again.
    other.claim("t", fp(2**40 - 1), now=3)
    news.claim("u", fp(2**40 - 1), request="U", now=3)
    assert news.last_lease(now=3) == 10


def test_last_lease_is_the_time_until_the_last_other_lease_runs_out(shared_store):
    one, other = shared_store.open(lease=10), shared_store.open(lease=10)
    one.claim("a", fp(0), now=0)
    one.claim("b", fp(2**40 - 1), now=4)
    assert one.last_lease(now=5) is None
    assert other.last_lease(now=5) == 9
    assert other.last_lease(now=50) == 0
    one.close()
    assert other.last_lease(now=5) == 0
    assert other.orphans(now=5) == []
    assert other.last_lease(now=5) is None


def test_last_lease_counts_what_was_handed_over_to_the_worker_itself(store):
    index = store.open(lease=10)
    index.claim("a", fp(0), now=0)
    index.claim("b", fp(0), request="B", now=0)
    assert index.last_lease(now=0) is None
    assert index.release(["a"], now=1) == [Page("b", "B")]
    assert index.last_lease(now=3) == 8
    index.claim("b", fp(0), now=4)
    assert index.last_lease(now=4) is None


def test_a_reopened_index_goes_on(shared_store):
    index = shared_store.open(bits=256, distance=48)
    values = [random.Random(i).getrandbits(256) for i in range(50)]
    for i, value in enumerate(values):
        index.claim(str(i), fp(value, 256), scope=str(i % 2))
    index.confirm(map(str, range(49)))
    before = list(index)
    index.close()
    index = shared_store.open(bits=256, distance=40, expected_pages=10)
    assert list(index) == before
    for i, value in enumerate(values[:49]):
        assert index.query(fp(value, 256), scope=str(i % 2))[0].key == str(i)
        assert index.query(fp(value, 256), scope=str((i + 1) % 2)) == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"recipe": "other"}, "recipe test, not other"),
        ({"bits": 128}, "bits 64, not 128"),
        ({"layout": Layout(64, 8, 8, 8, 3)}, "layout bits=64 blocks=4"),
        ({"distance": 4}, "distance 3, not 4"),
    ],
)
def test_a_store_made_otherwise_is_refused_with_what_to_do(shared_store, changed, named):
    shared_store.open().close()
    with pytest.raises(StoreMismatch, match=named) as error:
        shared_store.open(**changed)
    assert "or another" in str(error.value)
    shared_store.open(distance=2)


def test_of_many_concurrent_near_duplicates_exactly_one_is_the_original(store):
    workers = [store.open() for _ in range(3 if store.shared else 1)]
    outcomes: list[list[Outcome]] = [[] for _ in range(20)]
    start = threading.Barrier(6)

    def race(number: int) -> None:
        index = workers[number % len(workers)]
        for i, found in enumerate(outcomes):
            start.wait()
            value = flipped(0x0123456789ABCDEF * (i + 1) % 2**64, [number])
            found.append(index.claim(f"{i}/{number}", fp(value)).outcome)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in outcomes:
        assert sorted(o.value for o in found) == ["duplicate"] * 5 + ["original"]


@given(seed=st.integers(0, 2**32))
@few_examples
def test_whatever_dies_a_cluster_ends_with_one_confirmed_copy(new_store, seed):
    """Workers claim near-duplicates, fail some, are late and die; none that is left gets lost."""
    chance = random.Random(seed)
    store, now = new_store(), 0.0
    fresh, failed = [str(number) for number in range(8)], set()
    queues: dict[Index, list[str]] = {store.open(lease=10): []}
    held: dict[Index, list[str]] = {index: [] for index in queues}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "MAX_HANDOVERS", 1000)
        for _ in range(100):
            now += chance.choice([0, 1, 6])
            index = chance.choice(list(queues))
            act = chance.choice(["claim", "claim", "orphans", "fail", "die", "join"])
            if act == "orphans":
                queues[index] += [page.key for page in index.orphans(now=now)]
            elif act == "claim" and (queue := queues[index] or fresh):
                key = queue.pop()
                claim = index.claim(key, fp(chance.randrange(2)), request=key, now=now)
                assert claim.waiting == (claim.outcome is Outcome.DUPLICATE)
                queues[index] += [page.key for page in claim.handed_back]
                if not claim.waiting:
                    held[index].append(key)
            elif act == "fail" and held[index]:
                key = held[index].pop()
                failed.add(key)
                queues[index] += [page.key for page in index.release([key], now=now)]
            elif act == "join" and store.shared and len(queues) < 3:
                other = store.open(lease=10)
                queues[other], held[other] = [], []
            elif act == "die" and len(queues) > 1:
                index.close()
                del queues[index], held[index]
            assert len(next(iter(queues))) <= 1
        index = next(iter(queues))
        last = [key for queue in queues.values() for key in queue] + fresh
        last += [page.key for page in index.orphans(now=now + 100)]
        for key in last:
            index.claim(key, fp(0), request=key, now=now + 100)
        index.confirm([entry.key for entry in index])
    if len(failed) < 8:
        assert [entry.provisional for entry in index] == [False]
