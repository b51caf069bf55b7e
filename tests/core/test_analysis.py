"""The analysis of one page or text: a fingerprint, or the reason why there is none."""

from dataclasses import replace

import pytest

from scrapy_simhash.core.analysis import analyse_text, text_body
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.keys import base_address
from tests.pages import analysed, article, judged

RECIPE = replace(named_recipe("default"), min_length=10)
OFFER = "A flat with 3 rooms and a balcony near the tram, free from May. Please write to Ann."


def test_what_has_few_letters_is_too_short_and_a_page_without_text_is_empty():
    assert analyse_text("nine, 字字字字 -- !", RECIPE).reason == "too_short"
    enough = "ten, 字字字字 -- ten!"
    assert analyse_text(enough, RECIPE).fingerprint == RECIPE.fingerprint(enough)
    assert analysed("<p>Nine.</p>", RECIPE).reason == "too_short"
    assert analysed("<p> </p>", RECIPE).reason == "empty"


def words_and_the_first(text: str) -> list[str]:
    words = text.split()
    return [words[0], *words]


def test_features_of_a_project_are_not_asked_for_a_text_that_is_too_short():
    spec = FeatureSpec(f"{__name__}.words_and_the_first", 1)
    recipe = replace(RECIPE, extractor="none", spec=spec)
    assert analyse_text(".", recipe).reason == "too_short"


@pytest.mark.parametrize("size", [1, 30, 200])
@pytest.mark.parametrize(
    ("written", "is_copy"),
    [
        ("balcony", True),
        ("balcnoy", True),
        ("balcony for 4", False),
        ("balcony. Bob! And a view", False),
    ],
)
def test_a_typo_in_a_text_is_no_other_item_and_a_number_or_a_short_line_is(written, is_copy, size):
    offer = f"{OFFER}\n{article(1, 20 + 10 * size)}"
    texts = offer, offer.replace("balcony", written)
    keys = "http://a.example/1", "http://a.example/2"
    assert judged(*zip(keys, map(text_body, texts), strict=True)).is_copy is is_copy


def test_a_page_that_names_its_path_stays_on_its_host():
    page = b"<p>Nothing is at /other.test/tea"
    assert base_address("http://a.test//other.test/tea?q", page) == "http://a.test//other.test/tea"


def test_the_excerpt_of_an_item_has_its_text_alone():
    text = "Rooms: 3\nPrice: 19.90\nA house by the sea, with a garden."
    assert analyse_text(text, RECIPE, 100).excerpt == " ".join(text.split())
