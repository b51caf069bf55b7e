"""The contract over histories of many acts: a model of it, batches, and races."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.contract import MAX_ADOPTIONS, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Change, Orphan, Outcome
from tests.index.conftest import REDIS
from tests.index.made import (
    DUPLICATE,
    ORIGINAL,
    REVISIT,
    WIDTHS,
    at,
    flipped,
    fp,
    page,
    same_facts,
    values,
)

few_examples = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LEASE = 60


# A model of the contract.


@dataclass
class Known:
    """An entry of the model; of a confirmed one the owner is None."""

    page: Arrival
    owner: int | None
    expires: int
    request: str | None
    # The crawlers that claimed or adopted it and have not settled it since.
    open: set[int]
    run: int
    adoptions: int = 0
    # The run that it goes back to, if it was confirmed there.
    back: int | None = None

    def lives(self, now: int) -> bool:
        return self.owner is None or now < self.expires

    @property
    def delivered(self) -> bool:
        return self.owner is None or self.back is not None


@dataclass
class Crawler:
    """A crawler of the model: its spider, its run, and until when it lives."""

    spider: str
    run: int = 0
    expires: int = 0


class Model:
    """What the contract says, in the plainest words."""

    def __init__(self, distance: int, spiders: Sequence[str] = ("",)) -> None:
        self.distance = distance
        self.log: list[Known] = []
        self.crawlers = [Crawler(spider) for spider in spiders]
        # Spider, whether it has ended, whether it is finished.
        self.runs: list[tuple[str, bool, bool]] = []

    def claim(
        self, owner: int, page: Arrival, now: int
    ) -> tuple[Outcome, list[str], list[str], Change | None, str | None]:
        crawler = self.crawlers[owner]
        near = [
            (distance, number, known)
            for number, known in enumerate(self.log)
            if known.page.scope == page.scope
            and (
                (distance := self.apart(known, page)) <= self.distance
                or known.page.key in (page.key, *page.aliases)
            )
        ]
        near.sort(key=lambda one: one[:2])
        found = [known for _, _, known in near]
        own = next((known for known in found if known.page.key == page.key), None)
        rest = [k for d, _, k in near if k is not own and d <= self.distance]
        copies = [k for k in rest if k.page.facts == page.facts]
        others = [k.page.key for k in rest if k not in copies and k.lives(now)]
        living = [k for k in copies if k.lives(now) and not self.is_old(k, crawler)]
        names = [k.page.key for k in living]
        lost = [k for k in copies if k not in living and not k.delivered]
        if own and (not crawler.run or own.run == crawler.run):
            if self.apart(own, page) <= self.distance:
                if own.owner is not None:
                    self.lease(own, owner, page, now)
                return REVISIT, [page.key], [], None, None
            if not living:
                self.admit(owner, page, now, [own, *lost])
            elif own.owner is not None:
                self.lease(own, owner, page, now)
            return REVISIT, [page.key, *names], others, None, None
        if own and self.apart(own, page) == 0:
            change = Change.SAME if own.delivered else Change.NEW
            own.back = own.run if own.owner is None else own.back
            own.run = crawler.run
            self.lease(own, owner, page, now)
            return (
                ORIGINAL,
                [],
                [],
                change,
                page.key if own.delivered and own.back is not None else None,
            )
        if living:
            self.log = [known for known in self.log if known is not own]
            return DUPLICATE, names, others, None, None
        change, before = Change.NEW, None
        named = [k for k in found if k.page.key in page.aliases and self.is_old(k, crawler)]
        moved = [] if own else named[:1] or [k for k in copies if k.delivered][:1]
        if own and own.delivered:
            change, before = Change.CHANGED, page.key
        elif moved and moved[0].delivered:
            change, before = Change.MOVED, moved[0].page.key
        self.admit(owner, page, now, [*([own] if own else []), *lost, *moved])
        return ORIGINAL, [], others, change, before

    def apart(self, known: Known, page: Arrival) -> int:
        return hamming_distance(known.page.fingerprint.value, page.fingerprint.value)

    def is_old(self, known: Known, crawler: Crawler) -> bool:
        is_earlier = 0 < known.run < crawler.run
        return is_earlier and self.runs[known.run - 1][0] == crawler.spider

    def admit(self, owner: int, page: Arrival, now: int, replaced: list[Known]) -> None:
        self.log = [known for known in self.log if known not in replaced]
        run = self.crawlers[owner].run
        self.log.append(Known(page, owner, now + LEASE, page.request, {owner}, run))

    def lease(self, known: Known, owner: int, page: Arrival, now: int) -> None:
        known.owner, known.expires, known.request = owner, now + LEASE, page.request
        known.open.add(owner)

    def settle(self, owner: int, key: str, *, good: bool) -> None:
        for known in [k for k in self.log if k.page.key == key and owner in k.open]:
            known.open.discard(owner)
            if good:
                known.owner = known.back = None
                known.adoptions = 0
            elif known.owner == owner:
                self.take_back(known)

    def take_back(self, known: Known) -> None:
        if known.back is None:
            self.log.remove(known)
        else:
            known.owner, known.run, known.back, known.adoptions = None, known.back, None, 0

    def renew(self, owner: int, key: str, now: int) -> None:
        if self.crawlers[owner].expires:
            self.crawlers[owner].expires = now + LEASE
        for known in self.log:
            if known.page.key == key and known.owner == owner:
                known.expires = now + LEASE

    def orphans(self, owner: int, now: int) -> list[Orphan]:
        orphans = []
        for known in list(self.log):
            is_mine = known.owner is None or known.owner == owner
            if is_mine or known.lives(now):
                continue
            if self.crawlers[known.owner].spider != self.crawlers[owner].spider:
                continue
            if known.request is None or known.adoptions == MAX_ADOPTIONS:
                self.take_back(known)
                continue
            known.owner, known.expires = owner, now + LEASE
            known.adoptions += 1
            known.open.add(owner)
            orphans.append(Orphan(known.page.key, known.request))
        return orphans

    def begin(self, owner: int, now: int) -> int:
        own = self.crawlers[owner]
        numbers = [n for n, run in enumerate(self.runs, 1) if run[0] == own.spider]
        joins = (
            numbers and not self.runs[numbers[-1] - 1][1] and self.others(owner, numbers[-1], now)
        )
        if not joins:
            self.runs.append((own.spider, False, False))
            numbers = [len(self.runs)]
        own.run, own.expires = numbers[-1], now + LEASE
        return own.run

    def end(self, owner: int, now: int, *, finished: bool) -> None:
        own = self.crawlers[owner]
        own.expires = 0
        if own.run and not self.others(owner, own.run, now):
            self.runs[own.run - 1] = (own.spider, True, finished)

    def others(self, owner: int, run: int, now: int) -> bool:
        others = [c for n, c in enumerate(self.crawlers) if n != owner]
        return any(c.run == run and c.expires > now for c in others)


ACTS = [
    *["claim"] * 6,
    *["confirm", "confirm", "release", "renew", "orphans", "unsettled"],
    *["begin", "end", "gone"],
]


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
    for _ in range(80):
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
                chance.choice([None, "R", "S"]),
                chance.choice([(), (), (f"k{chance.randrange(8)}",)]),
            )
            claim = at(index, now).claim(page)
            outcome, matches, near, change, before = model.claim(number, page, now)
            assert claim.outcome is outcome
            assert claim.change is change
            assert (claim.before and claim.before.key) == before
            assert [m.key for m in claim.matches] == matches
            assert [m.key for m in claim.near] == near
        elif act in ("confirm", "release"):
            getattr(index, act)([key])
            model.settle(number, key, good=act == "confirm")
        elif act == "renew":
            at(index, now).renew([key])
            model.renew(number, key, now)
        elif act == "orphans":
            found = sorted(at(index, now).orphans(), key=repr)
            assert found == sorted(model.orphans(number, now), key=repr)
        elif act == "begin":
            assert at(index, now).begin_run().number == model.begin(number, now)
        elif act == "end":
            finished = chance.random() < 0.5
            at(index, now).end_run(finished=finished)
            model.end(number, now, finished=finished)
        elif act == "gone":
            assert index.gone([key]) == sum(k.page.key == key for k in model.log)
            model.log = [known for known in model.log if known.page.key != key]
        else:
            for known in model.log:
                page = known.page
                for neighbour in index.query(page.fingerprint, scope=page.scope):
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
        entries = [(e.key, e.fingerprint, e.scope, e.facts, e.provisional, e.run) for e in index]
        assert entries == [
            (
                *(k.page.key, k.page.fingerprint, k.page.scope, k.page.facts),
                *(k.owner is not None, k.run),
            )
            for k in model.log
        ]
    counted = Counter(known.run for known in model.log)
    assert [(r.spider, r.ended is not None, r.finished, r.pages) for r in index.runs()] == [
        (*run, counted[number]) for number, run in enumerate(model.runs, 1)
    ]


@pytest.mark.parametrize(("bits", "distance"), WIDTHS)
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


# Batches.


def test_pages_that_claim_together_get_the_answers_of_one_after_the_other(store):
    index = store.open()
    pages = values(700)
    pages[1], pages[699] = pages[0] ^ 1, pages[0] ^ 2
    claims = index.claim_all([Arrival(f"{i}", fp(value)) for i, value in enumerate(pages)])
    assert [i for i, c in enumerate(claims) if c.outcome is not ORIGINAL] == [1, 699]
    assert [claims[i].matches[0].key for i in (1, 699)] == ["0", "0"]
    assert index.claim_all([]) == []


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
                chance.choice([None, "R"]),
            )
            for _ in range(chance.randrange(8))
        ]
        expected = [at(alone, now).claim(page) for page in pages]
        claims = at(together, now).claim_all(pages)
        for claim, other in zip(claims, expected, strict=True):
            assert claim.outcome is other.outcome
            # Over a network some may be left out, once one is found.
            assert bool(claim.matches) == bool(other.matches)
            assert shown(claim.matches) <= shown(other.matches)
            assert shown(claim.near) <= shown(other.near)
        done = [page.key for page in pages if chance.random() < 0.3]
        for index in (alone, together):
            index.confirm(done)
        # A page that is judged may come into the log after pages that claimed after it.
        assert sorted(alone, key=repr) == sorted(together, key=repr)


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


def shown(matches):
    return {(m.key, m.distance, m.provisional, m.reason) for m in matches}


# Races.

# An Breaker is for one thread at a time.
an_index = pytest.mark.parametrize("store", ["memory", "sqlite", *REDIS], indirect=True)


def race(indexes, rounds, judge_facts=b""):
    """Claim near pages at the same time; return each round's outcomes."""
    outcomes = [[] for _ in range(rounds)]
    start = threading.Barrier(len(indexes))
    centres = values(rounds, 7)

    def crawl(number):
        for i, value in enumerate(centres):
            start.wait(60)
            page = Arrival(f"{i}/{number}", fp(value ^ 1 << number), facts=judge_facts)
            outcomes[i].append(indexes[number].claim(page).outcome)

    threads = [threading.Thread(target=crawl, args=(n,)) for n in range(len(indexes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return outcomes


@an_index
def test_of_near_pages_that_claim_at_once_exactly_one_becomes_the_original(store):
    if store.shared:
        indexes = [store.open(judge=same_facts) for _ in range(3)]
    else:
        indexes = [store.open(judge=same_facts)] * 3
    for outcomes in race(indexes, 60):
        assert sorted(outcome.value for outcome in outcomes) == ["duplicate"] * 2 + ["original"]


def test_what_another_crawler_admits_after_the_last_look_is_found(shared_store):
    one, other = shared_store.open(), shared_store.open()
    for number, value in enumerate(values(50)):
        first, second = (one, other) if number % 2 else (other, one)
        assert first.claim(Arrival(f"a{number}", fp(value))).outcome is ORIGINAL
        claims = second.claim_all([Arrival(f"b{number}", fp(value ^ 1 << i)) for i in range(2)])
        assert [claim.outcome for claim in claims] == [DUPLICATE, DUPLICATE]


@an_index
def test_a_call_during_which_another_thread_closes_the_index_ends_or_says_so(store):
    index = store.open()
    failed = []

    def crawl():
        try:
            while True:
                index.claim(Arrival("a", fp(0)))
        except StoreUnavailable:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
            failed.append(error)

    threads = [threading.Thread(target=crawl) for _ in range(3)]
    for thread in threads:
        thread.start()
    index.close()
    for thread in threads:
        thread.join(60)
    assert failed == []


@an_index
def test_calls_from_many_threads_do_not_disturb_each_other(store):
    index = store.open()
    failed = []

    def crawl(number):
        try:
            for i, value in enumerate(values(30, number)):
                key = f"{number}/{i}"
                index.claim(Arrival(key, fp(value), request="R"))
                index.renew([key])
                index.orphans()
                (index.confirm if i % 2 else index.release)([key])
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
            failed.append(error)

    threads = [threading.Thread(target=crawl, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert len(index) == 60
    assert not any(entry.provisional for entry in index)
