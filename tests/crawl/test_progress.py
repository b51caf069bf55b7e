"""What is told to the index, and in which order."""

from __future__ import annotations

from scrapy_simhash.crawl.progress import Deliveries
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Page
from scrapy_simhash.index.memory import MemoryIndex


def test_page_that_was_given_up_may_be_handed_over_anew_in_the_same_moment() -> None:
    index = MemoryIndex(recipe="test", bits=64, distance=3, lease=60)
    deliveries = Deliveries(index, items=False)
    deliveries.give_up("copy")
    index.claim("page", Fingerprint(0, 64))
    index.claim("copy", Fingerprint(1, 64), request="COPY")
    deliveries.begin("page")
    deliveries.end("page", failed=True)
    deliveries.flush()
    assert deliveries.take_handed_back() == [Page("copy", "COPY")]
    assert index.last_lease() is not None
