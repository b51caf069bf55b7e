"""The contract in the plainest words: a model that looks at every entry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.entry_states import failed_in, run_of
from scrapy_simhash.index.lookups import key_value
from scrapy_simhash.index.values import Arrival, Change, IndexSpec, Outcome
from tests.index.promises.made import DUPLICATE, LEASE, ORIGINAL, REVISIT

Keys = Iterable[str]


@dataclass(eq=False)
class Known:
    """An entry of the model; of a confirmed one the owner is None."""

    page: Arrival
    owner: int | None
    expires: int
    # The crawlers that claimed it and have not settled it since.
    open: set[int]
    run: int
    # When its text was admitted.
    time: int
    # The run that it goes back to, if it was confirmed there.
    back: int | None = None

    def lives(self, now: int) -> bool:
        return self.owner is None or now < self.expires

    @property
    def in_progress(self) -> bool:
        return self.owner is not None

    @property
    def delivered(self) -> bool:
        return not self.in_progress or self.back is not None


@dataclass
class Crawler:
    """A crawler of the model: its spider, its run and those before it, until when it lives."""

    spider: str
    run: int = 0
    past: Sequence[int] = ()
    begun: int = 0
    expires: int = 0


class Told(NamedTuple):
    """The answer to a claim: keys of copies and of others, and the entry before, if there is one.

    Of that entry it has key, distance and run.
    """

    outcome: Outcome
    copies: Sequence[str] = ()
    others: Sequence[str] = ()
    change: Change | None = None
    before: tuple[str, int, int] | None = None
    unchanged: bool = False


@dataclass
class Night:
    """A run of the model, and what it came to at its end."""

    spider: str
    begun: int
    ended: int | None = None
    finished: bool = False
    saw: int = 0
    failed: int = 0
    missing: int = 0
    counts: bool = False


class Model:
    """An index that does as the contract says, in the plainest code."""

    def __init__(self, spec: IndexSpec, rulings: int, spiders: Sequence[str] = ("",)) -> None:
        self.spec = spec
        self.rulings = rulings
        self.log: list[Known] = []
        self.crawlers = [Crawler(spider) for spider in spiders]
        # By their numbers.
        self.runs: dict[int, Night] = {}
        self.last_run = 0

    def claim(self, owner: int, page: Arrival, now: int) -> Told:
        crawler = self.crawlers[owner]
        found = self.found(page)
        owns = [k for k in self.log if k in found and k.page.key == page.key]
        own = owns[-1] if owns else None
        rest = [k for k in found if k not in owns and self.apart(k, page) <= self.spec.reach]
        copies = [k for k in rest if k.page.facts == page.facts]
        others = [k.page.key for k in rest if k not in copies and k.lives(now)]
        living = [k for k in copies if k.lives(now) and not self.is_old(k, crawler)]
        lost = [k for k in copies if k not in living and not k.delivered]
        named = [k for k in found if k.page.key in page.aliases and self.is_old(k, crawler)]
        left = [k for k in copies if k.delivered and k not in living]
        moved = None if own else next(iter(named or left), None)
        if moved and self.is_old(moved, crawler):
            living = [k for k in living if k.run == crawler.run]
        names = [k.page.key for k in living]
        is_same = own is not None and self.is_same(own, page)
        if own and (not crawler.run or own.run == crawler.run):
            is_near = self.apart(own, page) <= self.spec.reach
            unchanged = is_near and is_same and own.delivered and own.time < crawler.begun
            if not is_near and not living:
                self.admit(owner, page, now, [*owns, *lost])
            elif own.in_progress:
                self.lease(own, owner, now)
            if is_near:
                return Told(REVISIT, [page.key], unchanged=unchanged)
            return Told(REVISIT, [page.key, *names], others)
        came = [k for k in living if k.run == crawler.run]
        if own and is_same and not came:
            told = Told(ORIGINAL, change="new")
            if own.delivered:
                told = Told(ORIGINAL, (), (), "same", self.shown(own, page), unchanged=True)
            if (own.page.facts, self.apart(own, page)) != (page.facts, 0):
                self.admit(owner, page, own.time if own.delivered else now, [own], leased=now)
            else:
                own.back = own.back if own.in_progress else own.run
                own.run = crawler.run
                self.lease(own, owner, now)
            return told
        if living:
            self.log = [k for k in self.log if k.delivered or k not in owns]
            if own and not own.in_progress and is_same:
                own.run = crawler.run
            return Told(DUPLICATE, names, others)
        told = Told(ORIGINAL, (), others, "new")
        since = now
        if own and own.delivered:
            told = Told(ORIGINAL, (), others, "changed", self.shown(own, page))
        elif moved and moved.delivered:
            unchanged = self.is_same(moved, page)
            told = Told(ORIGINAL, (), others, "moved", self.shown(moved, page), unchanged)
            since = moved.time if unchanged else now
        is_gone = moved and (moved.page.key in page.aliases or not moved.delivered)
        self.admit(owner, page, since, [*owns, *lost, *[moved] * bool(is_gone)], leased=now)
        return told

    def found(self, page: Arrival) -> list[Known]:
        """Return the entries of a page's keys, and the nearest others, of which few are judged."""
        names = (page.key, *page.aliases)
        in_scope = [known for known in self.log if known.page.scope == page.scope]
        by_distance = sorted(in_scope, key=lambda known: self.apart(known, page))
        strangers = [k for k in by_distance if k.page.key not in names and self.is_near(k, page)]
        judged = strangers[: self.rulings]
        return [known for known in by_distance if known in judged or known.page.key in names]

    def apart(self, known: Known, page: Arrival) -> int:
        return hamming_distance(known.page.fingerprint.value, page.fingerprint.value)

    def is_near(self, known: Known, page: Arrival) -> bool:
        """Return whether an entry is within reach of a page, and shares a value with it."""
        theirs, blocks = known.page.fingerprint.blocks, page.fingerprint.blocks
        shared = any(theirs[i : i + 4] == blocks[i : i + 4] for i in range(0, len(blocks), 4))
        is_variant = key_value(known.page.key) in map(key_value, (page.key, *page.aliases))
        return (shared or is_variant) and self.apart(known, page) <= self.spec.reach

    def is_same(self, known: Known, page: Arrival) -> bool:
        distance = self.apart(known, page)
        is_near = distance <= self.spec.distance
        return is_near and self.spec.same(page.facts, known.page.facts, distance)

    def shown(self, known: Known, page: Arrival) -> tuple[str, int, int]:
        return known.page.key, self.apart(known, page), known.run

    def is_old(self, known: Known, crawler: Crawler) -> bool:
        return run_of(known.run) in crawler.past or known.run == failed_in(crawler.run)

    def admit(
        self, owner: int, page: Arrival, since: int, replaced: list[Known], leased: int = 0
    ) -> None:
        """Make a page an entry; its text is known since a time, its lease begins later, maybe."""
        self.log = [known for known in self.log if known not in replaced]
        expires = max(since, leased) + LEASE
        self.log.append(Known(page, owner, expires, {owner}, self.crawlers[owner].run, since))

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
                self.take_back(known)
        crawler = self.crawlers[owner]
        for known in () if good else of_key:
            if not known.in_progress and self.is_old(known, crawler):
                known.run = failed_in(crawler.run)

    def take_back(self, known: Known) -> None:
        if known.back is None:
            self.log = [other for other in self.log if other is not known]
        else:
            known.owner, known.run, known.back = None, known.back, None

    def report(
        self, owner: int, delivered: Keys, failed: Keys, renewed: Keys | None, now: int
    ) -> None:
        for key in delivered:
            self.settle(owner, key, good=True)
        for key in failed:
            self.settle(owner, key, good=False)
        for known in self.log:
            if known.page.key in (renewed or ()) and known.owner == owner:
                known.expires = now + LEASE
        if renewed is not None and self.crawlers[owner].expires:
            self.crawlers[owner].expires = now + LEASE

    def fates(self, owner: int, places: Mapping[int, Known], now: int) -> dict[int, bool]:
        """A page that was taken back is gone for the run that saw it."""
        crawler = self.crawlers[owner]
        there = [
            known
            for known in self.log
            if known.lives(now) and (known.in_progress or not self.is_old(known, crawler))
        ]
        living = {place for place, known in places.items() if any(known is k for k in there)}
        settled = {
            place for place in places if place not in living or not places[place].in_progress
        }
        return {place: place in living for place in settled}

    def gone(self, key: str) -> int:
        before = len(self.log)
        self.log = [known for known in self.log if known.page.key != key]
        return before - len(self.log)

    def put(self, page: Arrival, now: int) -> bool:
        """Append an entry, unless its key has a confirmed one in its scope."""
        name = page.key, page.scope
        there = {(k.page.key, k.page.scope) for k in self.log if k.delivered}
        if name not in there:
            self.log.append(Known(page, None, 0, set(), 0, now))
        return name not in there

    def begin(self, owner: int, now: int, resumed: int | Literal["last"] | None = None) -> int:
        own = self.crawlers[owner]
        numbers = [n for n, run in self.runs.items() if run.spider == own.spider]
        last = numbers[-1] if numbers else 0
        number = last if resumed == "last" else resumed
        if number not in numbers or self.runs[number].finished:
            number = last
            if not last or self.runs[last].ended or not self.others(owner, last, now):
                number = self.last_run = self.last_run + 1
                self.runs[number] = Night(own.spider, now)
        self.runs[number].ended = None
        own.run, own.past, own.expires = number, self.earlier(number), now + LEASE
        own.begun = self.runs[number].begun
        return number

    def end(self, owner: int, now: int, *, finished: bool) -> None:
        own = self.crawlers[owner]
        own.expires = 0
        if own.run not in self.runs or self.others(owner, own.run, now):
            return
        for crawler in self.crawlers:
            if crawler.run == own.run:  # those that were taken for dead have left it, too
                crawler.expires = 0
        run = self.runs[own.run]
        run.ended, run.finished = now, finished
        run.saw, run.failed = len(self.seen(own.run)), len(self.failed(own.run))
        run.missing = len(self.missing(own.run))
        good = [n for n in self.earlier(own.run) if self.runs[n].counts]
        known = run.saw + run.failed + run.missing
        is_whole = not good or 10 * run.saw >= min(self.runs[good[-1]].saw, known)
        run.counts = finished and is_whole and 10 * run.failed <= known

    def others(self, owner: int, run: int, now: int) -> bool:
        others = [c for n, c in enumerate(self.crawlers) if n != owner]
        return any(c.run == run and c.expires > now for c in others)

    def expire(self, owner: int, keep: int, now: int) -> int:
        """Delete what was abandoned for a day, and what belongs to runs before those to keep."""
        spider = self.crawlers[owner].spider
        good = [n for n, run in self.runs.items() if run.spider == spider and run.counts]
        first = good[-keep] if 0 < keep <= len(good) else 0
        living = {crawler.run for crawler in self.crawlers if crawler.expires > now}
        before = [n for n, run in self.runs.items() if run.spider == spider and n < first]
        old = [number for number in before if number not in living]
        abandoned = [k for k in self.log if k.in_progress and k.expires < now - 86_400]
        for known in abandoned:
            self.take_back(known)
        gone = [k for k in self.log if not k.in_progress and run_of(k.run) in old]
        self.log = [known for known in self.log if known not in gone]
        for number in old:
            if not self.seen(number, failed=True):
                del self.runs[number]
        return len(abandoned) + len([known for known in gone if known not in abandoned])

    def seen(self, run: int, *, failed: bool = False) -> list[Known]:
        """Return what was last seen in a run, and what has failed in it, if that is asked for."""
        return [k for k in self.log if k.run == run or (failed and k.run == failed_in(run))]

    def failed(self, run: int) -> list[Known]:
        return [k for k in self.log if k.run == failed_in(run)]

    def earlier(self, run: int) -> list[int]:
        spider = self.runs[run].spider
        return [n for n, other in self.runs.items() if n < run and other.spider == spider]

    def missing(self, run: int) -> list[Known]:
        return [k for n in self.earlier(run) for k in self.seen(n, failed=True)]
