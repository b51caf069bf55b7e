"""What tells two pages apart whose texts do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.marks import hidden_content, numbers, steady_text, title


def test_numbers_are_a_set() -> None:
    assert numbers("Cup 12.50, mug 9, cup 12.50") == numbers("mug 9 cup 12.50")
    assert numbers("Cup 12.50") != numbers("Cup 12.55")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title>The tea harvest - Harbor Post</title>", "theteaharvest"),
        ("<title>Post | The tea harvest</title><h1></h1>", "theteaharvest"),
        ("<title>茶叶丰收_北城晚报</title>", "茶叶丰收"),
        ("<title>Post</title><h1 class=x>The <b>tea</b> harvest</h1>", "theteaharvest"),
        ("<title>Salt &amp; tea</title>", "salttea"),
        ("<p>no title</p>", ""),
    ],
)
def test_title_is_the_page_s_own(html: str, expected: str) -> None:
    assert title(html) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<title>Photo 1</title>", "<title>Photo 2</title>"),
        (
            '<script type="application/ld+json">{"sku": 1}</script>',
            '<script type="application/ld+json">{"sku": 2}</script>',
        ),
        (
            "<script>window.__INITIAL_STATE__={id:1}</script>",
            "<script>window.__INITIAL_STATE__={id:2}</script>",
        ),
    ],
)
def test_hidden_content_tells_pages_apart(one: str, other: str) -> None:
    assert hidden_content(one) != hidden_content(other)
    assert hidden_content(one) == hidden_content(one)


def test_title_says_nothing_more_where_the_page_shows_a_heading() -> None:
    one, other = (f"<title>Search, release {n}</title><h1>Search</h1>" for n in (1, 2))
    assert hidden_content(one) == hidden_content(other)


def test_hidden_content_sees_through_scripts_of_the_moment() -> None:
    one, other = (f"<script>var t = {n}; track(t)</script><img src=/x.gif?t={n}>" for n in (1, 2))
    assert hidden_content(one) == hidden_content(other)


@pytest.mark.parametrize(
    ("text", "steady"),
    [
        ("No page /a/b here", True),
        ("Ray ID: 166d5a830415012e", True),
        ("Ray ID: 166d5a830415012e-ua48", True),
        ("No page b here", False),
        ("Order 166 of feedface", False),
    ],
)
def test_steady_text_leaves_out_its_own_address_and_ids(text: str, steady: bool) -> None:
    assert (steady_text(text, "http://x.test/a/b?c") != text) == steady


@given(st.text())
def test_any_markup_has_marks(markup: str) -> None:
    for mark in (numbers, title, hidden_content):
        assert isinstance(mark(markup), str)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "tag", ["<title>", "<h1>", "<img ", "<script ", '<script type="application/json">']
)
def test_tags_that_are_never_closed_do_not_hold_the_crawl_up(tag: str) -> None:
    page = tag * 100_000
    assert hidden_content(page).strip("\0") == title(page) == ""
