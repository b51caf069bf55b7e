"""What the contract suite does not run over: TLS and a password."""

from __future__ import annotations

import contextlib
import time

import pytest

from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import Outcome, StoreError, StoreUnavailable, index_from_url


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
        ("reddis://:secret@h:1/0", "reddis://h:1/0"),
    ],
)
def test_a_url_with_a_typo_is_refused_without_its_password(url, named):
    with pytest.raises(ValueError, match=named) as error, opened(url):
        pass
    assert "secret" not in str(error.value)


def test_sentinels_that_do_not_answer_are_given_up_soon():
    url = "redis+sentinel://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/service"
    start = time.monotonic()
    with pytest.raises(StoreUnavailable), opened(url):
        pass
    # With the client's own attempts it is half a minute.
    assert time.monotonic() - start < 5
