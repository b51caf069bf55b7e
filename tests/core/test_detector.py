"""Text or HTML in, verdict out, without Scrapy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from scrapy_simhash.core.detector import NearDuplicateDetector
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.index import open_index
from tests.pages import article, edited, html

RECIPE = named_recipe("default")


@pytest.fixture
def detector() -> Iterator[NearDuplicateDetector]:
    with closing(open_index("memory://", spec_of(RECIPE))) as index:
        yield NearDuplicateDetector(RECIPE, index)


def test_second_copy_is_a_duplicate_of_the_first(detector: NearDuplicateDetector) -> None:
    text = article(1)
    assert detector.check_text(text, key="a").kind == "unique"
    verdict = detector.check_text(edited(text, 2), key="b")
    assert (verdict.kind, verdict.original, verdict.reason) == ("duplicate", "a", "distance")
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
    detector.check_html(html(text).decode(), key="http://a.example/")
    framed = html(text, links=links, top="<div>Sign in</div>").decode()
    verdict = detector.check_html(framed, key="http://b.example/")
    assert (verdict.kind, verdict.reason) == ("duplicate", "like-headings")


def test_pages_beyond_the_distance_count_on_two_sites_and_are_not_named_elsewhere(
    detector: NearDuplicateDetector,
) -> None:
    text, title = article(1), article(1, 10)
    page, other = (
        html(shown, title=title).decode() for shown in (text, edited(text, 2, share=0.2))
    )
    detector.check_html(page, key="http://a.example/1")
    far = detector.check_html(other, key="http://b.example/1")
    assert (far.kind, far.original) == ("duplicate", "http://a.example/1")
    assert RECIPE.distance < (far.distance or 0) <= RECIPE.reach
    here = detector.check_html(other, key="http://a.example/2")
    assert (here.kind, here.near) == ("unique", ())


def test_page_that_is_near_but_another_by_the_rule_is_kept_and_says_so(
    detector: NearDuplicateDetector,
) -> None:
    text = article(1, 150)
    detector.check_html(html(text, title="Version 1").decode(), key="http://a.example/1")
    verdict = detector.check_html(html(text, title="Version 2").decode(), key="http://a.example/2")
    assert verdict.kind == "unique"
    [near] = verdict.near
    assert (near.key, near.reason) == ("http://a.example/1", "other-heading")
    assert verdict.original is verdict.distance is verdict.reason is None


def test_scopes_are_not_compared(detector: NearDuplicateDetector) -> None:
    assert detector.check_text(article(1), key="a", scope="x").kind == "unique"
    assert detector.check_text(article(1), key="b", scope="y").kind == "unique"


@pytest.mark.parametrize("text", ["", "   ", "Too short", "短"])
def test_short_text_is_skipped_and_never_a_duplicate(
    detector: NearDuplicateDetector, text: str
) -> None:
    for key in ("a", "b"):
        verdict = detector.check_text(text, key=key)
        assert (verdict.kind, verdict.reason) == ("skipped", "too_short")
