"""The analysis of one page or text: a fingerprint, or the reason why there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_simhash.core.analysis import analyse_text
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.facts import FACTS_SIZE
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page
from scrapy_simhash.rule.state import STATE_SIZE
from tests.pages import analysed

RECIPE = replace(named_recipe("default"), min_length=10)


def test_separators_do_not_make_a_text_long_enough() -> None:
    assert analyse_text("nine, 字字字字 -- !", RECIPE).reason == "too_short"
    enough = "ten, 字字字字 -- ten!"
    assert analyse_text(enough, RECIPE).fingerprint == RECIPE.fingerprint(enough)


def test_pages_and_short_texts_have_facts_and_a_long_text_has_its_state_alone() -> None:
    page = analysed("<title>A title</title><p>Ten letters and more.", RECIPE)
    assert page.fingerprint is not None
    assert page.facts
    assert len(analyse_text("Ten letters and more.", RECIPE).facts) == FACTS_SIZE
    assert len(analyse_text("Ten letters and more. " * 50, RECIPE).facts) == STATE_SIZE


@pytest.mark.parametrize(
    "other",
    [
        "A flat with 4 rooms and a balcony near the tram, free from May. Please write to Ann.",
        "A flat with 3 rooms and a balcony near the mill, free from May. Please write to Ann.",
        "A flat with 3 rooms and a balcony near the tram, free from May. Please write to Bob.",
    ],
)
def test_short_texts_that_differ_in_a_number_or_a_name_are_two_items(other: str) -> None:
    text = "A flat with 3 rooms and a balcony near the tram, free from May. Please write to Ann."
    one, same, another = (
        Page(f"http://a.example/{number}", analyse_text(each, RECIPE).facts)
        for number, each in enumerate((text, text, other))
    )
    assert Rule(RECIPE.distance)(one, same, 0).is_copy
    assert not Rule(RECIPE.distance)(one, another, 9).is_copy


def test_page_without_text_is_empty_and_one_of_few_letters_too_short() -> None:
    assert analysed("<p> </p>", RECIPE).reason == "empty"
    assert analysed("<p>Nine.</p>", RECIPE).reason == "too_short"
