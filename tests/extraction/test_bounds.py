"""No page of 4 MB costs more than a second or two of CPU, whatever is in it."""

import gc
import time

import pytest

from scrapy_simhash.extraction.extractor import extract

SIZE = 4_000_000
LINE = "Some text of a page, with words and all that there is to it."


def filled(part: str) -> str:
    return (part * (SIZE // len(part.encode("utf-8", "replace")) + 1))[:SIZE]


PAGES = {
    "open angles": "<h1>" + "<" * SIZE,
    "a million paragraphs": filled("<p>"),
    "a million lines": filled("<p>x"),
    "breaks": filled("x<br>"),
    "depth": "<div>" * 100_000 + filled("deep "),
    "text after deep elements": filled("<div>" * 2000 + "</div>x" * 2000),
    "blocks far down": "<div>" * 1900 + filled(f"<div><p>{LINE}</p></div>"),
    "attributes": "<div " + " ".join(f"a{at}=1" for at in range(200_000)) + f"><p>{LINE}",
    "one long class": f"<div class='{filled('comment ')}'><p>{LINE}",
    "ligatures": filled("\ufdfa"),
    "entities": filled("&amp;&lt;&#1234;"),
    "NUL": filled("a\0b "),
    "lone surrogates": "\ud800 " * 1_000_000,
    "unclosed nav": "<nav>" + filled(f"<p>{LINE}</p>"),
    "unclosed script": "<p>text</p><script>" + filled("var a = 1 < 2; "),
    "drawings in open drawings": "<svg>" * 1500 + filled("<svg></svg>"),
    "open titles": "<title x" * 20_000,
    "links": "<p>" + filled("<a>x</a>"),
    "links below a text": f"<p>{LINE * 9}</p><div>" + filled("<br><a>x</a>"),
    "links left open": f"<h1>x</h1><p>{LINE * 9}</p>" + "<a>x<div>" * 400 + filled("<p>x</p>"),
    "pictures in links": f"<p>{LINE * 9}</p><div>" + filled("<a><img>x</a>"),
    "inline elements": "<p>" + filled("<b>x</b> "),
    "headings": filled("<h1>x</h1>"),
    "elements made alike": filled(f"<div class=a><div class=a><p>{LINE}</div></div>"),
}


def cpu_seconds(html: str) -> float:
    gc.freeze()  # what other tests have left is not looked at by each collection
    start = time.process_time()
    extract(html).text.encode("utf-8")
    taken = time.process_time() - start
    gc.unfreeze()
    return taken


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_is_read_in_bounded_time(name):
    """The bound is far above what is promised, because test machines are busy."""
    assert cpu_seconds(PAGES[name]) < 5


def test_an_unclosed_nav_keeps_the_text_of_its_page():
    """What holds most of the text is no navigation."""
    assert LINE in extract(f"<nav><ul><li>Home</ul>{f'<p>{LINE}</p>' * 9}").text


def test_many_inline_elements_are_one_line():
    """A line runs through inline markup, however much of it there is."""
    assert extract("<p>" + "<b>x</b>" * 30_000).text.startswith("x" * 20_000)


def test_a_long_value_of_an_attribute_hides_no_text():
    """Data in an attribute is not cut into text."""
    html = f"<div data-x='{'word ' * 5000}' class=a><p>{LINE * 9}</p></div>"
    extraction = extract(html)
    assert extraction.shown == LINE * 9
