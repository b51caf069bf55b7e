"""The thread of the index: claims of one moment go together, and no fault costs a page."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.core import breaker as module
from scrapy_simhash.core.breaker import IndexThread
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import CLAIMS_AT_ONCE
from scrapy_simhash.index.values import Arrival, Claim, IndexSpec


def arrival(number: int) -> Arrival:
    value = (number * 0x9E3779B97F4A7C15) % 2**64
    return Arrival(str(number), Fingerprint(value, 64, value.to_bytes(8, "little") * 2))


class Counting:
    """An index that notes how many pages claim together, and may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.spec = IndexSpec("test", 64, 3, 4)
        self.index = open_index("memory://", self.spec)
        self.sizes: list[int] = []
        self.error = error

    def claim_all(self, arrivals: Any) -> list[Claim]:
        self.sizes.append(len(arrivals))
        if self.error:
            raise self.error
        return self.index.claim_all(arrivals)

    def close(self) -> None:
        self.index.close()


def with_thread(index: Any, work: Callable[..., Any], *, more_to_come: bool = False) -> Any:
    async def run() -> Any:
        thread = IndexThread(index, [arrival(0)] if more_to_come else [])
        try:
            return await asyncio.wait_for(work(thread), 30)
        finally:
            thread.close()

    return asyncio.run(run())


def test_pages_that_ask_in_one_turn_of_the_loop_claim_together():
    """A bounded number of them, each with its own answer."""
    index = Counting()

    async def work(thread: IndexThread) -> list[Claim]:
        return await asyncio.gather(*(thread.claim(arrival(n % 100)) for n in range(150)))

    answers = with_thread(index, work)
    assert index.sizes == [CLAIMS_AT_ONCE] * (150 // CLAIMS_AT_ONCE) + [150 % CLAIMS_AT_ONCE]
    kinds = [claim.outcome for claim in answers]
    assert kinds == ["unique"] * 100 + ["revisit"] * 50


def test_a_page_waits_a_moment_for_others_that_are_on_their_way(monkeypatch):
    """Not if as many wait as go together, and not if nobody else is on the way."""

    async def together(thread: IndexThread) -> None:
        tasks = []
        for number in range(3):
            tasks.append(asyncio.ensure_future(thread.claim(arrival(number))))
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
        monkeypatch.setattr(module, "CLAIM_WAIT", math.inf)
        await asyncio.gather(*(thread.claim(arrival(n)) for n in range(3, 3 + CLAIMS_AT_ONCE)))

    index = Counting()
    monkeypatch.setattr(module, "CLAIM_WAIT", 1)
    with_thread(index, together, more_to_come=True)
    assert index.sizes == [3, CLAIMS_AT_ONCE]
    with_thread(Counting(), lambda thread: thread.claim(arrival(0)))


def test_pages_of_an_index_that_fails_get_no_answer_with_one_message(caplog):
    async def work(thread: IndexThread) -> list[Any]:
        return await asyncio.gather(*(thread.claim(arrival(n)) for n in range(6)))

    assert with_thread(Counting(RuntimeError("a fault")), work) == [None] * 6
    assert [record.getMessage() for record in caplog.records] == [
        "The index fails on 6 pages; let through unchecked"
    ]


def test_a_page_that_cannot_stand_in_the_index_is_refused_and_costs_no_other_its_answer():
    async def work(thread: IndexThread) -> list[Any]:
        pages = arrival(1), arrival(2)._replace(scope="a" * 70_000)
        return await asyncio.gather(*map(thread.claim, pages), return_exceptions=True)

    good, bad = with_thread(Counting(), work)
    assert good.outcome == "unique"
    assert isinstance(bad, ValueError)


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_page_that_is_given_up_at_whatever_moment_keeps_no_other_from_its_answer(turns):
    async def work(thread: IndexThread) -> Claim:
        given_up, other = (asyncio.ensure_future(thread.claim(arrival(n))) for n in (1, 2))
        for _ in range(turns):
            await asyncio.sleep(0)
        given_up.cancel()
        return await other

    assert with_thread(Counting(), work).outcome == "unique"


def test_a_page_that_comes_after_the_end_gets_no_answer():
    async def work(thread: IndexThread) -> None:
        thread.close()
        assert await thread.claim(arrival(1)) is None

    with_thread(Counting(), work)
