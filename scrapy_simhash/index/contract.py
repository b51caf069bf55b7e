"""The index: what it promises, kept over any store of the verbs in :mod:`.verbs`.

An index holds the fingerprints of *originals*. A page is admitted in the log alone; buckets only
find candidates. A claim is compared exactly with whatever was admitted since its crawler last
looked, so no race admits two near-duplicates, however stale a crawler's view is.

The life of an entry, each line one atomic act::

    claim ──▶ provisional (leased to its crawler) ── confirm ──▶ confirmed ── superseded, or gone()
                  ├── release ──▶ gone, or confirmed as an earlier run left it
                  └── lease runs out ──▶ a claim that repeats it takes its place

An entry is *expired* once its lease has run out, or as soon as its crawler is known to be dead,
which only a store on this machine can know. An entry that is confirmed, or provisional and not
expired, is *living*.

Entries live in time. A *run* is what a spider's crawlers do from start to finish, and an entry
knows the run in which its page was last *seen*. A key has one entry that counts in its scope: when
its page comes with another text, the old entry is *superseded*, which is to say deleted, in the
same act that admits the new one.

The acts stand in modules of their own: :mod:`.claim_acts`, :mod:`.crawler_acts`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from scrapy_simhash.index.acts import PAGES
from scrapy_simhash.index.claim_acts import ClaimActs
from scrapy_simhash.index.crawler_acts import CrawlerActs
from scrapy_simhash.index.decision import UNWRITTEN
from scrapy_simhash.index.entry_states import Record, State, deleted
from scrapy_simhash.index.errors import (
    StoreDamaged,
    StoreError,
    StoreMismatch,
    StoreMissing,
    StoreRefused,
    StoreUnavailable,
)
from scrapy_simhash.index.lookups import Lookups
from scrapy_simhash.index.values import Arrival, Census, Entry
from scrapy_simhash.index.verbs import Part

__all__ = [
    "Index",
    "StoreDamaged",
    "StoreError",
    "StoreMismatch",
    "StoreMissing",
    "StoreRefused",
    "StoreUnavailable",
]


class Index(ClaimActs, CrawlerActs):
    """Fingerprints of the pages crawled so far, shared by all crawlers of all spiders."""

    def entries_of(self, keys: Iterable[str]) -> list[Entry]:
        """Return the entries of these keys, in any scope, each scope's in the order of the log.

        It reads no more than that. Fingerprints may lack their block values.
        """
        with self._use() as store:
            stored = store.read([*self._of_keys(keys)])
            return self._shown(sorted(stored.items()))

    def gone(self, keys: Iterable[str]) -> int:
        """Delete the entries of these keys, in any scope, whoever has them; return how many."""
        with self._use():
            records = self._of_keys(keys)
            self._act({at: (record.state.pack(), deleted) for at, record in records.items()})
        return len(records)

    # Acts of an operator.

    def put(self, entries: Iterable[Entry]) -> int:
        """Append entries of another index, confirmed, whatever is near; return how many are new.

        Key, fingerprint, blocks, scope and facts are kept as they are, the time in whole seconds.
        They belong to no run. An entry whose key has a confirmed one in its scope changes nothing.
        """
        count, rest, confirmed_state = 0, iter(entries), State().pack()
        while batch := [*islice(rest, PAGES)]:
            arrivals = [
                Arrival(item.key, item.fingerprint, item.scope, item.facts) for item in batch
            ]
            self.spec.check(arrivals)
            with self._use() as store:
                records = self._of_keys(entry.key for entry in batch).values()
                present = {(item.key, item.scope) for item in records if item.state.delivered}
                new: dict[int, tuple[bytes, bytes]] = {}
                for number, (key, _, scope, facts, at, *_) in enumerate(batch):
                    if (key, scope) not in present:
                        present.add((key, scope))
                        body = Record(0, key, scope, facts, at, State()).pack()
                        new[number] = confirmed_state, body
                if new:
                    parts = [
                        Part((number,), {}, {number: new[number]}, {}, UNWRITTEN) for number in new
                    ]
                    store.commit(parts, Lookups(arrivals, self.spec))
            count += len(new)
        return count

    def clear(self) -> None:
        """Remove all entries. Cells, which tell of sites and not of pages, stay."""
        with self._use() as store:
            store.clear()
            self._change_runs(lambda runs: runs.rows.clear())
            self._open.clear()
            self._swept = 0

    def check(self) -> list[str]:
        """Return what is missing or cannot be read, a sentence each. It reads the whole index."""
        with self._use() as store:
            complaints = store.check()
        for at, stored in self._rows():
            try:
                Record.unpack(at, stored)
            except ValueError as error:
                complaints.append(f"entry {at}: {error}")
        return complaints

    def census(self) -> Census:
        """Count what is there; no call to the store is a large one."""
        with self._use() as store:
            by_run, provisional = store.counts()
            return Census(sum(by_run.values()), provisional, store.sizes())

    def __len__(self) -> int:
        with self._use() as store:
            return sum(store.counts().by_run.values())
