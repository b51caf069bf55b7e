"""The code of the index in Redis, whose requests to a real server go in every order.

Its threads stand still before every request, until they are told to go on, or are killed.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import redis

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival, Index, Outcome, index_from_url
from scrapy_simhash.index.redis_client import Client


class Died(BaseException):
    """A worker is killed before a request."""


class Actor(threading.Thread):
    """A worker, which goes from one request to the next when it is told to."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._go = threading.Event()
        self._waits = threading.Event()
        self.is_dying = self.is_done = False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except Died:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised where the test sees it
            self.error = error
        self.is_done = True
        self._waits.set()

    def stand(self) -> None:
        """Wait before a request."""
        self._waits.set()
        self._go.wait()
        self._go.clear()
        if self.is_dying:
            raise Died

    def wait(self) -> None:
        """Wait until it stands before its next request, or has finished."""
        assert self._waits.wait(30), "a worker hangs"
        if self.error:
            raise self.error

    def end(self) -> None:
        """Kill it if it is still there."""
        self.is_dying = True
        self._go.set()
        self.join(30)

    def go_on(self, *, dies: bool = False) -> None:
        self._waits.clear()
        self.is_dying = dies
        self._go.set()
        self.wait()


@pytest.fixture
def gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of an actor waits to be let go; those of others do not."""

    def gated(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            actor = threading.current_thread()
            if isinstance(actor, Actor):
                actor.stand()
            return method(*arguments, **options)

        return call

    monkeypatch.setattr(Client, "_ask", gated(Client._ask))


class Schedules:
    """Goes through orders of the actors' requests, those of few interruptions.

    Args:
        interruptions: how often an actor that could go on gives way to another.
        deaths: how many actors are killed, before any of their requests.
    """

    def __init__(self, interruptions: int, deaths: int) -> None:
        self._interruptions = interruptions
        self._deaths = deaths
        # For each point of the last run: what may be done there that has not been done yet.
        self._open: list[list[tuple[int, bool]]] = []
        self._done: list[tuple[int, bool]] = []

    def __iter__(self) -> Iterator[Schedules]:
        yield self
        while self._open:
            if self._open[-1]:
                self._done[-1] = self._open[-1].pop()
                yield self
            else:
                self._open.pop()
                self._done.pop()

    def run(self, actors: list[Actor]) -> set[int]:
        """Let the actors go on in the next order; return which of them died."""
        died: set[int] = set()
        try:
            self._run(actors, died)
        finally:
            for actor in actors:
                actor.end()
        return died

    def _run(self, actors: list[Actor], died: set[int]) -> None:
        for actor in actors:
            actor.start()
            actor.wait()
        current, interruptions, point = -1, 0, 0
        while runnable := [n for n, actor in enumerate(actors) if not actor.is_done]:
            if is_free := current not in runnable:
                current = runnable[0]
            if point == len(self._done):
                others = [n for n in runnable if n != current]
                choices = []
                if is_free or interruptions < self._interruptions:
                    choices += [(n, False) for n in others]
                if len(died) < self._deaths:
                    choices.append((current, True))
                self._open.append(choices)
                self._done.append((current, False))
            chosen, dies = self._done[point]
            assert chosen in runnable, "not the same requests as before"
            interruptions += chosen != current and not is_free
            current = chosen
            actors[current].go_on(dies=dies)
            if dies:
                died.add(current)
            point += 1


class Race:
    """Workers at one index, again and again with other pages.

    Args:
        url: of the index.
        distance: k of the index; the pages of a run are all within it.
    """

    def __init__(self, url: str, name: str, workers: int) -> None:
        self.url = f"{url}name={name}"
        self.name = name
        self._random = random.Random(1)
        self.workers = [self._open() for _ in range(workers)]
        self.observer = self._open()

    def _open(self) -> Index:
        return index_from_url(
            self.url, recipe="race", bits=64, distance=3, expected_pages=1000, lease=1e6
        )

    def close(self) -> None:
        for index in (*self.workers, self.observer):
            index.close()

    def fill(self) -> None:
        """Admit pages until the log's tail is one short of a segment."""
        with redis.Redis.from_url(self.url.partition("?")[0]) as client:
            # What a worker held that died while it flushed.
            client.delete(f"{{{self.name}}}:flusher")
            missing = (63 - client.strlen(f"{{{self.name}}}:tail") // 8) % 64
        values = [self._random.getrandbits(64) for _ in range(missing)]
        arrivals = [Arrival(str(value), Fingerprint(value, 64)) for value in values]
        self.observer.claim_all(arrivals)
        self.observer.confirm([arrival.key for arrival in arrivals])

    def run(self, schedules: Schedules, *, fails: bool = False) -> None:
        """Let near-duplicates claim, one by each worker; check what comes of them.

        Args:
            fails: the callback of the first worker's page fails.
        """
        base, now = self._random.getrandbits(64), 1e9
        pages = {f"{base}-{n}": Fingerprint(base ^ 1 << n, 64) for n in range(len(self.workers))}
        outcomes: list[Outcome] = []
        delivered: list[str] = []
        for index in self.workers:
            # All know the same at the start, so that the requests depend on the order alone.
            index.query(Fingerprint(base, 64))

        def crawl(index: Index, key: str, *, is_failure: bool = False) -> None:
            claim = index.claim(key, pages[key], request=key, now=now)
            outcomes.append(claim.outcome)
            todo = [page.key for page in claim.handed_back]
            if claim.outcome is not Outcome.DUPLICATE:
                if is_failure:
                    todo += [page.key for page in index.release([key], now=now)]
                else:
                    delivered.append(key)
                    index.confirm([key])
            for page in todo:
                crawl(index, page)

        actors = [
            Actor(partial(crawl, index, key, is_failure=fails and index is self.workers[0]))
            for index, key in zip(self.workers, pages, strict=True)
        ]
        died = schedules.run(actors)
        for number in died:
            self.workers[number] = self._open()
        if not died:
            assert delivered
        if not died and not fails:
            assert outcomes.count(Outcome.ORIGINAL) == 1
        now += 2e6
        while orphans := self.observer.orphans(now=now):
            for page in orphans:
                crawl(self.observer, page.key)
        found = self.observer.query(Fingerprint(base, 64))
        assert [match.provisional for match in found] == [False] * bool(delivered)
        assert delivered or fails
        assert self.observer.last_lease(now=now) is None


@pytest.fixture(params=["redis", "local"])
def race(request, redis_servers, monkeypatch, gates):
    """Makes a race of some workers, with buckets in Redis or in RAM."""
    name = redis_servers.new_name().removeprefix("name=")
    with contextlib.ExitStack() as stack:

        def make(workers: int, segment: int) -> Race:
            monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", segment)
            url = f"{redis_servers.single.url}?buckets={request.param}&"
            made = stack.enter_context(contextlib.closing(Race(url, name, workers)))
            made.run(Schedules(0, 0))
            return made

        yield make


@pytest.mark.parametrize(
    ("workers", "interruptions", "deaths", "fails"),
    [(2, 99, 0, False), (2, 3, 0, True), (2, 2, 1, False), (2, 2, 1, True), (3, 2, 0, False)],
)
def test_the_code_admits_one_in_every_order_of_its_requests(
    race, workers, interruptions, deaths, fails
):
    racing = race(workers, segment=1 << 16)
    for schedules in Schedules(interruptions, deaths):
        racing.run(schedules, fails=fails)


@pytest.mark.parametrize(("interruptions", "deaths"), [(2, 0), (0, 1)])
def test_the_code_admits_one_while_the_log_is_flushed(race, interruptions, deaths):
    racing = race(2, segment=64)
    for schedules in Schedules(interruptions, deaths):
        racing.fill()
        racing.run(schedules)
