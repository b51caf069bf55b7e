"""Pages that are no articles: what happens to each, and why that is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from scrapy_simhash import Document, SyncDedup
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from tests.pages import article

DEFAULT = named_recipe("default")
MENU = "".join(f"<li><a href='/c/{n}'>Department number {n}</a></li>" for n in range(30))


def page(body: str, title: str = "The shop") -> str:
    return (
        f"<html><head><title>{title}</title></head><body><div class=top><ul>{MENU}</ul></div>"
        f"<div class=content>{body}</div><div class=bottom><p>Open every day but the last of the"
        " month, and when it rains. All prices are in shells.</p></div></body></html>"
    )


@pytest.fixture
def checked() -> Iterator[Callable[..., tuple[str, str | None]]]:
    """Check a page; return its verdict and the original."""
    with ExitStack() as stack:
        open_ones: dict[Recipe, SyncDedup] = {}

        def check(html: str, url: str, recipe: Recipe = DEFAULT) -> tuple[str, str | None]:
            if recipe not in open_ones:
                dedup = SyncDedup(recipe=recipe, processes=0)
                open_ones[recipe] = stack.enter_context(dedup)
            verdict = open_ones[recipe].check(Document(url, html), wait=False)
            return verdict.kind, verdict.original

        yield check


def listing(first: int, count: int = 12) -> str:
    rows = "".join(
        f"<li><a href='/p/{n}'>{article(n, 4)}</a></li>" for n in range(first, first + count)
    )
    return f"<ul>{rows}</ul>"


def test_pagination_pages_with_other_items_are_kept(checked: Callable[..., object]) -> None:
    """Nothing behind page 2 may be lost because page 1 has the same template."""
    for number in range(4):
        url = f"http://shop.test/list?page={number}"
        assert checked(page(listing(12 * number)), url) == ("unique", None)


def test_the_same_listing_under_another_address_is_a_copy(checked: Callable[..., object]) -> None:
    """A session token or a sort order that changes nothing leads to the same links again."""
    checked(page(listing(0)), "http://shop.test/list")
    assert checked(page(listing(0)), "http://shop.test/list?sid=1") == (
        "duplicate",
        "http://shop.test/list",
    )


def test_listing_with_one_new_item_is_kept(checked: Callable[..., object]) -> None:
    """The new item may be linked from nowhere else."""
    checked(page(listing(0)), "http://shop.test/list")
    assert checked(page(listing(1)), "http://shop.test/list/new") == ("unique", None)


def test_long_list_that_the_page_marks_as_its_main_part_is_compared_by_distance(
    checked: Callable[..., object],
) -> None:
    """The front page fetched twice is one page. Whoever wants every new link takes `follow`."""
    one, newer, other = (
        f"<html><body><main><h1>Contents</h1>{listing(first, 60)}</main></body></html>"
        for first in (0, 1, 60)
    )
    checked(one, "http://shop.test/")
    assert checked(newer, "http://shop.test/index") == ("duplicate", "http://shop.test/")
    assert checked(other, "http://shop.test/?page=2") == ("unique", None)


WALLS = {
    "log-in wall": "<form><p>Please log in to read on.</p><input name=user></form>",
    "cookie wall": "<p>We need your consent before we show you anything.</p><button>Yes</button>",
    "soft 404": "<h2>Not found</h2><p>There is no such page here.</p>",
}


@pytest.mark.parametrize("wall", WALLS)
def test_the_same_wall_on_one_site_is_kept_once(checked: Callable[..., object], wall: str) -> None:
    """It is the same page again: what lies behind it was not on it. Its own title keeps one."""
    checked(page(WALLS[wall], wall), "http://shop.test/a")
    assert checked(page(WALLS[wall], wall), "http://shop.test/b") == (
        "duplicate",
        "http://shop.test/a",
    )
    assert checked(page(WALLS[wall], "Blue mug"), "http://shop.test/c")[0] == "unique"


def test_a_short_notice_repeats_only_one_with_the_same_title(
    checked: Callable[..., object],
) -> None:
    notice = "<html><title>{}</title><body><p>We are moving house.</p></body></html>"
    assert checked(notice.format("Moved"), "http://a.test/1")[0] == "unique"  # type: ignore[index]
    assert checked(notice.format("Shop"), "http://b.test/1")[0] == "unique"  # type: ignore[index]
    assert checked(notice.format("Moved"), "http://b.test/2") == ("duplicate", "http://a.test/1")


DATA = {
    "JSON": "<script id=__NEXT_DATA__ type='application/json'>{'id': '...'}</script>",
    "state": "<script>window.__INITIAL_STATE__ = {'id': '...'}</script>",
    "quoted state": '<script>\nvar state = JSON.parse(\'{"id": "..."}\')</script>',
    "React": "<script>self.__next_f.push([1, '...'])</script>",
    "Nuxt": "<script>window.__NUXT__=(function(a,b){return {id: '...'}}(1,2))</script>",
    "Inertia": "<div data-page='{...}'></div>",
}


@pytest.mark.parametrize("data", DATA)
def test_pages_drawn_by_a_script_are_told_apart_by_their_data(
    checked: Callable[..., object], data: str
) -> None:
    """All that a crawler without a browser sees of them is one and the same notice."""
    for number in range(3):
        shell = (
            "<html><title>App</title><body><noscript>Enable JavaScript.</noscript>"
            f"<p>Loading</p>{DATA[data].replace('...', article(number))}</body></html>"
        )
        assert checked(shell, f"http://app.test/{number}")[0] == "unique"


SHARED = {
    "settings": "<script>settings = {'api': 'http://api.test', 'language': 'en'}</script>",
    "pixel": "<noscript><img src='//t.test/tr?id=123456&ev=PageView'></noscript>",
    "frame": "<noscript><iframe src='//t.test/ns.html?id=GTM-12345'></iframe></noscript>",
}


@pytest.mark.parametrize("shared", SHARED)
def test_a_page_that_shows_nothing_repeats_none_of_its_program(
    checked: Callable[..., object], shared: str
) -> None:
    """Its address is all that tells such pages apart."""
    shell = f"<html><title>App</title><body><div id=app></div>{SHARED[shared]}"
    for number in range(2):
        assert checked(shell, f"http://app.test/{number}")[0] == "skipped"


def test_pages_of_a_gallery_are_told_apart_by_their_images(
    checked: Callable[..., object],
) -> None:
    """The logo in the menu may be another one from page to page."""
    for number in range(3):
        photo = f"<nav><img src=/logo{number}.svg></nav><p>A photo.</p><img src='/p/{number}.jpg'>"
        gallery = f"<html><title>Photos</title><body>{photo}</body></html>"
        assert checked(gallery, f"http://a.test/{number}")[0] == "unique"
    again = gallery.replace("logo2", "logo3")
    assert checked(again, "http://a.test/again")[0] == "duplicate"


LAZY = "<img src='data:image/gif;base64,R0lGODlhAQABAAD/ACw=' {}='/p/{}.jpg'>"
IMAGES = {
    "lazy": LAZY.replace("{}", "data-src", 1),
    "lazy, by its set": LAZY.replace("{}", "data-srcset", 1),
    "without src": "<img srcset='/p/{}.jpg 2x'>",
    "from a program": "<img src='/_next/image?url=%2Fp%2F{}.jpg&w=640'>",
}


@pytest.mark.parametrize("image", IMAGES)
def test_images_are_known_by_the_file_that_they_will_show(
    checked: Callable[..., object], image: str
) -> None:
    """Lazy images, and those that a program makes, have one source and one name of a file."""
    for number in range(3):
        photo = f"<p>A photo from our journey.</p>{IMAGES[image].format(number)}"
        gallery = f"<html><title>Photos</title><body>{photo}</body></html>"
        assert checked(gallery, f"http://a.test/{number}")[0] == "unique"


EMBEDDED = (
    *("iframe src='/{}'", "iframe data-src='/{}'", "embed src='/{}'", "object data='/{}'"),
    *("video src='/{}'", "audio><source src='/{}\x01&#xFFFE;'"),
)


@pytest.mark.parametrize("embedded", EMBEDDED)
def test_pages_are_told_apart_by_what_they_embed(
    checked: Callable[..., object], embedded: str
) -> None:
    """A player is all that the pages of some collections show."""
    for number in range(3):
        player = f"<p>The player will load shortly.</p><{embedded.format(number)}>"
        watched = f"<html><title>Films</title><body>{player}</body></html>"
        assert checked(watched, f"http://a.test/{number}")[0] == "unique"


@pytest.mark.parametrize("about", [0, 2, 12])
def test_pages_are_told_apart_by_what_their_fields_hold(
    checked: Callable[..., object], about: int
) -> None:
    """A place for snippets of code shows each in a field, under one title and beside one text."""
    for number in range(3):
        field = f"<p>{article(99, 12 * about)}</p><textarea>{article(number, 40)}</textarea>"
        assert checked(page(field), f"http://a.test/{number}")[0] == "unique"


def test_pages_are_told_apart_by_the_boxes_that_are_checked(checked: Callable[..., object]) -> None:
    """All boxes of a form may have one value, and those of a table of features have none."""
    for number in range(3):
        box = "<p><input type=checkbox{}> Lift</p><p><input type=checkbox{}> Garage</p>"
        boxes = box.format(*(" checked" if number == n else "" for n in (1, 2)))
        flat = page(f"{boxes}<p>{article(99, 60)}</p>")
        assert checked(flat, f"http://a.test/{number}")[0] == "unique"


def test_lists_of_links_below_one_text_are_two_pages(checked: Callable[..., object]) -> None:
    """A shop has a text of its own on each page of a category; the products are links."""
    for number in range(3):
        products = (f"<li><a href='/p/{n}'>Lamp number {n}</a></li>" for n in range(20))
        goods = "".join(products).replace("/p/", f"/p/{number}")
        category = page(f"<h1>Lamps</h1><p>{article(99, 30)}</p><ul class=goods>{goods}</ul>")
        assert checked(category, f"http://a.test/{number}")[0] == "unique"


FIELDS = (
    *("<table><tr><th>Author</th><td>{}</td></tr></table>", "<p>Author: {}</p>"),
    *("<dl><dt>Author</dt><dd>{}</dd></dl>", "<div><span>Author</span><div>{}</div></div>"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_records_are_told_apart_by_values_that_are_links(
    checked: Callable[..., object], field: str
) -> None:
    """The author of a book, the team of a player: most sites link such a value to its own page."""
    for author in ("Ann Lee", "Ben Orr", "Cleo Finch"):
        value = field.format(f"<a href='/by/{author[0]}'>{author}</a>")
        book = page(f"<h1>Book</h1>{value}<p>{article(99, 60)}</p>")
        assert checked(book, f"http://a.test/{author[0]}")[0] == "unique"


@pytest.mark.parametrize(
    "teasers", ["<h3>Read more</h3><p><a href=/{0}>{1}</a></p>", "<p>4 May</p><a href=/{0}>{1}</a>"]
)
def test_teasers_are_no_values(checked: Callable[..., tuple[str, str]], teasers: str) -> None:
    for number, name in enumerate(("A walk", "The mill"), 1):
        body = f"<h1>Book</h1><p>{article(99, 60)}</p>{teasers.format(number, name)}"
        kind, _ = checked(page(body), f"http://a.test/{number}")
        assert kind == ("unique" if number == 1 else "duplicate")


def test_page_without_any_text_repeats_none(checked: Callable[..., object]) -> None:
    for number in range(2):
        assert checked("<html><body></body></html>", f"http://a.test/{number}")[0] == "skipped"


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ('<script type="application/ld+json">{{"sku": "{}"}}</script>', True),
        ('<script type="application/ld+json">{{"a": [{{"value": {}}}]}}</script>', True),
        ('<meta itemprop=color content="{}">', True),
        ('<meta property="og:title" content="Lamp {}">', True),
        ('<script type="application/ld+json">{{"dateModified": "{}"}}</script>', False),
        ('<script type="application/ld+json">{{"url": "http://s.test/{}"}}</script>', False),
        ('<meta itemprop=interactionCount content="{}">', False),
    ],
)
def test_what_a_page_states_for_programs_tells_two_records_apart(
    checked: Callable[..., object], stated: str, kept: bool
) -> None:
    """Addresses, dates and counts are others on each visit, or on each path of one page."""
    for value in ("7", "8"):
        checked_page = page(article(1, 80) + stated.format(value))
        verdict = checked(checked_page, f"http://shop.test/lamps/{value}")
    assert verdict == (("unique", None) if kept else ("duplicate", "http://shop.test/lamps/7"))
