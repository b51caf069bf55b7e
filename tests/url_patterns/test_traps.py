from __future__ import annotations

from scrapy_simhash.url_patterns.learner import Learner, Visit
from scrapy_simhash.url_patterns.traps import PAGES_OF_TRAP, Traps

SIGNATURE = "a.test/calendar?month={number}"
MONTH = "http://a.test/calendar?month={}".format


def walk(traps: Traps, months: int, *, is_poor: bool = True, start: int = 0) -> list[int]:
    """Go from month to month; return the months at which a trap was told."""
    told = []
    for n in range(start, start + months):
        traps.page(MONTH(n), SIGNATURE, is_poor=is_poor)
        if traps.link(MONTH(n), MONTH(n + 1), lambda _: SIGNATURE):
            told.append(n)
    return told


def test_a_trap_is_told_once() -> None:
    traps = Traps()
    assert walk(traps, 300) == [PAGES_OF_TRAP - 1]
    walk(traps, 1, is_poor=False, start=1000)
    assert walk(traps, 300, start=2000) == []


def test_pages_that_say_something_of_their_own_are_no_trap() -> None:
    assert walk(Traps(), 300, is_poor=False) == []


def test_a_new_link_to_anything_else_ends_a_row() -> None:
    traps = Traps()
    walk(traps, PAGES_OF_TRAP - 1)
    assert not traps.link(MONTH(7), "http://a.test/day/7", lambda _: "a.test/day/{number}")
    assert walk(traps, PAGES_OF_TRAP - 1, start=1000) == []


def test_links_that_are_known_and_links_of_pages_to_themselves_make_no_trap() -> None:
    traps = Traps()
    walk(traps, 10)
    for _ in range(2 * PAGES_OF_TRAP):
        for link in (MONTH(6), f"{MONTH(5)}#search"):
            assert not traps.link(MONTH(5), link, lambda _: SIGNATURE)


def test_a_trap_is_a_pattern_until_a_page_of_it_says_something() -> None:
    traps = Traps()
    learner = Learner(traps=traps)
    for n in range(10):
        learner.record(learner.forecast(MONTH(n)), Visit(MONTH(n)))
    walk(traps, PAGES_OF_TRAP)
    assert sum(learner.forecast(MONTH(n)).spared for n in range(100, 200)) > 60
    walk(traps, 1, is_poor=False, start=100)
    assert not learner.forecast(MONTH(100)).bound
