"""Scopes are spread over shards, and together the shards are one index."""

from itertools import product
from typing import Any

import pytest
from redis.crc import key_slot

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.redis_store import hash_tags
from scrapy_simhash.index.store import StoreMismatch
from scrapy_simhash.index.values import BUCKET_LIMIT, Arrival, Entry, Report
from tests.index.promises.made import BANDS, blocked, page, values
from tests.servers import SLOTS


@pytest.fixture
def turns(monkeypatch) -> list[int]:
    """The number of scripts of each turn in which some are sent."""
    turns, send = list[int](), Client.send

    def counted(client: Client, commands: Any) -> Any:
        if scripts := sum(command[0] == "EVALSHA" for command in commands):
            turns.append(scripts)
        return send(client, commands)

    monkeypatch.setattr(Client, "send", counted)
    return turns


@pytest.fixture
def shared(redis_servers):
    """The URL of an index on a cluster for this test alone."""
    return f"{redis_servers.cluster.url}?{redis_servers.new_name()}"


@pytest.mark.parametrize("count", [1, 3, 64, 1000])
def test_each_shard_has_an_equal_stretch_of_the_slots(count):
    tags = hash_tags("shop:simhash", count)
    stretches = [key_slot(tag.encode()) * count // SLOTS for tag in tags]
    assert sorted(stretches) == [*range(count)]
    assert tags[0] == "shop:simhash"


def test_only_pages_with_scopes_on_a_cluster_are_spread_by_default(shared, url, opened):
    for place, scoped, count in (
        (shared, False, 1),
        (f"{shared}a", True, 24),
        (url, True, 1),
        (f"{url}b&shards=5", False, 5),
    ):
        assert len(opened(place, scoped=scoped)._store._shards) == count


def test_the_number_of_shards_is_the_one_with_which_the_index_was_made(shared, opened):
    for number, value in enumerate(values(20)):
        opened(f"{shared}&shards=7").claim(page(f"{number}", value, scope=f"{number}"))
    assert len(opened(shared)) == len(opened(shared, scoped=True)) == 20
    there = open_existing(shared)
    assert len(there) == 20
    there.close()
    with pytest.raises(StoreMismatch, match="made with shard=0 of 7, not 0 of 8"):
        opened(f"{shared}&shards=8")


def test_a_shard_of_another_index_is_refused(shared, opened):
    opened(f"{shared}&shards=4")
    name = shared.partition("name=")[2]
    other = next(tag for tag in hash_tags(name, 4) if tag != name)
    with pytest.raises(StoreMismatch, match=r"shard=. of 4, not 0 of ."):
        opened(shared.replace(f"name={name}", f"name={other}"))


def test_a_report_goes_to_all_shards_in_three_pipelines(url, opened, turns):
    url = f"{url}&shards=5"
    index = opened(url, scoped=True)
    pages = [page(f"{n}", v, scope=f"{n}.example") for n, v in enumerate(values(20))]
    index.claim_all(pages)
    copies = opened(url, scoped=True).claim_all([p._replace(key=f"copy {p.key}") for p in pages])
    entries, keys = [claim.matches[0].entry for claim in copies], [p.key for p in pages]
    turns.clear()
    fates = index.report(Report(keys[:10], keys[10:15], keys[15:], entries))
    # Where are the pages that failed, may all this be written, and how did the entries fare?
    assert turns == [5, 5, 5]
    assert fates == {entry: n >= 10 for n, entry in enumerate(entries[:15])}


@pytest.mark.parametrize("are_near", [False, True])
def test_pages_that_are_not_near_each_other_claim_in_one_turn(url, opened, turns, are_near):
    """However many; the others wait for the answers of those before them."""
    index = opened(url)
    turns.clear()
    pages = [page(str(value), value) for value in values(50)]
    if are_near:
        pages[-1] = page("copy", values(1)[0] ^ 1)
    claims = index.claim_all(pages)
    assert [claim.outcome for claim in claims[:-1]] == ["unique"] * 49
    assert claims[-1].outcome == ("duplicate" if are_near else "unique")
    assert len(turns) == 1


def test_a_script_compares_a_bounded_number_of_entries(url, opened, turns):
    """Each bucket of these pages is full of entries that are far from them."""
    index = opened(url, bits=256, distance=48, blocks=BANDS)
    flooded = 1 << 20
    far = iter(values(BANDS * BUCKET_LIMIT + 20, bits=256))
    flood = []
    for full, n in product(range(BANDS), range(1, BUCKET_LIMIT + 1)):
        blocks = [flooded if block == full else n for block in range(BANDS)]
        flood.append(Entry(f"{full} {n}", blocked(next(far), blocks)))
    index.put(flood)
    turns.clear()
    claims = index.claim_all(
        [Arrival(f"{n}", blocked(next(far), [flooded] * BANDS)) for n in range(20)]
    )
    assert {claim.outcome for claim in claims} == {"unique"}
    assert len(turns) > 1
