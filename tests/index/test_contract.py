"""One contract over every back end, and what is asked of these back ends alone."""

import contextlib

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import BUCKET_LIMIT, Arrival, Entry, IndexSpec
from tests.index.conftest import ON_ALL_THAT_DIFFER
from tests.index.promises.made import (
    BANDS,
    DUPLICATE,
    REVISIT,
    blocked,
    fp,
    page,
    query,
    same_facts,
    spec,
    values,
)

FILES = ["sqlite:", "sqlite:///", "sqlite://host/a", "sqlite:a", "sqlite:/a"]


@pytest.mark.parametrize("url", ["", "mysql://x/y", *FILES, "memory://x", "http://[x"])
def test_an_unknown_url_is_refused_with_the_known_ones(url):
    with pytest.raises(ValueError, match=r"memory://, sqlite:///relative") as error:
        open_index(url, spec())
    assert "\n" not in str(error.value)


WRONG = [("bits", 65), ("distance", 64), ("distance", -1), ("blocks", 0), ("blocks", 257)]


@pytest.mark.parametrize(("name", "value"), [*WRONG, ("lease", 0)])
def test_a_spec_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        spec(**{name: value})


@ON_ALL_THAT_DIFFER
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
    assert len(query(index, fp(0))) == count - 3
    assert index.claim(page(f"{count - 5}", 0, facts=b"other")).outcome == REVISIT


def test_the_entry_of_an_alias_takes_no_ruling_from_the_others():
    with contextlib.closing(open_index("memory://", spec(judge=same_facts))) as index:
        others = [page(f"{i}", 0b11 << i, facts=b"%d" % i) for i in range(RULINGS)]
        alias = page("alias", 1, facts=b"alias")
        index.put([Entry(p.key, p.fingerprint, p.scope, p.facts) for p in (*others, alias)])
        claim = index.claim(page("copy", 0, facts=others[-1].facts, aliases=("alias",)))
        assert [match.key for match in claim.matches] == [others[-1].key]


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


def test_a_spec_is_one_value_whatever_its_judge():
    assert spec() == IndexSpec("test", 64, 3, 4, judge=same_facts, reach=4)
