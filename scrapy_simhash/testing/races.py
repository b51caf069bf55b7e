"""Crawlers and threads claim at the same time."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from scrapy_simhash.index.contract import Index, StoreUnavailable
from scrapy_simhash.index.values import Arrival, Outcome
from scrapy_simhash.testing.made import fp, same_facts, values
from scrapy_simhash.testing.store import OverStore, Store


def race(indexes: Sequence[Index], rounds: int) -> list[list[Outcome]]:
    """Claim near pages at the same time; return each round's outcomes."""
    outcomes: list[list[Outcome]] = [[] for _ in range(rounds)]
    start = threading.Barrier(len(indexes))
    centres = values(rounds, 7)

    def crawl(number: int) -> None:
        for i, value in enumerate(centres):
            start.wait(60)
            page = Arrival(f"{i}/{number}", fp(value ^ 1 << number))
            outcomes[i].append(indexes[number].claim(page).outcome)

    threads = [threading.Thread(target=crawl, args=(n,)) for n in range(len(indexes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return outcomes


class Races(OverStore):
    """Claims that race, and calls from many threads."""

    def test_of_near_pages_that_claim_at_once_exactly_one_becomes_the_original(
        self, store: Store
    ) -> None:
        if store.shared:
            indexes = [store.open(judge=same_facts) for _ in range(3)]
        else:
            indexes = [store.open(judge=same_facts)] * 3
        for outcomes in race(indexes, 60):
            assert sorted(outcome.value for outcome in outcomes) == ["duplicate"] * 2 + ["original"]

    def test_a_call_during_which_another_thread_closes_the_index_ends_or_says_so(
        self, store: Store
    ) -> None:
        index = store.open()
        failed: list[Exception] = []

        def crawl() -> None:
            try:
                while True:
                    index.claim(Arrival("a", fp(0)))
            except StoreUnavailable:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
                failed.append(error)

        threads = [threading.Thread(target=crawl) for _ in range(3)]
        for thread in threads:
            thread.start()
        index.close()
        for thread in threads:
            thread.join(60)
        assert failed == []

    def test_calls_from_many_threads_do_not_disturb_each_other(self, store: Store) -> None:
        index = store.open()
        failed: list[Exception] = []

        def crawl(number: int) -> None:
            try:
                for i, value in enumerate(values(30, number)):
                    key = f"{number}/{i}"
                    index.claim(Arrival(key, fp(value), request="R"))
                    index.renew([key])
                    index.orphans()
                    (index.confirm if i % 2 else index.release)([key])
            except Exception as error:  # noqa: BLE001 - whatever it is, the test fails
                failed.append(error)

        threads = [threading.Thread(target=crawl, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert failed == []
        assert len(index) == 60
        assert not any(entry.provisional for entry in index)
