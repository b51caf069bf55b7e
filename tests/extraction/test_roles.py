"""Roles: what tags and names tell about text, and where they are not believed."""

import pytest
from lxml import etree

from scrapy_simhash.extraction import roles


def role(markup: str) -> int:
    """The role of the only element of a page's body."""
    root = etree.fromstring(f"<html><body>{markup}</body></html>", etree.HTMLParser())
    element = root.find("body")[0]
    return roles.role_and_class(element.tag, element.items())[0]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<nav>", roles.NAVIGATION),
        ("<div role=navigation>", roles.NAVIGATION),
        ("<footer>", roles.FOOTER),
        ("<div hidden>", roles.HIDDEN),
        ("<div aria-hidden=true>", roles.HIDDEN),
        ("<div style='color: red; display : none'>", roles.HIDDEN),
        ("<div class='cookie-note'>", roles.DIALOG),
        ("<div id=CONSENT>", roles.DIALOG),
        ("<ol class=comment-list>", roles.COMMENT),
        ("<div class=main-menu>", roles.UNLIKELY),
        ("<aside class=related>", roles.ASIDE | roles.DOUBTFUL),
    ],
)
def test_tags_attributes_and_names_tell_roles(markup, expected):
    assert role(markup) == expected


@pytest.mark.parametrize("name", ["commentary", "story-body", "comments-open"])
def test_names_of_content_tell_nothing(name):
    """A word is not doubtful for containing one that is."""
    assert role(f"<div class={name}>") == 0


def test_a_form_that_is_filled_in_from_a_cookie_is_no_notice():
    assert role("<form class=user-info-from-cookie>") == 0


def test_a_section_is_not_judged_by_its_slug():
    """The page of a manual about cookies keeps its text: ids of sections are headings."""
    assert role("<section id=http-cookies>") == roles.SECTION


def test_a_page_cannot_fill_the_memory_of_names():
    """Only the beginning of an attribute is looked at, and kept."""
    assert role(f"<div class='{'x' * 100_000} cookie'>") == 0
