"""The analysis of one page or text: a fingerprint, or the reason why there is none."""

from __future__ import annotations

from dataclasses import replace

from scrapy_simhash.core.analysis import analyse_html, analyse_text
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.state import STATE_SIZE

RECIPE = replace(named_recipe("default"), min_length=10)


def test_separators_do_not_make_a_text_long_enough() -> None:
    assert analyse_text("nine, 字字字字 -- !", RECIPE).reason == "too_short"
    enough = "ten, 字字字字 -- ten!"
    assert analyse_text(enough, RECIPE).fingerprint == RECIPE.fingerprint(enough)


def test_page_has_facts_and_a_text_has_its_state_alone() -> None:
    page = analyse_html("<title>A title</title><p>Ten letters and more.", RECIPE)
    assert page.fingerprint is not None
    assert page.facts
    assert len(analyse_text("Ten letters and more.", RECIPE).facts) == STATE_SIZE


def test_page_without_text_is_empty_and_one_of_few_letters_too_short() -> None:
    assert analyse_html("<p> </p>", RECIPE).reason == "empty"
    assert analyse_html("<p>Nine.</p>", RECIPE).reason == "too_short"
