"""The archive of one newspaper: each article has a print view, which its address tells.

Small ads stand beside them: flats under one title, in one template, that differ in
their rooms. A month later, one article says something else, and another one stands
under another address."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from example.loopback import Answer
from example.site.articles import Article, write
from example.site.layouts import PUBLISHERS
from example.site.newsroom import answer_of

ARTICLES = 60
_PER_PAGE = 10
_FLAT = (
    "This flat is let by the owner, without a fee, from the first day of the next month.",
    "It has a kitchen, a bath, a share of the garden, and a place for a bicycle in the yard.",
    "Whoever wants to see it writes to the newspaper, and names an evening and a telephone.",
)


class Archive:
    """Pages by address: articles, their print views, and listings that link to the articles.

    Attributes:
        front: the address of the first listing.
        articles: the addresses of the articles; the print view's has ``?view=print``
            behind it.
        changed: the address of the article that says something else a month later.
        moved: the address of another article, now and a month later.
        flats: the small ads: by address what each has of its own.
    """

    def __init__(self, *, later: bool = False) -> None:
        self._publisher = PUBLISHERS[0]
        self.front = self._publisher.url("/")
        rng = Random("the archive")
        slugs = [f"{number:02}" for number in range(ARTICLES)]
        self._articles: dict[str, Article] = {
            self._publisher.url(f"/archive/{slug}"): write(
                self._publisher.lang, slug, rng, 4
            )
            for slug in slugs
        }
        url = self._publisher.url
        self.changed, self.moved = (
            url("/archive/05"),
            (url("/archive/07"), url("/2030/spring")),
        )
        if later:
            article, other = self._articles[self.changed], self._articles[self.moved[0]]
            lines = (*article.lines[:-1], other.lines[0])
            self._articles[self.changed] = replace(article, lines=lines)
            old, new = self.moved
            self._articles = {
                new if u == old else u: a for u, a in self._articles.items()
            }
        self.articles = list(self._articles)
        self.flats = {
            url(f"/flats/{number}"): f"Rooms: {number % 4 + 1}, floor: {number}"
            for number in range(1, 13)
        }

    def get(self, url: str) -> Answer | None:
        """Return the answer for an address."""
        article = self._articles.get(url.removesuffix("?view=print"))
        if article is not None:
            print_view = (
                f'<a href="{url}?view=print">print</a>' if "?" not in url else ""
            )
            return answer_of(
                self._publisher, article.title, [*article.body(), print_view]
            )
        if url in self.flats:
            return answer_of(self._publisher, "Flat to let", [*_FLAT, self.flats[url]])
        page = url.removeprefix(self.front).removeprefix("page/") or "0"
        if not page.isdecimal() or int(page) * _PER_PAGE >= ARTICLES:
            return None
        first = int(page) * _PER_PAGE
        links = [
            f'<a href="{address}">{self._articles[address].title}</a>'
            for address in self.articles[first : first + _PER_PAGE]
        ]
        if not first:
            links += [f'<a href="{flat}">Flat to let</a>' for flat in self.flats]
        if first + _PER_PAGE < ARTICLES:
            links.append(f'<a href="/page/{int(page) + 1}">older</a>')
        return answer_of(self._publisher, f"Archive, page {page}", links)
