"""What an index promises beside the histories of acts, over every back end."""

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import index as index_module
from scrapy_simhash.index import open_index
from scrapy_simhash.index.lookups import key_value
from scrapy_simhash.index.values import BUCKET_LIMIT, Arrival, Entry
from scrapy_simhash.rule.ruling import Ruling
from tests.index.conftest import ON_ALL_THAT_DIFFER
from tests.index.promises.made import (
    BANDS,
    DUPLICATE,
    FAR,
    ORIGINAL,
    blocked,
    fp,
    page,
    query,
    spec,
    values,
)

WRONG = [("bits", 65), ("distance", 64), ("distance", -1), ("blocks", 0), ("blocks", 257)]
FILES = ["sqlite:", "sqlite:///", "sqlite://host/a", "sqlite:a", "sqlite:/a", "sqlite+x:///a"]


@pytest.mark.parametrize("url", ["", "mysql://x/y", *FILES, "memory://x", "http://[x"])
def test_an_unknown_url_is_refused_with_the_known_ones(url):
    with pytest.raises(ValueError, match=r"memory://, sqlite:///relative") as error:
        open_index(url, spec())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "value"), [*WRONG, ("lease", 0)])
def test_a_spec_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        spec(**{name: value})


def test_the_value_of_a_key_leaves_out_the_scheme_at_its_start_alone():
    variants = ("https://www.a.example/?u=http://b", "a.example/?u=http://b", "a.example/?u=b")
    values_of_keys = [*map(key_value, variants)]
    assert values_of_keys[0] == values_of_keys[1] != values_of_keys[2]


def test_by_default_a_page_is_the_same_as_long_as_its_fingerprint_is():
    assert [spec().same(b"", b"1", distance) for distance in range(3)] == [True, False, False]


def test_the_judge_is_given_keys_facts_and_distance_of_both_pages(opened):
    seen = []

    def judge(*given: object) -> Ruling:
        seen.append(given)
        return Ruling(True, "always")

    index = opened("memory://", judge=judge)
    index.claim(page("old", 0, facts=bytes(24)))
    claim = index.claim(page("new", 0b101, facts=b"n"))
    assert seen == [(("new", b"n"), ("old", bytes(24)), 2)]
    assert claim.matches[0].reason == "always"


@ON_ALL_THAT_DIFFER
def test_of_a_flooded_bucket_the_newest_entries_are_read(store):
    index = store.open(bits=256, distance=48)
    count = 4 * BUCKET_LIMIT
    flood = [
        Entry(f"{i}", blocked(v, [0, *range(i * BANDS, i * BANDS + BANDS - 1)]))
        for i, v in enumerate(values(count, bits=256))
    ]
    index.put(flood)
    newest, oldest = flood[-1].fingerprint.value, flood[0].fingerprint.value
    alone = [0, *range(10**6, 10**6 + BANDS - 1)]
    assert [n.key for n in query(index, blocked(newest, alone))] == [f"{count - 1}"]
    assert query(index, blocked(oldest, alone)) == []
    assert index.claim(Arrival("x", blocked(newest, alone))).outcome == DUPLICATE
    # The other blocks still find what this one does not.
    assert [n.key for n in query(index, blocked(oldest, [1, *range(BANDS - 1)]))] == ["0"]


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
def test_a_page_that_could_not_be_found_again_is_refused_and_nothing_is_written(opened, arrival):
    index = opened("memory://")
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        index.claim_all([page("b", FAR), arrival])
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        index.put([Entry(arrival.key, arrival.fingerprint, arrival.scope, arrival.facts)])
    assert len(index) == 0


@ON_ALL_THAT_DIFFER
def test_clear_leaves_a_usable_index_whose_positions_and_runs_go_on(store):
    index, other = store.open(), store.open()
    index.begin_run()
    sites = [page(f"{n}", value, scope=f"{n}") for n, value in enumerate(values(20))]
    index.claim_all(sites)
    (before,) = query(index, sites[0].fingerprint, scope="0")
    index.clear()
    assert (len(index), list(index), index.counts().provisional, index.runs()) == (0, [], 0, [])
    assert index.begin_run().number == 2
    claiming = other if store.shared else index
    assert [claim.outcome for claim in claiming.claim_all(sites)] == [ORIGINAL] * 20
    assert index.fates([before.entry]) == {before.entry: False}
    assert (index.check(), index.damaged) == ([], 0)


def test_entries_get_another_state_a_bounded_number_at_a_time(opened, monkeypatch):
    """No more keys than these are in memory."""
    monkeypatch.setattr(index_module, "ACTS_AT_ONCE", 4)
    index = opened("memory://")
    index.put(Entry(str(value), fp(value)) for value in values(9))
    left = list[int]()
    assert index.gone(left.append(len(index)) or str(value) for value in values(9)) == 9
    assert left == [9] * 4 + [5] * 4 + [1]
