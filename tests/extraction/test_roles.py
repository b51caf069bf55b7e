"""Roles: what tags and names tell about text, and where they are not believed."""

import pytest
from lxml import etree

from scrapy_simhash.extraction import roles


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        # A word is not doubtful for containing one that is.
        *((f"<div class={name}>", 0) for name in ("commentary", "story-body", "comments-open")),
        # A form that is filled in from a cookie is no notice.
        ("<form class=user-info-from-cookie>", 0),
        # The page of a manual about cookies keeps its text: ids of sections are headings.
        ("<section id=http-cookies>", roles.SECTION),
        # Only the beginning of an attribute is looked at, and kept.
        (f"<div class='{'x' * 100_000} cookie'>", 0),
    ],
)
def test_names_of_content_tell_nothing(markup, expected):
    root = etree.fromstring(f"<html><body>{markup}</body></html>", etree.HTMLParser())
    element = root.find("body")[0]
    assert roles.role_and_class(element.tag, element.items())[0] == expected
