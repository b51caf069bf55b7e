"""Scopes are spread over shards, and together the shards are one index."""

import pytest
from redis.crc import key_slot

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.redis.redis_store import hash_tags
from scrapy_simhash.index.store import StoreMismatch
from scrapy_simhash.index.values import Report
from tests import servers
from tests.index.promises.made import ORIGINAL, REVISIT, page, values
from tests.index.redis.cases import turns_of
from tests.servers import SLOTS

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


@pytest.fixture
def shared(redis_servers):
    """The URL of an index on a cluster for this test alone."""
    return f"{redis_servers.cluster.url}?{redis_servers.new_name()}"


@pytest.mark.parametrize("count", [1, 3, 64, 1000])
def test_each_shard_has_an_equal_stretch_of_the_slots(count):
    tags = hash_tags("shop:simhash", count)
    assert [key_slot(tag.encode()) * count // SLOTS for tag in tags] == [*range(count)]
    assert "shop:simhash" in tags


def test_only_pages_with_scopes_on_a_cluster_are_spread_by_default(redis_servers, shared, opened):
    single = f"{redis_servers.single.url}?{redis_servers.new_name()}"
    asked = [
        (shared, False, b"1"),
        (f"{shared}a", True, b"24"),
        (single, True, b"1"),
        (f"{single}b&shards=5", False, b"5"),
    ]
    for url, scoped, expected in asked:
        opened(url, scoped=scoped)
        server = redis_servers.cluster if "cluster" in url else redis_servers.single
        with server.client() as client:
            name = url.rpartition("name=")[2].partition("&")[0]
            assert client.hget(f"{{{name}}}:meta", "shards") == expected


def test_the_number_of_shards_is_the_one_with_which_the_index_was_made(shared, opened):
    for number, value in enumerate(values(20)):
        opened(f"{shared}&shards=7").claim(page(f"{number}", value, scope=f"{number}"))
    assert len(opened(shared)) == len(opened(shared, scoped=True)) == 20
    there = open_existing(shared)
    assert len(there) == 20
    there.close()
    with pytest.raises(StoreMismatch, match="made with shards=7, not 8"):
        opened(f"{shared}&shards=8")


def test_a_shard_of_another_index_is_refused(shared, opened):
    opened(f"{shared}&shards=4")
    name = shared.partition("name=")[2]
    other = next(tag for tag in hash_tags(name, 4) if tag != name)
    with pytest.raises(StoreMismatch, match=r"shards=. of 4, not 1"):
        opened(shared.replace(f"name={name}", f"name={other}"))


def test_an_index_that_was_cleared_keeps_its_shards(shared, opened):
    one, other = (opened(f"{shared}&shards=5") for _ in range(2))
    sites = [page(f"{n}", value, scope=f"{n}") for n, value in enumerate(values(30))]
    one.claim_all(sites)
    one.clear()
    assert [claim.outcome for claim in other.claim_all(sites)] == [ORIGINAL] * 30
    assert len(opened(shared)) == 30


def test_the_entries_of_a_run_are_counted_and_expire_in_all_shards(shared, opened):
    url, made = f"{shared}&shards=4", values(40)
    for turn in range(3):
        index = opened(url, spider="s")
        run = index.begin_run()
        assert run.number == turn + 1
        sites = [page(f"{n}", made[n], scope=f"{n}") for n in range(40 - 10 * turn)]
        index.claim_all(sites)
        index.confirm([p.key for p in sites])
        index.end_run(finished=True)
    assert [run.pages for run in index.runs()] == [10, 10, 20]
    assert len(list(index.missing(3))) == 20
    found = [index.expire(1, 7) for _ in range(4)]
    assert (sum(found), max(found)) == (20, 7)
    assert [(run.number, run.pages) for run in index.runs()] == [(3, 20)]


def test_a_run_after_the_loss_of_the_home_shard_is_new_to_all_entries(
    redis_servers, shared, opened
):
    """Else pages of a run with the same number are dropped as those of this run."""
    url, name = f"{shared}&shards=4", shared.partition("name=")[2]
    sites = [page(f"{n}", value, scope=f"{n}") for n, value in enumerate(values(20))]
    index = opened(url, spider="s")
    index.begin_run()
    index.claim_all(sites)
    index.confirm([p.key for p in sites])
    index.end_run(finished=True)
    with redis_servers.cluster.client() as client:
        for key in client.scan_iter(f"{{{name}}}:*"):
            client.delete(key)
    other = opened(url, spider="s")
    left = len(other)
    assert 0 < left < 20
    assert other.begin_run().number == 2
    assert REVISIT not in {claim.outcome for claim in other.claim_all(sites)}
    assert len(other) == 20


def test_a_report_goes_to_all_shards_in_three_pipelines(redis_servers, opened, monkeypatch):
    url = f"{redis_servers.single.url}?{redis_servers.new_name()}&shards=5"
    index = opened(url, scoped=True)
    pages = [page(f"{n}", v, scope=f"{n}.example") for n, v in enumerate(values(20))]
    index.claim_all(pages)
    copies = opened(url, scoped=True).claim_all([p._replace(key=f"copy {p.key}") for p in pages])
    entries, keys = [claim.matches[0].entry for claim in copies], [p.key for p in pages]
    calls = turns_of(monkeypatch)
    reply = index.report(Report(keys[:10], keys[10:15], keys[15:], entries))
    # Where are the pages that failed, may all this be written, and how did the entries fare?
    assert calls == [5, 5, 5]
    assert reply.gone == {*entries[:10]}
    assert reply.provisional == {*entries[15:]}
