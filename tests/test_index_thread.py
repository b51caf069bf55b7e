"""The index thread: what waits together is claimed together, and answered at once."""

from __future__ import annotations

import threading

from scrapy_simhash.detector import NearDuplicateDetector, Verdict
from scrapy_simhash.index import Arrival, index_from_url
from scrapy_simhash.index_thread import BATCH, IndexThread
from scrapy_simhash.recipe import named_recipe
from tests.pages import article

RECIPE = named_recipe("default")


def test_pages_that_wait_together_are_answered_in_batches() -> None:
    batches: list[list[tuple[int, Verdict]]] = []
    index = index_from_url("memory://", recipe=RECIPE.identity, bits=256, distance=48)
    thread = IndexThread(NearDuplicateDetector(RECIPE, index), batches.append)
    free = threading.Event()
    thread.run(free.wait)
    number = BATCH + 6
    for page in range(number):
        fingerprint = RECIPE.fingerprint(article(page % 50))
        thread.judge(Arrival(str(page), fingerprint), page)
    last = thread.run(lambda: sum(map(len, batches)))
    free.set()
    assert last.result() == number
    assert [len(batch) for batch in batches] == [BATCH, 6]
    answers = [answer for batch in batches for answer in batch]
    assert [verdict.key for _, verdict in answers] == [str(caller) for caller, _ in answers]
    assert [verdict.kind for _, verdict in answers].count("duplicate") == number - 50
    thread.close()
