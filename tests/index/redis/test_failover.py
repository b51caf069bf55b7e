"""What the index in Redis does when Sentinel or Cluster moves it."""

import contextlib
from collections.abc import Iterator

import pytest
from redis.crc import key_slot

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreUnavailable
from tests import servers
from tests.index.promises.made import fp, keep, query, values


def _answers(index: Index) -> bool:
    try:
        query(index, fp(0))
    except StoreUnavailable:
        return False
    return True


@pytest.fixture(scope="module")
def cluster() -> Iterator[servers.Cluster]:
    with servers.cluster(replicas=1) as started:
        yield started


def test_while_the_slot_of_an_index_migrates_it_is_away_and_goes_on_afterwards(cluster, opened):
    index, other = (opened(f"{cluster.url}?name=migrates") for _ in range(2))
    slot = key_slot(b"{migrates}:meta")
    for round_number in range(2):
        owner = cluster.owner(slot)
        to = next(node for node in cluster.masters if node is not owner)
        # In the second round a part of the log's keys is there already, and the rest is not.
        with cluster.migrating(slot, to, keys=round_number % 2):
            for value in values(3, seed=round_number):
                for crawler, key in ((index, "one"), (other, "other")):
                    with contextlib.suppress(StoreUnavailable):
                        keep(crawler, value ^ (key == "one"), f"{key}{value}")
        for value in values(3, seed=round_number):
            keep(index, value)
            assert len(query(other, fp(value))) == 1
        assert cluster.owner(slot) is to


def test_claims_go_on_after_a_master_of_the_cluster_fails_over(cluster, opened):
    index = opened(f"{cluster.url}?name=fails")
    slot = key_slot(b"{fails}:meta")
    kept = values(20)
    for value in kept:
        keep(index, value)
    owner = cluster.owner(slot)
    with owner.client() as client:
        client.set("{fails}last", "")  # see above
        assert client.wait(1, 60_000) == 1
    cluster.fail_over(cluster.masters.index(owner))
    servers.wait_until(lambda: _answers(index), "it stays away")
    for value in kept:
        assert keep(index, value ^ 1, "other") == "duplicate"
    for value in values(20, seed=1):
        assert keep(index, value) == "unique"


def test_a_node_of_a_cluster_says_how_to_use_the_cluster(cluster, opened):
    owner = cluster.owner(key_slot(b"{node}:meta"))
    for node in cluster.masters:
        if node is not owner:
            with pytest.raises(StoreUnavailable, match=r"redis\+cluster://"):
                opened(f"{node.url}?name=node")
