"""The index thread: what waits together is claimed together, and answered at once."""

from __future__ import annotations

import threading
from unittest.mock import Mock

import pytest

from scrapy_simhash.crawl.index_thread import BATCH, IndexThread
from scrapy_simhash.detector import NearDuplicateDetector, Verdict
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import Arrival, index_from_url
from tests.pages import article

RECIPE = named_recipe("default")


def test_pages_that_wait_together_are_answered_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come after them, too; and the thread is not called for each of them."""
    batches: list[list[tuple[int, Verdict]]] = []
    index = index_from_url("memory://", recipe=RECIPE.identity, bits=256, distance=48)
    thread = IndexThread(NearDuplicateDetector(RECIPE, index), batches.append, Mock())
    calls = Mock(wraps=thread._thread.submit)
    monkeypatch.setattr(thread._thread, "submit", calls)
    for size in ([BATCH, 6], [3]):
        batches.clear()
        calls.reset_mock()
        free = threading.Event()
        thread.run(free.wait)
        for page in range(sum(size)):
            thread.judge(Arrival(str(page), RECIPE.fingerprint(article(page % 50))), page)
        last = thread.run(lambda: [len(batch) for batch in batches])
        free.set()
        assert last.result() == size
        assert calls.call_count == 3
        answers = [answer for batch in batches for answer in batch]
        assert [verdict.key for _, verdict in answers] == [str(caller) for caller, _ in answers]
    thread.close()
