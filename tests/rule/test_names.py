"""Whole pages whose names stand in other places than those of most, or whose texts are edited."""

import pytest

from tests.pages import article, edited, framed, judged

MENU = "<h2>Links</h2><ul><li><a href=/a>Sports</a><li><a href=/b>Science</a></ul>"
STORY = "".join(f"<p>{article(seed, 60)}</p>" for seed in range(4))


def paper(name: str, text: str, top: str) -> str:
    return (
        f"<title>Industry news</title><div><{top}>Industry news</{top}>{MENU}</div><div>"
        f"<h2>{name}</h2><p>1 May 2031</p><p>{text} {name}. Industry news. {name}.</p></div>"
    )


@pytest.mark.parametrize("top", ["h1", "b"])
@pytest.mark.parametrize("words", [60, 200])
def test_pages_whose_names_stand_in_the_h2_above_the_text_are_two(top, words):
    """Menus have an ``h2``, too, and the text speaks of the section that is their title."""
    text = article(1, words)
    one = paper("Celick shows its alpha engine", text, top)
    other = paper("Torvex builds another harbour", edited(text, 2, 0.03), top)
    assert not judged(("http://p.test/187.html", one), ("http://p.test/185.html", other)).is_copy


@pytest.mark.parametrize("heading", ["<h1>Trustees choose a site</h1>", "<b>Trustees choose</b>"])
def test_a_print_view_under_the_name_of_the_site_is_a_copy(heading):
    teasers = "".join(f"<li><a href=/{n}>{article(n, 8)}</a>" for n in range(20, 40))
    page = (
        f"<title>Trustees choose a site - The Paper</title><nav>{MENU}</nav>{heading}"
        f"<div>{STORY}</div><ul>{teasers}</ul>"
    )
    view = f"<title>The Paper</title><h1>Trustees choose a site</h1><div>{STORY}</div>"
    other = view.replace("choose a site", "leave the board").replace(article(3, 60), article(9, 60))
    one, printed = "http://p.test/node/44", "http://p.test/node/44?print=1"
    assert judged((one, page), (printed, view)).is_copy
    assert not judged((one, page), (printed, other)).is_copy


CANONICAL = "http://s.test/products/b12"
PRODUCT = framed(
    f"<p>$2.15</p><p>{article(7, 90)}</p><p>Made of cotton.</p>",
    "Hook",
    head=f"<link rel=canonical href={CANONICAL}>",
)
VIEW = PRODUCT.replace("<h1>", "<p>All the brass of the shop: back to it</p><h1>")


@pytest.mark.parametrize(
    ("one", "other", "is_copy"),
    [
        ("http://s.test/all/products/b12", VIEW, True),
        (CANONICAL, VIEW, True),
        ("http://s.test/all/products/b12", VIEW.replace(CANONICAL, "/b12"), False),
        ("http://s.test/all/products/b12", VIEW.replace("$2.15", "$2.95"), False),
        ("http://s.test/all/products/b12", VIEW.replace("cotton", "brass wire"), False),
    ],
)
def test_pages_that_declare_one_address_are_views_of_one_page(one, other, is_copy):
    assert judged((one, PRODUCT), ("http://s.test/brass/goods/b12", other)).is_copy is is_copy


@pytest.mark.parametrize("heading", ["", "<h1>Lamp {0}</h1>"])
@pytest.mark.parametrize("name", ["{}", "no{}", "size x{}"])
def test_each_part_of_a_long_series_with_one_text_has_a_name_of_its_own(heading, name):
    """A few bits would tell sixteen of them apart, and call the rest copies."""
    parts = [
        f"<title>Lamp {part}</title>{heading.format(part)}<p>{article(1, 80)}</p>"
        for part in map(name.format, range(100, 260))
    ]
    first, *others = ((f"http://p.test/part/{n}", page) for n, page in enumerate(parts))
    assert not [other[0] for other in others if judged(first, other).is_copy]
