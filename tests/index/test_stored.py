"""What an operator needs of an index, over every back end: index/stored.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import (
    Entry,
    Outcome,
    StoreDamaged,
    StoreMissing,
    index_from_url,
    open_existing,
    stored,
)


def entries(count: int, *, bits: int = 64, seed: int = 1, scope: str = "") -> list[Entry]:
    chance = random.Random(seed)
    return [
        Entry(
            f"http://{seed}.example/{number}",
            Fingerprint(chance.getrandbits(bits), bits),
            scope,
            1_700_000_000.0 + number,
            False,
        )
        for number in range(count)
    ]


def test_restored_entries_are_confirmed_and_keep_all_that_is_known_of_them(store):
    index = store.open()
    made = [*entries(5), *entries(5, seed=2, scope="b.example")]
    assert index.restore(made) == 10
    assert list(index) == made
    assert len(index) == 10
    assert index.last_lease() is None
    claim = index.claim("copy", made[0].fingerprint)
    assert claim.outcome is Outcome.DUPLICATE
    assert (claim.matches[0].key, claim.matches[0].provisional) == (made[0].key, False)
    # Of another scope, so that it repeats nothing.
    assert index.claim("other", made[-1].fingerprint).outcome is Outcome.ORIGINAL


def test_what_was_restored_before_is_not_restored_again_also_by_another_worker(shared_store):
    made = entries(2500)
    assert shared_store.open().restore(made[:1500]) == 1500
    index = shared_store.open()
    assert index.restore(made) == 1000
    assert index.restore(made[:10] * 2) == 0
    assert [entry.key for entry in index] == [entry.key for entry in made]


def test_near_entries_and_other_fingerprints_of_a_key_are_restored(store):
    index = store.open()
    first, second = entries(2)
    near = Entry("near", Fingerprint(first.fingerprint.value ^ 1, 64), "", 1.0, False)
    changed = Entry(first.key, second.fingerprint, "", 2.0, False)
    assert index.restore([first, near, changed]) == 3
    assert len(index.find([first.key])) == 2


def test_fractions_of_seconds_are_dropped(store):
    index = store.open()
    index.restore([Entry("a", Fingerprint(1, 64), "", 12.75, False)])
    assert [entry.time for entry in index] == [12]


def test_a_claim_that_is_not_confirmed_does_not_count_as_restored(store):
    index = store.open()
    (entry,) = entries(1)
    index.claim(entry.key, entry.fingerprint)
    assert index.restore([entry]) == 1
    index.release([entry.key])
    assert [(e.key, e.provisional) for e in index] == [(entry.key, False)]


def test_digests_are_told_apart_also_once_they_are_sorted(monkeypatch):
    monkeypatch.setattr(stored, "_UNSORTED", 7)
    made = entries(50)
    known = stored._Digests(made[:30])
    assert [known.add(entry) for entry in made] == [False] * 30 + [True] * 20


def test_removing_by_a_condition_lets_twins_in_again(store):
    index = store.open()
    made = entries(1500)
    index.restore(made)
    wanted = {entry.key for entry in made[::3]}
    assert index.remove_where(lambda entry: entry.key in wanted) == 500
    assert index.remove_where(lambda entry: entry.key in wanted) == 0
    assert [entry.key for entry in index] == [e.key for e in made if e.key not in wanted]
    assert index.claim("twin", made[0].fingerprint).outcome is Outcome.ORIGINAL
    assert index.claim("copy", made[1].fingerprint).outcome is Outcome.DUPLICATE


def test_pages_that_wait_on_what_is_removed_are_for_whoever_asks(store):
    index = store.open()
    index.claim("a", Fingerprint(5, 64), request="a")
    assert index.claim("b", Fingerprint(5, 64), request="b").waiting
    assert index.remove_where(lambda entry: entry.provisional) == 1
    assert [page.key for page in index.orphans()] == ["b"]


def test_entries_are_found_by_their_keys(store):
    index = store.open()
    made = entries(20)
    index.restore(made)
    assert index.find([made[7].key, made[3].key, "nowhere"]) == [made[3], made[7]]
    assert index.find([]) == []


def test_a_sample_has_the_first_and_the_last_and_some_between(store):
    index = store.open()
    assert index.sample(10) == []
    made = entries(5000)
    index.restore(made)
    found = index.sample(100)
    assert found[0] == made[0]
    assert found[-1] == made[-1]
    assert 90 <= len(found) <= 300
    assert set(found) <= set(made)
    small = index.sample(10_000)
    assert len(small) >= 3000


def test_a_census_counts_what_is_there(store):
    index = store.open()
    index.restore(entries(3000))
    index.claim("a", Fingerprint(5, 64), request="a")
    index.claim("b", Fingerprint(5, 64), request="b")
    census = index.census()
    assert (census.pages, census.provisional, census.waiting) == (3001, 1, 1)
    assert census.bodies == 0
    # A fingerprint and a key of each take more than this, and nothing takes so much more.
    # The stand-in for Redis does not tell.
    assert 3000 * 20 < sum(census.sizes.values()) < 3000 * 1000 or census.sizes == {}


def test_an_existing_index_is_opened_as_it_was_made(shared_store):
    made = shared_store.open(bits=128, distance=20, recipe="some recipe")
    made.restore(entries(3, bits=128))
    index = open_existing(shared_store.url)
    try:
        assert (index.recipe, index.layout, index.distance) == ("some recipe", made.layout, 20)
        assert list(index) == list(made)
        assert index.query(entries(3, bits=128)[1].fingerprint)[0].key == "http://1.example/1"
    finally:
        index.close()


def test_an_index_that_is_missing_is_not_made(shared_store):
    for _ in range(2):
        with pytest.raises(StoreMissing, match="there is no index"):
            open_existing(shared_store.url)


def test_options_that_an_index_was_made_with_are_taken_from_it(redis_servers):
    url = f"{redis_servers.single.url}?{redis_servers.new_name()}"
    about = {"recipe": "r", "bits": 64, "distance": 3}
    made = index_from_url(f"{url}&keys=digest&buckets=local", **about)
    made.restore(entries(2))
    index = open_existing(url)
    assert index.options == {"buckets": "local", "keys": "digest"}
    assert index.find(["http://1.example/1"])[0].key.startswith("#")
    # By its address or, exported from such an index, by its digest, a page is the same.
    assert index.restore([*entries(2), *made]) == 0
    assert index.restore(entries(1, seed=2)) == 1
    index.close()
    made.close()


def test_a_file_that_is_looked_at_is_not_changed(tmp_path: Path):
    path = tmp_path / "index.sqlite"
    about = {"recipe": "r", "bits": 64, "distance": 3}
    with_entries = index_from_url(f"sqlite:///{path}", **about)
    with_entries.restore(entries(10))
    with_entries.close()
    before = path.read_bytes()
    index = open_existing(f"sqlite:///{path}")
    assert len(list(index)) == len(index) == index.census().pages == 10
    index.query(Fingerprint(1, 64))
    index.close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["index.sqlite"]


def test_other_files_and_urls_are_refused(tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("some text")
    with pytest.raises(StoreDamaged, match="not an index"):
        open_existing(f"sqlite:///{other}")
    assert other.read_text() == "some text"
    with pytest.raises(StoreMissing, match="memory"):
        open_existing("memory://")
    with pytest.raises(ValueError, match="the URL must be"):
        open_existing("ftp://example.com/")
