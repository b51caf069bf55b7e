"""Proof of the protocol of the index in Redis.

A model of it, in which every order of the steps of two and three near-duplicates is gone
through, with a worker dying before any of them. The model is small enough to be read beside the
Lua scripts. Each idea that the protocol rests on is taken away once, and the model must notice.
The code itself is put through the same in ``test_redis_races.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

NONE: frozenset[Any] = frozenset()


# The model. All its pages are near each other; any two share one of two blocks.


class Store(NamedTuple):
    """What is in Redis, and at the end what only the model knows."""

    log: tuple[str, ...] = ()
    flushed: int = 0
    # position, worker, whether it ran out
    leases: frozenset[tuple[int, int, bool]] = NONE
    # page, the position that it waits on
    waiting: frozenset[tuple[str, int]] = NONE
    # page, worker, whether it ran out
    handed: frozenset[tuple[str, int, bool]] = NONE
    # position, block
    buckets: frozenset[tuple[int, int]] = NONE
    # position, "P" or "D"
    records: frozenset[tuple[int, str]] = NONE
    deleted: frozenset[int] = NONE
    slow: int = 0
    # pages: those that have claimed, those that failed, those whose callback has finished
    known: frozenset[str] = NONE
    released: frozenset[str] = NONE
    delivered: frozenset[str] = NONE


class Worker(NamedTuple):
    """What a worker is about to do, and what it knows."""

    step: str
    # page, whether it was handed over
    queue: tuple[tuple[str, bool], ...] = ()
    # its view of the log: what is between them it has in RAM
    flushed: int = 0
    seen: int = 0
    # of the request that it waits for: "look" and "follow", in any order; and since when
    asked: frozenset[str] = NONE
    since: tuple[int, int] = (0, 0)
    near: frozenset[int] = NONE
    confirmed: frozenset[int] = NONE
    unleased: frozenset[int] = NONE
    own: int = -1
    to_bury: frozenset[int] = NONE


class State(NamedTuple):
    store: Store
    workers: tuple[Worker, ...]
    # of each flusher: the segment's first position (-1: none), and how many of its steps are done
    flushers: tuple[tuple[int, int], ...]


DEAD = Worker("dead")


class Violation(Exception):
    """The protocol does not keep what it promises."""


class Model:
    """The protocol.

    Args:
        pages: how many near-duplicates there are; each is one worker's to begin with.
        segment: entries of the log that are flushed together; 0 for never.
        flushers: how many may be at it at once.
        deaths: how many workers may die; one lives on.
        failures: how many pages' callbacks may fail, 0 or 1.
        slow: how often a lease may run out while its worker lives.
        without: the idea that is left out.
    """

    def __init__(
        self,
        pages: int,
        *,
        segment: int = 1,
        flushers: int = 1,
        deaths: int = 2,
        failures: int = 1,
        slow: int = 0,
        without: str = "",
    ) -> None:
        self.pages = "abc"[:pages]
        self.segment = segment
        self.deaths = min(deaths, pages - 1)
        self.failures = failures
        self.slow = slow
        self.without = without
        workers = tuple(Worker("read", ((page, False),)) for page in self.pages)
        self.start = State(Store(), workers, ((-1, 0),) * (flushers if segment else 0))

    def explore(self) -> int:
        """Go through every state that can be reached; return how many there are.

        Raises:
            Violation: with the steps that led there.
        """
        came_from: dict[State, tuple[State, str] | None] = {self.start: None}
        todo = deque([self.start])
        while todo:
            state = todo.popleft()
            followers = list(self.steps(state))
            if complaint := self.complaint(state, is_final=not followers):
                raise Violation(f"{complaint}\n{_story(came_from, state)}")
            for label, follower in followers:
                if follower not in came_from:
                    came_from[follower] = (state, label)
                    todo.append(follower)
        return len(came_from)

    # What must hold.

    def complaint(self, state: State, *, is_final: bool) -> str:
        store = state.store
        provisional = {position for position, _, ran_out in store.leases if not ran_out}
        confirmed = {p for p, kind in store.records if kind == "P"} - self._gone(store)
        living = provisional | (confirmed - store.deleted)
        if len(living) > 1:
            return f"two living originals: {living}"
        for page in store.known:
            if not (
                any(page == p for worker in state.workers for p, _ in worker.queue)
                or any(page == store.log[position] for position, _, _ in store.leases)
                or any(page == p for p, _, _ in store.handed)
                or any(
                    page == p and position == q
                    for p, position in store.waiting
                    for q, _, _ in store.leases
                )
                or page in store.released
                or store.delivered
            ):
                return f"{page} is lost"
        if is_final and store.known - store.released:
            if not store.delivered:
                return "nothing is delivered"
            # One that was slow may be replaced by a page that finds it confirmed in the end, and is
            # taken for gone: it is delivered, but not remembered.
            if len(confirmed) > 1 or (not confirmed and not self.slow):
                return f"{len(confirmed)} are confirmed"
            if store.leases or store.waiting or store.handed:
                return "something is left over"
        return ""

    def _gone(self, store: Store) -> set[int]:
        gone = {p for p, kind in store.records if kind == "D"}
        if self.without == "final deletes":
            gone -= {p for p, kind in store.records if kind == "P"}
        return gone

    # What may happen next.

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        store, workers, flushers = state
        dead = sum(worker.step == "dead" for worker in workers)
        for number, worker in enumerate(workers):
            if worker.step == "dead":
                continue
            others = (workers[:number], workers[number + 1 :])
            for new_store, new in getattr(self, "_" + worker.step)(store, number, worker):
                label = f"{'XYZ'[number]}: {worker.step} {worker.queue[:1]}"
                yield label, State(new_store, (*others[0], new, *others[1]), flushers)
            if dead < self.deaths and worker.step != "idle":
                yield (
                    f"{'XYZ'[number]} dies",
                    state._replace(workers=(*others[0], DEAD, *others[1])),
                )
        for lease in store.leases:
            slow = store.slow + (workers[lease[1]].step != "dead")
            if not lease[2] and slow <= self.slow:
                leases = store.leases - {lease} | {(*lease[:2], True)}
                new_store = store._replace(leases=leases, slow=slow)
                yield f"lease {lease} runs out", state._replace(store=new_store)
        for hand in store.handed:
            if not hand[2] and workers[hand[1]].step == "dead":
                handed = store.handed - {hand} | {(*hand[:2], True)}
                yield f"{hand} runs out", state._replace(store=store._replace(handed=handed))
        for number, flusher in enumerate(flushers):
            others = (flushers[:number], flushers[number + 1 :])
            for label, new_store, new in self._flush(store, *flusher):
                label = f"flusher {number}: {label}"
                yield label, State(new_store, workers, (*others[0], new, *others[1]))

    # Claiming. The block that two pages share depends on both.

    def _follow(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        yield store, worker._replace(step="read", flushed=store.flushed, seen=len(store.log))

    def _read(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        """Look into the buckets. What the worker knows of the log may be old."""
        page = worker.queue[0][0]
        near = frozenset(range(worker.flushed, worker.seen))
        near |= {p for p, block in store.buckets if block == _shared(page, store.log[p])}
        yield store, _ask(worker._replace(near=near, confirmed=NONE))

    def _wait(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        """Have one of the parts of the request answered."""
        for part in sorted(worker.asked):
            left = worker._replace(asked=worker.asked - {part})
            if part == "follow":
                left = left._replace(flushed=store.flushed, seen=len(store.log))
            else:
                gone = self._gone(store)
                found = {p for p, kind in store.records if kind == "P"} & worker.near - gone
                confirmed = worker.confirmed | found
                near = confirmed | (worker.near - gone - worker.unleased)
                left = left._replace(near=near, confirmed=confirmed)
            yield store, left if left.asked else self._answered(left)

    def _answered(self, worker: Worker) -> Worker:
        flushed, seen = worker.since
        (_, was_handed), *rest = worker.queue
        if worker.flushed != flushed and self.without != "reading buckets again":
            return worker._replace(step="read")
        if news := frozenset(range(max(seen, worker.flushed), worker.seen)) - worker.near:
            return _ask(worker._replace(near=worker.near | news))
        if worker.confirmed and worker.confirmed == worker.near and not was_handed:
            return _next(worker, rest)
        return worker._replace(step="claim")

    def _claim(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        (page, _), *rest = worker.queue
        if worker.seen < store.flushed and self.without != "behind":
            yield store, worker._replace(step="follow")
            return
        # It is told what was new.
        after = max(worker.seen, store.flushed)
        worker = worker._replace(seen=len(store.log))
        near = set(worker.near - worker.confirmed)
        if self.without != "news":
            near |= set(range(after, len(store.log)))
        leases = {position: lease for lease in store.leases for position in lease[:1]}
        if (unknown := near - leases.keys()) and self.without != "reading again":
            yield store, worker._replace(step="read", unleased=worker.unleased | unknown)
            return
        found = sorted(near & leases.keys())
        waiting = frozenset(w for w in store.waiting if w[0] != page)
        handed = frozenset(h for h in store.handed if h[0] != page)
        store = store._replace(waiting=waiting, handed=handed, known=store.known | {page})
        own = [p for p in found if store.log[p] == page]
        living = [p for p in found if not leases[p][2]]
        if own or any(store.log[p] == page for p in worker.confirmed):
            taken = {leases[p] for p in own}
            mine = {(p, me, False) for p in own}
            store = store._replace(leases=store.leases - taken | mine)
            if own:
                yield store, _next(worker, worker.queue)._replace(step="crawled", own=own[0])
            else:
                yield store, _next(worker, rest)
        elif worker.confirmed:
            yield store, _next(worker, rest)
        elif living:
            yield store._replace(waiting=waiting | {(page, living[0])}), _next(worker, rest)
        else:
            position = len(store.log)
            store, pages = _hand_over(store, found, me)
            replaced = {(store.log[p], position) for p in found}
            store = store._replace(
                log=(*store.log, page),
                leases=store.leases | {(position, me, False)},
                waiting=store.waiting | replaced,
            )
            queue = (*worker.queue, *((p, True) for p in pages))
            step = "bury" if found else "crawled"
            worker = _next(worker._replace(seen=position + 1), queue)
            yield store, worker._replace(step=step, own=position, to_bury=frozenset(found))

    def _bury(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        store = store._replace(records=store.records | {(p, "D") for p in worker.to_bury})
        if worker.own < 0:
            yield store, _next(worker, worker.queue)
        else:
            yield store, worker._replace(step="crawled", to_bury=NONE)

    # What becomes of an original: its callback finishes or fails; one failure is enough.

    def _crawled(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        page = worker.queue[0][0]
        delivered = store._replace(delivered=store.delivered | {page})
        if self.without == "record first":
            yield _settled(delivered, worker.own), worker._replace(step="confirm")
        else:
            records = store.records | {(worker.own, "P")}
            yield delivered._replace(records=records), worker._replace(step="settle")
        if len(store.released) < self.failures and page not in store.delivered:
            released = store._replace(released=store.released | {page})
            pages: list[str] = []
            mine = any(p == worker.own and w == me for p, w, _ in store.leases)
            if mine:
                released, pages = _hand_over(released, [worker.own], me)
            queue = (*worker.queue[1:], *((p, True) for p in pages))
            to_bury = frozenset({worker.own} if mine else ())
            yield released, _next(worker, queue)._replace(step="bury", to_bury=to_bury)

    def _settle(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        yield _settled(store, worker.own), _next(worker, worker.queue[1:])

    def _confirm(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        records = store.records | {(worker.own, "P")}
        yield store._replace(records=records), _next(worker, worker.queue[1:])

    def _idle(self, store: Store, me: int, worker: Worker) -> Iterator[tuple[Store, Worker]]:
        """Take what a dead worker left, if there is something."""
        expired = sorted(position for position, _, ran_out in store.leases if ran_out)
        lost = sorted(page for page, _, ran_out in store.handed if ran_out)
        if not expired and not lost:
            return
        handed = frozenset(h for h in store.handed if not h[2]) | {(p, me, False) for p in lost}
        store, pages = _hand_over(store._replace(handed=handed), expired, me)
        own = [store.log[position] for position in expired]
        waiting = frozenset(w for w in store.waiting if w[0] not in own)
        handed = frozenset(h for h in store.handed if h[0] not in own)
        store = store._replace(waiting=waiting, handed=handed | {(p, me, False) for p in own})
        queue = tuple((p, True) for p in dict.fromkeys((*lost, *pages, *own)))
        if expired:
            yield store, _next(worker, queue)._replace(step="bury", to_bury=frozenset(expired))
        else:
            yield store, _next(worker, queue)

    # Flushing: freeze, one bucket entry after the other, advance. It may stop before any of them.

    def _flush(
        self, store: Store, first: int, done: int
    ) -> Iterator[tuple[str, Store, tuple[int, int]]]:
        if first < 0:
            if len(store.log) - store.flushed >= self.segment:
                yield "begins", store, (store.flushed, 0)
            return
        yield "stops", store, (-1, 0)
        entries = [(p, block) for p in range(first, first + self.segment) for block in range(2)]
        work: list[Any] = [*entries, "advance"]
        if self.without == "buckets first":
            work = ["advance", *entries]
        if work[done] != "advance":
            store = store._replace(buckets=store.buckets | {work[done]})
        elif store.flushed == first:
            store = store._replace(flushed=first + self.segment)
        yield str(work[done]), store, (first, done + 1) if done + 1 < len(work) else (-1, 0)


def _shared(page: str, other: str) -> int:
    return (ord(page) + ord(other)) % 2


def _next(worker: Worker, queue: Any) -> Worker:
    """Go on with other pages, knowing what is known of the log."""
    step = "read" if queue else "idle"
    return Worker(step, tuple(queue), flushed=worker.flushed, seen=worker.seen)


def _ask(worker: Worker) -> Worker:
    """Ask what is known of the entries near a page, and what is new, at once."""
    if not worker.near:
        return worker._replace(step="claim")
    asked = frozenset({"look", "follow"})
    return worker._replace(step="wait", asked=asked, since=(worker.flushed, worker.seen))


def _settled(store: Store, position: int) -> Store:
    return store._replace(
        leases=frozenset(lease for lease in store.leases if lease[0] != position),
        waiting=frozenset(w for w in store.waiting if w[1] != position),
    )


def _hand_over(store: Store, positions: list[int], me: int) -> tuple[Store, list[str]]:
    """Delete entries; the pages that waited on them are a worker's."""
    pages = sorted(page for page, position in store.waiting if position in positions)
    store = store._replace(
        leases=frozenset(lease for lease in store.leases if lease[0] not in positions),
        waiting=frozenset(w for w in store.waiting if w[1] not in positions),
        handed=store.handed | {(page, me, False) for page in pages},
        deleted=store.deleted | set(positions),
    )
    return store, pages


def _story(came_from: dict[State, tuple[State, str] | None], state: State) -> str:
    steps: list[str] = [str(state.store)]
    while step := came_from[state]:
        state, label = step
        steps.append(label)
    return "\n".join(reversed(steps))


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(2, flushers=2, failures=0), id="two"),
        pytest.param(Model(2), id="two, one fails"),
        pytest.param(Model(2, segment=2, flushers=2), id="two in a segment"),
        pytest.param(Model(2, segment=0, slow=2), id="two, slow"),
        pytest.param(Model(3, segment=0, failures=0), id="three"),
        pytest.param(Model(3, segment=1, deaths=0), id="three, flushed, one fails"),
        pytest.param(Model(3, segment=2, deaths=0), id="three in segments, one fails"),
    ],
)
def test_in_every_order_of_the_steps_one_is_admitted_and_none_is_lost(model: Model) -> None:
    assert model.explore() > 2_000


@pytest.mark.parametrize(
    ("idea", "complaint"),
    [
        ("buckets first", "two living"),
        ("record first", "two living"),
        ("news", "two living"),
        ("reading again", "two living"),
        ("final deletes", "2 are confirmed"),
        ("behind", "two living"),
    ],
)
def test_without_any_of_its_ideas_the_protocol_fails(idea: str, complaint: str) -> None:
    with pytest.raises(Violation, match=complaint):
        Model(2, without=idea).explore()


def test_without_reading_the_buckets_again_after_a_flush_the_protocol_fails() -> None:
    with pytest.raises(Violation, match="two living"):
        Model(3, deaths=0, without="reading buckets again").explore()
