"""Claims: those of one moment go together, and no fault of the index costs a page."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from scrapy_simhash.core import claims as claims_module
from scrapy_simhash.core.claims import CLAIMS_AT_ONCE, Claims
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import StoreError, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Claim, IndexSpec, Outcome

BLOCKS = bytes(16)


def arrival(number: int) -> Arrival:
    value = (number * 0x9E3779B97F4A7C15) % 2**64
    return Arrival(str(number), Fingerprint(value, 64, value.to_bytes(8, "little") * 2))


class Counting:
    """An index that notes how many pages claim together, and takes its time, or that of a core."""

    def __init__(self, seconds: float = 0.0, *, works: bool = False) -> None:
        self.index = open_index("memory://", IndexSpec("test", 64, 3, 4))
        self.sizes: list[int] = []
        self.seconds = seconds
        self.works = works
        self.closed = False

    def claim_all(self, arrivals: Any) -> list[Claim]:
        self.sizes.append(len(arrivals))
        ends = time.thread_time() + self.seconds
        while self.works and time.thread_time() < ends:
            pass
        time.sleep(0 if self.works else self.seconds)
        return self.index.claim_all(arrivals)

    def close(self) -> None:
        self.closed = True


def with_claims(
    index: Any,
    work: Callable[[Claims], Awaitable[Any]],
    *,
    on_loop: bool,
    more_to_come: bool = False,
    turn: float = 60,
) -> Any:
    async def run() -> Any:
        pool: Any = SimpleNamespace(is_busy=more_to_come)
        claims = Claims(index, pool, on_loop=on_loop)
        try:
            return await asyncio.wait_for(work(claims), 30)
        finally:
            claims.close()

    loop = asyncio.new_event_loop()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claims_module, "TURN", turn)
            return loop.run_until_complete(run())
    finally:
        loop.close()


@pytest.mark.parametrize("on_loop", [True, False])
def test_pages_that_ask_in_one_turn_of_the_loop_claim_together(on_loop: bool) -> None:
    """A bounded number of them, each with its own answer."""
    index = Counting()

    async def work(claims: Claims) -> list[Claim]:
        return await asyncio.gather(*(claims.claim(arrival(n % 100)) for n in range(150)))

    found = with_claims(index, work, on_loop=on_loop)
    assert index.sizes == [CLAIMS_AT_ONCE] * (150 // CLAIMS_AT_ONCE) + [150 % CLAIMS_AT_ONCE]
    kinds = [claim.outcome for claim in found]
    assert kinds == [Outcome.ORIGINAL] * 100 + [Outcome.REVISIT] * 50
    assert index.closed


def test_fewer_pages_claim_together_on_a_loop_that_they_hold_up() -> None:
    async def work(claims: Claims) -> None:
        await asyncio.gather(*(claims.claim(arrival(n)) for n in range(120)))

    slow, quick = Counting(seconds=0.002, works=True), Counting()
    with_claims(slow, work, on_loop=True, turn=0.001)
    # A call takes two turns at least, whatever else the machine does.
    assert slow.sizes[0] == CLAIMS_AT_ONCE
    assert all(later <= max(size / 2, 1) for size, later in itertools.pairwise(slow.sizes))
    with_claims(quick, work, on_loop=False, turn=0)
    assert quick.sizes == [CLAIMS_AT_ONCE, 120 - CLAIMS_AT_ONCE]


@pytest.mark.parametrize("on_loop", [True, False])
def test_page_waits_a_moment_for_others_that_are_on_their_way(on_loop: bool) -> None:
    """Not if as many wait as go together, and not if nobody else is on the way."""

    async def together(claims: Claims) -> None:
        tasks = []
        for number in range(3):
            tasks.append(asyncio.ensure_future(claims.claim(arrival(number))))
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
        claims_module.PATIENCE = math.inf
        await asyncio.gather(*(claims.claim(arrival(n)) for n in range(3, 3 + CLAIMS_AT_ONCE)))

    async def alone(claims: Claims) -> None:
        await claims.claim(arrival(0))

    index = Counting()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims_module, "PATIENCE", 1)
        with_claims(index, together, on_loop=on_loop, more_to_come=True)
        assert index.sizes == [3, CLAIMS_AT_ONCE]
        with_claims(Counting(), alone, on_loop=on_loop, more_to_come=False)


def test_pages_that_come_while_a_thread_asks_claim_together_after_it() -> None:
    index, begun, may_answer = Counting(), threading.Event(), threading.Event()

    def claim_all(arrivals: Any) -> list[Claim]:
        begun.set()
        assert may_answer.wait(20)
        return Counting.claim_all(index, arrivals)

    index.claim_all = claim_all  # type: ignore[method-assign]

    async def work(claims: Claims) -> None:
        first = asyncio.ensure_future(claims.claim(arrival(0)))
        await asyncio.to_thread(begun.wait, 20)
        rest = [asyncio.ensure_future(claims.claim(arrival(n))) for n in range(1, 9)]
        await asyncio.sleep(0)
        may_answer.set()
        await asyncio.gather(first, *rest)

    with_claims(index, work, on_loop=False)
    assert index.sizes == [1, 8]


@pytest.mark.parametrize("on_loop", [True, False])
def test_what_else_is_asked_of_the_index_is_asked_in_the_same_place(on_loop: bool) -> None:
    async def work(claims: Claims) -> None:
        here = threading.current_thread()
        there = await asyncio.wrap_future(claims.run(threading.current_thread))
        assert (there is here) == on_loop
        with pytest.raises(ZeroDivisionError):
            await asyncio.wrap_future(claims.run(lambda: 1 // 0))

    with_claims(Counting(), work, on_loop=on_loop)


class Failing(Counting):
    def claim_all(self, arrivals: Any) -> list[Claim]:
        super().claim_all([])
        if any(page.key == "3" for page in arrivals):
            raise self.error
        return self.index.claim_all(arrivals)


@pytest.mark.parametrize("on_loop", [True, False])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), RuntimeError("a fault")])
def test_page_that_the_index_cannot_take_gets_no_answer_and_only_a_store_that_is_away_costs_others(
    on_loop: bool, error: Exception
) -> None:
    index = Failing()
    index.error = error

    async def work(claims: Claims) -> list[Any]:
        pages = (claims.claim(arrival(n)) for n in range(6))
        return await asyncio.gather(*pages)

    found = with_claims(index, work, on_loop=on_loop)
    failed = {n for n, answer in enumerate(found) if answer is None}
    assert failed == (set(range(6)) if isinstance(error, StoreError) else {3})


@pytest.mark.parametrize("on_loop", [True, False])
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_page_that_is_given_up_at_whatever_moment_keeps_no_other_from_its_answer(
    on_loop: bool, turns: int
) -> None:
    index = Counting(seconds=0.0 if on_loop else 0.02)

    async def work(claims: Claims) -> Claim:
        given_up, other = (asyncio.ensure_future(claims.claim(arrival(n))) for n in (1, 2))
        for _ in range(turns):
            await asyncio.sleep(0)
        given_up.cancel()
        return await other

    assert with_claims(index, work, on_loop=on_loop).outcome is Outcome.ORIGINAL


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_claims_that_hold_the_crawl_up_are_said_once(caplog: Any, seconds: float) -> None:
    async def work(claims: Claims) -> float:
        for number in range(12):
            await claims.claim(arrival(number))
            await asyncio.sleep(0.01)
        return claims.seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims_module, "WATCHED", 0.1 if seconds else 0.05)
        patch.setattr(claims_module, "SLOW_CALL", 0.01 if seconds else 0.5)
        spent = with_claims(Counting(seconds), work, on_loop=False)
    assert spent >= 12 * seconds
    assert caplog.text.count("holds the crawl up") == (1 if seconds else 0)
