"""An index in Redis whose scopes are spread over shards: each is an index in a slot of its own.

Pages of different scopes never match, so a shard decides about its scopes as if it were alone, and
a cluster has as many nodes at work as have shards. One of the shards has the name of the index
itself: its header tells how many there are, and the runs of all begin and end there, while each
counts its own entries of them.
"""

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter, methodcaller
from typing import TypeVar

import xxhash
from redis.crc import key_slot

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.decision import Era
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.redis.leases import Leases
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.redis.rows import last_run, read_runs
from scrapy_simhash.index.redis.session import LogReplaced, Session, stored_spec
from scrapy_simhash.index.redis.steps import Steps, together
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
    spider_mark,
)

T = TypeVar("T")

_SLOTS = 1 << 14
# Entries that one shard is given at once.
_TOGETHER = 16


def open_redis(url: str, spec: IndexSpec | None) -> Index:
    """Open the index in Redis; without a spec, one that is there."""
    if spec is None:
        url, spec = stored_spec(url)
    client = Client(parse_location(url), spider_mark(spec.spider))
    session = Session(client, spec)
    first = RedisIndex(session, spec)
    if session.shards == 1:
        return first
    try:
        return ShardedIndex(first, client, spec, session.shards)
    except BaseException:
        first.close()
        raise


def hash_tags(name: str, count: int) -> list[str]:
    """Return the tags of an index's shards, one of them the name of the index.

    Each has an equal stretch of the slots for itself, so that nodes with as many slots have as many
    shards.
    """
    tags: dict[int, str] = {}
    for number in itertools.count():
        tag = f"{name}:{number}" if number else name
        tags.setdefault(key_slot(tag.encode()) * count // _SLOTS, tag)
        if len(tags) == count:
            return [tags[stretch] for stretch in range(count)]
    raise AssertionError


class ShardedIndex(Index):
    """An index that asks the shard of each scope; see :class:`.Index`.

    The position of an entry is that in its shard, times the number of shards, and the number of its
    shard.
    """

    def __init__(self, first: RedisIndex, client: Client, spec: IndexSpec, count: int) -> None:
        self.spec = spec
        self._first = first
        self._shards: list[RedisIndex] = []
        self._clients: list[Client] = []
        name = client.address.name
        for number, tag in enumerate(hash_tags(name, count)):
            self._clients.append(client if tag == name else client.of_shard(tag))
            if tag == name:
                self._shards.append(first)
            else:
                shard = f"{number} of {count}"
                session = Session(self._clients[number], spec, shard, first.crawler)
                self._shards.append(RedisIndex(session, spec))
        home = self._shards.index(first)
        self._home_first = [home, *(n for n in range(count) if n != home)]
        self._lock = threading.Lock()
        # The shard whose entries of old runs are deleted next.
        self._turn = 0

    def _number(self, scope: str) -> int:
        number: int = xxhash.xxh32_intdigest(scope.encode()) % len(self._shards)
        return number

    def _each(
        self, call: Callable[[RedisIndex], T], numbers: Iterable[int] | None = None
    ) -> Iterator[T]:
        """Yield the answers of some shards, or of all."""
        shards = self._shards if numbers is None else [self._shards[n] for n in numbers]
        with self._in_use():
            for shard in shards:
                yield call(shard)

    def _together(self, tasks: Iterable[tuple[int, Steps[T]]]) -> list[tuple[int, T]]:
        """Return the results of steps, each with the number of its shard."""
        by_number = sorted(tasks, key=itemgetter(0))
        with self._in_use():
            results = together([(self._clients[n], steps) for n, steps in by_number])
        return [(n, result) for (n, _), result in zip(by_number, results, strict=True)]

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        try:
            yield
        except LogReplaced:
            # Whoever cleared an index has cleared all of its shards; this is told once.
            for shard in self._shards:
                shard.begin_anew()
            raise
        finally:
            self.flooded = sum(shard.flooded for shard in self._shards)
            self.unjudged = sum(shard.unjudged for shard in self._shards)
            self.damaged = sum(shard.damaged for shard in self._shards)

    def _ask(self, number: int, call: Callable[[RedisIndex], T]) -> T:
        (answer,) = self._each(call, [number])
        return answer

    # Claims.

    def claim_all(self, arrivals: Sequence[Arrival]) -> list[Claim]:
        self.spec.check(arrivals)
        places = defaultdict[int, list[int]](list)
        for place, arrival in enumerate(arrivals):
            places[self._number(arrival.scope)].append(place)
        found = self._together(
            (number, self._shards[number].claiming([arrivals[place] for place in some]))
            for number, some in places.items()
        )
        claims: dict[int, Claim] = {}
        for number, answers in found:
            shown = (self._claim(one, number) for one in answers)
            claims.update(zip(places[number], shown, strict=True))
        return [claims[place] for place in range(len(arrivals))]

    def query(self, fingerprint: Fingerprint, *, scope: str = "") -> list[Match]:
        number = self._number(scope)
        found: list[Match] = self._ask(number, methodcaller("query", fingerprint, scope=scope))
        return [self._match(match, number) for match in found]

    def _claim(self, claim: Claim, number: int) -> Claim:
        return claim._replace(
            matches=tuple(self._match(match, number) for match in claim.matches),
            near=tuple(self._match(match, number) for match in claim.near),
            before=claim.before and self._match(claim.before, number),
        )

    def _match(self, match: Match, number: int) -> Match:
        return match._replace(entry=match.entry * len(self._shards) + number)

    # The life of an entry.

    def report(self, news: Report) -> Unsettled:
        """See the contract; all goes in one pipeline."""
        tasks = [*self._acting(Leases.releasing, news.failed)]
        tasks += self._acting(Leases.confirming, news.delivered)
        if news.renewed is not None:
            tasks += self._renewing(news.renewed)
        return self._fates(news.entries, tasks)

    def _acting(
        self, act: Callable[[Leases, list[str]], Steps[None]], keys: Iterable[str]
    ) -> Iterator[tuple[int, Steps[None]]]:
        """Tell the shards of the entries of these keys that this crawler has in progress."""
        wanted = list(keys)
        for number, shard in enumerate(self._shards):
            if own := [key for key in wanted if shard.leases.has_in_progress(key)]:
                yield number, act(shard.leases, own)

    def confirm(self, keys: Iterable[str]) -> None:
        self._together(self._acting(Leases.confirming, keys))

    def release(self, keys: Iterable[str]) -> None:
        self._together(self._acting(Leases.releasing, keys))

    def renew(self, keys: Iterable[str]) -> None:
        self._together(self._renewing(keys))

    def _renewing(self, keys: Iterable[str]) -> Iterator[tuple[int, Steps[None]]]:
        # Also without an entry there, because a crawler lives in its run while it renews.
        yield self._home_first[0], self._first.leases.renewing([])
        yield from self._acting(partial(Leases.renewing, lives=False), keys)

    def orphans(self) -> list[Orphan]:
        with self._lock:
            if any(shard.leases.has_adopted for shard in self._shards):
                return []
            living = self._first.living()
            adopt = partial(Leases.adopting, living=living)
            shards = enumerate(self._shards)
            some = self._together((n, adopt(shard.leases, again=False)) for n, shard in shards)
            found = [orphan for _, part in some for orphan in part]
            # One that was adopted before comes alone.
            each = (self._together([(n, adopt(one.leases))]) for n, one in enumerate(self._shards))
            again = (part for some in each for _, part in some)
            return found or next(filter(None, again), [])

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        return self._fates(entries, [])

    def _fates(self, entries: Iterable[int], first: Sequence[tuple[int, Steps[None]]]) -> Unsettled:
        """Tell how entries fared, after some steps that have no result."""
        provisional, gone = set[int](), set[int]()
        asked = self._by_shard(entries).items()
        fates = [(number, self._shards[number].leases.fate(some)) for number, some in asked]
        for number, found in self._together([*first, *fates]):
            if found:
                provisional |= {one * len(self._shards) + number for one in found.provisional}
                gone |= {one * len(self._shards) + number for one in found.gone}
        return Unsettled(frozenset(provisional), frozenset(gone))

    def withdraw(self, entries: Iterable[int]) -> None:
        for number, some in self._by_shard(entries).items():
            self._ask(number, methodcaller("withdraw", some))

    def _by_shard(self, entries: Iterable[int]) -> dict[int, list[int]]:
        asked = defaultdict[int, list[int]](list)
        for entry in entries:
            position, number = divmod(entry, len(self._shards))
            asked[number].append(position)
        return asked

    # Runs.

    def begin_run(self, resumed: int | None = None) -> Run:
        # Shards may have entries of runs that the first one has lost.
        known = map(last_run, self._each(RedisIndex.stored_runs))
        number = self._first.begin_run(resumed, max(known)).number
        runs = self.runs()
        run = next(run for run in runs if run.number == number)
        list(self._each(methodcaller("take_part", Era.of(run, runs))))
        return run

    def end_run(self, *, finished: bool) -> None:
        self._first.end_run(finished=finished)

    def runs(self) -> list[Run]:
        own, *others = self._each(RedisIndex.stored_runs, self._home_first)
        return read_runs(own, *others)

    def expire(self, keep: int, most: int) -> int:
        old = {run.number for run in self.old_runs(keep)}
        count = 0
        if old:
            with self._lock:
                for _ in self._shards:
                    turn = self._turn
                    count += self._ask(turn, methodcaller("expire_runs", old, most - count))
                    if count >= most:
                        break
                    self._turn = (turn + 1) % len(self._shards)
            empty = [run.number for run in self.runs() if run.number in old and not run.pages]
            list(self._each(methodcaller("forget_runs", empty)))
        return count

    # By keys, whose scopes nobody knows.

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        wanted = list(keys)
        found = self._together((n, one.finding(wanted)) for n, one in enumerate(self._shards))
        return [entry for _, some in found for entry in some]

    def gone(self, keys: Iterable[str]) -> int:
        wanted = list(keys)
        found = self._together((n, one.deleting(wanted)) for n, one in enumerate(self._shards))
        return sum(count for _, count in found)

    # All entries.

    def put(self, entries: Iterable[Entry]) -> int:
        count, waiting = 0, defaultdict[int, list[Entry]](list)

        for entry in entries:
            number = self._number(entry.scope)
            waiting[number].append(entry)
            if len(waiting[number]) == _TOGETHER:
                count += self._ask(number, methodcaller("put", waiting.pop(number)))
        for number, some in waiting.items():
            count += self._ask(number, methodcaller("put", some))
        return count

    def clear(self) -> None:
        list(self._each(RedisIndex.clear))

    def check(self) -> list[str]:
        numbered = enumerate(self._each(RedisIndex.check))
        return [f"shard {number}: {text}" for number, found in numbered for text in found]

    def census(self) -> Census:
        found = list(self._each(RedisIndex.census))
        sizes = Counter[str]()
        for one in found:
            sizes.update(one.sizes)
        return Census(sum(c.pages for c in found), sum(c.provisional for c in found), dict(sizes))

    def __len__(self) -> int:
        return sum(self._each(len))

    def __iter__(self) -> Iterator[Entry]:
        return itertools.chain.from_iterable(self._each(iter))

    def with_blocks(self) -> Iterator[Entry]:
        return itertools.chain.from_iterable(self._each(RedisIndex.with_blocks))

    def close(self) -> None:
        # The first one has the connections of all: calls of the others have ended when it closes.
        for shard in sorted(self._shards, key=lambda shard: shard is self._first):
            shard.close()
