"""Text or HTML in, verdict out, without Scrapy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scrapy_simhash.detector import NearDuplicateDetector, analyse_html, analyse_text
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import index_from_url
from tests.pages import article, edited, html

RECIPE = named_recipe("default")


@pytest.fixture
def detector() -> Iterator[NearDuplicateDetector]:
    index = index_from_url(
        "memory://", recipe=RECIPE.identity, bits=RECIPE.bits, distance=RECIPE.distance
    )
    with NearDuplicateDetector(RECIPE, index) as detector:
        yield detector


def test_second_copy_is_a_duplicate_of_the_first(detector: NearDuplicateDetector) -> None:
    text = article(1)
    assert detector.check_text(text, key="a").kind == "unique"
    verdict = detector.check_text(edited(text, 2), key="b")
    assert (verdict.kind, verdict.original) == ("duplicate", "a")
    assert verdict.distance is not None
    assert 0 < verdict.distance <= RECIPE.distance
    assert detector.check_text(text, key="a").kind == "revisit"
    assert detector.check_text(article(3), key="c").kind == "unique"


def test_checked_pages_are_confirmed(detector: NearDuplicateDetector) -> None:
    detector.check_text(article(1), key="a")
    assert not detector.check_text(article(1), key="b").provisional


def test_template_of_a_page_does_not_count(detector: NearDuplicateDetector) -> None:
    text = article(1)
    links = tuple(f"/section/{number}" for number in range(20))
    detector.check_html(html(text, title="One").decode(), key="a")
    framed = html(text, title="Another", links=links, top="<div>Sign in</div>").decode()
    assert detector.check_html(framed, key="b").kind == "duplicate"


def test_scopes_are_not_compared(detector: NearDuplicateDetector) -> None:
    assert detector.check_text(article(1), key="a", scope="x").kind == "unique"
    assert detector.check_text(article(1), key="b", scope="y").kind == "unique"


@pytest.mark.parametrize("text", ["", "   ", "Too short to tell.", "短"])
def test_short_text_is_skipped_and_never_a_duplicate(
    detector: NearDuplicateDetector, text: str
) -> None:
    for key in ("a", "b"):
        verdict = detector.check_text(text, key=key)
        assert (verdict.kind, verdict.reason) == ("skipped", "too_short")


def test_page_without_text_is_empty() -> None:
    assert analyse_html("<html><body><br></body></html>", RECIPE).reason == "empty"


def listing(*names: str) -> str:
    rows = "".join(f"<li><a href='/p/{name}'>{name}</a></li>" for name in names)
    frame = "".join(f"<li><a href='/c/{n}'>Category number {n}</a></li>" for n in range(40))
    return f"<html><body><div><ul>{frame}</ul></div><div><ul>{rows}</ul></div></body></html>"


def test_page_without_running_text_repeats_only_a_page_with_the_same_text(
    detector: NearDuplicateDetector,
) -> None:
    """Listings share most of their text with others of their template."""
    assert detector.check_html(listing("mug", "cup"), key="a").kind == "unique"
    assert detector.check_html(listing("mug", "pot"), key="b").kind == "unique"
    verdict = detector.check_html(listing("mug", "cup").replace("ul", "ol"), key="c")
    assert (verdict.kind, verdict.original, verdict.distance) == ("duplicate", "a", 0)


def test_exact_digest_follows_the_text_and_the_seed() -> None:
    digest = RECIPE.exact_fingerprint("Some text, 1.")
    assert digest == RECIPE.exact_fingerprint("some text 1")
    assert digest != RECIPE.exact_fingerprint("some text 2")
    assert digest != replace(RECIPE, seed="secret").exact_fingerprint("some text 1")


def test_length_is_counted_in_letters_and_digits() -> None:
    assert analyse_text("a1 " * 50, RECIPE).fingerprint is not None
    assert analyse_text("- " * 500, RECIPE).fingerprint is None
