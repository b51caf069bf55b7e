"""Any history of acts goes as a model of the contract says."""

import random
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.index import decision, sqlite_store
from scrapy_simhash.index import index as index_module
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Arrival, Entry, Match, Report
from tests.index.conftest import ON_ALL_THAT_DIFFER, Store
from tests.index.promises.made import (
    LEASE,
    WIDTHS,
    at,
    by_scope,
    flipped,
    fp,
    query,
    same_facts,
    same_page,
    spec,
    values,
)
from tests.index.promises.model import Known, Model

few_examples = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Some differ in what the value of a key leaves out, and some in what a store may not take well.
KEYS = [*("http://h/", "https://h/", "https://www.h/", "h/"), "a\0b", "", "'\"\\\n", "\U0001f600"]
DAY = 86_400
RULINGS = 2
# Acts of a history: as many as take a second or two. No back end has those of another one.
ACTS = {"memory": 150, "sqlite": 120, "redis": 60, "cluster-shards": 16}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is done at a time be so little that a history does it several times."""
    monkeypatch.setattr(decision, "RULINGS", RULINGS)
    monkeypatch.setattr(index_module, "CLAIMS_AT_ONCE", 3)
    monkeypatch.setattr(index_module, "ACTS_AT_ONCE", 2)
    for module in (index_module, sqlite_store):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 8)


def scope_of(known: Known) -> str:
    return known.page.scope


def page_of(
    chance: random.Random, centres: Sequence[int], bits: int = 64, distance: int = 3
) -> Arrival:
    """Return a page that is near one of some centres."""
    value = chance.choice(centres)
    return Arrival(
        chance.choice(KEYS),
        fp(flipped(value, chance.sample(range(bits), chance.randint(0, distance))), bits),
        chance.choice(["", "", "s"]),
        chance.choice([b"", b"", b"1", b"12"]),
    )


class History:
    """Does each act with an index and with the model, and compares what they answer."""

    def __init__(self, store: Store, seed: str) -> None:
        self.chance = random.Random(seed)
        spiders = ["one", "one", "other"] if store.shared else ["one"]
        self.bits, self.distance = self.chance.choice(WIDTHS)
        rules = {"judge": same_facts, "same": same_page, "reach": self.distance + 2}
        rules |= {"bits": self.bits, "distance": self.distance}
        self.crawlers = [store.open(lease=LEASE, spider=name, **rules) for name in spiders]
        self.model = Model(spec(**rules), RULINGS, spiders)
        self.centres = values(3, 0, self.bits)
        # The entries whose positions are known.
        self.positions: dict[int, Known] = {}
        self.now = 1_000
        self.acts: list[Callable[[], None]] = [
            *[self.claim] * 6,
            *[self.report] * 5,
            *(self.begin, self.begin, self.end, self.gone, self.put, self.expire),
        ]

    def go_on(self) -> None:
        self.now += self.chance.choice([0, 0, 0, 1, 1, 20, 20, LEASE, 70, DAY + LEASE])
        self.number = self.chance.randrange(len(self.crawlers))
        self.index: Index = at(self.crawlers[self.number], self.now)
        self.chance.choice(self.acts)()

    def page(self) -> Arrival:
        page = page_of(self.chance, self.centres, self.bits, self.distance)
        if self.model.log and self.chance.random() < 0.4:
            known = self.chance.choice(self.model.log).page
            return known._replace(facts=self.chance.choice([known.facts, page.facts]))
        return page

    def claim(self) -> None:
        page = self.page()._replace(
            aliases=self.chance.choice([(), (), (self.chance.choice(KEYS),)])
        )
        claim = self.index.claim(page)
        told = self.model.claim(self.number, page, self.now)
        before = claim.before and (claim.before.key, claim.before.distance, claim.before.run)
        assert (claim.outcome, claim.change, before, claim.unchanged) == (
            *(told.outcome, told.change, told.before, told.unchanged),
        )
        assert [match.key for match in claim.matches] == [*told.copies]
        assert [match.key for match in claim.near] == [*told.others]

    def report(self) -> None:
        """Settle some pages, renew the leases of others, and ask about all entries."""
        some = {key: self.chance.choice("dfr") for key in self.chance.sample(KEYS, 2)}
        delivered, failed, renewed = ([k for k in some if some[k] == kind] for kind in "dfr")
        renewed = self.chance.choice([None, renewed, [*some]])
        if self.chance.random() < 0.4:
            self.find_positions()
        reply = self.index.report(Report(failed, delivered, renewed, [*self.positions]))
        self.model.report(self.number, delivered, failed, renewed, self.now)
        assert reply == self.model.fates(self.number, self.positions, self.now)

    def find_positions(self) -> None:
        for page in {known.page[:3]: known.page for known in self.model.log}.values():
            found = query(self.index, page.fingerprint, scope=page.scope)
            places = sorted(m.entry for m in found if (m.key, m.distance) == (page.key, 0))
            same = [known for known in self.model.log if known.page[:3] == page[:3]]
            self.positions |= dict(zip(places, same, strict=True))

    def begin(self) -> None:
        resumed = self.chance.choice([None, None, "last", self.chance.randrange(9)])
        number = self.index.begin_run(resumed).number
        assert number == self.model.begin(self.number, self.now, resumed)

    def end(self) -> None:
        finished = self.chance.random() < 0.7
        if self.model.crawlers[self.number].expires:  # a crawler ends once
            self.index.end_run(finished=finished)
            self.model.end(self.number, self.now, finished=finished)

    def gone(self) -> None:
        key = self.chance.choice(KEYS)
        there = sorted((k for k in self.model.log if k.page.key == key), key=scope_of)
        found = by_scope(self.index.entries_of([key, "unknown"]))
        assert [(e.key, e.fingerprint.value, e.provisional) for e in found] == [
            (key, k.page.fingerprint.value, k.in_progress) for k in there
        ]
        assert self.index.gone([key, "unknown"]) == self.model.gone(key)

    def put(self) -> None:
        pages = [self.page() for _ in range(2)]
        entries = [Entry(p.key, p.fingerprint, p.scope, p.facts, self.now) for p in pages]
        assert self.index.put(entries) == sum([self.model.put(page, self.now) for page in pages])

    def expire(self) -> None:
        """Let entries expire a few at a time, until each part of the log was looked at in vain."""
        keep = self.chance.randrange(3)
        turns = 2 + len(self.model.log) // 8
        counts = [self.index.expire(keep) for _ in range(turns)]
        while any(counts[-turns:]):
            counts.append(self.index.expire(keep))
        assert max(counts) <= index_module.ROWS_AT_ONCE
        assert sum(counts) == self.model.expire(self.number, keep, self.now)

    def look_at_entries(self) -> None:
        assert len(self.index) == len(self.model.log)
        assert [
            (e.key, e.fingerprint, e.scope, e.facts, e.time, e.provisional, e.run)
            for e in by_scope(self.index)
        ] == [
            (*k.page[:4], k.time, k.in_progress, k.run)
            for k in sorted(self.model.log, key=scope_of)
        ]

    def look_at_runs(self) -> None:
        runs = self.index.runs()
        assert [run.number for run in runs] == [*self.model.runs]
        for run in runs:
            model = self.model.runs[run.number]
            pages = len(self.model.seen(run.number, failed=True))
            told = (run.spider, run.begun, run.ended, run.finished, run.pages)
            assert told == (model.spider, model.begun, model.ended, model.finished, pages)
            if model.ended:
                told = (run.seen, run.failed, run.missing, run.counts)
                assert told == (model.saw, model.failed, model.missing, model.counts)
            for entries, known in (
                (self.index.missing(run.number), self.model.missing(run.number)),
                (self.index.failed(run.number), self.model.failed(run.number)),
            ):
                assert sorted(e.key for e in entries) == sorted(k.page.key for k in known)


@ON_ALL_THAT_DIFFER
@given(seed=st.integers(0, 2**32))
@few_examples
def test_any_history_of_acts_goes_as_the_contract_says(backend, stores, seed):
    history = History(stores(backend), f"{seed} {backend}")
    for turn in range(ACTS[backend]):
        history.go_on()
        if turn % 4 == 0:  # a whole look takes longer than an act
            history.look_at_entries()
    history.look_at_runs()
    if backend != "cluster-shards":  # a check of so many shards takes seconds
        assert history.index.check() == []
    for crawler in history.crawlers:
        assert not crawler.damaged
        crawler.close()  # and once more by the fixture


def shown(matches: Iterable[Match]) -> set[tuple[str, int, bool, str]]:
    """Return what a match tells of its entry."""
    return {(m.key, m.distance, m.provisional, m.reason) for m in matches}


@ON_ALL_THAT_DIFFER
@given(seed=st.integers(0, 2**32))
@few_examples
def test_batches_get_the_answers_of_one_after_the_other(backend, stores, seed):
    chance = random.Random(seed)
    alone, together = (stores(backend).open(judge=same_facts, lease=LEASE) for _ in range(2))
    centres = values(3, seed)
    for batch in range(6):
        now = 1000 + 35 * batch
        pages = [page_of(chance, centres) for _ in range(chance.randrange(8))]
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
