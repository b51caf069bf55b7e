"""The generator labels pages by what was done to them."""

import re
from collections import Counter
from functools import cache

from benchmarks.documents import MarkedPage, html_of
from benchmarks.evaluation import Dataset
from benchmarks.kinds import DUPLICATES, made_page, make_kinds
from benchmarks.templates import shingles
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.offline.saved_pages import SavedPage
from tests.pages import article
from tests.sites import paragraphs

#: How sites set a part of their text.
LAYOUTS = ("<p id=p{0}>{1}</p>", "{1}<br><br>", "<div><div class=part>{1}</div></div>")


def page(number: int) -> MarkedPage:
    """Return a page of a site of its own; sites differ in how they set their text."""
    text = "".join(paragraphs("Chinese", number)) if number % 4 == 3 else article(number)
    parts = enumerate(re.findall(r"(?:[^.。]+[.。]\s*){1,3}", text))
    body = "".join(LAYOUTS[number % 3].format(at, part) for at, part in parts)
    html = (
        f"<html><head><title>Title of page {number}</title><script>{text}</script></head><body>"
        f"<ul class=menu><li><a href='/{number}?x=1'>Menu {number}</a> <a href=#top>Top</a></ul>"
        f"<h1>Title of page {number}</h1><div>2024-01-02, 1234567 views</div>"
        f"<div class=content>{body}</div><div>Foot of the site number {number}</div></body></html>"
    )
    return made_page(f"{number:02}", html, f"http://site{number}.example/a", text)


PAGES = [page(number) for number in range(12)]


@cache
def made() -> Dataset:
    return make_kinds(PAGES)


def pages_of(kind: str) -> list[tuple[MarkedPage, SavedPage]]:
    """Return each original and the page of a kind made of it."""
    by_id = {document.name: document for document in made().documents}
    return [(original, by_id[f"{original.name}#{kind}"]) for original in PAGES]


def shown(document: SavedPage) -> str:
    return extract(html_of(document), "text").text


def test_every_kind_is_made_of_every_page_and_two_copies_of_one_page_are_ambiguous():
    labels = Counter(pair.kind for pair in made().pairs.values() if pair.label == "duplicate")
    assert labels == dict.fromkeys(DUPLICATES, len(PAGES))
    assert made().documents[: len(PAGES)] == PAGES
    assert made().pairs["00#edits-5", "00#mirror"].label == "ambiguous"
    assert all(one < other for one, other in made().pairs)


def test_a_mirror_has_the_template_of_another_site_and_nothing_of_its_text():
    """It is set as its template sets its own text."""
    by_layout = ("<p id=", "<br><br>", '<div class="part">')
    for original, mirror in pages_of("mirror"):
        (number,) = re.findall(r"Foot of the site number (\d+)", shown(mirror))
        template = PAGES[int(number)]
        assert template.url != original.url
        assert f"Title of page {int(original.name)}" in shown(mirror)
        assert not shingles(template.line["body"] or "", 20) & shingles(html_of(mirror), 20)
        assert by_layout[int(template.name) % 3] in html_of(mirror)
        ids = re.findall(r"id=\"(\w+)\"", html_of(mirror))
        assert len(ids) == len(set(ids))
