"""The generated newspapers, with what is planted in them and what a crawl must do about it."""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, replace
from random import Random

from example.loopback import Answer
from example.site.articles import LANGUAGES, Article, near_duplicate, write
from example.site.layouts import PUBLISHERS, Publisher

_OWN_ARTICLES = 8
_PER_LISTING = 8

NEAR_DUPLICATES = {
    "mirror": "mirror site",
    "syndicated": "syndicated copy",
    "ads": "injected ads",
    "counters": "changed counters",
    "edits": "small edits",
}
"""The kinds of planted near-duplicates, in words."""

# kind, the original: (publisher of its language, article), publisher of the copy, path
# of the copy
_PLANTED: tuple[tuple[str, tuple[int, int], int, str], ...] = (
    ("mirror", (0, 0), 1, "/mirror/{slug}"),
    ("syndicated", (0, 0), 2, "/wire/{slug}"),
    ("ads", (0, 1), 1, "/free/{slug}"),
    ("counters", (0, 2), 1, "/mobile/{slug}"),
    ("mirror", (1, 0), 2, "/copy/{slug}"),
    ("edits", (1, 1), 2, "/revised/{slug}"),
    ("syndicated", (1, 2), 0, "/wire/{slug}"),
    ("ads", (2, 0), 0, "/print/{slug}"),
    ("counters", (2, 1), 0, "/share/{slug}"),
    ("edits", (2, 2), 0, "/edited/{slug}"),
)
# This copy is linked from nowhere: a redirect leads to it.
_BEHIND_REDIRECT = ("syndicated", (0, 0))


@dataclass(frozen=True)
class Page:
    """One address of the site and the truth about it.

    Attributes:
        kind: one of ``NEAR_DUPLICATES``, or what else the page is: article, listing,
            short ...
        cluster: the near-duplicates that it belongs to; None when it repeats no other
            page, and must never be dropped. Of each cluster exactly one page is kept.
    """

    url: str
    kind: str
    answer: Answer
    title: str = ""
    teaser: str = ""
    cluster: str | None = None


class Newsroom:
    """The six newspapers: a source of pages that knows which of them repeat one another.

    Every instance generates the same pages.

    Attributes:
        pages: all pages by address.
        fronts: the front pages; all others are reached from them.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self._asked: dict[str, int] = defaultdict(int)
        self._live: dict[str, tuple[Publisher, Article]] = {}
        for lang in LANGUAGES:
            self._fill(
                [publisher for publisher in PUBLISHERS if publisher.lang == lang]
            )
        self.fronts = [publisher.url("/") for publisher in PUBLISHERS]

    def clusters(self) -> dict[str, set[str]]:
        """Return the addresses of each cluster of near-duplicates."""
        clusters: dict[str, set[str]] = defaultdict(set)
        for page in self.pages.values():
            if page.cluster:
                clusters[page.cluster].add(page.url)
        return dict(clusters)

    def get(self, url: str) -> Answer | None:
        """Return the answer for an address; some pages answer differently the second time."""
        page = self.pages.get(url)
        if page is None:
            return None
        self._asked[url] += 1
        if page.kind == "unavailable first" and self._asked[url] == 1:
            return Answer(b"back in a minute\n", "text/plain", 503)
        if page.kind == "live":
            publisher, article = self._live[url]
            seen = replace(article, readers=article.readers + 17 * self._asked[url])
            return answer_of(publisher, article.title, seen.body())
        return page.answer

    def _fill(self, publishers: list[Publisher]) -> None:
        articles = [_articles(publisher) for publisher in publishers]
        planted = {original for _, original, _, _ in _PLANTED}
        for number, publisher in enumerate(publishers):
            for place, article in enumerate(articles[number]):
                url = publisher.url(publisher.path.format(slug=article.slug))
                cluster = url if (number, place) in planted else None
                self._add_article("article", publisher, article, url, cluster)
        for kind, original, number, path in _PLANTED:
            source, article = (
                publishers[original[0]],
                articles[original[0]][original[1]],
            )
            publisher = publishers[number]
            copy = near_duplicate(kind, article, source.name)
            cluster = source.url(source.path.format(slug=article.slug))
            url = publisher.url(path.format(slug=article.slug))
            self._add_article(kind, publisher, copy, url, cluster)
            if (kind, original) == _BEHIND_REDIRECT:
                self._redirect(publisher, "/go/wire", url)
        for publisher in publishers:
            self._add_oddities(publisher)
            self._add_listings(publisher)

    def _add(self, page: Page) -> None:
        self.pages[page.url] = page

    def _add_article(
        self,
        kind: str,
        publisher: Publisher,
        article: Article,
        url: str,
        cluster: str | None,
    ) -> None:
        answer = answer_of(publisher, article.title, article.body())
        self._add(Page(url, kind, answer, article.title, _teaser(article), cluster))

    def _redirect(self, publisher: Publisher, path: str, target: str) -> None:
        answer = Answer(status=301, location=target)
        self._add(
            Page(publisher.url(path), "redirect", answer, self.pages[target].title)
        )

    def _add_oddities(self, publisher: Publisher) -> None:
        """Add what looks repeated or broken and must not be dropped."""
        phrases, url = LANGUAGES[publisher.lang].PHRASES, publisher.url
        rng = Random(f"oddities of {publisher.host}")

        for number in (1, 2, 3):
            event = write(publisher.lang, f"event-{number}", rng, length=2)
            event = replace(event, lines=(phrases["event_rules"], *event.lines))
            self._add_article(
                "same template", publisher, event, url(f"/events/{number}"), None
            )
        contact = phrases["contact"].format(host=publisher.host)
        moved = {
            f"/old/{n}": phrases["moved"].format(path=f"/live?{n}") for n in (1, 2)
        }
        for path, text in {"/contact": contact, **moved}.items():
            # The notices of two moved pages differ in a digit; their headings tell them
            # apart.
            answer = answer_of(publisher, f"{publisher.name} {path}", [text])
            self._add(Page(url(path), "short", answer, text))
        self._add(
            Page(url("/plan.png"), "image", Answer(_PNG, "image/png"), "plan.png")
        )
        self._add(
            Page(
                url("/plan.zip"), "archive", Answer(_ZIP, "application/zip"), "plan.zip"
            )
        )

        behind = write(publisher.lang, "behind", rng, length=4)
        self._add_article(
            "behind a redirect", publisher, behind, url("/archive/behind"), None
        )
        self._redirect(publisher, "/go/archive", url("/archive/behind"))
        self._redirect(publisher, "/go/contact", url("/contact"))
        flaky = write(publisher.lang, "flaky", rng, length=4)
        self._add_article(
            "unavailable first", publisher, flaky, url("/archive/flaky"), None
        )
        gone = Answer(b"gone\n", "text/plain", 404)
        self._add(Page(url("/archive/gone"), "missing", gone, phrases["gone"]))
        live = write(publisher.lang, "live", rng, length=4)
        self._live[url("/live")] = publisher, live
        self._add_article("live", publisher, live, url("/live"), None)

    def _add_listings(self, publisher: Publisher) -> None:
        """Add the front page and the pages that continue it; together they link to everything."""
        phrases = LANGUAGES[publisher.lang].PHRASES
        targets = {
            page.answer.location
            for page in self.pages.values()
            if page.kind == "redirect"
        }
        linked = [
            page
            for page in self.pages.values()
            if page.url.startswith(publisher.url("/"))
            and page.kind != "live"
            and (page.url not in targets or page.kind == "short")
        ]
        for number, start in enumerate(range(0, len(linked), _PER_LISTING), 1):
            lines = [
                f'<a href="{page.url}">{page.title}</a> {page.teaser}'
                for page in linked[start : start + _PER_LISTING]
            ]
            if number == 1:
                lines.append(f'<a class="live" href="/live">{phrases["live"]}</a>')
            if start + _PER_LISTING < len(linked):
                lines.append(f'<a href="/page/{number + 1}">{phrases["more"]}</a>')
            url = publisher.url("/" if number == 1 else f"/page/{number}")
            self._add(Page(url, "listing", answer_of(publisher, publisher.name, lines)))


def _articles(publisher: Publisher) -> list[Article]:
    rng = Random(publisher.host)
    return [
        write(publisher.lang, f"{number:02}", rng, length=rng.randint(4, 6))
        for number in range(1, _OWN_ARTICLES + 1)
    ]


def _teaser(article: Article) -> str:
    return re.split(r"(?<=。)|(?<=\.) ", article.lines[0])[0]


def answer_of(publisher: Publisher, title: str, lines: list[str]) -> Answer:
    """Return a page as a publisher sets it."""
    phrases = LANGUAGES[publisher.lang].PHRASES
    page = publisher.page.substitute(
        name=publisher.name,
        lang=publisher.lang,
        charset=publisher.charset,
        title=title,
        body="\n".join(publisher.paragraph.format(line) for line in lines),
        links='<li><a href="/contact">desk</a></li><li><a href="/page/2">2</a></li>',
        related=phrases["related"],
        rights=phrases["rights"].format(name=publisher.name),
    )
    return Answer(page.encode(publisher.charset))


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(17 * 16))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


_PNG = _png()
# One without files.
_ZIP = b"PK\x05\x06" + bytes(18)
