"""Pages that are no articles: what happens to each, and why that is right."""

import pytest

from scrapy_simhash import Document, SyncDedup
from tests.pages import article

MENU = "".join(f"<li><a href='/c/{n}'>Department number {n}</a></li>" for n in range(30))
NEW = ("unique", None)


def page(body: str, title: str = "The shop") -> str:
    return (
        f"<html><head><title>{title}</title></head><body><div class=top><ul>{MENU}</ul></div>"
        f"<div class=content>{body}</div><div class=bottom><p>Open every day but the last of the"
        " month, and when it rains. All prices are in shells.</p></div></body></html>"
    )


def checked(*pages: str) -> list[tuple[str, str | None]]:
    """Crawl pages of one host under the paths 0, 1, 2, ...; return verdicts and original paths."""
    documents = [Document(f"http://a.test/{number}", html) for number, html in enumerate(pages)]
    with SyncDedup(processes=0) as dedup:
        verdicts = [dedup.check(document, wait=False) for document in documents]
    return [(each.kind, each.original and each.original[-1]) for each in verdicts]


def listing(first: int, count: int = 12) -> str:
    rows = "".join(
        f"<li><a href='/p/{n}'>{article(n, 4)}</a></li>" for n in range(first, first + count)
    )
    return f"<ul>{rows}</ul>"


def test_pages_of_a_list_are_kept_and_the_same_list_is_a_copy():
    """A new item may be linked from nowhere else. A session token leads to the same links again."""
    pages = [page(listing(first)) for first in (0, 12, 24, 1, 0)]
    assert checked(*pages) == [NEW, NEW, NEW, NEW, ("duplicate", "0")]
    lists = [f"<main><h1>Contents</h1>{listing(first, 60)}</main>" for first in (0, 1, 60, 0)]
    assert checked(*lists) == [NEW, NEW, NEW, ("duplicate", "0")]


WALLS = {
    "log-in wall": page("<form><p>Please log in to read on.</p><input name=user></form>", "{}"),
    "cookie wall": page("<p>We need your consent to show anything.</p><button>Yes</button>", "{}"),
    "soft 404": page("<h2>Not found</h2><p>There is no such page here.</p>", "{}"),
    "notice": "<html><title>{}</title><body><p>We are moving house.</p></body></html>",
}


@pytest.mark.parametrize("wall", WALLS)
def test_the_same_wall_on_one_site_is_kept_once(wall):
    """It is the same page again: what lies behind it was not on it. Its own title keeps one."""
    pages = map(WALLS[wall].format, (wall, "Blue mug", wall))
    assert checked(*pages) == [NEW, NEW, ("duplicate", "0")]


SHARED = [
    "<script>settings = {'api': 'http://api.test', 'language': 'en'}</script>",
    "<noscript><img src='//t.test/tr?id=123456&ev=PageView'></noscript>",
    "<noscript><iframe src='//t.test/ns.html?id=GTM-12345'></iframe></noscript>",
]


def test_a_page_that_shows_nothing_repeats_none_of_its_program():
    """Its address is all that tells such pages apart."""
    shells = [f"<html><title>App</title><body><div id=app></div>{each}" for each in SHARED]
    empty = "<html><body></body></html>"
    assert {kind for kind, _ in checked(*shells, *shells, empty, empty)} == {"skipped"}


SHELL = "<title>App</title><body><noscript>Enable JavaScript.</noscript><p>Loading</p>"
GALLERY = "<title>Photos</title><body><nav><img src=/logo{0}.svg></nav><p>A photo we took.</p>"
LAZY = "<img src='data:image/gif;base64,R0lGODlhAQABAAD/ACw='"
PLAYER = "<title>Films</title><body><p>The player will load shortly.</p>"
TEXT = f"<p>{article(99, 60)}</p>"
GOODS = "".join(f"<li><a href='/p/{{0}}{n}'>Lamp number {n}</a></li>" for n in range(20))
LINKED_DATA = '<script type="application/ld+json">'
MANY = str([{"rating": 5}] * 500).replace("'", '"').replace("{", "{{").replace("}", "}}")
APART = {
    # All that a crawler without a browser sees of these is one and the same notice.
    "JSON": SHELL + "<script id=d type='application/json'>{{'id': '{1}'}}</script>",
    "state": SHELL + "<script>window.__INITIAL_STATE__ = {{'id': '{1}'}}</script>",
    "quoted state": SHELL + '<script>\nvar state = JSON.parse(\'{{"id": "{1}"}}\')</script>',
    "React": SHELL + "<script>self.__next_f.push([1, '{1}'])</script>",
    "Nuxt": SHELL + "<script>window.__NUXT__=(function(a,b){{return {{id: '{1}'}}}}(1))</script>",
    "Inertia": SHELL + "<div data-page='{{{1}}}'></div>",
    # Lazy images, and those that a program makes, have one source and one name of a file.
    "images": GALLERY + "<img src='/p/{0}.jpg'>",
    "lazy images": GALLERY + LAZY + " data-src='/p/{0}.jpg'>",
    "lazy images, by their set": GALLERY + LAZY + " data-srcset='/p/{0}.jpg'>",
    "images without src": GALLERY + "<img srcset='/p/{0}.jpg 2x'>",
    "images of a program": GALLERY + "<img src='/_next/image?url=%2Fp%2F{0}.jpg&w=640'>",
    # A player is all that the pages of some collections show.
    "frame": PLAYER + "<iframe src='/{0}'>",
    "lazy frame": PLAYER + "<iframe data-src='/{0}'>",
    "embed": PLAYER + "<embed src='/{0}'>",
    "object": PLAYER + "<object data='/{0}'>",
    "redirection": "<meta http-equiv=Refresh content='300;url=/{0}'><p>We are moving house.</p>",
    "video": PLAYER + "<video src='/{0}'>",
    "audio": PLAYER + "<audio><source src='/{0}\x01&#xFFFE;'>",
    # A place for snippets of code shows each in a field, under one title and beside one text.
    "field": page("<textarea>{1}</textarea>"),
    "field beside a text": page(TEXT + "<textarea>{1}</textarea>"),
    # All boxes of a form may have one value, and those of a table of features have none.
    "boxes": page("<input type=checkbox{2}> Lift<p><input type=radio{3}> Garage" + TEXT),
    "boxes by their names": page(
        f"<input type=radio name=a{{2}}><input type=radio name=b{{3}}>{TEXT}"
    ),
    "data in a form": page(f"{TEXT}<form method=post><input name=owner value='{{4}}'></form>"),
    "link of the class title": page(f"{TEXT}<p><a class=title href=/7>Lamp {{0}}</a>"),
    "data for a script": page(f"{TEXT}<form><input name=owner value='{{4}}'></form>"),
    "data that no reader writes": page(
        f"{TEXT}<form method=get><input name=owner readonly value='{{4}}'></form>"
    ),
    # A shop has a text of its own on each page of a category; the products are links.
    "links below one text": page(f"<h1>Lamps</h1><p>{article(99, 30)}</p><ul>{GOODS}</ul>"),
    # The author of a book, the team of a player: most sites link a value to its own page.
    "linked value": page(f"<h1>Book</h1><p>Author: <a href='/by/{{0}}'>{{4}}</a></p>{TEXT}"),
    "SKU": page(TEXT + LINKED_DATA + '{{"sku": "{0}"}}</script>'),
    "number": page(TEXT + LINKED_DATA + '[{{"value": {0}}}]</script>'),
    "list of lists": page(TEXT + LINKED_DATA + '{{"rows": [["{0}"]]}}</script>'),
    "SKU before many reviews": page(
        TEXT + LINKED_DATA + '{{"sku": "{0}", "review": ' + f"{MANY}}}}}</script>"
    ),
    "microdata": page(TEXT + '<meta itemprop=color content="{0}">'),
    "og:title of a page without a text": PLAYER + '<meta property="og:title" content="Film {0}">',
}
NOT_APART = {
    "logo": GALLERY + "<img src='/p/7.jpg'>",
    "counter": GALLERY + "<img src='/indexer?id={0}' width=2 height=1><img src='/p/7.jpg'>",
    "teaser below a heading": page(
        "<h1>Book</h1>" + TEXT + "<h3>Read more</h3><p><a href=/{0}>{4}</a></p>"
    ),
    "teaser below a date": page("<h1>Book</h1>" + TEXT + "<p>4 May</p><a href=/{0}>{4}</a>"),
    # Addresses, dates and counts are others on each visit, or on each path of one page.
    "date": page(TEXT + LINKED_DATA + '{{"dateModified": "{0}"}}</script>'),
    # No ticket has any of these owners.
    "question": page(f"{TEXT}<form method=GET><input name=owner value='{{4}}'></form>"),
    # What a page calls itself is its heading, if it says something.
    "og:title": page(TEXT + '<meta property="og:title" content="Lamp {0}">'),
    "address": page(TEXT + LINKED_DATA + '{{"url": "http://s/{0}"}}</script>'),
    "count": page(TEXT + '<meta itemprop=interactionCount content="{0}">'),
}


def three(pattern: str) -> list[str]:
    values = [("", "", "Ann Lee"), (" checked", "", "Ben Orr"), ("", " checked", "Cleo Finch")]
    return [pattern.format(n, article(n, 40), *more) for n, more in enumerate(values)]


@pytest.mark.parametrize("kind", [*APART, *NOT_APART])
def test_pages_are_told_apart_by_what_else_they_have_if_it_is_theirs(kind):
    other = NEW if kind in APART else ("duplicate", "0")
    assert checked(*three((APART | NOT_APART)[kind])) == [NEW, other, other]
