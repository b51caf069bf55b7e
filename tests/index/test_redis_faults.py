"""What the index in Redis does when Redis is away, refuses or forgets.

The servers are the tests' own: they are stopped, killed and filled.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from scrapy_simhash.index import (
    Arrival,
    Index,
    Outcome,
    StoreDamaged,
    StoreUnavailable,
)
from scrapy_simhash.index.buckets import Neighbours
from scrapy_simhash.index.redis_client import Client
from tests import servers
from tests.index.redis_cases import fails_soon, fp, keep, values

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")


# Redis forgets.


def test_scripts_that_are_gone_are_sent_again(server, url, opened):
    index = opened(url)
    with server.client() as client:
        for number, value in enumerate(values(5)):
            client.script_flush()
            assert index.claim(str(number), fp(value)).outcome is Outcome.ORIGINAL
            client.script_flush()
            index.confirm([str(number)])
            client.script_flush()
            assert index.query(fp(value))[0].key == str(number)
            client.script_flush()
            index.orphans()


@pytest.mark.parametrize("buckets", ["redis", "local"])
def test_an_index_that_was_deleted_by_others_goes_on_empty(opened, monkeypatch, buckets):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    with servers.redis_server() as own:
        index, other = (opened(f"{own.url}?buckets={buckets}") for _ in range(2))
        for round_number, count in enumerate([3, 64, 100, 1]):
            for value in values(count):
                assert keep(index, value) is Outcome.ORIGINAL
                assert keep(other, value ^ 1, "other") is Outcome.DUPLICATE
            assert len(other) == count
            index.claim("in progress", fp(values(1, seed=99)[0]))
            with own.client() as client:
                client.flushall()
            if round_number % 2:
                index.confirm(["in progress"])
            else:
                assert index.release(["in progress"]) == []
            assert len(other) == 0
            assert other.query(fp(values(1)[0])) == []


def test_of_what_a_failover_lost_nothing_is_told_though_its_fingerprints_are_left(
    server, url, opened, monkeypatch
):
    """In a cluster they may be on another node than the log's end."""
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    index = opened(url)
    for value in values(40):
        keep(index, value)
    lost = b"".join(value.to_bytes(8, "big") for value in values(64, seed=1))
    with server.client() as client:
        (records,) = client.scan_iter(f"*{url.partition('name=')[2]}*:r:0")
        assert client.set(records.replace(b":r:", b":l:"), lost, get=True) is None
    assert [entry.key for entry in index] == [str(value) for value in values(40)]
    assert index.remove(str(values(40)[7])) == 1
    assert index.query(fp(values(40)[7])) == []


def test_fingerprints_that_were_deleted_are_not_taken_for_others(server, url, opened, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    index = opened(url)
    deleted, left = values(64), values(36, seed=1)
    # They end as a deleted one does, and the end is what its record is known by.
    left = [value >> 16 << 16 | deleted[0] & 0xFFFF for value in left]
    for value in (*deleted, *left):
        keep(index, value)
    with server.client() as client:
        assert client.delete(*client.scan_iter(f"*{url.partition('name=')[2]}*:l:0"))
    assert [entry.key for entry in index] == [str(value) for value in left]


def test_the_log_is_taken_into_ram_once_however_often_that_fails(url, opened, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
    monkeypatch.setattr("scrapy_simhash.index.redis_log._SEGMENTS", 2)
    index, beginner = (opened(url + "&buckets=local") for _ in range(2))
    for value in values(700):
        keep(index, value)
    read, extend, taken = Client.all, Neighbours.extend, []
    reads = itertools.count()

    def fails_often(client: Client, commands: Any) -> Any:
        if commands and commands[0][0] == "GET" and next(reads) % 3 == 1:
            raise StoreUnavailable("away")
        return read(client, commands)

    def taking(neighbours: Neighbours, positions: Any, *words: Any) -> None:
        taken.extend(positions.tolist())
        extend(neighbours, positions, *words)

    monkeypatch.setattr(Client, "all", fails_often)
    monkeypatch.setattr(Neighbours, "extend", taking)
    while len(taken) < 640:
        with contextlib.suppress(StoreUnavailable):
            beginner.query(fp(0))
    assert next(reads) > 5
    for value in values(700):
        assert [match.key for match in beginner.query(fp(value))] == [str(value)]
    assert taken == list(range(640))


def test_the_end_of_a_claim_in_a_lost_index_touches_no_page_of_the_new_one(opened):
    with servers.redis_server() as own:
        late, index = opened(own.url), opened(own.url)
        for key in "abc":
            late.claim(key, fp(values(3, seed=ord(key))[0]))
        with own.client() as client:
            client.flushall()
        for number, value in enumerate(values(3)):
            index.claim(f"new{number}", fp(value), request="r")
            index.claim(f"waits{number}", fp(value ^ 1), request="w")
        late.claim("d", fp(values(1, seed=9)[0]))
        late.confirm(["a"])
        late.release(["b"])
        late.renew(["c"], now=1e12)
        for value in values(3):
            assert index.claim("more", fp(value ^ 2)).outcome is Outcome.DUPLICATE
        found = {page.key for page in index.orphans(now=time.time() + 1e6)}
        assert found == {f"{what}{n}" for what in ("new", "waits") for n in range(3)}


# Redis dies.


def test_what_was_acknowledged_outlives_a_kill_with_an_append_only_file(opened):
    with servers.redis_server("--appendonly yes --appendfsync always") as own:
        index = opened(own.url)
        for value in values(20):
            keep(index, value)
        index.claim("provisional", fp(values(1, seed=1)[0]), request="r")
        own.kill()
        fails_soon(lambda: keep(index, values(1)[0]))
        own.start()
        for value in values(20):
            assert keep(index, value ^ 1, "other") is Outcome.DUPLICATE
        (match,) = index.query(fp(values(1, seed=1)[0]))
        assert match.provisional
        index.confirm(["provisional"])
        assert len(opened(own.url)) == 21


def test_without_persistence_the_index_goes_on_after_a_kill(opened):
    with servers.redis_server() as own:
        index, other = opened(own.url), opened(own.url)
        for value in values(20):
            keep(index, value)
        own.kill()
        for call in _calls(index):
            fails_soon(call)
        own.start()
        for value in values(20):
            assert keep(other, value ^ 1, "other") is Outcome.ORIGINAL
            assert keep(index, value) is Outcome.DUPLICATE
        own.kill()
        index.close()


def _calls(index: Index) -> list[Callable[[], Any]]:
    value = values(1)[0]
    return [
        lambda: index.claim("a", fp(value)),
        lambda: index.claim_all([Arrival("a", fp(value)), Arrival("b", fp(~value % 2**64))]),
        lambda: index.query(fp(value)),
        lambda: index.orphans(),
        lambda: index.last_lease(),
        lambda: index.remove("a"),
        lambda: index.clear(),
        lambda: len(index),
        lambda: list(iter(index)),
    ]


# Redis refuses.


@contextlib.contextmanager
def out_of_memory(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.config_set("maxmemory", 1)
        try:
            yield
        finally:
            client.config_set("maxmemory", 0)


@contextlib.contextmanager
def read_only(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.replicaof("127.0.0.1", 1)
        try:
            yield
        finally:
            client.replicaof("no", "one")


@contextlib.contextmanager
def password_wanted(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.config_set("requirepass", "new")
        client.client_kill_filter(_type="normal", skipme=True)
        try:
            yield
        finally:
            client.config_set("requirepass", "")


@contextlib.contextmanager
def paused(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.client_pause(1500)
        try:
            yield
        finally:
            client.ping()


@contextlib.contextmanager
def asleep(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        sleeper = threading.Thread(target=client.execute_command, args=("DEBUG SLEEP", 1.5))
        sleeper.start()
        time.sleep(0.05)
        try:
            yield
        finally:
            sleeper.join()


@contextlib.contextmanager
def frozen(server: servers.RedisServer) -> Iterator[None]:
    with server.frozen():
        yield


@contextlib.contextmanager
def connections_killed(server: servers.RedisServer) -> Iterator[None]:
    with server.client() as client:
        client.config_set("maxclients", 1)
        client.client_kill_filter(_type="normal", skipme=True)
        try:
            yield
        finally:
            client.config_set("maxclients", 1000)


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (out_of_memory, "maxmemory"),
        (read_only, "read only replica"),
        (password_wanted, "authenticat"),
        (paused, "Timeout"),
        (asleep, "Timeout"),
        (frozen, "Timeout"),
        (connections_killed, "max number of clients"),
    ],
)
def test_a_server_that_refuses_is_away_soon_and_the_same_index_works_afterwards(
    server, url, opened, fault, match
):
    index = opened(url)
    known, new = values(2)
    keep(index, known)
    with fault(server):
        fails_soon(lambda: keep(index, new), match)
    assert keep(index, new) in (Outcome.ORIGINAL, Outcome.REVISIT)
    index.confirm([str(new)])
    assert keep(index, new ^ 1, "other") is Outcome.DUPLICATE
    assert keep(index, known ^ 1, "other") is Outcome.DUPLICATE


@pytest.mark.skipif(servers.MAJOR < 7, reason="Redis 6 hardly answers while it loads")
def test_a_server_that_is_loading_is_away_soon(opened):
    slowly = ("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
    with servers.redis_server() as own:
        index = opened(own.url)
        keep(index, values(1)[0])
        with own.client() as client:
            client.mset({f"key{number}": random.randbytes(500) for number in range(60)})
            client.save()
        own.kill()
        starting = threading.Thread(target=own.start, args=slowly)
        starting.start()
        servers.wait_until(lambda: _is_loading(own), "it never loads")
        fails_soon(lambda: keep(index, values(2)[1]), "loading")
        starting.join()
        assert keep(index, values(1)[0] ^ 1, "other") is Outcome.DUPLICATE


def _is_loading(server: servers.RedisServer) -> bool:
    try:
        with server.client() as client:
            client.ping()
    except redis.BusyLoadingError:
        return True
    except redis.ConnectionError:
        pass
    return False


def test_a_wrong_password_is_told_without_the_password(opened, caplog):
    with servers.password_server() as own:
        wrong = f"redis://worker:hunter2@127.0.0.1:{own.port}/0"
        for address in (wrong, f"redis://127.0.0.1:{own.port}/0"):
            with pytest.raises(StoreUnavailable) as caught:
                opened(address)
            assert "hunter2" not in f"{caught.value}{caplog.text}"
            assert f"127.0.0.1:{own.port}" in str(caught.value)
        assert keep(opened(own.url), 5) is Outcome.ORIGINAL


class Proxy:
    """Passes bytes between clients and a server, until it holds them back."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.holds = self._is_closed = False
        self._thread = threading.Thread(target=self._pass)
        self._thread.start()

    def close(self) -> None:
        self._is_closed = True
        self._thread.join()

    def _pass(self) -> None:
        other: dict[socket.socket, socket.socket] = {}
        while not self._is_closed:
            if self.holds:
                time.sleep(0.01)
                continue
            for ready in select.select([self._listener, *other], [], [], 0.01)[0]:
                if ready is self._listener:
                    client = self._listener.accept()[0]
                    target = socket.create_connection(("127.0.0.1", self._target))
                    other |= {client: target, target: client}
                elif ready in other:
                    if data := ready.recv(1 << 16):
                        other[ready].sendall(data)
                    else:
                        for end in (other.pop(other[ready]), other.pop(ready)):
                            end.close()
        for end in (self._listener, *other):
            end.close()


def test_a_half_open_connection_is_given_up_soon_and_replaced(server, url, opened):
    with contextlib.closing(Proxy(server.port)) as proxy:
        index = opened(url.replace(f":{server.port}/", f":{proxy.port}/"))
        known, new = values(2)
        keep(index, known)
        proxy.holds = True
        fails_soon(lambda: keep(index, new), "Timeout")
        proxy.holds = False
        assert keep(index, new) in (Outcome.ORIGINAL, Outcome.REVISIT)
        assert keep(index, known ^ 1, "other") is Outcome.DUPLICATE
        index.close()


@pytest.mark.parametrize("part", ["meta", "tail", "leases"])
def test_another_programs_keys_are_not_taken_for_an_index(server, url, opened, part):
    name = url.partition("name=")[2]
    index = opened(url)
    with server.client() as client:
        client.delete(f"{{{name}}}:{part}")
        client.rpush(f"{{{name}}}:{part}", "theirs")
        with pytest.raises(StoreDamaged, match="another program"):
            index.claim("a", fp(1), request="r")
        # In a pipeline the error looks different.
        if part != "leases":
            with pytest.raises(StoreDamaged, match="another program"):
                len(index)
        if part == "meta":
            with pytest.raises(StoreDamaged, match="another program"):
                opened(url)
        client.delete(f"{{{name}}}:{part}")


def test_an_eviction_policy_that_deletes_parts_of_the_index_is_warned_of(opened, caplog):
    with servers.redis_server("--maxmemory 100mb --maxmemory-policy allkeys-lru") as own:
        opened(own.url)
        assert "noeviction" in caplog.text
        assert "allkeys-lru" in caplog.text
        caplog.clear()
        with own.client() as client:
            client.config_set("maxmemory-policy", "noeviction")
        opened(own.url)
        assert caplog.text == ""


def test_a_query_sees_what_others_admitted_since(url, opened):
    index, other = opened(url), opened(url)
    for value in values(10):
        keep(index, value)
        assert [match.key for match in other.query(fp(value))] == [str(value)]


@pytest.mark.parametrize("buckets", ["redis", "local"])
@pytest.mark.parametrize("segment", [64, 1024])
def test_pages_that_claim_together_are_all_compared_with_what_others_admitted(
    url, opened, monkeypatch, buckets, segment
):
    """One of them makes the worker follow the log, which the others then must not skip."""
    monkeypatch.setattr("scrapy_simhash.index.redis_header.SEGMENT", segment)
    url += f"{buckets}{segment}&buckets={buckets}"
    index, other = opened(url), opened(url)
    known, *new = values(100)
    keep(index, known)
    for value in new:
        keep(other, value)
    arrivals = [Arrival(f"near{value}", fp(value ^ 1), request="r") for value in (known, *new)]
    claims = index.claim_all(arrivals)
    assert [claim.outcome for claim in claims] == [Outcome.DUPLICATE] * 100
    assert [claim.matches[0].key for claim in claims] == [str(value) for value in (known, *new)]


@pytest.mark.parametrize("buckets", ["redis", "local"])
def test_a_page_is_compared_with_what_an_earlier_claim_was_told_of(url, opened, buckets):
    index, other = (opened(f"{url}{buckets}&buckets={buckets}") for _ in range(2))
    for value in values(20):
        keep(other, value)
    assert keep(index, values(1, seed=1)[0]) is Outcome.ORIGINAL
    assert all(keep(index, value ^ 1, f"near{value}") is Outcome.DUPLICATE for value in values(20))
