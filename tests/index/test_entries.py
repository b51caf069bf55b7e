"""Entries come out of an index as they went in."""

from __future__ import annotations

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.store import StoreMismatch, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Entry, Report, Unsettled
from tests.index.conftest import ON_ALL_THAT_DIFFER
from tests.index.promises.made import FAR, ORIGINAL, at, by_scope, fp, keys, page, query, values

pytestmark = ON_ALL_THAT_DIFFER


def test_entries_of_keys_are_found_and_gone_in_any_scope(store):
    index = store.open()
    index.claim_all([page("a", 0), page("b", FAR), page("a", 0, scope="s"), page("c", FAR << 9)])
    index.confirm(["a", "c"])
    found = [
        (entry.key, entry.scope, entry.provisional) for entry in by_scope(index.entries_of("ab"))
    ]
    assert found == [("a", "", False), ("b", "", True), ("a", "s", False)]
    assert [entry.fingerprint.value for entry in index.entries_of(["c", "d"])] == [FAR << 9]
    assert index.gone(["a", "d"]) == 2
    assert index.gone(["a"]) == 0
    assert keys(index) == ["b", "c"]
    assert index.claim(page("a", 0)).outcome == ORIGINAL


def test_iteration_gives_the_entries_of_a_scope_as_they_are_in_their_order(store):
    index = store.open(bits=256, distance=48)
    entries = [
        Entry(f"{i}", fp(value, 256, text=i), "s" * (i % 2), bytes(i), 100.0 + i, i % 3 > 0)
        for i, value in enumerate(values(5, bits=256))
    ]
    for e in entries:
        at(index, e.time).claim(Arrival(e.key, e.fingerprint, e.scope, e.facts))
    index.confirm(["0", "3"])
    assert by_scope(index) == by_scope(entries)


def test_clear_leaves_a_usable_index_whose_positions_go_on(store):
    index = store.open()
    index.claim(page("a"))
    (before,) = query(index, fp(0))
    index.clear()
    assert (len(index), list(index)) == (0, [])
    assert index.census()[:2] == (0, 0)
    assert index.claim(page("b")).outcome == ORIGINAL
    assert query(index, fp(0))[0].entry != before.entry
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
    assert census.size > 0


@pytest.mark.parametrize(
    "arrival",
    [
        Arrival("a", Fingerprint(0, 64)),
        Arrival("a", Fingerprint(0, 64, b"x" * 12)),
        Arrival("a", fp(0, 128)),
        Arrival("a", fp(0), facts=bytes(256)),
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


def test_what_is_put_comes_out_as_it_was_but_confirmed(store):
    numbers = values(300, bits=256)
    entries = [
        Entry(f"k{i}", fp(v, 256, text=i), "s" * (i % 3), bytes(i % 25), 1e9 + i)
        for i, v in enumerate(numbers)
    ]
    index = store.open(bits=256, distance=48)
    assert index.put(iter(entries)) == 300
    assert by_scope(index) == by_scope(entries)
    claim = index.claim(Arrival("new", fp(numbers[0] ^ 1, 256, text=0)))
    assert [(m.key, m.provisional) for m in claim.matches] == [("k0", False)]


def test_what_is_there_already_is_not_put_again(store):
    index = store.open()
    entries = [Entry("a", fp(0)), Entry("a", fp(1)), Entry("b", fp(0)), Entry("a", fp(0), "s")]
    assert index.put(entries) == 3
    assert index.put([*entries, Entry("c", fp(0)), Entry("c", fp(0))]) == 1
    assert [(e.key, e.fingerprint.value) for e in by_scope(index)] == [
        ("a", 0),
        ("b", 0),
        ("c", 0),
        ("a", 0),
    ]


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


def test_unsettled_tells_provisional_and_gone_originals_from_confirmed_ones(store):
    index = store.open()
    numbers = values(5)
    at(index, 100).claim_all([page(str(i), v) for i, v in enumerate(numbers)])
    positions = [query(index, fp(v))[0].entry for v in numbers]
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


def test_what_is_reported_in_one_call_is_done_before_it_is_answered(store):
    index = at(store.open(lease=60), 100)
    numbers = values(5)
    index.claim_all([page(f"{n}", value) for n, value in enumerate(numbers)])
    entries = [query(index, fp(value))[0].entry for value in numbers]
    news = Report(failed=["1", "4"], delivered=["2", "4"], renewed=["3"], entries=entries)
    fate = at(index, 160).report(news)
    assert fate.provisional == {entries[3]}
    assert fate.gone == {entries[0], entries[1], entries[4]}
    assert index.report(Report()) == Unsettled(frozenset(), frozenset())


def test_a_page_that_another_crawler_has_taken_over_is_final_once_it_was_delivered(shared_store):
    """Also if its first crawler wanted to renew the lease that it had lost."""
    slow, other = shared_store.open(), shared_store.open()
    at(slow, 0).claim(page("a"))
    at(other, 1000).claim(page("a"))
    at(slow, 1000).renew(["a"])
    slow.confirm(["a"])
    other.release(["a"])
    assert [(entry.key, entry.provisional) for entry in other] == [("a", False)]
