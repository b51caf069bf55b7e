"""Near-duplicates of several kinds, and pages that only look like some, made from real pages.

What is made is labelled by how it was made. Everything is drawn from the seed and the names of
the pages, so the same pages give the same set.

dataset = make_kinds(documents)
dataset.documents[-1].body  # a page
dataset.pairs[("a", "a#mirror")]  # Pair(label='duplicate', kind='mirror')
dataset.negatives[("a#mirror", "b")]  # 'template': page b lent the mirror its template
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from random import Random
from urllib.parse import urljoin, urlsplit
from zlib import crc32

from benchmarks.documents import MarkedPage, html_of, marks_of
from benchmarks.kinds.changes import (
    blended,
    edited_paragraphs,
    is_chinese,
    other_headline,
    phrases_for,
    with_ads,
    with_attribution,
    with_edits,
    with_other_counters,
)
from benchmarks.kinds.templates import Page, shingles, take_apart
from scrapy_simhash.core.analysis import Body
from scrapy_simhash.offline.datasets import Dataset, Pair
from scrapy_simhash.offline.saved_pages import SavedPage

#: The near-duplicates that can be made of a page.
DUPLICATES = (
    *("mirror", "copy", "ads", "counters", "edits-2", "edits-5", "moved-5"),
    *("headline", "headline-edits"),
)
#: What can be made that is none.
NEGATIVES = ("template", "topic", "boilerplate")

_HEAD = 20_000  # characters of a page in which it may name its own address
_OWN_ADDRESS = re.compile(
    r"<(?:link|meta)\s(?=[^<>]{0,300}(?:canonical|og:url))[^<>]{0,300}https?://([\w.-]{1,99})", re.I
)

#: Documents that share so many of their shingles are one text to begin with; the later goes.
MAX_ALIKE = 0.2

_CHANGES: dict[str, Callable[[Page, Random], str]] = {
    "copy": with_attribution,
    "ads": with_ads,
    "counters": with_other_counters,
    "edits-2": partial(with_edits, share=0.02),
    "edits-5": partial(with_edits, share=0.05),
    "moved-5": partial(with_edits, share=0.05),
}
# Pages in another template: whether under a headline of its own, and the share of words changed.
_MIRRORS = {"mirror": (False, 0.0), "headline": (True, 0.0), "headline-edits": (True, 0.02)}


def make_kinds(
    documents: Iterable[SavedPage],
    *,
    seed: int = 0,
    per_kind: int | None = None,
    kinds: Collection[str] = (*DUPLICATES, *NEGATIVES),
    name: str = "kinds",
) -> Dataset:
    """Make near-duplicates and their likes from real pages.

    A page takes part if its body is known or found, has at least 200 letters and digits, and
    resembles that of no earlier page. Of each, one page of each kind is made:

    * ``mirror``: the body in the template of another site, with the title and headline of the
      article beside the name of that site.
    * ``headline``: the same under another headline, as papers print one story.
    * ``headline-edits``: the same, with 2% of the words changed.
    * ``copy``: the body with a line that says where it comes from.
    * ``ads``: the body with advertisements in it.
    * ``counters``: other counts, dates and session ids around the body.
    * ``edits-2``, ``edits-5``: 2% or 5% of the words of the body changed.
    * ``moved-5``: 5% of the words changed, under another path of the host. All other copies have
      the address of the page with a parameter more, and all mirrors that of the other page.
    * ``template``: no page, but the pairs of pages in one template that the mirrors make.
    * ``topic``: half of the sentences are those of another body, under a headline of its own.
      Besides, pages of one site.
    * ``boilerplate``: the template without the body, or with a notice.

    A page in whose template the body is the lesser part is in no negative pair: without its body
    it is much the same. Two pages made of the same one differ from each other in two ways at once;
    such pairs are ambiguous. A page whose address is not known gets one, on the host that it names
    as its own or on a host of its own.

    Args:
        documents: pages; where a line has no ``body``, the extractor ``main`` says what it is.
        seed: another one makes other pages.
        per_kind: how many pages of each kind to make; one of each page if None.
        kinds: of ``DUPLICATES`` and ``NEGATIVES``, which to make.
        name: of the set.
    """
    addressed = map(_with_address, documents)
    pages = _unlike(page for document in addressed if (page := take_apart(document)))
    making = _Making(pages, seed, per_kind)
    for kind in _MIRRORS:
        if kind in kinds or (kind == "mirror" and "template" in kinds):
            making.mirrors(kind)
    for kind in _CHANGES:
        if kind in kinds:
            making.copies(kind)
    if "topic" in kinds:
        making.blends()
    if "boilerplate" in kinds:
        making.emptied()
    negatives = {pair: kind for pair, kind in making.negatives.items() if kind in kinds}
    originals = [page.document for page in pages]
    return Dataset(name, originals + making.documents, making.pairs, negatives)


def made_page(
    name: str, html: str, url: str | None, body: str | None, lang: str | None = None
) -> MarkedPage:
    """Return a page whose main text is known."""
    page = Body(html.encode("utf-8", "replace"), "utf-8")
    return MarkedPage(name, url or name, page, url, {"body": body, "lang": lang})


class _Making:
    """What has been made so far."""

    def __init__(self, pages: list[Page], seed: int, per_kind: int | None) -> None:
        self.documents: list[SavedPage] = []
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.negatives: dict[tuple[str, str], str] = {}
        self._pages = pages
        self._seed = seed
        self._per_kind = per_kind
        self._copies: dict[str, list[str]] = {}  # of each page
        self._in_template: dict[str, list[str]] = {}  # pages with other texts, of each page

    def mirrors(self, kind: str) -> None:
        """Put each body into another page's template."""
        has_other_headline, edited = _MIRRORS[kind]
        others = self._shuffled(f"templates of {kind}")
        for page in self._chosen(kind):
            other = _turn(others, page, to_take=page.text)
            if other is None:
                continue
            chance = self._chance(kind, page)
            draft = other.draft()
            draft.fill(edited_paragraphs(page, chance, edited) if edited else page.paragraphs)
            if has_other_headline:
                headline = other_headline(page, chance)
                draft.rename(headline, headline)
            else:
                draft.rename(page.own_title, page.headline)
            made = self._add(page, kind, draft.html(), other.document.url, page.text)
            self._is_copy(page, made, kind)
            self._is_in_template(other, made, "template")

    def copies(self, kind: str) -> None:
        """Change each page in its own template."""
        for page in self._chosen(kind):
            html = _CHANGES[kind](page, self._chance(kind, page))
            url = page.document.url
            if url and kind == "moved-5":
                url = urljoin(url, urlsplit(url).path.rstrip("/") + "/moved")
            self._is_copy(page, self._add(page, kind, html, url), kind)

    def blends(self) -> None:
        """Replace half of each body by half of another; and name pairs of pages of one site."""
        others = self._shuffled("others")
        for page in self._chosen("topic"):
            other = _turn(others, page)
            texts = blended(page, other) if other is not None else []
            if other is not None and texts and page.takes(page.text):
                draft = page.draft()
                draft.fill(texts)
                headline = other_headline(other, self._chance("topic", page))
                draft.rename(headline, headline)
                made = self._add(page, "topic", draft.html(), page.document.url)
                self._is_none(page.document.name, made, "topic")
                self._is_none(other.document.name, made, "topic")
        last: dict[str, str] = {}
        for page in self._pages:
            if page.site in last:
                self._is_none(last[page.site], page.document.name, "topic")
            last[page.site] = page.document.name

    def emptied(self) -> None:
        """Take out each body, and put a notice in its place or nothing."""
        last: dict[str, str] = {}
        of_site: dict[str, list[str]] = {}
        for page in self._chosen("boilerplate"):
            if not page.takes(page.text):
                continue
            notice = self._chance("boilerplate", page).choice(phrases_for(page).notices)
            draft = page.draft()
            draft.fill([notice] if notice else [])
            made = self._add(page, "boilerplate", draft.html(), page.document.url)
            self._is_in_template(page, made, "boilerplate")
            # What is left of two pages of one site may well be the same.
            for other in of_site.setdefault(page.site, []):
                self.pairs[_ordered(other, made)] = Pair("ambiguous")
            of_site[page.site].append(made)
            if notice in last and last[notice] not in of_site[page.site]:
                self._is_none(last[notice], made, "boilerplate")
            last[notice] = made

    def _chosen(self, kind: str) -> list[Page]:
        return self._shuffled(kind)[: self._per_kind]

    def _shuffled(self, purpose: str) -> list[Page]:
        return self._chance(purpose).sample(self._pages, len(self._pages))

    def _chance(self, purpose: str, page: Page | None = None) -> Random:
        about = page.document.name if page else ""
        return Random(f"{self._seed}/{purpose}/{about}")

    def _add(
        self, page: Page, kind: str, html: str, url: str | None, body: str | None = None
    ) -> str:
        made = f"{page.document.name}#{kind}"
        if url:
            url += f"{'&' if '?' in url else '?'}made={kind}"
        self.documents.append(made_page(made, html, url, body, marks_of(page.document).get("lang")))
        return made

    def _is_copy(self, page: Page, made: str, kind: str) -> None:
        copies = self._copies.setdefault(page.document.name, [])
        self.pairs[_ordered(page.document.name, made)] = Pair("duplicate", kind)
        for copy in copies:
            self.pairs[_ordered(copy, made)] = Pair("ambiguous")
        copies.append(made)

    def _is_in_template(self, template: Page, made: str, kind: str) -> None:
        others = self._in_template.setdefault(template.document.name, [template.document.name])
        for other in others:
            if _ordered(other, made) not in self.pairs:  # two mirrors of one page
                self._is_none(other, made, kind)
        others.append(made)

    def _is_none(self, one: str, other: str, kind: str) -> None:
        self.negatives[_ordered(one, other)] = kind


def _with_address(document: SavedPage) -> SavedPage:
    if document.url or document.body.is_text:
        return document
    found = _OWN_ADDRESS.search(html_of(document)[:_HEAD])
    host = found[1] if found else f"site-{crc32(document.name.encode()):08x}.example"
    url = f"http://{host}/{crc32(document.name.encode()):08x}"
    return replace(document, key=url, url=url)


def _turn(others: list[Page], page: Page, to_take: str | None = None) -> Page | None:
    """Take a page of another site in the same script, which then waits longest for its next turn.

    If there is a text to take, its template has to take it.
    """
    for other in others:
        alike = other.site != page.site and is_chinese(other) == is_chinese(page)
        if alike and (to_take is None or other.takes(to_take)):
            others.remove(other)
            others.append(other)
            return other
    return None


def _unlike(pages: Iterable[Page]) -> list[Page]:
    """Those pages whose bodies resemble no earlier one, by a sample of their shingles."""
    kept: list[tuple[Page, set[str]]] = []
    for page in pages:
        sample = {s for s in shingles(page.text) if crc32(s.encode()) % 8 == 0}
        if all(len(sample & o) <= MAX_ALIKE * min(len(sample), len(o)) for _, o in kept):
            kept.append((page, sample))
    return [page for page, _ in kept]


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
