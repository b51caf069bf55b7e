from __future__ import annotations

import re

from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.traps import PAGES, Traps, deny_expression

MONTH = "a.test/calendar?month={number}"


def walk(traps: Traps, months: int, *, is_poor: bool = True, start: int = 0) -> list[int]:
    """Go from month to month; return the months at which a trap was told."""
    told = []
    for n in range(start, start + months):
        url, link = (f"http://a.test/calendar?month={n + more}" for more in (0, 1))
        traps.page(url, MONTH, is_poor=is_poor)
        if traps.may_be_part(url, link) and traps.link(url, MONTH):
            told.append(n)
    return told


def test_a_trap_is_told_once() -> None:
    traps = Traps()
    assert walk(traps, 300) == [PAGES - 1]
    walk(traps, 1, is_poor=False, start=1000)
    assert walk(traps, 300, start=2000) == []


def test_pages_that_say_something_of_their_own_are_no_trap() -> None:
    assert walk(Traps(), 300, is_poor=False) == []


def test_a_new_link_to_anything_else_ends_a_row() -> None:
    traps = Traps()
    walk(traps, PAGES - 1)
    url = "http://a.test/calendar?month=7"
    assert traps.may_be_part(url, "http://a.test/day/7")
    assert not traps.link(url, "a.test/day/{number}")
    assert walk(traps, PAGES - 1, start=1000) == []


def test_links_that_are_known_make_no_trap() -> None:
    traps = Traps()
    walk(traps, 10)
    for n in range(10):
        url, link = (f"http://a.test/calendar?month={n + more}" for more in (0, 1))
        assert not traps.may_be_part(url, link)


def test_links_of_pages_to_themselves_make_no_trap() -> None:
    """As a form of a wiki has them, to skip to its search field."""
    traps = Traps()
    for n in range(2 * PAGES):
        url = f"http://a.test/edit?page={n}"
        traps.page(url, "a.test/edit?page={number}", is_poor=True)
        assert not traps.may_be_part(url, f"{url}#search")


def test_a_trap_is_a_pattern_until_a_page_of_it_says_something() -> None:
    traps = Traps()
    learner = Learner(traps=traps)
    url = "http://a.test/calendar?month={}".format
    for n in range(10):
        learner.record(learner.forecast(url(n)), key=url(n))
    walk(traps, PAGES)
    assert sum(learner.forecast(url(n)).spared for n in range(100, 200)) > 60
    forecast = learner.forecast(url(100))
    assert learner.holds(forecast)
    walk(traps, 1, is_poor=False, start=100)
    assert not learner.holds(forecast)


def test_the_expression_for_a_deny_fits_addresses_of_the_signature() -> None:
    deny = re.compile(deny_expression("/cal/{number}/*.html?a=b&month={number}&year={number}"))
    assert deny.search("http://a.test/cal/7/may.html?year=3&month=4&a=b#top")
    assert not deny.search("http://a.test/cal/7/may.html?a=b")
    assert not deny.search("http://a.test/cal/7/may.html?year=3&month=4&a=c")


def test_the_expression_for_a_deny_of_a_form_leaves_the_other_pages_of_a_wiki() -> None:
    deny = re.compile(deny_expression("/index.php?action=edit&title=Talk:*"))
    assert deny.search("http://a.test/index.php?title=Talk:Bread&action=edit")
    assert not deny.search("http://a.test/index.php?title=Talk:Bread")
