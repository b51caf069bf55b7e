"""The thread of the index: claims of one moment go together, and no fault costs a page."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.core import breaker as module
from scrapy_simhash.core.breaker import IndexThread
from scrapy_simhash.index.index import CLAIMS_AT_ONCE
from scrapy_simhash.index.values import Claim
from tests.core.failing import FailingStore
from tests.index.promises.made import page, values

PAGES = [page(f"{n}", value) for n, value in enumerate(values(100))]


def with_thread(
    store: FailingStore, work: Callable[[IndexThread], Any], *, more_to_come: bool = False
) -> Any:
    async def run() -> Any:
        thread = IndexThread(store.open(), PAGES if more_to_come else [])  # type: ignore[arg-type]
        try:
            return await asyncio.wait_for(work(thread), 30)
        finally:
            thread.close()

    return asyncio.run(run())


def test_pages_that_ask_in_one_turn_of_the_loop_claim_together(store):
    """A bounded number of them, each with its own answer."""

    async def work(thread: IndexThread) -> list[Claim]:
        return await asyncio.gather(*map(thread.claim, [*PAGES, *PAGES[:50]]))

    answers = with_thread(store, work)
    assert store.claims == [CLAIMS_AT_ONCE] * (150 // CLAIMS_AT_ONCE) + [150 % CLAIMS_AT_ONCE]
    kinds = [claim.outcome for claim in answers]
    assert kinds == ["unique"] * 100 + ["revisit"] * 50


def test_a_page_waits_a_moment_for_others_that_are_on_their_way(store, monkeypatch):
    """Not if as many wait as go together, and not if nobody else is on the way."""

    async def together(thread: IndexThread) -> None:
        tasks = []
        for arrival in PAGES[:3]:
            tasks.append(asyncio.ensure_future(thread.claim(arrival)))
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
        monkeypatch.setattr(module, "CLAIM_WAIT", math.inf)
        await asyncio.gather(*map(thread.claim, PAGES[3 : 3 + CLAIMS_AT_ONCE]))

    monkeypatch.setattr(module, "CLAIM_WAIT", 1)
    with_thread(store, together, more_to_come=True)
    assert store.claims == [3, CLAIMS_AT_ONCE]
    with_thread(store, lambda thread: thread.claim(PAGES[0]))


def test_a_page_that_cannot_stand_in_the_index_is_refused_and_costs_no_other_its_answer(store):
    async def work(thread: IndexThread) -> list[Any]:
        pages = PAGES[0], PAGES[1]._replace(scope="a" * 70_000)
        return await asyncio.gather(*map(thread.claim, pages), return_exceptions=True)

    good, bad = with_thread(store, work)
    assert good.outcome == "unique"
    assert isinstance(bad, ValueError)


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_page_that_is_given_up_at_whatever_moment_keeps_no_other_from_its_answer(store, turns):
    async def work(thread: IndexThread) -> Claim:
        given_up, other = (asyncio.ensure_future(thread.claim(each)) for each in PAGES[:2])
        for _ in range(turns):
            await asyncio.sleep(0)
        given_up.cancel()
        return await other

    assert with_thread(store, work).outcome == "unique"


def test_a_page_that_comes_after_the_end_gets_no_answer(store):
    async def work(thread: IndexThread) -> None:
        thread.close()
        assert await thread.claim(PAGES[0]) is None

    with_thread(store, work)
