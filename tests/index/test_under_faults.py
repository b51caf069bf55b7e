"""No promise of the index is broken while its crawlers and its server are killed and stopped."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_simhash.index.values import Entry
from scrapy_simhash.testing.made import fp
from tests import servers
from tests.benchmarks.faults import LEASE, Note, check, violations


def test_no_promise_is_broken_by_kills_and_stops_of_crawlers_on_a_file(tmp_path: Any) -> None:
    events, _, broken = check(f"sqlite:///{tmp_path}/index.sqlite", 4.0, seed=1)
    assert events > 50
    assert not broken


@pytest.mark.skipif(servers.PROGRAM is None, reason="no redis-server on this machine")
@pytest.mark.parametrize("buckets", ["redis", "local"])
def test_no_promise_is_broken_by_faults_of_redis_and_its_crawlers(buckets: str) -> None:
    with servers.redis_server() as server:
        events, _, broken = check(f"{server.url}?buckets={buckets}", 4.0, 2, server)
    assert events > 50
    assert not broken


def original(key: str, asked: float, crawler: str = "c0") -> Note:
    return Note("claim", key, asked, asked + 0.1, crawler, "original")


def confirmed(key: str, asked: float) -> Note:
    return Note("confirm", key, asked, asked + 0.1, "c0")


A, B = original("7/a", 1.0), original("7/b", 1.2, "c1")


@pytest.mark.parametrize(
    ("notes", "stored", "broken"),
    [
        ([A, B], [], {"I1": 1}),
        ([A, original("7/b", 1 + LEASE)], [], {}),
        ([A, confirmed("7/a", 1.2), original("7/b", 50.0)], ["7/a"], {"I1": 1}),
        ([A, Note("release", "7/a", 1.15, 1.3, "c0"), B], [], {}),
        ([Note("claim", "7/b", 1.0, 1.1, "c1", "duplicate", "7/a")], [], {"I2": 1}),
        ([A, confirmed("7/a", 1.2)], [], {"I3": 1}),
        ([A], ["7/a", "7/b"], {"I3": 1}),
        ([A], ["7/a", "7/a"], {"I3": 1, "I5": 1}),
        (
            [Note("adopt", "7/a", 1.0, 1.1, "c0"), Note("adopt", "7/a", 1.2, 1.3, "c1")],
            [],
            {"I4": 1},
        ),
    ],
)
def test_the_check_finds_each_broken_promise(
    notes: list[Note], stored: list[str], broken: dict[str, int]
) -> None:
    assert violations(notes, {}, [Entry(key, fp(0)) for key in stored]) == broken
