"""A page at two times: what is a change, and what is noise."""

from __future__ import annotations

import pytest

from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.same import is_same
from tests.pages import article

RECIPE = named_recipe("default")
TEXT = f"<p>{article(3, 120)}</p>"


def is_as_before(before: str, now: str) -> bool:
    old, new = (analyse_html(html, RECIPE) for html in (before, now))
    assert old.fingerprint
    assert new.fingerprint
    distance = (old.fingerprint.value ^ new.fingerprint.value).bit_count()
    return is_same(new.facts, old.facts, distance)


def page(text: str = TEXT, beside: str = "<p>Read 7 times, 2 days ago</p>") -> str:
    head = "<!doctype html><title>A lamp</title><nav><a href=/>Home</a></nav>"
    return f"{head}<main><h1>A lamp</h1>{text}</main><footer>{beside}</footer>"


@pytest.mark.parametrize(
    "beside",
    [
        "<p>Read 7913 times, 31 days ago</p>",
        "<p data-token=9d3f>Read 7 times, 2 days ago</p><script>var token = 'c0ffee'</script>",
        "<p>Read 7 times, 2 days ago</p><a href=/advert>Lamps at half their price, today</a>",
    ],
    ids=["a counter", "a token", "an advertisement"],
)
def test_noise_around_a_text_is_no_change(beside: str) -> None:
    assert is_as_before(page(), page(beside=beside))


@pytest.mark.parametrize(
    "text",
    [TEXT + "<p>It is sold out, and will not come back.</p>", TEXT[:400] + "</p>"],
    ids=["a sentence more", "half of the text"],
)
def test_another_text_is_a_change(text: str) -> None:
    assert not is_as_before(page(), page(text))


def test_another_price_on_a_short_page_is_a_change() -> None:
    row = "<table><tr><td>Price</td><td>{} euro</td></tr></table><p>A lamp for the desk.</p>"
    assert not is_as_before(page(row.format("19.90")), page(row.format("24.90")))


def test_another_fingerprint_is_a_change_though_the_facts_are_equal() -> None:
    facts = analyse_html(page(), RECIPE).facts
    assert is_same(facts, facts, 0)
    assert not is_same(facts, facts, 1)


def test_one_sentence_more_is_a_change_though_the_fingerprint_is_equal() -> None:
    old, new = (
        analyse_html(page(beside=beside), RECIPE).facts
        for beside in ("", "<p>The shop is closed from now on until the end of summer.</p>")
    )
    assert not is_same(new, old, 0)


@pytest.mark.parametrize("facts", [b"", b"of another kind"])
def test_without_facts_of_a_page_the_fingerprint_alone_tells(facts: bytes) -> None:
    other = analyse_html(page(), RECIPE).facts
    assert is_same(facts, other, 0)
    assert is_same(other, facts, 0)
    assert not is_same(facts, other, 1)
