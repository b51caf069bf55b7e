"""Pages in progress: which are delivered, which failed, which are neither; and their copies."""

from __future__ import annotations

from scrapy_simhash.core.upkeep import ASKED_AT_ONCE, Copies, Progress
from scrapy_simhash.index.values import Unsettled


def test_page_is_settled_with_the_last_of_its_parts() -> None:
    progress = Progress()
    progress.begin("page")
    progress.begin("page")
    progress.end("page", failed=False)
    assert progress.take_settled() == ([], [])
    assert "page" in progress
    progress.end("page", failed=False)
    assert progress.take_settled() == ([], ["page"])
    assert "page" not in progress
    assert progress.take_settled() == ([], [])


def test_page_fails_with_any_of_its_parts() -> None:
    progress = Progress()
    progress.begin("page")
    progress.begin("page")
    progress.end("page", failed=True)
    progress.end("page", failed=False)
    assert progress.take_settled() == (["page"], [])


def test_failed_page_is_released_though_it_is_in_progress_again() -> None:
    """It may have come with another text, and copies wait on the one that failed."""
    progress = Progress()
    progress.begin("page")
    progress.end("page", failed=True)
    progress.begin("page")
    assert progress.take_settled() == (["page"], [])
    progress.end("page", failed=False)
    assert progress.take_settled() == ([], ["page"])


def test_delivered_page_is_confirmed_once_nothing_of_its_key_is_in_progress() -> None:
    progress = Progress()
    progress.begin("page")
    progress.end("page", failed=False)
    progress.begin("page")
    assert progress.take_settled() == ([], [])
    progress.end("page", failed=True)
    assert progress.take_settled() == (["page"], ["page"])


def test_page_that_never_ends_has_failed() -> None:
    progress = Progress()
    progress.begin("page")
    progress.end_all()
    assert progress.take_settled() == (["page"], [])


def unsettled(*, provisional: set[int] = frozenset(), gone: set[int] = frozenset()) -> Unsettled:
    return Unsettled(frozenset(provisional), frozenset(gone))


def test_copies_are_told_whether_their_original_was_delivered_once_it_is_settled() -> None:
    copies, told = Copies(), []
    for entry in (1, 2, 3):
        copies.wait(entry, "", lambda delivered, entry=entry: told.append((entry, delivered)))
    assert copies.settle(copies.entries(), unsettled(provisional={1}, gone={2}))
    assert told == [(2, False), (3, True)]
    assert copies.entries() == [1]
    assert not copies.settle([1], unsettled())
    assert not copies


def test_index_is_asked_about_a_bounded_number_of_originals_each_in_its_turn() -> None:
    copies = Copies()
    for entry in range(ASKED_AT_ONCE + 10):
        copies.wait(entry, "", lambda delivered: None)
    first = copies.entries()
    copies.settle(first, unsettled(provisional=set(first)))
    assert len(first) == ASKED_AT_ONCE
    assert set(copies.entries()) >= set(range(ASKED_AT_ONCE, ASKED_AT_ONCE + 10))
