"""A crawler's acts on its pages in progress, and its part in a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from scrapy_simhash.index.acts import Acts
from scrapy_simhash.index.decision import Era
from scrapy_simhash.index.entry_states import (
    Act,
    State,
    confirmed,
    released,
    released_by,
    renewed,
)
from scrapy_simhash.index.errors import StoreDamaged
from scrapy_simhash.index.values import Entry, Report, Run, Unsettled
from scrapy_simhash.index.verbs import Stored

T = TypeVar("T")

# The cell that has the runs.
_RUNS = "index:runs"
# Entries at which one call looks, to see whether they expire.
_SWEPT = 1 << 13
# Seconds without a lease after which nobody comes back for an entry in progress; the crawler of a
# shorter outage may still tell that it was delivered.
_ABANDONED = 86_400.0


class _RunList:
    """The runs, in one cell of JSON.

    Attributes:
        last: the number of the last run that ever was.
        rows: each has number, spider, begun, ended, finished; "living": when each of its crawlers
            counts as dead, by name.
    """

    def __init__(self, cell: bytes | None) -> None:
        try:
            content = json.loads(cell or b'{"last": 0, "rows": []}')
            self.last, self.rows = int(content["last"]), list[dict[str, Any]](content["rows"])
            self.shown({})
            if not all(isinstance(row["living"], dict) for row in self.rows):
                raise ValueError("the crawlers of a run are no table")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreDamaged(f"the list of runs is damaged: {error}") from error

    def packed(self) -> bytes:
        return json.dumps({"last": self.last, "rows": self.rows}, separators=(",", ":")).encode()

    def shown(self, pages: dict[int, int]) -> list[Run]:
        """Return the runs, given how many entries each has seen last."""
        return [
            Run(
                *(int(row["number"]), str(row["spider"]), float(row["begun"]), row["ended"]),
                *(bool(row["finished"]), pages.get(row["number"], 0)),
            )
            for row in self.rows
        ]

    def append(self, number: int, spider: str, begun: float) -> None:
        self.last = number
        row: dict[str, Any] = {"number": number, "spider": spider, "begun": begun}
        self.rows.append(row | {"ended": None, "finished": False, "living": {}})

    def forget(self, numbers: Collection[int]) -> None:
        self.rows = [row for row in self.rows if row["number"] not in numbers]


class CrawlerActs(Acts):
    """The acts of a crawler on its pages in progress, and on its run."""

    # Up to which position it was looked whether entries expire.
    _swept = 0

    def confirm(self, keys: Iterable[str]) -> None:
        """Make the entries final that this crawler claimed under these keys.

        An entry that another crawler has in progress by now becomes final too: its page was
        delivered.
        """
        self.report(Report(delivered=[*keys]))

    def release(self, keys: Iterable[str]) -> None:
        """Take back this crawler's provisional entries of these keys.

        They are deleted, or confirmed as an earlier run has left them. Entries that are confirmed,
        unknown or leased by another crawler are left alone.
        """
        self.report(Report(failed=[*keys]))

    def renew(self, keys: Iterable[str]) -> None:
        """Start the leases of this crawler's provisional entries of these keys anew.

        The crawler lives on in its run, too.
        """
        self.report(Report(renewed=[*keys]))

    def report(self, news: Report) -> Unsettled:
        """Release, confirm, renew and answer how entries fared, in one call.

        When it fails, a part of it may be done. To do it again does no harm.
        """
        with self._use():
            expires = self._now() + self.spec.lease
            release = partial(released_by, self.crawler)
            renew = partial(renewed, self.crawler, expires)
            acts: dict[str, Act] = dict.fromkeys(news.renewed or (), renew)
            acts |= dict.fromkeys(news.delivered, confirmed)
            acts |= dict.fromkeys(news.failed, release)
            states = {
                position: (state, act)
                for key, act in acts.items()
                for position, state in self._open.get(key, {}).items()
            }
            # A claim that had no answer may have made an original of which nobody knows here.
            if unknown := [key for key in news.failed if key not in self._open]:
                records = self._of_keys(unknown)
                states |= {at: (record.state.pack(), release) for at, record in records.items()}
            after = self._act(states)
            for key, act in acts.items():
                positions = self._open.pop(key, {})
                left = {at: state for at in positions if (state := after[at])}
                if left and act is renew:
                    self._open[key] = left
            if news.renewed is not None:
                self._renew_run(expires)
        return self.unsettled(news.entries)

    def unsettled(self, entries: Iterable[int]) -> Unsettled:
        """Return how these entries fared; those that are in neither set are confirmed.

        An entry that this run has seen again and that was taken back is gone for this run.
        """
        positions = frozenset(entries)
        if not positions:
            return Unsettled(frozenset(), frozenset())
        with self._use() as store:
            now = self._now()
            states = self._states(store.read([*positions]))
        expired = {at for at, state in states.items() if self._is_expired(state, now)}
        provisional = {at for at, state in states.items() if state.owner is not None} - expired
        earlier = {at for at, state in states.items() if state.run in self._era.earlier}
        gone = positions - states.keys() | expired | (earlier - provisional)
        return Unsettled(frozenset(provisional), gone)

    def was_delivered(self, key: str) -> bool | None:
        """Return whether a page of this key was delivered; None while one is in progress."""
        with self._use():
            entries = self._of_keys([key]).keys()
        provisional, gone = self.unsettled(entries)
        return None if provisional else bool(entries - gone)

    # Runs.

    def begin_run(self, resumed: int | None = None) -> Run:
        """Take part in a run of this crawler's spider; every later claim belongs to it.

        It is the one whose number is given, if that is an unfinished run of the spider; else the
        last run of the spider, if it is unfinished and a crawler of it lives, which is to say has
        renewed a lease, or begun, within a lease's time; else a new run.
        """
        with self._use() as store:
            now, counted = self._now(), store.counts().by_run

            def begin(runs: _RunList) -> int:
                rows = [row for row in runs.rows if row["spider"] == self.spec.spider]
                joined = [r for r in rows if r["number"] == resumed and not r["finished"]]
                last = [r for r in rows[-1:] if r["ended"] is None and self._others_live(r, now)]
                if not (joined or last):
                    # Entries may be counted of a higher run, if the list was lost.
                    runs.append(max(runs.last, *counted, 0) + 1, self.spec.spider, now)
                run = (joined or last or runs.rows[-1:])[0]
                for row in runs.rows:  # a crawler takes part in one run at a time
                    row["living"].pop(self.crawler, None)
                run["ended"] = None
                run["living"][self.crawler] = now + self.spec.lease
                return int(run["number"])

            number = self._change_runs(begin)
            runs = self.runs()
            run = next(run for run in runs if run.number == number)
            self._era = Era.of(run, runs)
        return run

    def end_run(self, *, finished: bool) -> None:
        """Leave the run. It ends with its last living crawler, whose word counts."""

        def end(runs: _RunList) -> None:
            for row in runs.rows:
                if row["number"] == self._era.run:
                    row["living"].pop(self.crawler, None)
                    if not self._others_live(row, now):
                        row |= {"ended": now, "finished": finished, "living": {}}

        with self._use():
            now = self._now()
            self._change_runs(end)

    def _renew_run(self, expires: float) -> None:
        def renew(runs: _RunList) -> None:
            for row in runs.rows:
                if row["number"] == self._era.run and self.crawler in row["living"]:
                    row["living"][self.crawler] = expires

        if self._era.run:
            self._change_runs(renew)

    def _others_live(self, row: dict[str, Any], now: float) -> bool:
        """Return whether another crawler of a run lives."""
        others = ((n, ends) for n, ends in row["living"].items() if n != self.crawler)
        return any(ends > now and self._lives(name) for name, ends in others)

    def _change_runs(self, change: Callable[[_RunList], T]) -> T:
        for _ in self._attempts():
            old = self._store.cells(_RUNS).get(_RUNS)
            runs = _RunList(old)
            answer = change(runs)
            new = runs.packed()
            if new == old or self._store.swap(_RUNS, old, new):
                break
        return answer

    def runs(self) -> list[Run]:
        """Return the runs, the oldest first; those without entries go, see :meth:`expire`."""
        with self._use() as store:
            return _RunList(store.cells(_RUNS).get(_RUNS)).shown(store.counts().by_run)

    def missing(self, run: int) -> Iterator[Entry]:
        """Yield the entries of a spider's earlier runs whose pages were not seen in a run or since.

        It may read the whole log. A number that is none of a run has nothing missing.
        """
        earlier = {before.number for before in self._earlier(run)}
        return (entry for entry in self if entry.run in earlier) if earlier else iter(())

    def missing_count(self, run: int) -> int:
        """Return how many entries :meth:`missing` yields, those in progress included."""
        return sum(before.pages for before in self._earlier(run))

    def _earlier(self, number: int) -> list[Run]:
        runs = self.runs()
        spiders = {run.spider for run in runs if run.number == number}
        return [run for run in runs if run.number < number and run.spider in spiders]

    def old_runs(self, keep: int) -> list[Run]:
        """Return this spider's runs that are older than its last ``keep`` finished ones."""
        runs = [run for run in self.runs() if run.spider == self.spec.spider]
        newest = [run.number for run in runs if run.finished][-keep:] if keep > 0 else []
        return [run for run in runs if newest and run.number < newest[0] and len(newest) == keep]

    def expire(self, keep: int, most: int) -> int:
        """Delete what nobody comes back for; return how many entries have changed.

        These are the entries of this spider's runs before its last ``keep`` finished ones, if
        ``keep`` is not 0, and entries of any run that have been in progress without a living lease
        for a day. An entry that an earlier run has delivered is again what that run left.

        At most ``most`` entries change, and a bounded part of the log is looked at; the next call
        goes on behind it. An old run without entries is forgotten.
        """
        old = {run.number for run in self.old_runs(keep)}
        with self._use() as store:
            ended = self._now() - _ABANDONED

            def expired(state: State) -> State | None:
                left: State | None = state
                if state.owner is not None and state.expires < ended:
                    left = released(state)
                return None if left and left.owner is None and left.run in old else left

            rows, after = list[tuple[int, Stored]](), self._swept
            while len(rows) < _SWEPT and (more := store.scan(after, _SWEPT - len(rows))):
                rows, after = rows + more, more[-1][0]
            states = self._states(dict(rows))
            swept = [at for at, state in states.items() if expired(state) != state][:most]
            self._act({at: (states[at].pack(), expired) for at in swept})
            is_full = len(swept) == most
            self._swept = swept[-1] if is_full else after if len(rows) >= _SWEPT else 0
            if empty := {run.number for run in self.runs() if run.number in old and not run.pages}:
                self._change_runs(lambda runs: runs.forget(empty))
        return len(swept)
