from __future__ import annotations

from cachetools import LRUCache

from scrapy_simhash.url_patterns import walls
from scrapy_simhash.url_patterns.walls import Walls

LOGIN, TIMELINE, FORM = "http://a.test/login", "/timeline?c={token}", "/edit?page=*"


def told(pages: list[tuple[str, str | None]]) -> list[tuple[str, int]]:
    found = Walls()
    copies = [(signature, found.page("a.test", signature, to)) for signature, to in pages]
    return [(signature, number) for signature, number in copies if number]


def test_a_page_that_half_of_a_host_leads_to_is_told_once() -> None:
    pages = [(f"/part{n % 10}/*", LOGIN if n % 2 else None) for n in range(400)]
    assert told([(signature, LOGIN) for signature, _ in pages]) == [("/part9/*", 50)]
    assert len(told(pages)) == 1


def test_a_form_that_all_addresses_of_one_signature_lead_to_is_told_on_a_large_host() -> None:
    pages: list[tuple[str, str | None]] = [("/wiki/*", None) for _ in range(5000)]
    assert told(pages + [(FORM, "http://a.test/edit") for _ in range(160)]) == [(FORM, 50)]


def test_a_timeline_whose_pages_repeat_many_pages_is_no_wall() -> None:
    days = [(TIMELINE, f"http://a.test/timeline?c={n % 12}") for n in range(1200)]
    assert told([*days]) == []


def test_a_few_copies_are_no_wall() -> None:
    assert told([("/a/*", LOGIN)] * 49) == []


def test_what_is_remembered_is_bounded() -> None:
    assert isinstance(Walls()._pages, LRUCache)
    found = Walls()
    for n in range(2 * walls.MOST):
        found.page(f"{n}.test", "/*", LOGIN)
    assert max(map(len, (found._pages, found._copies, found._told))) <= walls.MOST
