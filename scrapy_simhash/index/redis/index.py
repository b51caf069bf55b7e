"""The index in Redis: many crawlers on many machines.

Decisions are made in one place: a script looks for what is near a page, and appends the page to the
log if nothing is. With buckets in Redis it looks into them itself; with buckets in the RAM of the
crawlers it gets what is near from the caller, and compares with what was admitted since the caller
looked. So a claim is safe however old the caller's view is, and a page that is near nothing, or
near a living copy, costs one request, or with buckets in RAM another one that reads what is new in
the log. What is near comes back with its facts; where it is judged to be another page, the claim is
repeated with its position.

All keys of such an index lie in one slot, so in a cluster it is on one node; ``shards.py`` puts
several together.
"""

import itertools
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.decision import Claimant, Era
from scrapy_simhash.index.pages import Pages, read_fingerprint
from scrapy_simhash.index.redis.claims import (
    Asking,
    Told,
    packed_entry,
    position_of,
    read_told,
    separate,
)
from scrapy_simhash.index.redis.leases import ENTRIES, Leases
from scrapy_simhash.index.redis.rows import ROWS, pack_row, read_runs, rows_to_squeeze
from scrapy_simhash.index.redis.scan import Scan
from scrapy_simhash.index.redis.session import Session
from scrapy_simhash.index.redis.steps import Steps, done, together
from scrapy_simhash.index.values import (
    Arrival,
    Census,
    Claim,
    Entry,
    IndexSpec,
    Match,
    Orphan,
    Report,
    Run,
    Unsettled,
)

# Pages of one call of a script: it holds Redis for some 2 ms.
_PAGES = 16
# Entries that one call looks at, to see whether they expire.
_LOOKED_AT = 1 << 13
# Positions whose rows are squeezed at a time, once as many positions follow them: by then most of
# their entries are confirmed.
_SQUEEZED = 8 * ROWS


class RedisIndex(Index):
    """An index in Redis, Sentinel or Cluster: the whole, or a shard of it.

    Args:
        session: it is closed with the index.

    Attributes:
        leases: what this crawler has in progress.
    """

    def __init__(self, session: Session, spec: IndexSpec) -> None:
        self.spec = spec
        self._session = session
        self._client = session.client
        self.leases = Leases(session)
        # Up to which position it was looked whether entries expire.
        self._expired = 0
        # Pages of the next call of a script: twice as many as the last one got done.
        self._pages = _PAGES

    @property
    def crawler(self) -> bytes:
        """The name of this crawler in the leases."""
        return self._session.name

    # Claims.

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        parts = separate(arrivals, self.spec, _PAGES)
        answers = together([(self._client, self.claiming(part)) for part in parts])
        return [claim for claims in answers for claim in claims]

    def claiming(self, arrivals: Sequence[Arrival]) -> Steps[list[Claim]]:
        self.spec.check(arrivals)
        asking = [Asking(Claimant(arrival, self.spec, self._session.era)) for arrival in arrivals]
        answers: dict[int, Claim] = {}
        with self._session.use():
            while waiting := [n for n in range(len(asking)) if n not in answers]:
                some, names = [], set[bytes]()
                for n in waiting[: self._pages]:
                    # A page has its own entry only once one of its key before it is answered.
                    if names & asking[n].names:
                        break
                    some.append(n)
                    names |= asking[n].names
                told = yield from self._submit([asking[n] for n in some])
                answers.update((n, asking[n].step.claim) for n in itertools.compress(some, told))
        self.unjudged += sum(one.claimant.unjudged for one in asking)
        return [answers[n] for n in range(len(asking))]

    def _submit(self, asking: Sequence[Asking]) -> Steps[list[bool]]:
        """Let the script decide; return which pages have their answers."""
        at, ends, head = self._session.leases()
        results, told = yield from self._ask(asking, at, ends, head)
        left = results.count(None)
        self._pages = min(2 * (len(results) - left if left else self._pages), _PAGES)
        answered = []
        for one, result, found in zip(asking, results, told, strict=True):
            if result == -2:
                one.forget()
                answered.append(False)
                continue
            if isinstance(result, int):
                # An own entry that is confirmed in this run stays so, which does no harm.
                own = [position_of(e.entry) for e in [one.step.keeps] if e]
                if own := own or [result] * one.step.admits:
                    self._session.own[one.claimant.arrival.key].update(own)
            answered.append(isinstance(result, int) or (bool(found) and one.hear(found)))
        self._squeeze(result for result in results if isinstance(result, int))
        return answered

    def _ask(
        self, asking: Sequence[Asking], at: float, ends: Any, head: Any
    ) -> Steps[tuple[list[Any], list[list[Told]]]]:
        """Run ``lua/claim.lua``; return its answers, and what it tells of each page."""
        pages = Pages([one.claimant.arrival for one in asking], self.spec)
        parts = [
            (*one.arguments(at), b"1" if mates else b"")
            for one, mates in zip(asking, pages.twins(self.spec.reach), strict=True)
        ]
        given = (repr(at), ends, head, self._session.era.run)
        results, rows, flooded = yield from self._session.near("claim", pages, given, parts)
        self._session.finder.flooded += flooded
        self.flooded = self._session.finder.flooded
        told = [result if isinstance(result, list) else [] for result in results]
        return results, read_told(told, rows, self._session.generation, at, self.pass_over)

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        sought = [Arrival("", fingerprint, scope)]
        self.spec.check(sought)
        with self._session.use():
            (near,) = done(self._client, self._looking(sought))
        reach = self.spec.reach
        return [one.match for one in near if one.is_sound and one.match.distance <= reach]

    def _looking(self, sought: Sequence[Arrival]) -> Steps[list[list[Told]]]:
        """Tell in steps what is near some pages, or has one of their keys."""
        found: list[list[Told]] = []
        while rest := [
            Asking(Claimant(one, self.spec, self._session.era)) for one in sought[len(found) :]
        ]:
            results, told = yield from self._ask(rest, 0, "", "")
            # A script that has done enough ends with pages that it did not look for.
            found += told[: len(results) - results.count(None)]
        return found

    # The life of an entry.

    def report(self, news: Report) -> Unsettled:
        """See the contract; the scripts go in one pipeline, in the order of the tasks."""
        leases = self.leases
        tasks: list[Steps[Any]] = [leases.fate(news.entries)]
        if news.renewed is not None:
            tasks.append(leases.renewing(news.renewed))
        tasks += [leases.confirming(news.delivered), leases.releasing(news.failed)]
        results = together([(self._client, task) for task in reversed(tasks)])
        unsettled: Unsettled = results[-1]
        return unsettled

    def confirm(self, keys: Iterable[str]) -> None:
        done(self._client, self.leases.confirming(keys))

    def release(self, keys: Iterable[str]) -> None:
        done(self._client, self.leases.releasing(keys))

    def renew(self, keys: Iterable[str]) -> None:
        done(self._client, self.leases.renewing(keys))

    def orphans(self) -> list[Orphan]:
        return done(self._client, self.leases.adopting())

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        return done(self._client, self.leases.fate(entries))

    def withdraw(self, entries: Iterable[int]) -> None:
        done(self._client, self.leases.withdrawing(entries))

    # All entries.

    def put(self, entries: Iterable[Entry]) -> int:
        count, rest = 0, iter(entries)
        while some := list(itertools.islice(rest, _PAGES)):
            pages = [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some]
            self.spec.check(pages)
            with self._session.use():
                count += self._put(pages, [entry.time for entry in some])
        return count

    def _put(self, pages: Sequence[Arrival], times: Sequence[float]) -> int:
        known_ones = done(self._client, self._looking(pages))
        new: dict[tuple[str, str], tuple[Arrival, float]] = {}
        for page, time, near in zip(pages, times, known_ones, strict=True):
            own = (page.key, page.scope)
            delivered = (one.match for one in near if one.is_sound and one.match.delivered)
            if own not in {(match.key, match.scope) for match in delivered}:
                new.setdefault(own, (page, time))
        rest = list(new.values())
        while rest:
            rows = [(pack_row(*entry),) for entry in rest]
            sought = Pages([page for page, _ in rest], self.spec)
            first, count = done(self._client, self._session.near("put", sought, (), rows))
            del rest[:count]
            self._squeeze(range(first, first + count))
        return len(new)

    def _squeeze(self, admitted: Iterable[int]) -> None:
        """Let older rows stand together in fewer bytes, now and then."""
        for end in (p for p in admitted if p >= 2 * _SQUEEZED and not p % _SQUEEZED):
            older = range(end - 2 * _SQUEEZED, end - _SQUEEZED)
            read = partial(self._client.call, "HMGET", self._client.key("rows"))
            self._session.run("squeeze", *rows_to_squeeze(older, read))

    def clear(self) -> None:
        with self._session.use():
            last = self._client.call("HGET", self._client.key("meta"), "run")
            self._client.call("UNLINK", *self._client.keys)
            for part in itertools.count(1):  # a damaged header does not tell how many there are
                if not self._client.call("UNLINK", self._client.key(f"seen:{part}")):
                    break
            self._session.begin()
            # The numbers of runs go on.
            self._client.call("HSET", self._client.key("meta"), "run", last or 0)

    # Runs.

    def begin_run(self, resumed: int | None = None, after: int = 0) -> Run:
        """See the contract; the number of a new run is above ``after``."""
        at, _, head = self._session.leases()
        asked = (repr(at), head[:8], self._session.name, self.spec.spider, resumed or "", after)
        with self._session.use():
            number = self._session.run("begin", *asked)
            runs = self.runs()
            run = next((run for run in runs if run.number == number), None)
            if run is None:
                raise ValueError(f"run {number} is not there")
            self._session.era = Era.of(run, runs)
        return run

    def living(self) -> bytes:
        """Return the crawlers of this run as ``lua/runs.lua`` has them."""
        with self._session.use():
            key = self._client.key("runs")
            return self._client.call("HGET", key, f"{self._session.era.run}:living") or b""

    def take_part(self, era: Era) -> None:
        """Let later claims belong to a run of another shard."""
        self._session.era = era

    def end_run(self, *, finished: bool) -> None:
        at, _, _ = self._session.leases()
        with self._session.use():
            asked = (repr(at), self._session.name, self._session.era.run, int(finished))
            self._session.run("end", *asked)

    def runs(self) -> list[Run]:
        with self._session.use():
            return read_runs(self.stored_runs())

    def stored_runs(self) -> dict[bytes, bytes]:
        """Return what :func:`read_runs` reads."""
        with self._session.use():
            found: dict[bytes, bytes] = self._client.call("HGETALL", self._client.key("runs"))
            return found

    def expire(self, keep: int, most: int) -> int:
        old = {run.number for run in self.old_runs(keep)}
        if not old:
            return 0
        count = self.expire_runs(old, most)
        self.forget_runs(run.number for run in self.runs() if run.number in old and not run.pages)
        return count

    def expire_runs(self, old: Container[int], most: int) -> int:
        """Delete entries of some runs, as :meth:`expire` does."""
        with self._session.use():
            (end,) = self._scan().state("end")
            first = self._expired
            last = min(first + _LOOKED_AT, end)
            seen = self._scan().runs_of(first, last) if last > first else []
            some = [(first + n, run) for n, run in enumerate(seen) if run in old][:most]
            known = [position << 24 | run for position, run in some]
            count = done(self._client, self._delete("seen", known))
            if len(some) == most:
                last = some[-1][0] + 1
            self._expired = last if last < end else 0
        return count

    def forget_runs(self, numbers: Iterable[int]) -> None:
        if names := [f"{n}{part}" for n in numbers for part in ("", ":pages", ":living")]:
            with self._session.use():
                self._client.call("HDEL", self._client.key("runs"), *names)

    # By keys.

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        return done(self._client, self.finding(keys))

    def finding(self, keys: Iterable[str]) -> Steps[list[Entry]]:
        """Find the entries of keys in steps."""
        entries = []
        with self._session.use():
            found = yield from self._of_keys(keys)
            for one, content, _ in sorted(found, key=lambda told: told.match.entry):
                own = read_fingerprint(content, one.scope, self.spec.bits)
                about = (one.scope, one.facts, one.time, one.provisional, one.run)
                entries.append(Entry(one.key, own, *about))
        return entries

    def gone(self, keys: Iterable[str]) -> int:
        return done(self._client, self.deleting(keys))

    def deleting(self, keys: Iterable[str]) -> Steps[int]:
        """Delete the entries of keys in steps."""
        with self._session.use():
            found, generation = (yield from self._of_keys(keys)), self._session.generation
            packed = [packed_entry(one.match.entry, generation) for one in found]
            known = [int.from_bytes(one, "big") for one in packed]
            return (yield from self._delete("print", known))

    def _of_keys(self, keys: Iterable[str]) -> Steps[list[Told]]:
        wanted, found = [*dict.fromkeys(keys)], list[Told]()
        nothing = Fingerprint(0, self.spec.bits, bytes(4 * self.spec.blocks))
        for start in range(0, len(wanted), _PAGES):
            some = wanted[start : start + _PAGES]
            near = yield from self._looking([Arrival(key, nothing) for key in some])
            for key, told in zip(some, near, strict=True):
                found += [one for one in told if one.is_sound and one.match.key == key]
        return found

    def _delete(self, what: str, known: Sequence[int]) -> Steps[int]:
        """Delete entries, given by their position above what they are known by, 3 bytes."""
        count = 0
        for start in range(0, len(known), ENTRIES):
            packed = b"".join(one.to_bytes(7, "big") for one in known[start : start + ENTRIES])
            count += yield from self._session.asked("delete", what, packed)
        return count

    def _scan(self, pass_over: Callable[[str], None] | None = None) -> Scan:
        tell = pass_over or self.pass_over
        return Scan(self._client, self._session.generation, self._session.geometry, tell)

    def __len__(self) -> int:
        with self._session.use():
            return self._scan().size()[0]

    def __iter__(self) -> Iterator[Entry]:
        return self._each(self._scan().entries())

    def with_blocks(self) -> Iterator[Entry]:
        return self._each(self._scan().entries(with_blocks=True))

    def _each(self, entries: Iterator[tuple[int, Entry]]) -> Iterator[Entry]:
        while True:
            with self._session.use():
                found = next(entries, None)
            if found is None:
                return
            yield found[1]

    def check(self) -> list[str]:
        with self._session.use():
            # A script says if a whole key is gone.
            self._session.run("unsettled", "0", b"")
            found: list[str] = []
            deque(self._scan(found.append).entries(), 0)
            if lost := self._scan().lost_values():
                found.append(f"{lost} block values stand in no bucket: buckets are full, or gone")
            return found

    def census(self) -> Census:
        with self._session.use():
            return Census(*self._scan().size(), self._scan().bytes_of_parts())

    def begin_anew(self) -> None:
        """Go on with the log that is there now."""
        self._session.begin_anew()

    def close(self) -> None:
        self._session.close()
