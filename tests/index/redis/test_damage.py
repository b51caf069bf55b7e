"""What was lost in Redis: single entries are passed over, and what is gone as a whole is told."""

from __future__ import annotations

import logging
import time

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.contract import StoreDamaged
from scrapy_simhash.index.values import Outcome
from scrapy_simhash.testing.made import LEASE, ORIGINAL, at, fp, page, spec, values
from tests import servers
from tests.index.made import Over
from tests.index.redis.cases import keep

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


def lose(server, url, part, *fields):
    """Lose a key of an index, or fields of it."""
    name = f"{{{url.partition('name=')[2]}}}:{part}"
    with server.client() as client:
        client.hdel(name, *fields) if fields else client.delete(name)


def test_a_page_near_an_entry_whose_row_was_lost_is_compared_with_the_others(
    server, url, opened, caplog
):
    index = opened(url)
    for value in values(70):
        keep(index, value)
    lose(server, url, "rows", *(f":{n}" for n in range(64)))
    pages = [page(f"copy{i}", value ^ 1) for i, value in enumerate(values(70))]
    outcomes = [claim.outcome for claim in index.claim_all(pages)]
    assert outcomes.count(ORIGINAL) == 64
    assert index.damaged == 64
    assert [match.key for match in index.query(fp(values(70)[0]))] == ["copy0"]
    assert index.check() == [f"entry {n}: it has no row" for n in range(64)]
    assert [r.levelno for r in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("part", ["log", "rows", "buckets", "leases", "seen", "dead", "runs"])
def test_a_key_that_was_evicted_is_damage_and_is_named(server, url, opened, part):
    index = opened(url)
    kept, own, released = values(3)
    keep(index, kept)
    index.claim_all([page("b", own, request="b"), page("c", released)])
    entry = index.query(fp(own))[0].entry
    index.release(["c"])
    lose(server, url, part)
    for act in (
        lambda: index.claim(page("d", 1)),
        lambda: index.confirm(["b"]),
        lambda: index.unsettled([entry]),
        lambda: index.check(),
    ):
        with pytest.raises(StoreDamaged, match=rf":{part} is gone.*noeviction"):
            act()


def test_pages_of_a_dead_crawler_are_adopted_though_redis_forgot_that_they_are_due(
    server, url, opened
):
    index, other = opened(url), opened(url)
    pages = [page(str(n), value, request="r") for n, value in enumerate(values(250))]
    index.claim_all(pages)
    (due,) = server.client().scan_iter(f"*{url.partition('name=')[2]}*:due:*")
    lose(server, url, due.decode().partition("}:")[2])
    at(other, time.time() + 2 * LEASE)
    found = set()
    for _ in range(50):
        found |= (keys := {orphan.key for orphan in other.orphans()})
        other.confirm(keys)
    assert found == {one.key for one in pages}


def test_a_crawl_goes_on_around_a_page_that_its_store_does_not_take(server, url, caplog):
    asked = spec()
    breaker = Over(lambda: open_index(url, asked), asked, pages=100)
    numbers = values(64)
    breaker.claim_all([page("bad", numbers[5], request="r")])
    name = f"{{{url.partition('name=')[2]}}}:leases"
    with server.client() as client:
        client.hset(name, "0", "rubbish")
    claims = breaker.claim_all([page(f"{i}", value ^ 1) for i, value in enumerate(numbers)])
    assert {claim.outcome for claim in claims} <= {Outcome.ORIGINAL, Outcome.REVISIT}
    assert breaker.counts["damaged"] == 1
    assert not breaker.away
    assert len(breaker) == 64
    assert "damaged" in caplog.text
    breaker.close()
