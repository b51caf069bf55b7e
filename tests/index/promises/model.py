"""The contract in the plainest words: a model that looks at every entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.entry_states import failed_in, run_of
from scrapy_simhash.index.values import Arrival, Change, Outcome
from tests.index.promises.made import DUPLICATE, LEASE, ORIGINAL, REVISIT


@dataclass
class Known:
    """An entry of the model; of a confirmed one the owner is None."""

    page: Arrival
    owner: int | None
    expires: int
    # The crawlers that claimed it and have not settled it since.
    open: set[int]
    run: int
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
    """An index that does as the contract says, in the plainest code."""

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
        lost = [k for k in copies if k not in living and not k.delivered]
        named = [k for k in found if k.page.key in page.aliases and self.is_old(k, crawler)]
        left = [k for k in copies if k.delivered and k not in living]
        moved = [] if own else (named or left)[:1]
        if moved and self.is_old(moved[0], crawler):
            living = [k for k in living if k.run == crawler.run]
        names = [k.page.key for k in living]
        if own and (not crawler.run or own.run == crawler.run):
            if self.apart(own, page) <= self.distance:
                if own.owner is not None:
                    self.lease(own, owner, now)
                return REVISIT, [page.key], [], None, None
            if not living:
                self.admit(owner, page, now, [own, *lost])
            elif own.owner is not None:
                self.lease(own, owner, now)
            return REVISIT, [page.key, *names], others, None, None
        is_same = own is not None and self.apart(own, page) == 0
        came = [k for k in living if k.run == crawler.run]
        if own and is_same and not came:
            change = "same" if own.delivered else "new"
            if own.page.facts != page.facts:
                self.admit(owner, page, now, [own])
                return ORIGINAL, [], [], change, page.key if own.delivered else None
            own.back = own.run if own.owner is None else own.back
            own.run = crawler.run
            self.lease(own, owner, now)
            return (
                ORIGINAL,
                [],
                [],
                change,
                page.key if own.delivered and own.back is not None else None,
            )
        if living:
            if own and not own.delivered:
                self.log = [known for known in self.log if known is not own]
            elif own and own.owner is None and is_same:
                own.run = crawler.run
            return DUPLICATE, names, others, None, None
        change, before = "new", None
        if own and own.delivered:
            change, before = "changed", page.key
        elif moved and moved[0].delivered:
            change, before = "moved", moved[0].page.key
        gone = [k for k in moved if k.page.key in page.aliases or not k.delivered]
        self.admit(owner, page, now, [*([own] if own else []), *lost, *gone])
        return ORIGINAL, [], others, change, before

    def apart(self, known: Known, page: Arrival) -> int:
        return hamming_distance(known.page.fingerprint.value, page.fingerprint.value)

    def is_old(self, known: Known, crawler: Crawler) -> bool:
        run = run_of(known.run)
        is_earlier = 0 < run < crawler.run or known.run == failed_in(crawler.run)
        return is_earlier and self.runs[run - 1][0] == crawler.spider

    def admit(self, owner: int, page: Arrival, now: int, replaced: list[Known]) -> None:
        self.log = [known for known in self.log if known not in replaced]
        run = self.crawlers[owner].run
        self.log.append(Known(page, owner, now + LEASE, {owner}, run))

    def lease(self, known: Known, owner: int, now: int) -> None:
        known.owner, known.expires = owner, now + LEASE
        known.open.add(owner)

    def settle(self, owner: int, key: str, *, good: bool) -> None:
        of_key = [k for k in self.log if k.page.key == key]
        opened = [k for k in of_key if owner in k.open]
        for known in opened:
            known.open.discard(owner)
            if good:
                known.owner = known.back = None
            elif known.owner == owner:
                if known.back is None:
                    self.log.remove(known)
                else:
                    known.owner, known.run, known.back = None, known.back, None
        crawler = self.crawlers[owner]
        for known in () if good else of_key:
            if known.owner is None and crawler.run and self.is_old(known, crawler):
                known.run = failed_in(crawler.run)

    def renew(self, owner: int, key: str, now: int) -> None:
        if self.crawlers[owner].expires:
            self.crawlers[owner].expires = now + LEASE
        for known in self.log:
            if known.page.key == key and known.owner == owner:
                known.expires = now + LEASE

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
