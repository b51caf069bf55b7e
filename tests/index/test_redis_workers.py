"""The index in Redis and its workers: processes, threads, clocks and the options of its URL."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
import warnings
from typing import Any

import pytest

from scrapy_simhash.index import (
    Index,
    Outcome,
    Page,
    StoreMismatch,
)
from scrapy_simhash.index.redis_client import Client
from tests import servers
from tests.index.redis_cases import fp, keep, values

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


# Processes and threads.


def _in_child(index: Index, answers: Any) -> None:
    released = index.release(["parent's"])
    outcome = index.claim("child's", fp(2**40 - 1), request="r").outcome
    duplicate = index.claim("other", fp(1), request="r").outcome
    index.close()
    answers.put((released, outcome, duplicate))


def test_a_forked_child_is_another_worker(url, opened):
    index = opened(url)
    index.claim("parent's", fp(0), request="r")
    forked = multiprocessing.get_context("fork")
    answers = forked.Queue()
    with warnings.catch_warnings():
        # Threads of the servers' fixtures may be about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = forked.Process(target=_in_child, args=(index, answers))
        child.start()
    assert answers.get(timeout=20) == ([], Outcome.ORIGINAL, Outcome.DUPLICATE)
    child.join()
    assert index.release(["child's"]) == []
    # The child has closed its index, so its page is for others; the parent's is the parent's.
    assert [page.key for page in index.orphans()] == ["child's"]
    index.confirm(["parent's"])
    assert [match.provisional for match in index.query(fp(0))] == [False]


def test_threads_may_share_an_index(url, opened):
    index = opened(url)
    outcomes: list[Outcome] = []

    def crawl(bit: int) -> None:
        outcomes.extend(keep(index, value ^ bit, f"{value}{bit}") for value in values(100))

    threads = [threading.Thread(target=crawl, args=(bit,)) for bit in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(Outcome.ORIGINAL) == 100
    assert len(index) == 100


def test_the_clock_of_redis_counts_and_not_the_workers_own(url, opened, monkeypatch):
    right = opened(url, lease=60)
    right.claim("right", fp(0), request="RIGHT")
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "monotonic", lambda now=time.monotonic: now() + 3600)
        wrong.setattr(time, "time", lambda now=time.time: now() + 3600)
        ahead = opened(url, lease=0.5)
        ahead.claim("ahead", fp(2**40 - 1), request="AHEAD")
        assert ahead.orphans() == []
    servers.wait_until(
        lambda: right.orphans() == [Page("ahead", "AHEAD")], "the lease does not run out"
    )


# Options.


@pytest.mark.parametrize("buckets", ["redis", "local"])
def test_pages_not_seen_for_long_are_forgotten_and_their_keys_deleted(
    server, url, opened, monkeypatch, buckets
):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    now = [1e9]
    monkeypatch.setattr(Client, "time", lambda _: now[0])
    url += f"{buckets}&buckets={buckets}&expire=1000s"
    index = opened(url)
    old, new = values(64), values(64, seed=1)
    for value in old:
        keep(index, value)
    now[0] += 500
    assert keep(opened(url), old[0] ^ 1, "other") is Outcome.DUPLICATE
    now[0] += 900
    for value in new:
        assert keep(index, value) is Outcome.ORIGINAL
    for worker in (index, opened(url)):
        assert [match.key for match in worker.query(fp(old[0]))] == [str(old[0])]
        assert [worker.query(fp(value)) for value in old[1:]] == [[]] * 63
        assert len(worker) == len(list(worker)) == 65
    name = url.partition("name=")[2].partition("&")[0]
    with server.client() as client:
        keys = {key.rpartition(f"{name}:".encode())[2] for key in client.scan_iter(f"*{name}*")}
    assert not [key for key in keys if key.endswith((b"l:0", b"r:0"))]
    assert [key for key in keys if key.endswith((b"l:1", b"r:1"))]


def test_a_worker_forgets_what_has_expired(url, opened, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    now = [1e9]
    monkeypatch.setattr(Client, "time", lambda _: now[0])
    index = opened(url + "&buckets=local&expire=1000s")
    for batch in range(60):
        for value in values(64, seed=batch):
            assert keep(index, value) is Outcome.ORIGINAL
        now[0] += 500
    assert len(index) < 400
    assert len(index._log._frozen) < 2 * len(index) + 18 * 64
    assert keep(index, values(64, seed=59)[0] ^ 1, "copy") is Outcome.DUPLICATE


def test_segments_may_be_forgotten_while_a_worker_begins_to_follow(url, opened, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    now = [1e9]
    monkeypatch.setattr(Client, "time", lambda _: now[0])
    url += "&buckets=local&expire=1000s"
    index, beginner = opened(url), opened(url)
    for value in values(64):
        keep(index, value)
    now[0] += 2000
    new = values(64, seed=1)
    for value in new[:-1]:
        keep(index, value)
    read, told = Client.all, []

    def meanwhile(client: Client, commands: Any) -> Any:
        if commands and commands[0][0] == "GET" and commands[0][1].endswith(":l:0") and not told:
            told.append(commands)
            keep(index, new[-1])
        return read(client, commands)

    monkeypatch.setattr(Client, "all", meanwhile)
    assert keep(beginner, new[0] ^ 1, "other") is Outcome.DUPLICATE
    assert told
    assert len(beginner) == 64


def test_keys_may_be_kept_as_digests(url, opened):
    index = opened(url + "&keys=digest")
    assert keep(index, 5, "https://example.com/") is Outcome.ORIGINAL
    assert keep(index, 5, "https://example.com/") is Outcome.REVISIT
    assert keep(index, 4, "https://example.org/") is Outcome.DUPLICATE
    (match,) = index.query(fp(5))
    assert match.key.startswith("#")
    assert len(match.key) == 17
    with pytest.raises(StoreMismatch, match="keys=digest"):
        opened(url)
    assert index.remove("https://example.com/") == 1


def test_an_index_of_an_earlier_format_is_refused(url, opened):
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("scrapy_simhash.index.redis_header.FORMAT", 1)
        keep(opened(url), 5)
    with pytest.raises(StoreMismatch, match="has format 1"):
        opened(url)


def test_indexes_of_two_names_know_nothing_of_each_other(server, url, opened, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    index, other = opened(url), opened(url + "x")
    for value in values(100):
        assert keep(index, value) is Outcome.ORIGINAL
        assert keep(other, value) is Outcome.ORIGINAL
    other.clear()
    assert len(other) == 0
    assert len(index) == 100
    assert keep(other, values(1)[0] ^ 1) is Outcome.ORIGINAL
    assert all(keep(index, value ^ 1) is Outcome.DUPLICATE for value in values(100))


@pytest.mark.parametrize("where", ["redis", "local"])
def test_clear_leaves_no_key_but_those_of_a_new_index(opened, monkeypatch, where):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    with servers.redis_server() as own, own.client() as client:
        index = opened(f"{own.url}?buckets={where}")
        new = set(client.scan_iter())
        for value in values(200):
            keep(index, value)
        for number, value in enumerate(values(3, seed=1)):
            index.claim(f"a{number}", fp(value), request="r")
            index.claim(f"b{number}", fp(value), request="r")
        index.note_bodies({bytes([number] * 8): fp(number) for number in range(200)})
        assert any(b":r:" in key for key in client.scan_iter())
        assert any(b":d:" in key for key in client.scan_iter())
        index.clear()
        assert set(client.scan_iter()) == new
        assert all(key.startswith(b"{simhash}:") for key in new)
        assert keep(index, values(1)[0]) is Outcome.ORIGINAL


def test_bodies_are_kept_in_small_hashes_that_never_grow(server, url, opened, monkeypatch):
    """As one string each, for which a body costs little more than its bytes."""
    monkeypatch.setattr("scrapy_simhash.index.base.BODIES", 1200)
    one, other = opened(url), opened(url)
    source = random.Random(1)
    for number in range(200):
        for index in (one, other):
            index.note_bodies({source.randbytes(8): fp(number) for _ in range(20)})
    with server.client() as client:
        keys = list(client.scan_iter(f"*{url.partition('name=')[2]}*:d:*"))
        assert len(keys) == 10
        assert {client.object("encoding", key) for key in keys} <= {b"listpack", b"ziplist"}
        assert all(60 <= client.hlen(key) <= 120 for key in keys)
