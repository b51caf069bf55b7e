"""Runs tell pages of earlier ones from new ones."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from scrapy_simhash.index.values import Arrival, Change, Claim, Outcome, Run
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import (
    DUPLICATE,
    FAR,
    LEASE,
    ORIGINAL,
    REVISIT,
    at,
    by_scope,
    keys,
    page,
    values,
)

pytestmark = ON_SQLITE_AND_REDIS


def in_run(
    store, *pages: Arrival, finished: bool = True, **changed: Any
) -> tuple[Run, list[Claim]]:
    """Let the pages be seen in a new run, confirm them, and return the run with their claims."""
    index = store.open(**changed)
    run = index.begin_run()
    claims = index.claim_all(pages)
    index.confirm([one.key for one in pages])
    index.end_run(finished=finished)
    return run, claims


def told(claims: Iterable[Claim]) -> list[tuple[Outcome, Change | None, Any]]:
    """Return outcome, change, and key and distance of the entry of an earlier run."""
    return [(c.outcome, c.change, c.before and (c.before.key, c.before.distance)) for c in claims]


def test_runs_have_numbers_spiders_and_ends(shared_store):
    now = 1000.0
    index = at(shared_store.open(spider="one"), now)
    assert (index.runs(), list(index.missing(1))) == ([], [])
    run = index.begin_run()
    assert run == Run(1, "one", now)
    index.claim_all([page("a", 0), page("b", FAR)])
    assert index.runs() == [run._replace(pages=2, seen=2)]
    at(index, now + 5).end_run(finished=True)
    assert index.runs() == [
        Run(1, "one", now, now + 5, finished=True, pages=2, seen=2, counts=True)
    ]
    assert index.begin_run() == Run(2, "one", now + 5)


def test_a_later_run_tells_same_changed_moved_and_new_pages(shared_store):
    one, two, three = FAR, FAR << 9, FAR << 18
    in_run(shared_store, page("a", 0), page("b", one), page("c", two))
    run, claims = in_run(
        shared_store, page("a", 0), page("b", three), page("d", two ^ 1), page("e", FAR << 24)
    )
    assert told(claims) == [
        (ORIGINAL, "same", ("a", 0)),
        (ORIGINAL, "changed", ("b", (one ^ three).bit_count())),
        (ORIGINAL, "moved", ("c", 1)),
        (ORIGINAL, "new", None),
    ]
    assert [claim.before and claim.before.run for claim in claims[:3]] == [run.number - 1] * 3
    index = shared_store.open()
    assert sorted((e.key, e.run, e.provisional) for e in index) == [
        (key, run.number - (key == "c"), False) for key in "abcde"
    ]
    assert [run.pages for run in index.runs()] == [1, 4]


def test_a_page_has_moved_from_where_an_alias_was_before_it_has_from_what_it_repeats(shared_store):
    in_run(shared_store, page("repeated", 0), page("alias", FAR))
    _, claims = in_run(shared_store, page("new", 1, aliases=("alias",)))
    assert told(claims) == [(ORIGINAL, "moved", ("alias", 39))]


def test_a_revisit_is_the_same_if_an_earlier_run_delivered_its_text(shared_store):
    def same(facts: bytes, others: bytes, _: int) -> bool:
        return facts[:1] == others[:1]

    index = at(shared_store.open(same=same), 1000.0)
    index.begin_run()
    index.claim_all([page("a", 0, facts=b"a1"), page("old", FAR, facts=b"o")])
    index.confirm(["a", "old"])
    index.end_run(finished=True)
    index = at(shared_store.open(same=same), 1001.5)
    index.begin_run()
    some = [page("a", 0, facts=b"a2"), page("moved", FAR, facts=b"o")]
    for one in (*some, page("b", FAR << 9, facts=b"b")):
        index.claim(one)
        index.confirm([one.key])
        claim = index.claim(one)
        assert (claim.outcome, claim.unchanged) == (REVISIT, one in some)
    claim = index.claim(page("a", 0, facts=b"x"))
    assert (claim.outcome, claim.unchanged) == (REVISIT, False)


def test_a_page_that_is_the_same_may_differ_as_the_rule_allows(shared_store):
    given = []

    def same(*facts: object) -> bool:
        given.append(facts)
        return True

    in_run(shared_store, page("a", 0, facts=b"1"))
    _, claims = in_run(shared_store, page("a", 0b111, facts=b"2"), same=same)
    assert told(claims) == [(ORIGINAL, "same", ("a", 3))]
    assert given == [(b"2", b"1", 3)]
    _, claims = in_run(shared_store, page("a", FAR, facts=b"2"), same=same)
    assert told(claims) == [(ORIGINAL, "changed", ("a", 37))]
    within_reach = page("a", FAR ^ 0b11111, facts=b"2")
    _, claims = in_run(shared_store, within_reach, same=same, reach=6)
    assert told(claims) == [(ORIGINAL, "changed", ("a", 5))]


def test_the_entries_of_earlier_runs_that_were_not_seen_are_missing(shared_store):
    in_run(shared_store, page("other", FAR << 18), spider="other")
    in_run(shared_store, page("a", 0), page("b", FAR))
    run, _ = in_run(shared_store, page("a", 0), page("c", FAR << 9))
    index = shared_store.open()
    assert [(entry.key, entry.run) for entry in index.missing(run.number)] == [("b", 2)]
    assert [run.missing for run in index.runs()] == [0, 0, 1]
    assert list(index.missing(2)) == []
    assert index.gone(["b"]) == 1
    assert list(index.missing(run.number)) == []


def failing(store, *keys: str, seen: Iterable[Arrival] = ()) -> Run:
    """Let pages fail in a run, and return the run at its end."""
    index = store.open()
    number = index.begin_run().number
    index.claim_all([*seen])
    index.confirm([one.key for one in seen])
    index.release(keys)
    index.end_run(finished=True)
    return next(run for run in index.runs() if run.number == number)


def test_a_page_that_failed_is_not_missing_and_goes_on_from_where_it_was(shared_store):
    in_run(shared_store, page("a", 0), page("b", FAR), page("c", FAR << 9))
    run = failing(shared_store, "b", "unknown", seen=[page("a", 0)])
    assert (run.seen, run.failed, run.missing) == (1, 1, 1)
    index = shared_store.open()
    assert [entry.key for entry in index.failed(run.number)] == ["b"]
    assert [entry.key for entry in index.missing(run.number)] == ["c"]
    _, claims = in_run(shared_store, page("b", FAR), page("moved", FAR << 9))
    assert [claim.change for claim in claims] == ["same", "moved"]
    assert (list(index.failed(run.number)), index.runs()[1].failed) == ([], 1)


def test_a_page_that_came_after_all_has_not_failed(shared_store):
    in_run(shared_store, page("a", 0))
    index = shared_store.open()
    index.begin_run()
    index.release(["a"])
    (claim,) = index.claim_all([page("a", 0)])
    assert claim.change == "same"
    index.confirm(["a"])
    index.release(["a"])
    index.end_run(finished=True)
    assert (index.runs()[-1].seen, index.runs()[-1].failed) == (1, 0)


def test_a_page_that_was_the_same_and_failed_afterwards_is_what_an_earlier_run_left(shared_store):
    in_run(shared_store, page("a", 0))
    index = shared_store.open()
    run = index.begin_run()
    assert told([index.claim(page("a", 0))]) == [(ORIGINAL, "same", ("a", 0))]
    index.release(["a"])
    index.end_run(finished=True)
    assert [(e.key, e.provisional) for e in index.failed(run.number)] == [("a", False)]
    _, claims = in_run(shared_store, page("a", 0))
    assert told(claims) == [(ORIGINAL, "same", ("a", 0))]


def test_a_page_that_stayed_the_same_is_not_missing_where_another_repeats_it_first(shared_store):
    in_run(shared_store, page("a", 0), page("b", FAR))
    run, claims = in_run(shared_store, page("copy", 0), page("a", 0))
    assert [(claim.outcome, claim.change) for claim in claims] == [
        (ORIGINAL, "moved"),
        (DUPLICATE, None),
    ]
    index = shared_store.open()
    assert [entry.key for entry in index.missing(run.number)] == ["b"]


def test_a_run_counts_if_few_pages_failed_and_it_saw_what_the_last_good_one_saw(shared_store):
    numbers = values(30)
    pages = [page(f"{value}", value) for value in numbers]
    keys_of = [one.key for one in pages]
    in_run(shared_store, *pages)
    assert [
        failing(shared_store, *keys_of[:failed], seen=pages[seen:]).counts
        for failed, seen in ((3, 3), (4, 4), (0, 28), (0, 28), (0, 27))
    ] == [True, False, False, False, True]


def test_nights_that_do_not_count_let_no_page_expire(shared_store):
    pages = [page(f"{value}", value) for value in values(20)]
    in_run(shared_store, *pages)
    for _ in range(3):
        failing(shared_store, *(one.key for one in pages[1:]), seen=pages[:1])
    index = shared_store.open()
    assert index.expire(1, 100) == 0
    _, claims = in_run(shared_store, *pages)
    assert {claim.change for claim in claims} == {"same"}


def test_entries_of_old_runs_expire_a_few_at_a_time(shared_store):
    numbers = values(60)
    in_run(shared_store, *(page(f"{v}", v) for v in numbers))
    in_run(shared_store, *(page(f"{v}", v) for v in numbers[:20]), finished=False)
    in_run(shared_store, *(page(f"{v}", v) for v in numbers[:10]))
    index = shared_store.open()
    assert index.expire(2, 100) == 0
    in_run(shared_store, page("a", FAR))
    assert [index.expire(2, 15) for _ in range(5)] == [15, 15, 15, 5, 0]
    assert [(run.number, run.pages) for run in index.runs()] == [(3, 10), (4, 1)]
    assert sorted(keys(index)) == sorted([*(f"{v}" for v in numbers[:10]), "a"])
    assert shared_store.open(spider="other").expire(1, 100) == 0


def test_what_a_dead_crawler_left_in_progress_expires_after_a_day_in_any_run(shared_store):
    day, begun = 86_400, time.time()
    in_run(shared_store, page("same", 0))
    left = [at(shared_store.open(spider=spider), begun) for spider in ("", "other", "")]
    for index in left[:2]:
        index.begin_run()
    left[0].claim_all([page("same", 0), page("failed", FAR)])
    left[1].claim(page("of the other", FAR << 9))
    left[2].claim(page("in no run", FAR << 18))
    index = at(shared_store.open(), begun + day)
    index.claim(page("living", FAR << 24))
    assert index.expire(1, 10) == 0
    at(index, begun + day + 2 * LEASE).renew(["living"])
    assert index.expire(0, 10) == 4
    assert [(e.key, e.run, e.provisional) for e in by_scope(index)] == [
        ("same", 1, False),
        ("living", 0, True),
    ]
    assert index.expire(0, 10) == 0


def test_a_run_whose_crawlers_are_dead_is_joined_by_its_number_only(shared_store):
    one = at(shared_store.open(lease=60), 1000)
    one.begin_run()
    at(one, 1050).renew([])
    two = at(shared_store.open(lease=60), 1109)
    assert two.begin_run().number == 1
    two.end_run(finished=False)
    late = at(shared_store.open(lease=60), 1111)
    assert late.begin_run().number == 2
    again = at(shared_store.open(lease=60), 1111).begin_run(resumed=1)
    assert (again.number, again.ended) == (1, None)
    late.end_run(finished=True)
    assert shared_store.open().begin_run(resumed=2).number == 3
    assert shared_store.open(spider="other").begin_run(resumed=1).number == 4


def test_runs_of_two_spiders_beside_each_other_miss_their_own_pages(shared_store):
    in_run(shared_store, page("a", 0), page("b", FAR), spider="one")
    in_run(shared_store, page("x", FAR << 9), page("y", FAR << 18), spider="two")
    one, two = (shared_store.open(spider=spider) for spider in ("one", "two"))
    first, second = one.begin_run().number, two.begin_run().number
    asked = (one, page("a", 0)), (two, page("x", FAR << 9)), (two, page("copy", 1))
    claims = [index.claim(some) for index, some in (*asked, (one, page("z", FAR << 18 ^ 1)))]
    assert [(claim.outcome, claim.change) for claim in claims] == [
        *[(ORIGINAL, "same")] * 2,
        *[(DUPLICATE, None)] * 2,
    ]
    for index, key in ((one, "a"), (two, "x")):
        index.confirm([key])
        index.end_run(finished=True)
    assert [[e.key for e in one.missing(run)] for run in (first, second)] == [["b"], ["y"]]
    assert [run.finished for run in one.runs()] == [True] * 4


def test_clear_forgets_the_runs_but_not_their_numbers(shared_store):
    index = shared_store.open()
    in_run(shared_store, page("a"))
    index.clear()
    assert index.runs() == []
    assert index.begin_run().number > 1
