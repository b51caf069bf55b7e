"""Entries come out of an index as they went in."""

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.index import ACTS_AT_ONCE
from scrapy_simhash.index.values import Arrival, Entry
from tests.index.conftest import ON_ALL_THAT_DIFFER
from tests.index.promises.made import FAR, ORIGINAL, fp, keys, page, query, release, values

pytestmark = ON_ALL_THAT_DIFFER


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


def test_closing_twice_does_no_harm(store):
    index = store.open()
    index.close()
    index.close()


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


def test_a_whole_index_has_nothing_to_tell_of(store):
    index = store.open()
    index.claim_all([page(f"{v}", v) for v in values(90)])
    index.confirm([f"{v}" for v in values(70)])
    release(index, *(f"{v}" for v in values(80)[70:]))
    assert (index.check(), index.damaged) == ([], 0)


@pytest.mark.parametrize("key", ["a\0b", "\0", "", "'\"\\\n", "\U0001f600"])
def test_an_entry_of_any_key_can_be_removed(store, key):
    index = store.open()
    index.put([Entry(key, fp(0)), Entry("a", fp(FAR))])
    assert index.gone([key]) == 1
    assert keys(index) == ["a"]


def test_entries_get_another_state_a_bounded_number_at_a_time(store, monkeypatch):
    index = store.open()
    keys = [str(number) for number in range(2 * ACTS_AT_ONCE + 1)]
    index.put(Entry(key, fp(value)) for key, value in zip(keys, values(len(keys)), strict=True))
    sizes = list[int]()
    commit = index._store.commit

    def counted(parts, lookups=None):
        sizes.append(len(parts))
        return commit(parts, lookups)

    monkeypatch.setattr(index._store, "commit", counted)
    assert index.gone(keys) == len(keys)
    assert sizes == [ACTS_AT_ONCE, ACTS_AT_ONCE, 1]
    assert len(index) == 0
