"""What was lost in Redis: single entries are passed over, and what is gone as a whole is told."""

import itertools

import pytest

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.store import StoreDamaged, StoreMissing
from scrapy_simhash.index.values import KEY_LIMIT, Entry
from tests.commands.running import simhash
from tests.index.promises.made import fp, keep, page, query, release, values


def test_entries_that_were_evicted_are_gone(client, url, opened):
    index = opened(url)
    kept, own = values(2)
    keep(index, kept)
    index.claim(page("b", own))
    entry = query(index, fp(own))[0].entry
    client.delete(*client.keys("*:0"))
    assert index.fates([entry]) == {entry: False}
    assert len(index.check()) == 1
    assert keep(index, kept ^ 1) == keep(index, own ^ 1) == "unique"
    assert keep(index, kept) == keep(index, own) == "duplicate"
    assert {match.key for match in query(index, fp(kept))} == {str(kept ^ 1)}


def test_an_index_is_missing_beside_one_whose_name_is_no_text(client, url):
    client.set(b"{\xff}:meta", "")
    with pytest.raises(StoreMissing, match="there is no index"):
        open_existing(url)


@pytest.mark.parametrize("part", ["meta", "leases"])
def test_a_key_that_was_evicted_is_damage(client, url, opened, part):
    index = opened(url)
    kept, own, released = values(3)
    keep(index, kept)
    index.claim_all([page("b", own), page("c", released)])
    entry = query(index, fp(own))[0].entry
    release(index, "c")
    client.delete(*client.keys(f"*:{part}"))
    for act in (
        lambda: index.claim(page("d", 1)),
        lambda: index.confirm(["b"]),
        lambda: index.check(),
        lambda: [*index],
        lambda: index.fates([entry]),
    )[: 4 if part == "meta" else 5]:
        with pytest.raises(StoreDamaged, match=r"a part is gone.*noeviction"):
            act()


def test_a_page_that_failed_after_positions_have_jumped_is_gone(client, url, opened):
    """Redis goes back to a snapshot; a crawler that knows more packs a group that has holes."""
    first, second = opened(url), opened(url)
    first.claim(page("failed"))
    ((entry, *_),) = query(first, fp(0))
    snapshot = {key: client.dump(key) for key in client.scan_iter()}
    for value in values(12):
        keep(second, value)
    client.delete(*client.keys())
    for key, content in snapshot.items():
        client.restore(key, 0, content)
    keep(second, values(13)[-1])
    (meta,) = client.keys("*:meta")
    assert int(client.hget(meta, "last")) == 1 + 13
    release(first, "failed")
    assert second.fates([entry]) == {entry: False}
    assert second.check() == []


def test_a_check_tells_what_is_not_as_it_was_written(client, url, opened):
    index = opened(url)
    index.claim_all([page(f"{value}", value) for value in (0, *values(39))])
    index.confirm(f"{value}" for value in (0, *values(39)))
    assert index.check() == []
    (meta,) = client.keys("*:meta")
    client.hincrby(meta, "0:pages", 2)
    assert index.check() == [
        "it counts 42 of run 0, 0 in progress, and has 40 of run 0, 0 in progress"
    ]
    client.hincrby(meta, "0:pages", -2)
    block = next(key for key in client.keys("*;*") if key.partition(b";")[2][0] < 4)
    count = len(client.getdel(block)) // 6
    assert index.check() == [f"{count} block values stand in no bucket: buckets are full, or gone"]


def test_leaves_that_split_lose_no_value(client, url, opened):
    index, crawled = opened(url), values(200)
    for value in crawled[:100]:
        keep(index, value)
    (meta,) = client.keys("*:meta")
    client.hset(meta, mapping={"last": 8192 * 256 * 2})
    for value in crawled[100:]:
        keep(index, value)
    while int(client.hget(meta, "leaves")) < 2 * 8192 + 8:
        index.put([Entry("more", fp(1))])
        index.gone(["more"])
    for value in crawled:
        assert keep(index, value ^ 1, "copy") == "duplicate"
    leaves = [client.get(key) for key in client.keys("*;\0*")]
    entries = [leaf[i : i + 6] for leaf in leaves for i in range(0, len(leaf), 6)]
    assert len({*entries}) == len(entries)  # what moved is gone where it was
    (row, *_) = index._store.scan(blocks=True)
    assert row[1].content[8:] == fp(crawled[0]).blocks
    index.clear()
    assert len(client.keys()) == 3  # of which one has the runs


def test_a_flooded_leaf_keeps_the_newest_entries_of_each_bucket(client, url, opened):
    """Three slices of a fingerprint are a number, and the last one is the flooded block."""
    index, three, count = opened(url), 1 << 16 | 1 << 32 | 1 << 48, 2 * KEY_LIMIT + 50
    early = 7777 * three + 8192  # in the leaf of 0
    index.put([Entry("early", fp(early))])
    index.put(Entry(f"{n}", fp(n * three)) for n in range(1, count + 1))
    assert max(client.strlen(leaf) for leaf in client.keys("*;*")) < 6 * 2 * KEY_LIMIT
    # These share the flooded block alone with an entry.
    near = [value ^ three << 15 for value in (early, (count - 60) * three, count * three)]
    assert [keep(index, value) for value in near] == ["duplicate"] * 3


def test_clear_leaves_nothing_though_others_write_meanwhile(client, url, opened, monkeypatch):
    index, other = opened(url), opened(url)
    talker, pages = index._store._client, values(100)
    call = talker.call
    for value in pages[:40]:
        keep(index, value)

    def called(*command):
        if command[:2] == ("UNLINK", index._store._shards[0].meta):
            for value in pages[40:]:
                keep(other, value)
        return call(*command)

    monkeypatch.setattr(talker, "call", called)
    assert len(client.keys()) > 3
    index.clear()
    # The last one has the runs.
    assert {key.rpartition(b":")[2] for key in client.keys("*")} == {b"meta", b"leases", b"index"}
    assert len(other) == 0
    assert keep(other, pages[0]) == "unique"


def test_clear_deletes_what_an_interrupted_clear_has_left(client, url, opened, monkeypatch):
    """Whoever reads the index meanwhile takes no entry without a lease for a confirmed one."""
    index = opened(url)
    index.put(Entry(str(value), fp(value)) for value in values(1100))
    entries = iter(opened(url))
    next(entries)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(index._store._client, "scan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.clear()
    assert len([*entries]) == 1022
    assert len(opened(url)) == 0
    assert len(client.keys()) > 4
    simhash("forget", "--all", "--yes", "--index", url)
    assert len(client.keys()) == 3  # of which one has the runs


@pytest.mark.parametrize("read", [0, 1])
def test_an_index_that_is_cleared_while_it_is_read_is_not_mixed_with_the_next(url, opened, read):
    index, other = opened(url), opened(url)
    index.put(Entry(str(value), fp(value)) for value in values(1100))
    index.clear()
    pages = {str(value): fp(value) for value in values(1200, seed=1)}
    other.put(Entry(key, pages[key]) for key in pages)
    entries = index.entries(blocks=True)
    some = [*itertools.islice(entries, read)]
    if read:
        other.clear()
        other.put(Entry(str(value), fp(value)) for value in values(1200, seed=2))
    some += entries
    assert len(some) == (1023 if read else 1200)
    assert all(entry.fingerprint.blocks == pages[entry.key].blocks for entry in some)
