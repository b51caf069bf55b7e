"""Whole pages whose names stand in other places than those of most, or whose texts are edited."""

import pytest

from tests.pages import article, edited, judged

MENU = "<ul><li><a href=/a>Sports</a><li><a href=/b>Science</a></ul>"


def paper(
    name: str, text: str, *, title: str = "The Paper", top: str = "h1", tag: str = "h2"
) -> str:
    return (
        f"<title>{title}</title><div><{top}>{title}</{top}><h2>Read about</h2>{MENU}<h2>Links</h2>"
        f"{MENU}</div><div><{tag}>{name}</{tag}><p>1 May 2031</p><p>{text}</p></div>"
    )


@pytest.mark.parametrize("top", ["h1", "b"])
@pytest.mark.parametrize("words", [60, 200])
def test_pages_whose_names_stand_in_the_h2_above_the_text_are_two(top, words):
    """Menus have an ``h2``, too, and the text speaks of the section that is their title."""
    text = article(1, words)
    one, other = (
        paper(name, f"{said} {name}. Industry news. {name}.", title="Industry news", top=top)
        for name, said in (
            ("Celick shows its alpha engine", text),
            ("Torvex builds another harbour", edited(text, 2, 0.03)),
        )
    )
    assert not judged(("http://p.test/187.html", one), ("http://p.test/185.html", other)).is_copy


PRINTED = [
    ("http://p.test/spip.php?article44", "http://p.test/spip.php?id_article=44&page=print"),
    ("http://p.test/news/44", "http://p.test/print/44"),
    ("http://p.test/node/44", "http://p.test/node/44?print=1"),
]


@pytest.mark.parametrize(("address", "printed"), PRINTED)
@pytest.mark.parametrize("heading", ["<h1>Trustees choose a site</h1>", "<b>Trustees choose</b>"])
def test_a_print_view_under_the_name_of_the_site_is_a_copy(address, printed, heading):
    text = "".join(f"<p>{article(seed, 60)}</p>" for seed in range(4))
    teasers = "".join(f"<li><a href=/{n}>{article(n, 8)}</a>" for n in range(20, 40))
    page = (
        f"<title>Trustees choose a site - The Paper</title><nav>{MENU}</nav>{heading}"
        f"<div>{text}</div><ul>{teasers}</ul>"
    )
    view = f"<title>The Paper</title><h1>Trustees choose a site</h1><div>{text}</div>"
    assert judged((address, page), (printed, view)).is_copy
    other = view.replace("choose a site", "leave the board").replace(article(3, 60), article(9, 60))
    assert not judged((address, page), (printed, other)).is_copy


def rows(order: list[int], title: str) -> str:
    table = "".join(f"<tr><td>{n}<td>{article(n, 12)}" for n in order)
    return f"<title>{title}</title><h1>Harbours</h1><form>Sort</form><table>{table}</table>"


@pytest.mark.parametrize("more", ["sorted by id", "— by name", "(descending)"])
def test_a_table_in_another_order_is_a_copy_under_a_longer_title(more):
    one, other = (
        rows([*range(40)], "40 harbours"),
        rows([*range(39, -1, -1)], f"40 harbours {more}"),
    )
    addresses = "http://t.test/list?section=9", "http://t.test/list?_sort=id&section=9"
    assert judged(*zip(addresses, (one, other), strict=True)).is_copy
    part = rows([*range(20, 60)], f"40 harbours {more}")
    assert not judged(*zip(addresses, (one, part), strict=True)).is_copy


def product(collection: str, canonical: str, price: str, entry: str = "cotton") -> str:
    return (
        f"<title>Hook - Shop</title><link rel=canonical href={canonical}>"
        f"<main><p>{collection}</p><h1>Hook</h1><p>{price}</p><p>{article(7, 90)}</p>"
        f"<p>Made of {entry}.</p></main>"
    )


def test_pages_that_declare_one_address_are_views_of_one_page():
    one, other = "http://s.test/all/products/b12", "http://s.test/brass/goods/b12"
    canonical = "http://s.test/products/b12"
    original = (one, product("", canonical, "$2.15"))
    view = product("All the brass of the shop: back to it", canonical, "$2.15")
    assert judged(original, (other, view)).is_copy
    assert judged((canonical, original[1]), (other, view)).is_copy
    assert not judged(original, (other, view.replace(canonical, "/b12"))).is_copy
    assert not judged(original, (other, product("", canonical, "$2.95"))).is_copy
    assert not judged(original, (other, product("", canonical, "$2.15", "brass wire"))).is_copy


@pytest.mark.parametrize(
    "form", ["<title>Lamp {}</title>", "<title>Lamp {0}</title><h1>Lamp {0}</h1>"]
)
@pytest.mark.parametrize("of", ["{}", "no{}", "size x{}"])
def test_each_part_of_a_long_series_with_one_text_has_a_name_of_its_own(form, of):
    """A few bits would tell sixteen of them apart, and call the rest copies."""
    text = article(1, 80)
    pages = [f"{form.format(of.format(number))}<p>{text}</p>" for number in range(100, 260)]
    first = ("http://p.test/part/100", pages[0])
    others = [(f"http://p.test/part/{n}", page) for n, page in enumerate(pages[1:], 101)]
    assert not [other for other, page in others if judged(first, (other, page)).is_copy]


METHOD = (
    "<p>Atomically sets the value to {0} and returns the previous value, with memory effects as"
    " specified by the handle of method number {1} in the table of all access modes.</p>"
)


@pytest.mark.parametrize(
    ("head", "names", "methods"),
    [
        ("<title>{0} (Java 17)</title><h1>Class {0}</h1>", ("AtomicInteger", "AtomicLong"), 30),
        ("<title>operator{0}</title><h1>operator{0}</h1>", ("&lt;", "++"), 4),
        ("<title>Members</title><div class=title>{0} Member List</div>", ("vtkA", "vtkB"), 30),
    ],
)
def test_siblings_in_a_manual_are_two_pages(head, names, methods):
    """They share a template and most of a text."""
    texts = ("the sum of both", "the given update")
    body = "".join(METHOD.format(texts[n % 2], n * n + 7) for n in range(methods))
    one, other = (
        f"{head.format(name)}<main><p>A value of type {name} that changes.</p>{body}</main>"
        for name in names
    )
    assert not judged(("http://docs.test/0.html", one), ("http://docs.test/1.html", other)).is_copy


def test_a_title_that_is_the_h1_as_well_is_one_name():
    text = "".join(f"<p>{article(seed, 60)}</p>" for seed in range(4))
    bare, headed = (
        f"<title>The old mill</title>{head}{text}" for head in ("", "<h1>The old mill</h1>")
    )
    ruling = judged(("http://p.test/1", bare), ("http://p.test/news/2", headed))
    assert ruling == (True, "like-headings")
