"""What was lost in Redis: single entries are passed over, and what is gone as a whole is told."""

from __future__ import annotations

import logging

import pytest

from scrapy_simhash.index.store import StoreDamaged
from tests import servers
from tests.index.promises.made import ORIGINAL, fp, page, values
from tests.index.redis.cases import keep

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


def lose(server, url, part, *fields):
    """Lose a key of an index, or fields of it."""
    name = f"{{{url.partition('name=')[2]}}}:{part}"
    with server.client() as client:
        client.hdel(name, *fields) if fields else client.delete(name)


def test_an_entry_that_cannot_be_read_is_passed_over_and_counted_once(server, url, opened, caplog):
    index = opened(url)
    for value in values(20):
        keep(index, value)
    with server.client() as client:
        (entries,) = client.scan_iter(f"*{url.partition('name=')[2]}*:entries")
        group = client.hget(entries, "1")
        client.hset(entries, "1", group.replace(b"\0\0\0", b"\xff\xff\xff"))
    pages = [page(f"copy{i}", value ^ 1) for i, value in enumerate(values(20))]
    outcomes = [claim.outcome for claim in index.claim_all(pages)]
    assert 0 < outcomes.count(ORIGINAL) <= 8
    list(index)
    assert 0 < index.damaged <= 8
    assert [r.levelno for r in caplog.records] == [logging.ERROR]
    assert len(index.check()) == index.damaged


@pytest.mark.parametrize("part", ["meta", "entries", "leases"])
def test_a_key_that_was_evicted_is_damage(server, url, opened, part):
    index = opened(url)
    kept, own, released = values(3)
    keep(index, kept)
    index.claim_all([page("b", own), page("c", released)])
    entry = index.query(fp(own))[0].entry
    index.release(["c"])
    lose(server, url, part)
    for act in (
        lambda: index.claim(page("d", 1)),
        lambda: index.confirm(["b"]),
        lambda: index.check(),
        lambda: index.unsettled([entry]),
    )[: 3 if part == "meta" else 4]:
        with pytest.raises(StoreDamaged, match=r"a part is gone.*noeviction"):
            act()
