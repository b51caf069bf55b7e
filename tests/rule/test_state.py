"""A page at two times: what is a change, and what is noise."""

import pytest

from scrapy_simhash.core.analysis import analyse_body, text_body
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.state import is_same, lasting, state_of
from tests.pages import analysed, article, distance_of

RECIPE = named_recipe("default")
TEXT = f"<p>{article(3, 120)}</p>"
BOX = "<ul><li>Price: 19.90 euro</li><li>In stock: 5</li><li>Rated 4.5 (120 reviews)</li></ul>"


def is_as_before(before: str, now: str) -> bool:
    old, new = (analysed(html, RECIPE) for html in (before, now))
    return is_same(new.facts, old.facts, distance_of(before, now))


def page(text: str = TEXT, beside: str = "<p>Read 7 times, 2 days ago</p>", head: str = "") -> str:
    head = f"<!doctype html><title>A lamp</title>{head}<body><nav><a href=/>Home</a></nav>"
    return f"{head}<main><h1>A lamp</h1>{text}</main><footer>{beside}</footer>"


@pytest.mark.parametrize(
    "beside",
    [
        "<p>Read 7913 times, 31 days ago</p>",
        "<p data-token=9d3f>Read 7 times, 2 days ago</p><script>var token = 'c0ffee'</script>",
        "<p>Read 7 times, 2 days ago</p><a href=/advert>Lamps at half their price, today</a>",
        "<p>The shop is closed from now on until the end of summer.</p>",
    ],
    ids=["a counter", "a token", "an advertisement", "a sentence"],
)
def test_noise_around_a_text_is_no_change(beside):
    assert is_as_before(page(), page(beside=beside))


VISITS = """
    3 days ago by Jane | 2 months ago by Jane
    1,234 views | 1,240 views
    Просмотров: 99 | Просмотров: 100
    阅读 99 次 | 阅读 100 次
    vor 3 Tagen | vor 12 Stunden
    Ray ID: 166d5a830415012e | Ray ID: 166d5a82362b1219
    Request ID: 000186a7-4f3a | Request ID: 00030d2e-4f3a
    You are visitor no. 10,001 | You are visitor no. 10,002
    Downloaded 31 times | Downloaded 62 times
    4 min read | 5 min read
    Copyright 2019-2025 Jane Doe | Copyright 2019-2026 Jane Doe
    © 2025 Jane Doe | © 2026 Jane Doe"""
NUMBERS = """
    House no. 7 | House no. 8
    View no. 7 | View no. 8
    It takes 5 minutes | It takes 6 minutes
    Built in 2025 | Built in 2026
    Request 1234567 | Request 1234568
    Copyright 2025 Jane Doe | Copyright 2025 John Doe"""


@pytest.mark.parametrize(("lines", "is_noise"), [(VISITS, True), (NUMBERS, False)])
def test_an_age_a_count_and_the_id_of_a_visit_are_no_change_and_other_numbers_are(lines, is_noise):
    for line in lines.strip().splitlines():
        before, now = (page(f"<p>{said.strip()}</p>{TEXT}") for said in line.split(" | "))
        assert is_as_before(before, now) is is_noise, line


@pytest.mark.parametrize(
    "text",
    [
        TEXT + "<p>It is sold out, and will not come back.</p>",
        TEXT[:400] + "</p>",
        TEXT.replace("</p>", " lamps</p>"),
        f"<h2>Lamps</h2>{TEXT}",
    ],
    ids=["a sentence more", "half of the text", "a word more", "a short line more"],
)
def test_another_text_is_a_change(text):
    assert not is_as_before(page(), page(text))


@pytest.mark.parametrize(
    ("before", "now"),
    [("19.90", "24.90"), ("euro", "dollar"), ("stock: 5", "stock: 0"), ("Rated 4.5", "Rated 4.4")],
)
@pytest.mark.parametrize("text", [BOX + TEXT, TEXT + BOX, BOX + "<p>A lamp for the desk.</p>"])
def test_another_price_stock_or_rating_is_a_change(text, before, now):
    assert before in text
    assert not is_as_before(page(text), page(text.replace(before, now)))


@pytest.mark.parametrize(
    "priced",
    [
        f"<div>Now $19.90</div><div>{TEXT}</div>",
        f"<div><p>$19.90</p></div><div>{TEXT}</div>",
        page(head='<script type="application/ld+json">{"offers": {"price": "19.90"}}</script>'),
        page(head='<meta property="product:price:amount" content="19.90">'),
    ],
)
def test_a_price_that_stands_outside_the_text_or_in_the_head_is_a_change(priced):
    assert is_as_before(priced, priced)
    assert not is_as_before(priced, priced.replace("19.90", "24.90"))


def test_a_list_whose_links_are_others_is_a_change():
    links = [f"<li><a href=/{n}>{article(n, 5)}</a>" for n in range(30)]
    assert not is_as_before(page(f"<ul>{''.join(links[:29])}</ul>"), page(f"<ul>{links[1:]}</ul>"))


def test_spaces_marks_and_lines_are_no_change():
    assert state_of("One, two -  three\nfour.") == state_of("One two\nthree \u201cfour\u201d\u00b6")
    assert state_of('As "7" or more') == state_of("As \u201c 7\u201d or more")


def test_signs_and_marks_beside_a_number_are_a_change():
    assert len({state_of(text) for text in ("19.90", "1990", "-19.90", "$19.90", "€19.90")}) == 5


def test_a_word_more_in_a_text_that_is_no_page_is_a_change():
    text = article(3, 300)
    old, new = (analyse_body(text_body(each), RECIPE).facts for each in (text, f"{text} 19.90"))
    assert is_same(old, old, 0)
    assert not is_same(new, old, 0)


@pytest.mark.parametrize("facts", [b"", analysed(page(), RECIPE).facts])
def test_without_facts_of_both_the_fingerprint_alone_tells(facts):
    assert is_same(facts, b"", 0)
    assert not is_same(b"", facts, 1)


@pytest.mark.parametrize("capital", ["I", "\u0130"])
def test_a_count_is_found_behind_letters_that_are_longer_in_lower_case(capital):
    line = f"{capital * 3}: 5 Views, price 77"
    assert lasting(line) == lasting(line.replace("5", "6"))
    assert lasting(line) != lasting(line.replace("77", "78"))
