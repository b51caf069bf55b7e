"""How an index is laid out in Redis: leaves that are split, rows that are squeezed."""

from __future__ import annotations

import itertools
import os
from random import Random

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.neighbours import GATHER
from scrapy_simhash.index.redis import scan, scripts
from scrapy_simhash.index.redis.rows import pack_row, read_row, read_rows, squeeze_rows
from scrapy_simhash.index.values import Arrival, Entry, Outcome
from scrapy_simhash.testing.made import fp, page, values
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


def test_squeezed_rows_are_read_as_they_were():
    pages = [Arrival(f"k{i}", fp(i), "s" * (i % 2), os.urandom(i % 25)) for i in range(64)]
    rows = {i: pack_row(page, 1e9 + i) for i, page in enumerate(pages)}
    assert read_rows(squeeze_rows(rows)) == rows
    assert read_row(rows[5]) == ("k5", "s", rows[5][7:12], 1e9 + 5)
    with pytest.raises(ValueError, match="cut off"):
        read_rows(squeeze_rows(rows)[:-9])


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


def test_leaves_whose_entries_change_their_form_lose_none(url, opened, monkeypatch):
    """The last leaves of row 15 are split, two in each call."""
    for module in (scripts, scan):
        monkeypatch.setattr(module, "LEAST_LEAVES", (1 << 16) - 50)
    monkeypatch.setattr(scripts, "_LEAF_BYTES", 0)
    scripts.script.cache_clear()
    index = opened(url, bits=256, distance=48, blocks=1)
    random, made = Random(5), list[Fingerprint]()
    for value in values(300, bits=256):
        spread = (1 << 32) - 1 - random.randrange(100 << 16)
        block = spread * int(GATHER) % (1 << 32)
        made.append(Fingerprint(value, 256, block.to_bytes(4, "little")))
    for start in range(0, len(made), 5):
        some = [Arrival(f"{start + n}", own) for n, own in enumerate(made[start : start + 5])]
        assert {claim.outcome for claim in index.claim_all(some)} == {Outcome.ORIGINAL}
        for number in range(0, start, 17) if start in (100, 295) else ():
            near = Fingerprint(made[number].value ^ 7, 256, made[number].blocks)
            assert [found.key for found in index.query(near)] == [f"{number}"]
    assert [entry.fingerprint for entry in index.with_blocks()] == made
    scripts.script.cache_clear()


# Segments of the log have 63 entries here.
@pytest.mark.parametrize("end", [63 * (n // 63) for n in (1 << 24, 1 << 27, (1 << 32) - 10_000)])
def test_a_log_may_be_as_long_as_32_bits_tell(server, url, opened, end):
    index = opened(url, bits=256, distance=48)
    with server.client() as client:
        name = url.partition("name=")[2]
        client.hset(f"{{{name}}}:meta", mapping={"end": end, "leaves": end // 40})
        part, place = divmod(end - 1, scripts.SEEN)
        client.setrange(f"{{{name}}}:seen:{part}", 3 * place, b"\0" * 3)
    run = index.begin_run()
    made = [fp(value, 256, text=n) for n, value in enumerate(values(90, bits=256))]
    for start in range(0, 90, 6):
        pages = [Arrival(f"{start + n}", own) for n, own in enumerate(made[start : start + 6])]
        assert {claim.outcome for claim in index.claim_all(pages)} == {Outcome.ORIGINAL}
    index.confirm([f"{n}" for n in range(80)])
    for n, own in enumerate(made):
        (match,) = index.query(Fingerprint(own.value ^ 3, 256, own.blocks))
        assert (match.key, match.entry >> 24, match.run) == (f"{n}", end + n, run.number)
        assert match.provisional == (n >= 80)
    assert [entry.key for entry in index.entries_of(["7", "89"])] == ["7", "89"]
    assert index.runs()[0].pages == 90


def test_the_runs_of_entries_stand_in_several_strings(server, url, opened, monkeypatch):
    for module in (scripts, scan):
        monkeypatch.setattr(module, "SEEN", 10)
    scripts.script.cache_clear()
    index = opened(url)
    for number in (1, 2):
        index.begin_run()
        index.claim_all([page(f"{v}", v) for v in values(23 * number)[-23:]])
        index.confirm([f"{v}" for v in values(46)])
        index.end_run(finished=True)
    assert [entry.run for entry in index] == [1] * 23 + [2] * 23
    assert len(index.check()) == 0
    assert index.expire(1, 100) == 23
    assert [(run.number, run.pages) for run in index.runs()] == [(2, 23)]
    index.clear()
    with server.client() as client:
        assert not list(client.scan_iter(f"*{url.partition('name=')[2]}*:seen*"))
    scripts.script.cache_clear()


def test_an_index_can_be_read_while_others_put_entries(url, opened, monkeypatch):
    index, other = opened(url), opened(url)
    rest = (Entry(f"{value}", fp(value)) for value in values(99))
    state = scan.Scan.state

    def put_and_tell(self, *names):
        other.put([next(rest)])
        return state(self, *names)

    monkeypatch.setattr(scan.Scan, "state", put_and_tell)
    assert [entry.key for entry in index][:1] == [f"{value}" for value in values(1)]


def test_all_entries_are_read_with_one_look_at_each_leaf(url, opened, monkeypatch):
    """So the time of an export grows with the index, not with its square."""
    monkeypatch.setattr(scan, "_STEP", 64)
    index, made = opened(url), values(300)
    index.put(Entry(f"{n}", fp(value)) for n, value in enumerate(made))
    looks, read = [], scan.Scan._leaves
    monkeypatch.setattr(scan.Scan, "_leaves", lambda own: looks.append(1) or read(own))
    assert [e.fingerprint for e in index.with_blocks()] == [fp(value) for value in made]
    assert len(looks) == 1
