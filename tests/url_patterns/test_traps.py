from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_patterns.address import read_address
from scrapy_simhash.url_patterns.learner import Learner
from scrapy_simhash.url_patterns.places import Places
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
    walk(traps, 1, is_poor=False, start=100)
    assert not learner.forecast(url(100)).bound


def signature(url: str, *others: str) -> str:
    places = Places()
    for other in others:
        if address := read_address(other):
            places.signature(address, learn=True)
    address = read_address(url)
    return places.signature(address, learn=True) if address else ""


PIECES = ["a", "Talk:Bread", "b.html", "7", "%41", "a+b", "*", "", ";s=1", "é", ".+", "(", "x/y"]
PARTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
QUERIES = st.lists(st.tuples(PARTS, PARTS).map("=".join), max_size=4).map("&".join)
URLS = st.builds("http://a.test/{}/{}?{}".format, PARTS, PARTS, QUERIES)


@given(URLS, st.lists(URLS, max_size=20))
def test_the_expression_for_a_deny_finds_its_own_example(url: str, others: list[str]) -> None:
    if form := signature(url, *others):
        assert re.search(deny_expression(url, form), url)


def test_the_expression_for_a_deny_finds_the_addresses_of_its_signature_alone() -> None:
    url = "http://a.test/cal/7/may.html?year=3&month=4&a=b&title=Talk:Bread"
    others = [
        url.replace("=3", f"={n}").replace("4", f"{n}").replace("Bread", f"B{n}") for n in range(9)
    ]
    deny = re.compile(deny_expression(url, signature(url, *others)))
    assert all(map(deny.search, others))
    assert deny.search("http://a.test/cal/7/may.html?title=Talk:Soup&year=13&month=14&a=b#top")
    for other in ("a=c", "b=b", "a=b&title=Soup"):
        assert not deny.search(url.replace("a=b", other).replace("&title=Talk:Bread", ""))
    assert not deny.search(url.replace("may.html", "may"))
    assert not deny.search("http://a.test/cal/7/may.html?year=3")
