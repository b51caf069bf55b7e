"""Roles: what tags and names say about text, and where they are not believed."""

from __future__ import annotations

import pytest
from lxml import etree

from scrapy_simhash.extraction.roles import Role, Roles


def role_of_text(html: str) -> Role:
    """The role of the only paragraph of a page."""
    root = etree.fromstring(f"<html><body>{html}</body></html>", etree.HTMLParser())
    return Roles(root.iter("h1")).of(root.find(".//p"))


@pytest.mark.parametrize(
    "name", ["comments", "cookie-banner", "photo-caption", "author-box", "ad", "ads-top", "advert"]
)
def test_furniture_is_inherited(name: str) -> None:
    """What lies under a name that tells of furniture is furniture, however deep."""
    assert role_of_text(f"<div class={name}><div><div><p>text</div></div></div>").furniture
    assert role_of_text(f"<div id={name}><div><p>text</div></div>").furniture


@pytest.mark.parametrize("name", ["commentary", "shadow", "has-ads", "adventure", "story-body"])
def test_names_of_content_are_not_furniture(name: str) -> None:
    """A word is not furniture for containing one that is."""
    assert role_of_text(f"<div class={name}><p>text</div>")[:2] == (False, False)


@pytest.mark.parametrize("name", ["commented", "with-sidebar", "modal-enabled"])
def test_a_wrapper_of_the_heading_is_not_a_part(name: str) -> None:
    """What holds the heading of the page is neither its sidebar nor its comments."""
    html = f"<div class={name}>{{}}<div><p>text</div></div>"
    assert role_of_text(html.format("<h1>A title</h1>"))[:2] == (False, False)
    assert role_of_text(html.format("<h2>A title</h2>"))[:2] != (False, False)


def test_topics_are_not_names() -> None:
    """WordPress puts an entry's category and tags among its classes."""
    assert not role_of_text("<div class='hentry category-cookies tag-comment'><p>text").furniture


def test_a_section_is_not_judged_by_its_slug() -> None:
    """The page of a manual about cookies keeps its text: ids of sections are headings."""
    assert not role_of_text("<section id=http-cookies><p>text").furniture
    assert not role_of_text("<div class=section id=http-cookies><p>text").furniture


def test_a_figure_that_frames_code_or_a_table_is_none() -> None:
    """A figure goes with its credits, but not when it frames what there is to read."""
    assert role_of_text("<figure><img src=a.jpg><div><p>text</div></figure>").furniture
    for framed in ("<pre>x</pre>", "<table><tr><td>x</table>"):
        assert not role_of_text(f"<figure>{framed}<div><p>text</div></figure>").furniture


def test_depth_does_no_harm() -> None:
    """A paragraph below thousands of wrappers has its role, without recursion."""
    body = el = etree.Element("body")
    for _ in range(20_000):
        el = etree.SubElement(el, "div", {"class": "widget"})
    etree.SubElement(el, "h1")
    assert Roles(body.iter("h1")).of(etree.SubElement(el, "p")) == Role()
