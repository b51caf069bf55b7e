"""The index in Redis: many crawlers on many machines.

Decisions are made in one place: a script looks for what is near a page, and appends the page to the
log if nothing is. With buckets in Redis it looks into them itself; with buckets in the RAM of the
crawlers it gets what is near from the caller, and compares with what was admitted since the caller
looked. So a claim is safe however old the caller's view is, and a page that is near nothing, or
near a living copy, costs one request, or with buckets in RAM another one that reads what is new in
the log. What is near comes back with its facts; where it is judged to be another page, the claim is
repeated with its position.

All keys of an index lie in one slot, so in a cluster it is on one node.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import (
    MAX_ADOPTIONS,
    MAX_ORPHANS,
    Arrival,
    Census,
    Claim,
    Entry,
    Index,
    IndexSpec,
    Match,
    Orphan,
    Outcome,
    Unsettled,
    warn_of,
)
from scrapy_simhash.index.decision import Claimant, Pages
from scrapy_simhash.index.redis.claims import Near, arguments, packed_entry, position_of, read_near
from scrapy_simhash.index.redis.rows import ROWS, pack_row, squeeze_rows
from scrapy_simhash.index.redis.scan import Scan
from scrapy_simhash.index.redis.session import Session, stored_spec

# Pages, and entries, of one call of a script: it holds Redis for some 2 ms.
_PAGES = 16
_ENTRIES = 128
# Positions whose rows are squeezed at a time, once as many positions follow them: by then most of
# their entries are confirmed.
_SQUEEZED = 16 * ROWS


def open_redis(url: str, spec: IndexSpec | None) -> "RedisIndex":
    """Open the index in Redis; without a spec, one that is there."""
    return RedisIndex(url, spec) if spec is not None else RedisIndex(*stored_spec(url))


class RedisIndex(Index):
    """An index in Redis, Sentinel or Cluster; see :func:`scrapy_simhash.index.open_index`."""

    def __init__(self, url: str, spec: IndexSpec) -> None:
        self.spec = spec
        self._session = Session(url, spec)
        self._client = self._session.client

    # Claims.

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        self.spec.check(arrivals)
        claimants = [Claimant(arrival) for arrival in arrivals]
        answers: dict[int, Claim] = {}
        with self._session.use():
            while waiting := [n for n in range(len(claimants)) if n not in answers]:
                some = waiting[:_PAGES]
                keys = [arrivals[n].key for n in some]
                # A page of a key that is there before has its own entry only once that is answered.
                some = some[: next((i for i, key in enumerate(keys) if key in keys[:i]), _PAGES)]
                found = self._submit([claimants[n] for n in some])
                answers.update((n, answer) for n, answer in zip(some, found, strict=True) if answer)
        return [answers[n] for n in range(len(claimants))]

    def _submit(self, claimants: Sequence[Claimant]) -> list[Claim | None]:
        """Let the script decide; return the answers, None for pages that have to claim again."""
        results, told = self._ask(claimants, *self._session.leases())
        answers: list[Claim | None] = []
        for claimant, result, found in zip(claimants, results, told, strict=True):
            is_new, answer = isinstance(result, int), claimant.hear(found, self.spec.judge)
            answers.append(answer if is_new or answer.outcome is not Outcome.ORIGINAL else None)
            # The script has leased own entries that it found to this crawler.
            own = [result] if is_new else [position_of(entry) for entry in claimant.own(answer)]
            if own:
                self._session.own[claimant.arrival.key].update(own)
        self._squeeze(result for result in results if isinstance(result, int))
        return answers

    def _ask(
        self, claimants: Sequence[Claimant], at: float, ends: Any, head: Any
    ) -> tuple[list[Any], list[Near]]:
        """Run ``lua/claim.lua``; return its answers, and what it found near each page."""
        pages = Pages([claimant.arrival for claimant in claimants], self.spec)
        parts = [
            (*arguments(claimant, at), b"1" if mates else b"")
            for claimant, mates in zip(claimants, pages.twins(self.spec.reach), strict=True)
        ]
        results, rows, flooded = self._session.ask("claim", pages, (repr(at), ends, head), parts)
        self._session.finder.flooded += flooded
        self.flooded = self._session.finder.flooded
        told = [result if isinstance(result, list) else [] for result in results]
        return results, read_near(told, rows, self._session.generation, at)

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        sought = [Arrival("", fingerprint, scope)]
        self.spec.check(sought)
        with self._session.use():
            (near,) = self._look(sought)
        return [match for match, _ in near]

    def _look(self, sought: Sequence[Arrival]) -> list[Near]:
        """Return what is near some pages."""
        found: list[Near] = []
        while rest := [Claimant(arrival) for arrival in sought[len(found) :]]:
            results, told = self._ask(rest, 0, "", "")
            # A script that has done enough ends with pages that it did not look for.
            found += told[: len(results) - results.count(None)]
        return found

    # The life of an entry.

    def _act(self, script: str, keys: Iterable[str], *head: Any, settles: bool = True) -> None:
        """Run a script on this crawler's entries of these keys."""
        wanted, own = list(dict.fromkeys(keys)), self._session.own
        with self._session.use():
            owned = [(p, key) for key in wanted for p in sorted(own.get(key, ()))]
            for start in range(0, len(owned), _ENTRIES):
                some = owned[start : start + _ENTRIES]
                self._session.run(script, *head, *(part for entry in some for part in entry))
            for key in wanted if settles else ():
                own.pop(key, None)

    def confirm(self, keys: Iterable[str]) -> None:
        self._act("confirm", keys)

    def release(self, keys: Iterable[str]) -> None:
        self._act("release", keys, self._session.name)

    def renew(self, keys: Iterable[str]) -> None:
        _, ends, head = self._session.leases()
        self._act("renew", keys, self._session.name, ends, head[:8], settles=False)

    def orphans(self) -> list[Orphan]:
        at, ends, head = self._session.leases()
        asked = (repr(at), ends, head, MAX_ORPHANS, MAX_ADOPTIONS)
        with self._session.use():
            adopted, given_up, clock = self._session.run("orphans", *asked)
            self._session.set_clock(*clock)
            for key in given_up:
                warn_of(key.decode())
            for position, key, _ in adopted:
                self._session.own[key.decode()].add(position)
            return [Orphan(key.decode(), request.decode()) for _, key, request in adopted]

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        asked, letters = list(entries), b""
        at, _, _ = self._session.leases()
        with self._session.use():
            for start in range(0, len(asked), _ENTRIES):
                some = asked[start : start + _ENTRIES]
                packed = b"".join(packed_entry(entry, self._session.generation) for entry in some)
                letters += self._session.run("unsettled", repr(at), packed)
            fared = list(zip(asked, letters, strict=True))
        return Unsettled(*(frozenset(e for e, has in fared if has == sign) for sign in b"pg"))

    # All entries.

    def put(self, entries: Iterable[Entry]) -> int:
        count, rest = 0, iter(entries)
        while some := list(islice(rest, _PAGES)):
            pages = [Arrival(e.key, e.fingerprint, e.scope, e.facts) for e in some]
            self.spec.check(pages)
            with self._session.use():
                count += self._put(pages, [entry.time for entry in some])
        return count

    def _put(self, pages: Sequence[Arrival], times: Sequence[float]) -> int:
        new: dict[tuple[str, str, int], tuple[Arrival, float]] = {}
        for page, time, near in zip(pages, times, self._look(pages), strict=True):
            if not any((m.distance, m.key, m.provisional) == (0, page.key, False) for m, _ in near):
                new.setdefault((page.key, page.scope, page.fingerprint.value), (page, time))
        rest = list(new.values())
        while rest:
            rows = [(pack_row(*entry),) for entry in rest]
            sought = Pages([page for page, _ in rest], self.spec)
            first, count = self._session.ask("put", sought, (), rows)
            del rest[:count]
            self._squeeze(range(first, first + count))
        return len(new)

    def _squeeze(self, admitted: Iterable[int]) -> None:
        """Let older rows take fewer bytes, now and then."""
        for end in (p for p in admitted if p >= 2 * _SQUEEZED and not p % _SQUEEZED):
            numbers = range((end - 2 * _SQUEEZED) // ROWS, (end - _SQUEEZED) // ROWS)
            contents = self._client.call("HMGET", self._client.key("rows"), *numbers)
            arguments: list[Any] = []
            for number, content in zip(numbers, contents, strict=True):
                if content:
                    arguments += (number, len(content), squeeze_rows(content))
            self._session.run("squeeze", *arguments)

    def remove(self, keys: Iterable[str]) -> int:
        wanted, count = set(keys), 0
        with self._session.use():
            found = [position for position, e in self._scan().entries() if e.key in wanted]
            for start in range(0, len(found), _ENTRIES):
                count += self._session.run("remove", *found[start : start + _ENTRIES])
        return count

    def clear(self) -> None:
        with self._session.use():
            self._client.call("UNLINK", *self._client.keys)
            self._session.begin()

    def _scan(self) -> Scan:
        return Scan(self._client, self._session.generation, self._session.geometry)

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

    def census(self) -> Census:
        with self._session.use():
            return Census(*self._scan().size(), self._scan().bytes_of_parts())

    def close(self) -> None:
        self._session.close()
