"""No promise of the index is broken while its crawlers and its server are killed and stopped."""

import pytest

from benchmarks.faults import check
from benchmarks.promises import LEASE, SURE, Disturbed, Note, violations
from scrapy_simhash.index.values import Entry
from tests import servers
from tests.index.promises.made import fp


def test_no_promise_is_broken_by_kills_stops_and_jumps_of_the_clock_on_a_file(tmp_path):
    events, _, broken = check(f"sqlite:///{tmp_path}/index.sqlite", 4.0, seed=1, jumps=True)
    assert events > 50
    assert not broken


def test_no_promise_is_broken_by_faults_of_redis_and_its_crawlers():
    with servers.redis_server() as server:
        events, _, broken = check(server.url, 4.0, 2, server)
    assert events > 50
    assert not broken


def test_no_promise_is_broken_by_failovers_that_lose_writes():
    with servers.sentinel() as group:
        events, faults, broken = check(group.url, 4.0, 3, group=group)
    assert events > 50
    assert faults["failover"]
    assert not broken


def note(act: str, key: str, asked: float, crawler: str = "c0", text: int = 0, *told: str) -> Note:
    return Note(act, key, asked, asked + 0.1, crawler, text, *told)


def claimed(key: str, asked: float, crawler: str = "c0", text: int = 7, *told: str) -> Note:
    return note("claim", key, asked, crawler, text, *(told or ("unique",)))


A, B = claimed("a", 1.0), claimed("b", 1.2, "c1")
LATE = claimed("b", 1.2 + SURE, "c1")
MOVED = claimed("a", 1.3, "c0", 8, "superseded")


@pytest.mark.parametrize(
    ("notes", "stored", "broken"),
    [
        ([A, B], [], {"I1": 1}),
        ([A, claimed("b", 1 + LEASE)], [], {}),
        ([A, note("renew", "a", 2.1), LATE], [], {"I1": 1}),
        ([A, note("renew", "a", 2.5), LATE], [], {}),
        ([A, note("confirm", "a", 1.2), claimed("b", 50.0)], ["a"], {"I1": 1}),
        ([A, note("release", "a", 1.15), B], [], {}),
        ([A, note("release", "a", 1.05, "c0", 0, "unknown"), B], [], {}),
        ([A, claimed("a", 1.15, "c0", 8, "unknown"), B], [], {}),
        ([claimed("b", 1.0, "c1", 7, "duplicate", "a")], [], {"I2": 1}),
        ([claimed("a", 1.0, "c0", 8), claimed("b", 1.3, "c1", 7, "duplicate", "a")], [], {"I2": 1}),
        ([A, note("confirm", "a", 1.2)], [], {"I3": 1}),
        ([A, B._replace(outcome="duplicate", other="a")], ["a", "b"], {"I3": 1}),
        ([A], ["a", "a"], {"I3": 1, "I4": 1}),
        ([A, MOVED, claimed("b", 1.5, "c1", 8)], [], {"I1": 1}),
        ([A, MOVED, claimed("b", 1.5, "c1", 7)], [], {}),
        ([A, MOVED, claimed("b", 1.5, "c1", 7, "duplicate", "a")], [], {"I4": 1}),
    ],
)
def test_the_check_finds_each_broken_promise(notes, stored, broken):
    assert violations(notes, Disturbed(), [Entry(key, fp(0)) for key in stored]) == broken


def test_the_check_excuses_what_was_lost_or_ran_out():
    for disturbed in (Disturbed(losses=[(0.9, 1.15)]), Disturbed(jumps=[1.15])):
        assert violations([A, B], disturbed, []) == {}
    for disturbed in (Disturbed(losses=[(0.5, 0.9)]), Disturbed(jumps=[0.9])):
        assert violations([A, B], disturbed, []) == {"I1": 1}
