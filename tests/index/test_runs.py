"""Runs tell pages of earlier ones from new ones."""

from collections.abc import Iterable

from scrapy_simhash.index import run_list
from scrapy_simhash.index.values import Arrival, Entry, Run
from tests.index.conftest import ON_SQLITE_AND_REDIS
from tests.index.promises.made import at, fp, page, release, renew, values

pytestmark = ON_SQLITE_AND_REDIS


def in_run(store, *seen: Arrival, failed: Iterable[str] = ()) -> Run:
    """Let pages be delivered in a new run, and others fail; return the run at its end."""
    index = store.open()
    number = index.begin_run().number
    index.claim_all(seen)
    index.confirm([one.key for one in seen])
    release(index, *failed)
    index.end_run(finished=True)
    return next(run for run in index.runs() if run.number == number)


def test_a_run_counts_if_few_pages_failed_and_it_saw_what_the_last_good_one_saw(store):
    pages = [page(f"{value}", value) for value in values(31)]
    keys = [one.key for one in pages]
    in_run(store, *pages)
    assert [
        in_run(store, *pages[seen:], failed=keys[:failed]).counts
        for failed, seen in ((3, 3), (4, 4), (0, 29), (0, 29), (0, 28))
    ] == [True, False, False, False, True]
    # Pages that the index was told to forget are not expected.
    assert in_run(store, *pages).counts
    store.open().gone(keys[:30])
    assert in_run(store, pages[30]).counts


def test_a_run_after_the_list_of_runs_was_lost_has_a_new_number(store):
    in_run(store, page("a", 0))
    index = store.open()
    [(name, cell)] = index.cells("index:").items()
    assert index.swap(name, cell, None)
    assert index.begin_run().number == 2


def test_two_crawlers_that_change_the_runs_at_once_both_do(store, monkeypatch):
    one, two = store.open(), store.open()
    is_dead = run_list.is_dead
    begun = list[int]()

    def begun_by_other(name: str) -> bool:
        if not begun:
            monkeypatch.undo()
            begun.append(two.begin_run(resumed=1).number)
        return is_dead(name)

    three = store.open()
    three.begin_run()
    monkeypatch.setattr(run_list, "is_dead", begun_by_other)
    assert [one.begin_run().number, *begun] == [1, 1]
    three.end_run(finished=True)
    two.end_run(finished=True)
    assert one.runs()[0].ended is None


def test_a_copy_leaves_alone_what_another_spider_has_in_progress(store):
    one, other = store.open(spider="one"), store.open(spider="other")
    one.put([Entry("a", fp(0)), Entry("b", fp(0))])
    other.begin_run()
    one.begin_run()
    changes = [crawler.claim(page(key)).change for crawler, key in ((other, "a"), (one, "b"))]
    assert changes == ["same", "same"]
    assert one.claim(page("a")).outcome == "duplicate"
    assert [entry.provisional for entry in one if entry.key == "a"] == [True]


def test_a_crawler_that_was_taken_for_dead_revives_no_run_that_has_ended(store):
    late, index = at(store.open(), 1000), at(store.open(), 1000)
    assert [late.begin_run().number, index.begin_run().number] == [1, 1]
    at(index, 1100).end_run(finished=True)
    renew(at(late, 1100))
    assert index.begin_run().number == 2
