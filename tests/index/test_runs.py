"""Runs tell pages of earlier ones from new ones."""

from collections.abc import Iterable
from typing import Any

from scrapy_simhash.index.values import Arrival, Change, Claim, Outcome, Run
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import FAR, ORIGINAL, REVISIT, at, page, release, renew, values

pytestmark = ON_SQLITE_AND_REDIS


def in_run(store, *pages: Arrival, finished: bool = True, **changed: Any) -> list[Claim]:
    """Let the pages be seen in a new run, confirm them, and return their claims."""
    index = store.open(**changed)
    index.begin_run()
    claims = index.claim_all(pages)
    index.confirm([one.key for one in pages])
    index.end_run(finished=finished)
    return list(claims)


def told(claims: Iterable[Claim]) -> list[tuple[Outcome, Change | None, Any]]:
    """Return outcome, change, and key and distance of the entry of an earlier run."""
    return [(c.outcome, c.change, c.before and (c.before.key, c.before.distance)) for c in claims]


def test_a_revisit_is_the_same_if_an_earlier_run_delivered_its_text(store):
    def same(facts: bytes, others: bytes, _: int) -> bool:
        return facts[:1] == others[:1]

    index = at(store.open(same=same), 1000.0)
    index.begin_run()
    index.claim_all([page("a", 0, facts=b"a1"), page("old", FAR, facts=b"o")])
    index.confirm(["a", "old"])
    index.end_run(finished=True)
    index = at(store.open(same=same), 1001.5)
    index.begin_run()
    some = [page("a", 0, facts=b"a2"), page("moved", FAR, facts=b"o")]
    for one in (*some, page("b", FAR << 9, facts=b"b")):
        index.claim(one)
        index.confirm([one.key])
        claim = index.claim(one)
        assert (claim.outcome, claim.unchanged) == (REVISIT, one in some)
    claim = index.claim(page("a", 0, facts=b"x"))
    assert (claim.outcome, claim.unchanged) == (REVISIT, False)


def test_a_page_that_is_the_same_may_differ_as_the_rule_allows(store):
    given = []

    def same(*facts: object) -> bool:
        given.append(facts)
        return True

    in_run(store, page("a", 0, facts=b"1"))
    claims = in_run(store, page("a", 0b111, facts=b"2"), same=same)
    assert told(claims) == [(ORIGINAL, "same", ("a", 3))]
    assert given == [(b"2", b"1", 3)]
    claims = in_run(store, page("a", FAR, facts=b"2"), same=same)
    assert told(claims) == [(ORIGINAL, "changed", ("a", 37))]
    within_reach = page("a", FAR ^ 0b11111, facts=b"2")
    claims = in_run(store, within_reach, same=same, reach=6)
    assert told(claims) == [(ORIGINAL, "changed", ("a", 5))]


def failing(store, *keys: str, seen: Iterable[Arrival] = ()) -> Run:
    """Let pages fail in a run, and return the run at its end."""
    index = store.open()
    number = index.begin_run().number
    index.claim_all([*seen])
    index.confirm([one.key for one in seen])
    release(index, *keys)
    index.end_run(finished=True)
    return next(run for run in index.runs() if run.number == number)


def test_a_run_counts_if_few_pages_failed_and_it_saw_what_the_last_good_one_saw(store):
    numbers = values(30)
    pages = [page(f"{value}", value) for value in numbers]
    keys_of = [one.key for one in pages]
    in_run(store, *pages)
    assert [
        failing(store, *keys_of[:failed], seen=pages[seen:]).counts
        for failed, seen in ((3, 3), (4, 4), (0, 28), (0, 28), (0, 27))
    ] == [True, False, False, False, True]


def test_a_run_whose_crawlers_are_dead_is_joined_by_its_number_only(store):
    one = at(store.open(lease=60), 1000)
    one.begin_run()
    renew(at(one, 1050))
    two = at(store.open(lease=60), 1109)
    assert two.begin_run().number == 1
    two.end_run(finished=False)
    late = at(store.open(lease=60), 1111)
    assert late.begin_run().number == 2
    again = at(store.open(lease=60), 1111).begin_run(resumed=1)
    assert (again.number, again.ended) == (1, None)
    late.end_run(finished=True)
    assert store.open().begin_run(resumed=2).number == 3
    assert store.open(spider="other").begin_run(resumed=1).number == 4


def test_a_run_after_the_list_of_runs_was_lost_has_a_new_number(store):
    in_run(store, page("a", 0))
    index = store.open()
    [(name, cell)] = index.cells("index:runs").items()
    assert index.swap(name, cell, None)
    assert index.begin_run().number == 2


def test_two_crawlers_that_change_the_runs_at_once_both_do(store):
    one, two = store.open(), store.open()
    lives = one._run_list._lives
    begun = []

    def begun_by_other(name: str) -> bool:
        if not begun:
            begun.append(two.begin_run(resumed=1).number)
        return lives(name)

    three = store.open()
    three.begin_run()
    one._run_list._lives = begun_by_other
    assert [one.begin_run().number, *begun] == [1, 1]
    three.end_run(finished=True)
    two.end_run(finished=True)
    assert one.runs()[0].ended is None


def test_clear_forgets_the_runs_but_not_their_numbers(store):
    index = store.open()
    in_run(store, page("a"))
    index.clear()
    assert index.runs() == []
    assert index.begin_run().number > 1


def test_a_run_goes_on_though_the_index_is_cleared_while_it_begins(store):
    index, other = store.open(), store.open()
    runs = index._run_list.runs

    def after_a_clear() -> list[Run]:
        other.clear()
        return runs()

    index._run_list.runs = after_a_clear
    assert index.begin_run().number == 1
    assert index.claim(page("a")).outcome == ORIGINAL
    assert other.begin_run().number == 2
