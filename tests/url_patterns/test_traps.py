from itertools import pairwise, product

from scrapy_simhash.url_patterns.learner import Learner, Visit
from scrapy_simhash.url_patterns.traps import PAGES_OF_TRAP, Traps

SIGNATURE = "a.test/calendar?month={number}"
MONTH = "http://a.test/calendar?month={}".format


def walk(traps: Traps, months: int, *, start: int = 0) -> list[int]:
    """Go from month to month; return the months at which a trap was told."""
    told = []
    for n in range(start, start + months):
        traps.page(MONTH(n), SIGNATURE, f"<p>Month {n}</p>")
        if traps.link(MONTH(n), MONTH(n + 1), lambda _: SIGNATURE):
            told.append(n)
    return told


def test_a_trap_is_told_once():
    traps = Traps()
    assert walk(traps, 300) == [PAGES_OF_TRAP]
    traps.page(MONTH(1000), SIGNATURE)
    assert walk(traps, 300, start=2000) == []


def test_links_of_one_page_known_links_and_links_to_itself_make_no_trap():
    traps = Traps()
    walk(traps, 10)
    links = [MONTH(n) for n in range(100, 200)] + [MONTH(6), f"{MONTH(9)}#search"] * 99
    assert not any(traps.link(MONTH(9), link, lambda _: SIGNATURE) for link in links)


def test_a_new_link_to_anything_else_ends_a_row():
    traps = Traps()
    walk(traps, PAGES_OF_TRAP - 1)
    assert not traps.link(MONTH(7), "http://a.test/day/7", lambda _: "a.test/day/{number}")
    assert walk(traps, PAGES_OF_TRAP - 1, start=1000) == []


def test_a_trap_is_a_pattern_and_sampled_less_the_longer_it_is_until_a_page_says_something():
    traps = Traps()
    learner = Learner(traps=traps)
    chances = []
    for n in range(10):
        learner.record(learner.forecast(MONTH(n)), Visit(MONTH(n)))
    for start, months in ((0, PAGES_OF_TRAP + 1), (1000, 20 * PAGES_OF_TRAP)):
        walk(traps, months, start=start)
        assert sum(learner.forecast(MONTH(n)).spared for n in range(5000, 5100)) > 80
        chances.append(learner.forecast(MONTH(5000)).chance)
    assert 0 < chances[1] < chances[0] < 0.05
    traps.page(MONTH(5000), SIGNATURE)
    assert not learner.forecast(MONTH(5000)).bound


def test_kinds_that_link_each_other_are_one_trap_and_end_together():
    traps = Traps()
    kinds = {f"a.test/?{name}={{number}}": f"http://a.test/?{name}={{}}".format for name in "bcd"}
    for signature, url in kinds.items():
        for n in range(PAGES_OF_TRAP // 3 + 3):
            traps.page(url(n), signature, f"<p>Number {n}</p>")
            assert not traps.link(url(n), url(n + 1), lambda _, signature=signature: signature)
    b, c, d = kinds
    assert not traps.link(kinds[b](9), kinds[c](1000), lambda _: c)
    assert traps.link(kinds[d](9), kinds[b](1000), lambda _: b) == b
    for signature, url in kinds.items():
        assert traps.length(url(5000), signature) >= PAGES_OF_TRAP
    traps.page(kinds[d](2000), d, "<p>Something else</p>")
    assert not any(traps.length(url(5000), signature) for signature, url in kinds.items())


def media(name: str, tab: str, image: str) -> str:
    return f"http://a.test/wiki?do=media&id={name}&tab={tab}&image={image}"


def test_addresses_that_combine_known_values_are_one_trap_whatever_their_signatures():
    traps = Traps()
    names, tabs, images = "abcdef", ("files", "upload"), [f"{n}.png" for n in range(12)]
    told = []
    for name in (*names, "files", *images):
        for parameter in ("do=media", f"id={name}", f"tab={name}", f"image={name}"):
            traps.page(f"http://a.test/wiki?{parameter}", parameter)
    traps.page("http://a.test/wiki?tab=upload", "tab")
    urls = [media(*each) for each in product(names, tabs, images)]
    for url, following in pairwise(urls):
        traps.page(url, url, f"<h1>{url[-6:]}</h1><p>Files</p>")
        told += [traps.link(url, following, lambda link: link)]
    assert sum(map(bool, told)) == 1
    assert traps.length(urls[-1], urls[-1]) >= PAGES_OF_TRAP
    # A value that no page had in its address may lead to something new.
    other = media("g", "files", "1.png")
    assert not traps.length(other, other)
    # One page that says something new ends the trap for all.
    traps.page(urls[7], urls[7], "<p>Something else</p>")
    assert not traps.length(urls[3], urls[3])


def test_a_page_whose_like_said_something_new_is_fetched_though_its_name_is_known():
    """A wiki's forms name its pages before these come."""
    traps = Traps()
    for n in range(PAGES_OF_TRAP + 10):
        for place, letter in product(("a.test/?do=form", "a.test/?do=log"), "xy"):
            url = f"http://{place}&id={n}&part={letter}"
            traps.page(url, place, "<p>Form</p>")
            traps.link(url, f"{url}&again=1", lambda _, place=place: f"{place}&again=1")
    page = "a.test/?id={number}"
    traps.page("http://a.test/?id=page", page)  # it has a new value, and says something new
    for n in range(PAGES_OF_TRAP):
        traps.link(f"http://a.test/?do=log&id={n}&part=y", f"http://a.test/?id={n}", lambda _: page)
    assert not traps.length("http://a.test/?id=7", page)
