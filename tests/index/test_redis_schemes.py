"""What the contract suite does not run over: TLS and a password."""

from __future__ import annotations

import contextlib
import socket
import time
from urllib.parse import quote

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Outcome, StoreError, StoreUnavailable, index_from_url
from scrapy_simhash.index.redis_address import parse_address


def opened(url):
    return contextlib.closing(index_from_url(url, recipe="test", bits=64, distance=3))


@pytest.mark.parametrize("server", ["tls", "password"])
def test_workers_share_an_index_by_each_scheme(redis_servers, server):
    url = getattr(redis_servers, server).url
    url += ("&" if "?" in url else "?") + redis_servers.new_name()
    with opened(url) as one, opened(url) as other:
        assert one.claim("a", Fingerprint(0, 64), request="A").outcome is Outcome.ORIGINAL
        assert other.claim("b", Fingerprint(1, 64), request="B").waiting
        one.confirm(["a"])
        assert [match.key for match in other.query(Fingerprint(1, 64))] == ["a"]
        assert other.orphans() == []
        one.clear()
        assert len(other) == 0


def test_a_wrong_password_is_told_without_the_password(redis_servers):
    url = redis_servers.password.url.replace("p%40ss", "guess%40ed")
    with pytest.raises(StoreError) as error, opened(url):
        pass
    assert "guess" not in str(error.value)


def test_a_server_with_an_unknown_certificate_is_refused(redis_servers):
    url = redis_servers.tls.url.split("?")[0]
    with pytest.raises(StoreError, match=r"(?i)certificate"), opened(url):
        pass


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("redis+clsuter://h", "sentinel or cluster"),
        ("unix+cluster:///r.sock", "sentinel or cluster"),
        ("redis://h?nme=a", "nme"),
        (
            "redis+sentinel://h/m?sentinel_ssl=perhaps&sentinel_socket_timeout=soon",
            "socket_timeout",
        ),
        ("redis+sentinel://h:1/s?socket_timeuot=1", "socket_timeuot"),
        ("redis+sentinel://h:1/s?sentinel_tiemout=1", "tiemout"),
        ("redis+cluster://h:1?socket_timeuot=1", "socket_timeuot"),
        ("reddis://:secret@h:1/0", "reddis:…"),
        ("user:secret@h:1", "user:…"),
        ("redis://:secret/more@h:1/0", "%2F"),
        ("redis://:secret#more@h:1/0", "%23"),
        ("redis://:secret?more@h:1/0", "%3F"),
        ("redis+sentinel://u:secret/more@h:1/s", "two slashes"),
        ("redis:/:secret@h:1/0", "two slashes"),
        ("redis://user:123?secret@h:1/0", "two slashes"),
        ("redis://user:p℀secret@h/0", "redis:…"),
    ],
)
def test_a_url_with_a_typo_is_refused_without_its_password(url, named):
    with pytest.raises(ValueError, match=named) as error, opened(url):
        pass
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "place", ["redis://h", "redis://h:1/0", "redis://[::1]", "redis+sentinel://h:1,k/service"]
)
@pytest.mark.parametrize("password", ["p@ss", "p?:ss"])
def test_a_password_may_be_an_option(place, password):
    found = parse_address(f"{place}?password={quote(password, safe='@')}").client
    assert found["password"] == password


def test_sentinels_that_do_not_answer_are_given_up_soon():
    with contextlib.ExitStack() as stack:
        hanging = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        places = ",".join(f"127.0.0.1:{each.getsockname()[1]}" for each in hanging)
        start = time.monotonic()
        with pytest.raises(StoreUnavailable), opened(f"redis+sentinel://{places}/service"):
            pass
    # With the client's own attempts it is half a minute.
    assert time.monotonic() - start < 5
