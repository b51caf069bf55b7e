"""Near-duplicates of several kinds, made from real pages.

What is made is labelled by how it was made. Everything is drawn from the names of the
pages, so the same pages give the same set.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from random import Random
from urllib.parse import urljoin, urlsplit
from zlib import crc32

from benchmarks.documents import MarkedPage, html_of
from benchmarks.evaluation import Dataset, Pair
from benchmarks.templates import Page, shingles, take_apart
from scrapy_simhash.core.analysis import Body
from scrapy_simhash.offline.saved_pages import SavedPage

# Pages in another template, and pages in their own one with 5% of the words changed.
MIRRORS = ("mirror", "headline")
EDITS = ("edits-5", "moved-5")
DUPLICATES = (*MIRRORS, *EDITS)

# Documents that share so many of their shingles are one text to begin with; the later
# goes.
MAX_ALIKE = 0.2
LONGEST_HEADLINE = 70  # letters
_HEAD = 20_000  # characters of a page in which it may name its own address
_OWN_ADDRESS = re.compile(
    r"<(?:link|meta)\s(?=[^<>]{0,300}(?:canonical|og:url))[^<>]{0,300}https?://([\w.-]{1,99})",
    re.I,
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{3,4}")


def make_kinds(
    documents: Iterable[SavedPage],
    *,
    kinds: Collection[str] = DUPLICATES,
    name: str = "kinds",
) -> Dataset:
    """Make near-duplicates from real pages; all other pairs of pages are none.

    A page takes part if its body is known or found, has at least 200 letters and
    digits, and resembles that of no earlier page. Of each, one page of each kind is
    made:

    * ``mirror``: the body in the template of another site, with the title and headline
      of the article beside the name of that site.
    * ``headline``: the same under another headline, as papers print one story.
    * ``edits-5``: 5% of the words of the body changed.
    * ``moved-5``: the same under another path of the host. Other edits have the address
      of the page with a parameter more, and mirrors that of the other page.

    Two pages made of the same one differ from each other in two ways at once; such
    pairs are ambiguous. A page whose address is not known gets one, on the host that it
    names as its own or on a host of its own.

    Args:
        documents: pages; where a line has no ``body``, the extractor ``main`` says what
            it is.
        kinds: of ``DUPLICATES``, which to make.
        name: of the set.
    """
    addressed = map(_with_address, documents)
    pages = _unlike(page for document in addressed if (page := take_apart(document)))
    making = _Making(pages)
    for kind in MIRRORS:
        if kind in kinds:
            making.mirrors(kind)
    for kind in EDITS:
        if kind in kinds:
            making.edits(kind)
    originals = [page.document for page in pages]
    return Dataset(name, originals + making.documents, making.pairs)


def made_page(name: str, html: str, url: str | None, body: str | None) -> MarkedPage:
    """Return a page whose main text is known."""
    page = Body(html.encode("utf-8", "replace"), "utf-8")
    return MarkedPage(name, url or name, page, url, {"body": body})


class _Making:
    """What has been made so far."""

    def __init__(self, pages: list[Page]) -> None:
        self.documents: list[SavedPage] = []
        self.pairs: dict[tuple[str, str], Pair] = {}
        self._pages = pages
        self._copies: dict[str, list[str]] = {}  # of each page

    def mirrors(self, kind: str) -> None:
        """Put each body into another page's template."""
        others = self._shuffled(f"templates of {kind}")
        for page in self._shuffled(kind):
            other = _turn(others, page)
            if other is None:
                continue
            draft = other.draft()
            draft.fill(page.paragraphs)
            if kind == "headline":
                headline = other_headline(page, _chance(kind, page))
                draft.rename(headline, headline)
            else:
                draft.rename(page.own_title, page.headline)
            self._add(page, kind, draft.html(), other.document.url, page.text)

    def edits(self, kind: str) -> None:
        """Change words of each page, and swap a few neighbouring sentences."""
        for page in self._shuffled(kind):
            draft = page.draft()
            edit = _editor(page, _chance(kind, page))
            for line in page.body:
                draft.edit(line, edit)
            url = page.document.url
            if url and kind == "moved-5":
                url = urljoin(url, urlsplit(url).path.rstrip("/") + "/moved")
            self._add(page, kind, draft.html(), url)

    def _shuffled(self, purpose: str) -> list[Page]:
        return _chance(purpose).sample(self._pages, len(self._pages))

    def _add(
        self, page: Page, kind: str, html: str, url: str | None, body: str | None = None
    ) -> None:
        made = f"{page.document.name}#{kind}"
        if url:
            url += f"{'&' if '?' in url else '?'}made={kind}"
        self.documents.append(made_page(made, html, url, body))
        copies = self._copies.setdefault(page.document.name, [])
        self.pairs[_ordered(page.document.name, made)] = Pair("duplicate", kind)
        for copy in copies:
            self.pairs[_ordered(copy, made)] = Pair("ambiguous")
        copies.append(made)


def _chance(purpose: str, page: Page | None = None) -> Random:
    return Random(f"0/{purpose}/{page.document.name if page else ''}")


def _with_address(document: SavedPage) -> SavedPage:
    if document.url or document.body.is_text:
        return document
    match = _OWN_ADDRESS.search(html_of(document)[:_HEAD])
    host = match[1] if match else f"site-{crc32(document.name.encode()):08x}.example"
    url = f"http://{host}/{crc32(document.name.encode()):08x}"
    return replace(document, key=url, url=url)


def _turn(others: list[Page], page: Page) -> Page | None:
    """Take a page of another site in the same script, whose template takes the text of a page.

    It then waits longest for its next turn.
    """
    for other in others:
        alike = other.site != page.site and _is_chinese(other) == _is_chinese(page)
        if alike and other.takes(page.text):
            others.remove(other)
            others.append(other)
            return other
    return None


def _unlike(pages: Iterable[Page]) -> list[Page]:
    """Return those pages whose bodies resemble no earlier one, by a sample of their shingles."""
    kept: list[tuple[Page, set[str]]] = []
    for page in pages:
        sample = {s for s in shingles(page.text) if crc32(s.encode()) % 8 == 0}
        if all(
            len(sample & o) <= MAX_ALIKE * min(len(sample), len(o)) for _, o in kept
        ):
            kept.append((page, sample))
    return [page for page, _ in kept]


def _ordered(name: str, other: str) -> tuple[str, str]:
    return (name, other) if name < other else (other, name)


def _editor(page: Page, chance: Random) -> Callable[[str], str]:
    """Return what changes 5% of the words of a body; each piece of it is to come once.

    Where words are not parted by spaces, runs of three or four characters take their
    place."""
    token = _HAN_RUN if _is_chinese(page) else _WORD
    space = "" if _is_chinese(page) else " "
    vocabulary = [word for line in page.paragraphs for word in token.findall(line)]
    total = len(vocabulary)
    marked = set(chance.sample(range(total), min(total, max(1, round(0.05 * total)))))
    seen = 0

    def change(match: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        if seen - 1 not in marked:
            return match[0]
        other = chance.choice(vocabulary)
        return chance.choice((other, "", f"{match[0]}{space}{other}"))

    def edit(text: str) -> str:
        sentences = _SENTENCE.split(token.sub(change, text))
        if len(sentences) >= 3 and chance.random() <= 0.25:
            at = chance.randrange(len(sentences) - 1)
            sentences[at : at + 2] = sentences[at + 1], sentences[at]
        return space.join(sentences)

    return edit


def other_headline(page: Page, chance: Random) -> str:
    """Return what another paper may print above the text: a sentence of it, if a long one cut."""
    sentences = [s for line in page.paragraphs for s in _SENTENCE.split(line)]
    sentences = [s for s in sentences if len(s) >= 20 and s != page.headline]
    headline = chance.choice(sentences or [page.text])
    if len(headline) <= LONGEST_HEADLINE:
        return headline.rstrip(".。 ")
    cut = headline[:LONGEST_HEADLINE]
    return cut if _is_chinese(page) else cut.rpartition(" ")[0] or cut


def _is_chinese(page: Page) -> bool:
    """Return whether at least a fifth of the body is Han characters."""
    return len(_HAN.findall(page.text)) > 0.2 * len(page.text)
