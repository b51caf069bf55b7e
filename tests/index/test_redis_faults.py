"""What the index in Redis does when Redis is away, refuses, forgets, moves, or is full of rubbish.

The servers are the tests' own: they are stopped, killed and filled.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import select
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.crc import key_slot

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import (
    Arrival,
    Index,
    Outcome,
    Page,
    StoreDamaged,
    StoreMismatch,
    StoreUnavailable,
    index_from_url,
)
from scrapy_simhash.index.redis_client import Client
from tests import servers

pytestmark = pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")
# Redis 6 has it in any case, and does not know the option.
DEBUG = "--enable-debug-command yes" if servers.MAJOR >= 7 else ""
PATIENCE = 1.5


def fp(value: int) -> Fingerprint:
    return Fingerprint(value, 64)


def values(count: int, seed: int = 0) -> list[int]:
    """Return fingerprints that are not near each other."""
    return [random.Random(seed * 10_000 + number).getrandbits(64) for number in range(count)]


@pytest.fixture
def opened() -> Iterator[Callable[..., Index]]:
    """Opens indexes, and closes them in the end."""
    with contextlib.ExitStack() as stack:

        def make(url: str, **changed: Any) -> Index:
            arguments = {"recipe": "test", "bits": 64, "distance": 3, "expected_pages": 1000}
            index = index_from_url(url, **{**arguments, **changed})
            stack.callback(index.close)
            return index

        yield make


@pytest.fixture(scope="module")
def server() -> Iterator[servers.RedisServer]:
    with servers.redis_server(DEBUG) as started:
        yield started


@pytest.fixture
def url(server, request) -> str:
    """The URL of an index for this test alone."""
    return f"{server.url}?name={abs(hash(request.node.name))}"


def keep(index: Index, value: int, key: str = "") -> Outcome:
    """Claim, and confirm what is kept."""
    key = key or str(value)
    outcome = index.claim(key, fp(value), request=key).outcome
    if outcome is Outcome.ORIGINAL:
        index.confirm([key])
    return outcome


def fails_soon(call: Callable[[], Any], match: str | None = None) -> None:
    """Check that a call says that the store is away before a crawl stalls."""
    start = time.monotonic()
    with pytest.raises(StoreUnavailable, match=match):
        call()
    assert time.monotonic() - start < PATIENCE


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
        lambda: index.foreign_lease(),
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


# Sentinel and Cluster.


def test_after_a_failover_that_lost_the_last_writes_the_index_goes_on(opened):
    with servers.sentinel() as own:
        index, other = opened(own.url), opened(own.url)
        kept, lost = values(20), values(20, seed=1)
        for value in kept:
            keep(index, value)
        (replica,) = (server for server in own.servers if server is not own.master)
        with own.master.client() as client:
            client.set("last", "")  # WAIT asks about what this connection wrote
            assert client.wait(1, 5000) == 1
        with replica.client() as client:
            # From now on it hears nothing of its master.
            client.replicaof("127.0.0.1", 1)
        for value in lost:
            keep(index, value)
        other.claim("in progress", fp(values(1, seed=2)[0]), request="r")
        own.fail_over()
        servers.wait_until(lambda: _answers(index) and _answers(other), "it stays away", 20)
        other.confirm(["in progress"])
        for value in kept:
            assert keep(index, value ^ 1, "other") is Outcome.DUPLICATE
        outcomes = [
            [keep(worker, value ^ bit, f"{value}{bit}") for bit, worker in ((1, index), (2, other))]
            for value in lost
        ]
        assert outcomes == [[Outcome.ORIGINAL, Outcome.DUPLICATE]] * len(lost)
        assert all(len(other.query(fp(value))) == 1 for value in (*kept, *lost))


def _answers(index: Index) -> bool:
    try:
        index.query(fp(0))
    except StoreUnavailable:
        return False
    return True


@pytest.mark.parametrize("before", [0, 20])
def test_a_worker_notices_that_another_cleared_the_index(server, opened, before):
    """Also if it had seen nothing, or the same pages came again."""
    url = f"{server.url}?name=cleared{before}"
    index, other = opened(url), opened(url)
    for value in values(before):
        keep(index, value)
    other.clear()
    for value in values(before):
        keep(other, value)
    for value in values(1200, seed=3):
        index.claim(str(value), fp(value))
    index.confirm([str(value) for value in values(1200, seed=3)])
    fresh = opened(url)
    assert all(fresh.query(fp(value)) for value in values(1200, seed=3)[::50])


@pytest.fixture(scope="module")
def cluster() -> Iterator[servers.Cluster]:
    with servers.cluster(replicas=1) as started:
        yield started


def test_claims_go_on_while_the_slot_of_the_log_migrates(cluster, opened):
    index, other = (opened(f"{cluster.url}?name=migrates") for _ in range(2))
    slot = key_slot(b"{migrates}:meta")
    done = 0
    for round_number in range(2):
        owner = cluster.owner(slot)
        to = next(node for node in cluster.masters if node is not owner)
        # In the second round a part of the log's keys is there already, and the rest is not.
        with cluster.migrating(slot, to, keys=round_number % 2):
            for value in values(3, seed=round_number):
                for worker, key in ((index, "one"), (other, "other")):
                    with contextlib.suppress(StoreUnavailable):
                        keep(worker, value ^ (key == "one"), f"{key}{value}")
                        done += 1
        assert round_number or done == 6
        for value in values(3, seed=round_number):
            keep(index, value)
            assert len(other.query(fp(value))) == 1
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
        assert client.wait(1, 5000) == 1
    cluster.fail_over(cluster.masters.index(owner))
    servers.wait_until(lambda: _answers(index), "it stays away", 20)
    for value in kept:
        assert keep(index, value ^ 1, "other") is Outcome.DUPLICATE
    for value in values(20, seed=1):
        assert keep(index, value) is Outcome.ORIGINAL


def test_a_node_of_a_cluster_says_how_to_use_the_cluster(cluster, opened):
    owner = cluster.owner(key_slot(b"{node}:meta"))
    for node in cluster.masters:
        if node is not owner:
            with pytest.raises(StoreUnavailable, match=r"redis\+cluster://"):
                opened(f"{node.url}?name=node")


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
        assert any(b":r:" in key for key in client.scan_iter())
        index.clear()
        assert set(client.scan_iter()) == new
        assert all(key.startswith(b"{simhash}:") for key in new)
        assert keep(index, values(1)[0]) is Outcome.ORIGINAL


# Rubbish.


class Victim:
    """An index with everything in it, which can be put back as it was."""

    def __init__(self, server: servers.RedisServer, url: str) -> None:
        self.client = server.client()
        self.url = url
        self.opened: list[Index] = []
        index = self.open()
        for value in values(70):
            keep(index, value)
        for number, value in enumerate(values(4, seed=1)):
            index.claim(f"a{number}", fp(value), request="r")
            index.claim(f"b{number}", fp(value), request="r")
        index.release(["a0"])
        name = url.partition("name=")[2]
        self.dumps = {key: self.client.dump(key) for key in self.client.scan_iter(f"*{name}*")}

    def open(self) -> Index:
        self.opened.append(
            index_from_url(
                self.url, recipe="test", bits=64, distance=3, expected_pages=1000, lease=1e5
            )
        )
        return self.opened[-1]

    def restore(self) -> None:
        for index in self.opened:
            with contextlib.suppress(StoreDamaged):
                index.close()
        self.opened.clear()
        self.client.delete(*self.dumps)
        for key, dump in self.dumps.items():
            self.client.restore(key, 0, dump, replace=True)

    def keys(self, part: str) -> list[bytes]:
        return sorted(key for key in self.dumps if part.encode() in key)

    def spoil(self, key: bytes, draw: Callable[[list[bytes]], bytes], rubbish: bytes) -> None:
        """Put rubbish into a key: instead of a value, or of a name."""
        kind = self.client.type(key)
        if kind == b"string":
            whole = self.client.get(key)
            self.client.set(key, draw([rubbish, whole + rubbish, rubbish + whole, whole[:-1]]))
        elif kind == b"hash":
            fields = sorted(self.client.hkeys(key))
            field = draw(fields)
            if draw([b"value", b"name"]) == b"value":
                whole = self.client.hget(key, field)
                worse = draw([rubbish, whole + rubbish, rubbish + whole, whole[:-1]])
                self.client.hset(key, field, worse)
            else:
                self.client.hset(key, rubbish, self.client.hget(key, field))
                if draw([b"both", b"one"]) == b"one":
                    self.client.hdel(key, field)
        else:
            self.client.zadd(key, {rubbish: 5})

    def use(self) -> None:
        """Do everything that may be done with an index; damage may be told of."""
        with contextlib.suppress(StoreDamaged, StoreMismatch):
            self.open()
        if not self.opened:
            return
        index = self.opened[0]
        now = time.time() + 1e6
        value, other = values(2, seed=1)
        calls: list[Callable[[], Any]] = [
            *(lambda v=v: keep(index, v ^ 1, f"near{v}") for v in (*values(70)[::23], value)),
            lambda: keep(index, values(1, seed=5)[0]),
            lambda: index.query(fp(other)),
            lambda: len(index),
            lambda: list(iter(index)),
            lambda: index.foreign_lease(),
            lambda: index.claim("mine", fp(values(1, seed=6)[0]), request="r"),
            lambda: index.renew(["mine"]),
            lambda: index.release(["mine"]),
            lambda: index.remove(str(values(1)[0])),
            lambda: index.orphans(now=now),
        ]
        for call in calls:
            # The header is read again when the log has changed.
            with contextlib.suppress(StoreDamaged, StoreMismatch):
                call()


@pytest.fixture(scope="module", params=["redis", "local"])
def victim(request, server) -> Iterator[Victim]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("scrapy_simhash.index.redis_header.SEGMENT", 64)
        made = Victim(server, f"{server.url}?buckets={request.param}&name=victim{request.param}")
        yield made
        made.client.close()


RUBBISH = (
    st.binary(max_size=40)
    | st.sampled_from([b"", b"0", b"-1", b"64", b"1e300", b"nan", b"inf", b"99999999999"])
    | st.text(max_size=10).map(str.encode)
)


@pytest.mark.parametrize(
    "part",
    ":meta :tail :leases :waiting :waiters :handed :dead :frozen :l: :r: :b:".split(),
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), rubbish=RUBBISH)
def test_rubbish_in_a_key_is_passed_over_or_told_as_damage(victim, part, data, rubbish):
    victim.restore()
    if not (keys := victim.keys(part)):
        return
    victim.spoil(
        data.draw(st.sampled_from(keys)), lambda of: data.draw(st.sampled_from(of)), rubbish
    )
    victim.use()


def test_a_damaged_index_can_be_cleared(victim):
    for part in (":meta", ":tail", ":leases", ":r:", ":l:"):
        victim.restore()
        index = victim.open()
        for key in victim.keys(part):
            kind = victim.client.type(key)
            if kind == b"string":
                victim.client.append(key, b"xyz")
            else:
                for field in victim.client.hkeys(key):
                    if field in (b"head", b"flushed") or part != ":meta":
                        victim.client.hset(key, field, b"\xff\xfe")
        index.clear()
        assert len(index) == 0
        assert keep(index, values(1)[0]) is Outcome.ORIGINAL
