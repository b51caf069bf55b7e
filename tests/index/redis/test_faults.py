"""What the index in Redis does when Redis is away, refuses or forgets.

The servers are the tests' own: they are stopped, killed and filled.
"""

import contextlib
import re
import shlex
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index import open_existing
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.redis.location import parse_location
from scrapy_simhash.index.store import (
    StoreDamaged,
    StoreError,
    StoreMismatch,
    StoreRefused,
    StoreUnavailable,
)
from scrapy_simhash.index.values import Entry, Report
from tests import servers
from tests.index.promises.made import DUPLICATE, at, fp, keep, page, query, release, renew, values


def is_away(call: Callable[[], Any], match: str | None = None) -> None:
    """Check that a call says that the store is away."""
    with pytest.raises(StoreUnavailable, match=match):
        call()


def test_numbers_go_to_redis_as_text_because_ctrl_c_would_kill_hiredis(url, monkeypatch):
    client, sent = Client(parse_location(url)), []
    monkeypatch.setattr(client._redis, "execute_command", lambda *parts: sent.extend(parts))
    client.call("ZADD", "key", 1.5, b"member", 7)
    assert sent == ["ZADD", "key", "1.5", b"member", "7"]
    client.close()


def test_an_answer_that_is_read_late_does_not_put_the_clock_back(url, opened, monkeypatch):
    one, other = (opened(url, lease=1.0) for _ in range(2))
    call = Client.call

    def stopped(client: Client, *asked: Any) -> Any:
        answer = call(client, *asked)
        time.sleep(1.1)  # as if a signal had stopped the process
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Client, "call", stopped)
        one.claim(page("first", 2**40 - 1))
    one.claim(page("a"))
    assert other.claim(page("b", 1)).outcome == DUPLICATE


def test_scripts_that_are_gone_are_sent_again(client, url, opened):
    index = opened(url)
    for number, value in enumerate(values(5)):
        client.script_flush()
        assert index.claim(page(str(number), value)).outcome == "unique"
        client.script_flush()
        index.report(Report(delivered=[str(number)], renewed=[], entries=[1]))
        assert not any(entry.provisional for entry in index)
        client.script_flush()
        assert query(index, fp(value))[0].key == str(number)


def test_while_redis_is_dead_every_call_says_so_and_without_its_data_it_goes_on_empty(opened):
    with servers.redis_server() as own:
        index, other = opened(own.url), opened(own.url)
        known, new = values(2)
        keep(index, known)
        index.claim(page("in progress", new))
        own.kill()
        for call in (
            *(lambda: index.claim_all([page("a", known), page("b", new)]), lambda: [*index]),
            *(lambda: query(index, fp(known)), lambda: index.gone(["a"]), lambda: len(index)),
            *(index.counts, index.runs, index.clear),
        ):
            is_away(call)
        own.start()
        index.confirm(["in progress"])
        assert len(other) == 0
        assert keep(other, known) == "unique"
        assert keep(index, known ^ 1, "copy") == "duplicate"


def test_the_end_of_a_claim_in_a_lost_index_touches_no_page_of_the_new_one(opened):
    with servers.redis_server() as own:
        late, index = opened(own.url), opened(own.url)
        for key in "abc":
            late.claim(page(key, values(3, seed=ord(key))[0]))
        lost = [query(late, fp(values(3, seed=ord(key))[0]))[0].entry for key in "abc"]
        with own.client() as client:
            client.flushall()
        for number, value in enumerate(values(3)):
            index.claim(page(f"new{number}", value))
        late.claim(page("d", values(1, seed=9)[0]))
        late.confirm(["a"])
        release(late, "b")
        renew(at(late, 1e12), "c")
        assert late.fates(lost) == dict.fromkeys(lost, False)
        for value in values(3):
            assert index.claim(page("more", value ^ 2)).outcome == "duplicate"
        assert {entry.key for entry in index if entry.provisional} >= {"new0", "new1", "new2"}


KILL = "CLIENT KILL TYPE normal SKIPME yes"
# A command after which a server refuses, the one that undoes it, and what is said meanwhile.
FAULTS = {
    "out of memory": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "maxmemory"),
    "read only": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read only replica"),
    "password": ("CONFIG SET requirepass new", "CONFIG SET requirepass ''", "authenticat"),
    "connections": ("CONFIG SET maxclients 1", "CONFIG SET maxclients 99", "number of clients"),
    "frozen": ("", "", "no answer within 2 s; if it is that far, set socket_timeout in its URL"),
}


@contextlib.contextmanager
def refusing(server: servers.RedisServer, fault: str) -> Iterator[None]:
    begin, end, _ = FAULTS[fault]
    with server.client() as client, contextlib.nullcontext() if begin else server.frozen():
        try:
            for command in [begin, KILL] * bool(begin):
                client.execute_command(*shlex.split(command))
            yield
        finally:
            if end:
                client.execute_command(*shlex.split(end))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_refuses_is_away_and_then_back(server, url, opened, fault):
    index = opened(f"{url}&socket_timeout=2")
    known, new = values(2)
    keep(index, known)
    with refusing(server, fault):
        is_away(lambda: keep(index, new), FAULTS[fault][2])
    assert keep(index, new) in ("unique", "revisit")
    index.confirm([str(new)])
    assert keep(index, new ^ 1, "other") == "duplicate"
    assert keep(index, known ^ 1, "other") == "duplicate"


@contextlib.contextmanager
def answering(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the address of a program that is no Redis and answers what it is asked."""

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                while asked := self.request.recv(1 << 16):
                    self.request.sendall(answer(asked))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        serving.join()


def test_a_server_without_tls_that_waits_for_the_end_of_the_hello_is_refused():
    refused = pytest.raises(StoreRefused, match="without TLS")
    with answering(lambda asked: b"+PONG\r\n" * (b"PING" in asked)) as address, refused:
        open_existing(f"rediss://{address}/0?socket_timeout=1")


@pytest.mark.parametrize("is_made", [True, False])
@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad\r\n\r\n", b":1\r\n", b"*1\r\n$1\r\nx\r\n"])
def test_a_server_that_speaks_another_language_is_refused(opened, answer, is_made):
    """With one message, by crawls and by commands, which open what was made before."""
    refused = StoreRefused, StoreDamaged
    with answering(lambda _: answer) as address, pytest.raises(refused, match=address):
        (open_existing if is_made else opened)(f"redis://{address}/0")


def test_a_redis_that_is_taken_for_a_sentinel_is_refused(server, opened):
    with pytest.raises(StoreRefused, match="is a Redis and no sentinel: use redis://"):
        opened(f"redis+sentinel://127.0.0.1:{server.port}/mymaster/0")


@pytest.fixture
def restricted() -> Iterator[tuple[str, Callable[[str], Any]]]:
    """The URL of an index for a user, and a call that allows and denies commands to this user.

    The user may not ask the server for its version and settings.
    """
    with servers.redis_server() as own, own.client() as client:

        def allow(rules: str) -> None:
            client.execute_command("ACL SETUSER", "crawler", *rules.split())

        allow("on >hunter2 ~* +@all -info -config")
        yield f"redis://crawler:hunter2@127.0.0.1:{own.port}/0", allow


@pytest.mark.parametrize("command", ["hset", "append", "rpush", "evalsha", "hmget"])
def test_a_command_that_an_acl_denies_is_told_from_damage(opened, restricted, command):
    """Also inside a script."""
    url, allow = restricted
    index = opened(url)
    keep(index, 5)
    allow("-evalsha -eval" if command == "evalsha" else f"-{command}")
    with pytest.raises(StoreError, match="ACL denies a command, which ACL LOG") as caught:
        keep(index, values(1)[0])
    assert not isinstance(caught.value, StoreDamaged)
    assert not any(secret in str(caught.value) for secret in ("hunter2", "crawler"))


def test_the_rules_of_the_documentation_let_a_user_do_all(opened, restricted):
    """Keys of other indexes, which it may not read, are passed over."""
    url, allow = restricted
    for number, value in enumerate(values(3)):
        keep(opened(f"{url}?name=other"), value, f"{number}")
    page = Path(__file__).parents[3] / "docs/sharing.md"
    (rules,) = re.findall(r"`(~{shop:simhash.*)`", page.read_text("utf-8"))
    allow(f"reset on >hunter2 {rules}")
    index = opened(f"{url}?name=shop:simhash")
    index.begin_run()
    keep(index, values(1)[0])
    assert (index.check(), index.expire(1)) == ([], 0)
    index.clear()


@pytest.mark.parametrize("is_put", [False, True])
@pytest.mark.parametrize("denied", ["append", "rpush", "hset"])
def test_a_page_whose_claim_ended_midway_is_not_taken_for_the_next_one(
    opened, restricted, denied, is_put
):
    """What it, or a page that is put, wrote has the position that the next page gets in the log."""
    url, allow = restricted
    index = opened(url)
    allow(f"-{denied}")
    first, second = values(2)
    is_away(lambda: keep(index, first), "ACL denies")
    is_away(lambda: index.put([Entry("put", fp(first))]), "ACL denies")
    allow(f"+{denied}")
    if is_put:
        index.put([Entry("second", fp(second))])
    else:
        assert keep(index, second, "second") == "unique"
    assert keep(index, first ^ 1, "near the first") == "unique"
    assert {entry.key for entry in index if not entry.provisional} == {"second", "near the first"}
    assert (len(index), index.counts().provisional, index.check()) == (2, 0, [])


@pytest.mark.parametrize("part", ["meta", "leases"])
def test_another_programs_keys_are_not_taken_for_an_index(client, url, opened, part):
    key = f"{{{url.partition('name=')[2]}}}:{part}"
    index = opened(url)
    client.delete(key)
    client.rpush(key, "theirs")
    acts = [lambda: index.claim(page("a", 1)), lambda: len(index), lambda: opened(url)]
    for act in acts if part == "meta" else acts[:2]:
        with pytest.raises(StoreDamaged, match="another program"):
            act()
    client.delete(key)


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


@pytest.mark.parametrize(("version", "is_refused"), [("6.0.16", True), ("6.2.0", False)])
def test_a_redis_that_is_too_old_is_refused(url, opened, monkeypatch, version, is_refused):
    call = Client.call

    def old(self: Client, *command: Any) -> Any:
        return {"redis_version": version} if command[0] == "INFO" else call(self, *command)

    monkeypatch.setattr(Client, "call", old)
    refused = pytest.raises(StoreMismatch, match=rf"Redis {version}: the index needs 6\.2 or newer")
    with refused if is_refused else contextlib.nullcontext():
        opened(url)
