"""Sites that whole crawls are made of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages import article, edited, html


@pytest.fixture
def twins(site: Any) -> Any:
    """A page, a copy with edits all over its text and other links, and a page of its own."""
    text = article(1)
    site.pages = {
        "/first": html(text, links=("/after-first",)),
        "/second": html(edited(text, 4, 0.06), links=("/after-second",)),
        "/other": html(article(3)),
        "/after-first": html(article(4)),
        "/after-second": html(article(5)),
    }
    return site


@pytest.fixture
def articles(site: Any) -> Any:
    for number in range(3):
        site.pages[f"/{number}"] = html(article(number))
        site.pages[f"/{number}/copy"] = html(article(number))
    return site
