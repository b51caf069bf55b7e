"""What a page says by hand: selectors outweigh the extraction."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.core.analysis import Body, read_body
from scrapy_simhash.core.sync import SyncDedup
from scrapy_simhash.core.verdict import Document
from scrapy_simhash.extraction.extractor import EXTRACTORS, FAST_EXTRACTORS, Extraction
from scrapy_simhash.extraction.selectors import selected, selector_at
from scrapy_simhash.fingerprint.recipe import Recipe
from tests.pages import DEFAULT, analysed, article

TEXT, OFFER = article(1), article(2)
PAGE = (
    f"<title>News</title><h1>A loaf</h1><main><p>{TEXT}</main><aside class=sidebar><p>{OFFER}"
    "<p>Price: 30</aside><div class=comments><p class=comment>{comment}</div><footer>End</footer>"
)
COMMENTED = [PAGE.replace("{comment}", comment) for comment in ("First!", article(5, 30))]


def by_hand(content: str = "", ignore: str = "", extractor: str = "main") -> Recipe:
    chosen = {"content": content and {"": content}, "ignore": ignore and {"": ignore}}
    return replace(DEFAULT, extractor=extractor, **{k: v or {} for k, v in chosen.items()})


def read(page: str, recipe: Recipe) -> Extraction:
    extraction = read_body(Body(page.encode(), "utf-8", url="http://a.example/"), recipe)
    assert extraction is not None
    return extraction


@pytest.mark.parametrize("extractor", FAST_EXTRACTORS)
def test_a_selector_of_the_content_outweighs_the_extraction(extractor):
    chosen = read(COMMENTED[0], by_hand("h1, aside", extractor=extractor))
    assert OFFER in chosen.text
    assert TEXT not in chosen.shown
    assert {"A loaf", OFFER, "Price: 30"} <= {*chosen.own.split("\n")}
    assert (chosen.title, chosen.headings) == ("News", ("A loaf",))


@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_what_is_ignored_is_no_part_of_the_page(extractor):
    stars = COMMENTED[0].replace("<footer>", "<i aria-label='4 stars'></i><footer>")
    ignored = read(stars, by_hand(ignore="main, i, h1", extractor=extractor))
    assert TEXT not in ignored.shown
    assert not ignored.headings
    assert not any("4 stars" in mark for mark in ignored.marks)


def test_ignored_comments_neither_keep_a_page_nor_change_it():
    for recipe, kinds in ((DEFAULT, ["unique", "unique"]), (None, ["unique", "duplicate"])):
        with SyncDedup(recipe=recipe or by_hand(ignore=".comments"), processes=0) as dedup:
            urls = ("http://a.example/1", "http://a.example/2")
            for url, page, kind in zip(urls, COMMENTED, kinds, strict=True):
                with dedup.page(Document(url, page)) as verdict:
                    assert verdict.kind == kind
    # The facts have the state by which a later run tells a change.
    facts = [analysed(page, by_hand(ignore=".comments")).facts for page in COMMENTED]
    assert facts[0] == facts[1]


def test_a_page_without_a_match_is_left_to_the_extraction_and_named_as_such():
    plain, by_none = read(COMMENTED[0], DEFAULT), read(COMMENTED[0], by_hand("nav", ".ad"))
    assert by_none == replace(plain, unmatched=("content", "ignore"))
    assert analysed(COMMENTED[0], by_hand("nav", "aside")).unmatched == ("content",)
    assert analysed("<p>", by_hand("nav")).unmatched == ("content",)


def test_a_selector_is_that_of_the_host_or_else_that_of_any():
    selectors = {"a.example": "p", "": "article"}
    urls = ("http://www.A.example:80/x", "http://b.example/", "")
    assert [selector_at(url, selectors) for url in urls] == ["p", "article", "article"]
    assert selector_at("http://b.example/", {"a.example": "p"}) is None


NESTED = st.recursive(
    st.just("x"),
    lambda inner: st.lists(inner, max_size=3).map(
        lambda parts: "<b>{0}</b><div>{0}</div>".format("".join(parts))
    ),
    max_leaves=12,
)


@given(NESTED)
def test_nested_matches_show_their_text_once(markup):
    page = f"<body><section>{markup}</section></body>".encode()
    both = selected(page, "section, section *", None)
    assert both.html.count(b"x") == page.count(b"x")


@pytest.mark.parametrize(
    "page", ["<p>a<table><tr><td>" * 9000, "<div>\ud800\0</div>", "<" * 9000, ""]
)
def test_no_page_makes_a_selector_raise(page):
    data = page.encode("utf-8", "surrogatepass")
    for content, ignore in (("td, :not(a) > p", None), (None, "div, html, body"), ("p", "p")):
        selected(data, content, ignore)


def test_a_page_on_which_a_selector_takes_too_long_passes():
    nested = Document("http://a.example/", "<div>a" * 9000)
    with SyncDedup(recipe=by_hand("a b c, div div div a"), processes=1, timeout=0.2) as dedup:
        assert dedup.check(nested).reason == "timeout"
