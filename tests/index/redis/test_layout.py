"""How an index is laid out in Redis: leaves that are split, rows that are squeezed."""

from __future__ import annotations

import itertools
import os

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.redis import scan, scripts
from scrapy_simhash.index.redis.rows import Row, pack_row, read_row, read_rows, squeeze_rows
from scrapy_simhash.index.values import Arrival, Entry, Outcome
from scrapy_simhash.testing.made import fp, values
from tests import servers

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


@pytest.fixture
def small_leaves(monkeypatch):
    """Leaves of two entries on average, so that few pages split them often."""
    monkeypatch.setattr(scripts, "_LEAF_BYTES", 12)
    scripts.script.cache_clear()
    yield
    scripts.script.cache_clear()


@pytest.mark.usefixtures("small_leaves")
def test_crawlers_find_everything_while_leaves_are_split(server, url, opened):
    """There is one block, so that nothing else finds."""
    crawlers = [opened(url, bits=256, distance=48, blocks=1) for _ in range(2)]
    made = [Fingerprint(value, 256, os.urandom(4)) for value in values(2500, bits=256)]
    turns = itertools.cycle([0, 0, 0, 0, 1])
    for start in range(0, len(made), 4):
        some = [Arrival(f"{start + i}", own) for i, own in enumerate(made[start : start + 4])]
        crawler = crawlers[next(turns)]
        assert {claim.outcome for claim in crawler.claim_all(some)} == {Outcome.ORIGINAL}
        crawler.confirm([arrival.key for arrival in some])
    with server.client() as client:
        (buckets,) = client.scan_iter(f"*{url.partition('name=')[2]}*:buckets")
        assert client.hlen(buckets) > 700
    for crawler in crawlers:
        for i in range(0, len(made), 3):
            near = Fingerprint(made[i].value ^ 7, 256, made[i].blocks)
            assert [found.key for found in crawler.query(near)] == [f"{i}"]
    entries = list(crawlers[1].with_blocks())
    assert [entry.key for entry in entries] == [f"{i}" for i in range(len(made))]
    assert [e.fingerprint.blocks for e in entries] == [own.blocks for own in made]


def test_the_rows_of_confirmed_entries_take_fewer_bytes_in_the_end(url, opened):
    index = opened(url)
    kept = values(4200)
    for start in range(0, len(kept), 100):
        some = [Arrival(f"https://h.example/{v}", fp(v)) for v in kept[start : start + 100]]
        index.claim_all(some)
        index.confirm([arrival.key for arrival in some])
    assert [entry.key for entry in index] == [f"https://h.example/{v}" for v in kept]
    # A row has 7 bytes and its key, of 37; keys of random digits take half their bytes.
    assert index.census().sizes["rows"] / len(kept) < 40


def test_rows_can_be_appended_to_squeezed_ones():
    pages = [Arrival(f"k{i}", fp(i), "s" * (i % 2), os.urandom(i % 25)) for i in range(64)]
    rows = [pack_row(page, 1e9 + i) for i, page in enumerate(pages)]
    plain = b"".join((i << 24 | len(row)).to_bytes(4, "big") + row for i, row in enumerate(rows))
    half = plain[: plain.index(rows[40]) - 4]
    squeezed = squeeze_rows(half) + plain[len(half) :]
    assert read_rows(squeezed) == read_rows(plain) == dict(enumerate(rows))
    assert squeeze_rows(squeezed) == squeezed
    assert read_row(rows[5]) == Row("k5", "s", rows[5][7:12], 1e9 + 5)


@pytest.mark.usefixtures("small_leaves")
def test_an_entry_is_read_with_its_blocks_while_leaves_are_split(url, opened, monkeypatch):
    monkeypatch.setattr(scan, "_LEAVES", 16)
    index, other = (opened(url, bits=256, distance=48, blocks=1) for _ in range(2))
    made = [Fingerprint(value, 256, os.urandom(4)) for value in values(2500, bits=256)]
    add = (Entry(f"{i}", own) for i, own in enumerate(made))
    index.put(itertools.islice(add, 1500))
    read = scan.Scan._leaves

    def read_and_split(self):
        for number, found in enumerate(read(self)):
            if number == 100:
                other.put(add)
            yield found

    monkeypatch.setattr(scan.Scan, "_leaves", read_and_split)
    assert [e.fingerprint.blocks for e in index.with_blocks()] == [
        own.blocks for own in made[:1500]
    ]


@pytest.mark.parametrize("first", [5, (1 << 24) - 3, 1 << 24, 3 << 24])
def test_a_bucket_page_tells_positions_of_more_than_24_bits(first):
    """Also one that was flooded, and has only entries of the end of a long log."""
    positions = [first, first + 1, first + 7]
    content = b"".join(b"tag" + (at % (1 << 24)).to_bytes(3, "big") for at in positions)
    geometry = scripts.Geometry(256, 1, in_redis=True)
    for end in (first + 8, first + (1 << 16), first + (1 << 23)):
        places, _ = scan.Scan(None, "", geometry, print)._entries(256, content, end)
        assert places.tolist() == positions


def test_an_index_can_be_read_while_others_put_entries(url, opened, monkeypatch):
    index, other = opened(url), opened(url)
    rest = (Entry(f"{value}", fp(value)) for value in values(99))
    state = scan.Scan.state

    def put_and_tell(self, *names):
        other.put([next(rest)])
        return state(self, *names)

    monkeypatch.setattr(scan.Scan, "state", put_and_tell)
    assert [entry.key for entry in index][:1] == [f"{value}" for value in values(1)]
