"""Any history of acts goes as a model of the contract says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.index.entry_states import run_of
from scrapy_simhash.index.values import Arrival, Match
from tests.index.conftest import ON_ALL_THAT_DIFFER
from tests.index.promises.made import (
    LEASE,
    WIDTHS,
    at,
    by_scope,
    flipped,
    fp,
    query,
    same_facts,
    values,
)
from tests.index.promises.model import Known, Model

few_examples = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

ACTS = [
    *["claim"] * 6,
    *["confirm", "confirm", "release", "renew", "unsettled"],
    *["begin", "end", "gone"],
]


def shown(matches: Iterable[Match]) -> set[tuple[str, int, bool, str]]:
    """Return what a match tells of its entry."""
    return {(m.key, m.distance, m.provisional, m.reason) for m in matches}


@ON_ALL_THAT_DIFFER
@given(seed=st.integers(0, 2**32))
@few_examples
def test_any_history_of_acts_goes_as_the_contract_says(new_store, seed):
    chance = random.Random(seed)
    store = new_store()
    spiders = ["one", "one", "other"] if store.shared else ["one"]
    crawlers = [store.open(judge=same_facts, lease=LEASE, spider=s) for s in spiders]
    model, now = Model(3, spiders), 1_000
    centres = values(3, seed)
    positions: dict[int, Known] = {}
    for turn in range(1, 81):
        now += chance.choice([0, 0, 1, 20, 70])
        number = chance.randrange(len(crawlers))
        index, key = crawlers[number], f"k{chance.randrange(8)}"
        crawler = model.crawlers[number]
        act = chance.choice(ACTS)
        if act == "claim":
            value = flipped(chance.choice(centres), chance.sample(range(64), chance.randrange(4)))
            page = Arrival(
                key,
                fp(value),
                chance.choice(["", "", "s"]),
                chance.choice([b"", b"", b"1"]),
                chance.choice([(), (), (f"k{chance.randrange(8)}",)]),
            )
            claim = at(index, now).claim(page)
            outcome, matches, near, change, before = model.claim(number, page, now)
            assert claim.outcome == outcome
            # The model knows no seconds, by which a revisit is the same.
            assert claim.change == change or claim.outcome == "revisit"
            assert (claim.before and claim.before.key) == before
            assert [m.key for m in claim.matches] == matches
            assert [m.key for m in claim.near] == near
        elif act in ("confirm", "release"):
            getattr(index, act)([key])
            model.settle(number, key, good=act == "confirm")
        elif act == "renew":
            at(index, now).renew([key])
            model.renew(number, key, now)
        elif act == "begin":
            assert at(index, now).begin_run().number == model.begin(number, now)
        elif act == "end":
            finished = chance.random() < 0.5
            # A crawler ends once.
            if crawler.expires:
                at(index, now).end_run(finished=finished)
                model.end(number, now, finished=finished)
        elif act == "gone":
            assert index.gone([key]) == sum(k.page.key == key for k in model.log)
            model.log = [known for known in model.log if known.page.key != key]
        else:
            for known in model.log:
                page = known.page
                for neighbour in query(index, page.fingerprint, scope=page.scope):
                    if (neighbour.key, neighbour.distance) == (page.key, 0):
                        positions[neighbour.entry] = known
            unsettled = at(index, now).unsettled(positions)
            # A page that was taken back is gone for the run that saw it.
            old = [k for k in model.log if k.owner is None and model.is_old(k, crawler)]
            alive = [k for k in model.log if k.lives(now) and k not in old]
            there = {place for place, known in positions.items() if any(known is k for k in alive)}
            open_ones = {place for place in there if positions[place].owner is not None}
            assert unsettled.gone == positions.keys() - there
            assert unsettled.provisional == open_ones
        if turn % 4:  # a whole look takes longer than an act
            continue
        entries = [
            (e.key, e.fingerprint, e.scope, e.facts, e.provisional, e.run) for e in by_scope(index)
        ]
        assert entries == [
            (
                *(k.page.key, k.page.fingerprint, k.page.scope, k.page.facts),
                *(k.owner is not None, k.run),
            )
            for k in sorted(model.log, key=lambda known: known.page.scope)
        ]
    counted = Counter(run_of(known.run) for known in model.log)
    assert [(r.spider, r.ended is not None, r.finished, r.pages) for r in index.runs()] == [
        (*run, counted[number]) for number, run in enumerate(model.runs, 1)
    ]


# A history above has 64 bits; distances are counted in Python for a file as well, and in Redis.
@pytest.mark.parametrize("backend", ["memory", "redis"])
@pytest.mark.parametrize(("bits", "distance"), WIDTHS[1:])
@given(seed=st.integers(0, 2**32))
@few_examples
def test_claims_and_queries_answer_as_a_full_scan(new_store, bits, distance, seed):
    chance = random.Random(seed)
    index, model = new_store().open(bits=bits, distance=distance), Model(distance)
    centres = values(3, seed, bits)
    for _ in range(40):
        value = chance.choice(centres)
        value = flipped(value, chance.sample(range(bits), chance.randint(0, distance)))
        page = Arrival(f"{chance.randrange(25)}", fp(value, bits))
        claim = at(index, 0).claim(page)
        outcome, matches, *_ = model.claim(0, page, 0)
        assert (claim.outcome, [m.key for m in claim.matches]) == (outcome, matches)


@ON_ALL_THAT_DIFFER
@given(seed=st.integers(0, 2**32))
@few_examples
def test_batches_get_the_answers_of_one_after_the_other(new_store, seed):
    """The same pages, alone and in batches: fresh and known keys, near ones in one batch."""
    chance = random.Random(seed)
    alone, together = (new_store().open(judge=same_facts, lease=LEASE) for _ in range(2))
    centres = values(3, seed)
    for batch in range(6):
        now = 1000 + 35 * batch
        pages = [
            Arrival(
                f"{chance.randrange(12)}",
                fp(flipped(chance.choice(centres), chance.sample(range(64), chance.randrange(4)))),
                chance.choice(["", "", "s"]),
                chance.choice([b"", b"", b"1"]),
            )
            for _ in range(chance.randrange(8))
        ]
        expected = [at(alone, now).claim(page) for page in pages]
        claims = at(together, now).claim_all(pages)
        for claim, other in zip(claims, expected, strict=True):
            assert claim.outcome == other.outcome
            # Over a network some may be left out, once one is found.
            assert bool(claim.matches) == bool(other.matches)
            assert shown(claim.matches) <= shown(other.matches)
            assert shown(claim.near) <= shown(other.near)
        done = [page.key for page in pages if chance.random() < 0.3]
        for index in (alone, together):
            index.confirm(done)
        # A page that is judged may come into the log after pages that claimed after it.
        assert sorted(alone, key=repr) == sorted(together, key=repr)
