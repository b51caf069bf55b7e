"""Crawlers and threads claim at the same time."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Arrival, Claim
from tests.index.conftest import DIFFERENT
from tests.index.promises.made import fp, same_facts, values

# The memory of a crawler is its own.
pytestmark = pytest.mark.parametrize("backend", DIFFERENT[1:])


def near(i: int, value: int, number: int) -> Arrival:
    """Return a crawler's page of a round, which is near those of the others."""
    return Arrival(f"{i}/{number}", fp(value ^ 1 << number))


def race(indexes: Sequence[Index], rounds: int, page_of: Any = near) -> list[list[Claim]]:
    """Have crawlers claim a page each at the same time in some rounds; return each round's claims.

    A page is made from the number of the round, a value of its own, and the crawler.
    """
    claims: list[list[Claim]] = [[] for _ in range(rounds)]
    start = threading.Barrier(len(indexes))
    centres = values(rounds, 7)

    def crawl(number: int) -> None:
        for i, value in enumerate(centres):
            start.wait(240)
            claims[i].append(indexes[number].claim(page_of(i, value, number)))

    with ThreadPoolExecutor(len(indexes)) as threads:
        for done in [threads.submit(crawl, number) for number in range(len(indexes))]:
            done.result(240)  # what fails there fails here
    return claims


def test_of_near_pages_that_claim_at_once_exactly_one_becomes_the_original(store):
    indexes = [store.open(judge=same_facts) for _ in range(3)]
    for claims in race(indexes, 60):
        outcomes = sorted(claim.outcome for claim in claims)
        assert outcomes == ["duplicate"] * 2 + ["unique"]


@pytest.mark.parametrize("apart", [0, 1, 40], ids=["one text", "near texts", "other texts"])
def test_a_changed_page_that_comes_to_crawlers_at_once_has_one_entry(store, apart):
    first = store.open()
    first.begin_run()
    first.claim_all([Arrival(f"{i}", fp(value)) for i, value in enumerate(values(30, 3))])
    first.confirm([f"{i}" for i in range(30)])
    first.end_run(finished=True)
    indexes = [store.open() for _ in range(3)]
    assert len({index.begin_run().number for index in indexes}) == 1

    def changed(i: int, value: int, number: int) -> Arrival:
        return Arrival(f"{i}", fp(value ^ ((1 << apart) - 1) << 8 * number))

    for claims in race(indexes, 30, changed):
        told = sorted((claim.outcome, claim.change) for claim in claims)
        assert told == [("revisit", None), ("revisit", None), ("unique", "changed")]
    for index in indexes:
        index.confirm([f"{i}" for i in range(30)])
    entries = [(entry.key, entry.run, entry.provisional) for entry in store.open()]
    assert sorted(entries) == sorted((f"{i}", 2, False) for i in range(30))
