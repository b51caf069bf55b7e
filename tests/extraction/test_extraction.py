"""Extractors by name: what they return, and that no markup makes them raise."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from scrapy_simhash.extraction.extractor import (
    EXTRACTORS,
    FAST_EXTRACTORS,
    Extraction,
    extract,
    load_extractor,
)
from scrapy_simhash.extraction.page import parse, with_short_tags
from tests.pages import article

PAGE = f"<html><body><article><p>{article(1)}</p><p>{article(2)}</p></article></body></html>"


def shout(html: str) -> str:
    return html.upper()


def thin_shout(html: str) -> Extraction:
    return Extraction(html.upper(), thin=True)


def number(html: str) -> int:
    return len(html)


def broken(html: str) -> str:
    raise LookupError("of its own making")


@pytest.mark.parametrize("name", EXTRACTORS)
def test_each_named_extractor_finds_the_text(name):
    extraction = extract(PAGE, name)
    assert extraction.text.split() == f"{article(1)} {article(2)}".split()
    assert not extraction.thin


@pytest.mark.parametrize("name", EXTRACTORS)
def test_title_headings_and_all_that_shows_are_found_with_any_extractor(name):
    body = "<nav>Menu</nav><h1>A</h1><h1>B <i>C</i></h1><p>Text."
    page = extract(f"<html><head><title>T</title></head><body>{body}", name)
    assert (page.title, page.headings) == ("T", ("A", "B C"))
    assert page.shown == "Menu\nA\nB C\nText."


@pytest.mark.parametrize("name", EXTRACTORS)
def test_text_after_what_no_parser_takes_is_kept(name):
    """A NUL, a lone surrogate and an XML declaration of another charset lose no text."""
    html = f'<?xml version="1.0" encoding="gbk"?>\n{PAGE}'.replace("<article>", "<article>\0\ud800")
    assert article(2).split()[-1] in extract(html, name).text.split()


@pytest.mark.parametrize("name", FAST_EXTRACTORS)
def test_text_behind_the_body_is_kept(name):
    """Templates end the body, or the page, before the text; browsers show all of it."""
    parts = [article(number) for number in range(1, 5)]
    page = "<body><div>{}</body>{}<div>{}</div></html><p>{}".format(*parts)
    assert extract(page, name).text == "\n".join(parts)


TEXT, LABEL = article(1), "<svg><foreignObject><p>A label</p></foreignObject></svg>"
#: Markup, and what a browser shows of it.
SHOWN = [
    # Web components have their text in a template; any other template is not shown.
    (f"<x-article><template shadowrootmode=open><p>{TEXT}</p></template></x-article>", TEXT),
    (f"<template><p>A row for a script to fill in.</p></template><p>{TEXT}</p>", TEXT),
    # A browser ends a drawing at the next paragraph; a label in HTML is no paragraph of the page.
    *(
        (f"<svg><svg><path/></svg></svg>{LABEL}{drawing}<p>{TEXT}</p>", TEXT)
        for drawing in ("<svg><path d=M0>", "<svg><g><svg>", "<math><mi>")
    ),
    ("<p>A <map name=m><area alt=x href=/x> town.</p><p>" + TEXT, f"A  town.\n{TEXT}"),
    # Browsers show no blocks but those of their style sheet.
    (
        "<p>The <x-term title=y>mill</x-term> and<o:p></o:p> its <st1:place>town</st1:place>.",
        "The mill and its town.",
    ),
    # Data in an attribute is not cut into text.
    (f"<div data-x='{'word ' * 5000}' class=a><p>{TEXT}</p></div>", TEXT),
]


@pytest.mark.parametrize(("markup", "shown"), SHOWN, ids=range(len(SHOWN)))
def test_no_markup_hides_or_adds_text(markup, shown):
    assert extract(f"<html><body>{markup}</body></html>").shown == shown


ATTRIBUTES = ["a{0}", "a-name-of-many-letters-{0}", 'a{0}=">"', "a{0}='<\">'", 'a{0} \n= \t">="']


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_no_element_keeps_many_thousand_attributes_whatever_their_values_hold(attribute):
    """The parser takes quadratic time for them."""
    tag = f"<p {' '.join(map(attribute.format, range(20_000)))}>".encode()
    assert max(len(el.attrib) for el in parse(with_short_tags(tag)).iter()) < 5000


@pytest.mark.parametrize("name", FAST_EXTRACTORS)
def test_control_characters_behind_the_body_lose_no_text(name):
    """They become spaces; the parser drops them before libxml2 2.14."""
    between = " " if etree.LIBXML_VERSION >= (2, 14) else ""
    page = f"<body><p>{article(1)}</body>{article(2)}\v\f&#11;&#xFFFE;{article(3)}"
    first, second = extract(page, name).text.split("\n")
    assert (first, second.split()) == (article(1), f"{article(2)}{between}{article(3)}".split())


def test_a_callable_by_import_path_returns_a_str_or_an_extraction_and_fails_loudly():
    assert extract("a", f"{__name__}.shout").text == "A"
    assert extract("a", f"{__name__}.thin_shout") == Extraction("A", thin=True)
    declaring = extract("<link rel=canonical href=/7>", f"{__name__}.thin_shout", "http://a.test/")
    assert declaring.canonical == "http://a.test/7"
    with pytest.raises(LookupError, match="of its own making"):
        extract("a", f"{__name__}.broken")
    with pytest.raises(TypeError, match=r"number returned int, not a text"):
        extract("a", f"{__name__}.number")


@pytest.mark.parametrize(
    "name", ["", "proze", ".x", "no.such.module", "json.nothing", "json.decoder"]
)
def test_an_unknown_extractor_is_refused_in_one_line_that_lists_what_there_is(name):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        load_extractor(name)
    assert repr(name) in str(caught.value)
    assert name == "json.decoder" or "main, trafilatura, text or" in str(caught.value)


_PIECES = st.one_of(
    st.sampled_from(
        "<div> </div> <p> </p> <b> </b> <a> </a> <br> <table> <td> <script> <!-- --> <![CDATA["
        " <?x <svg> <frameset> <section> <html> <html/> </html> <body> </body>"
        " &#0; &#11; &amp \0 \v \ud800 ，中文。".split(" ")
    ),
    st.text(max_size=30),
    st.just(article(3, words=30)),
)


@settings(max_examples=150)
@given(st.lists(_PIECES, max_size=40).map("".join), st.sampled_from(EXTRACTORS))
@example("", "main")
@example("a\0b\ud800c", "main")
@example("<div>" * 100_000 + "deep", "main")
@example("<b>" * 1_500 + article(4) + "</b>" * 1_500, "main")
@example(bytes(range(256)).decode("latin-1") * 100, "main")
@example("<html><frameset><frame src=a></frameset></html>", "text")
@example("no markup at all", "trafilatura")
def test_no_markup_makes_a_named_extractor_raise(html, name):
    extract(html, name).text.encode("utf-8")


ICONS = (
    "<i class=stars title='Stars: 4 &amp; more'></i>",
    '<span role=img aria-label="Stars: 4 & more"></span>',
    '<td title="Stars:  4 &amp; more" class=x></td>',
    '<img src=/7.png alt="Stars: 4 & more">',
)
NO_ICONS = (
    "<i title='Stars: 4'>****</i>",
    "<button title='Stars: 4'></button>",
    "<div title='Stars: 4'></div>",
    "<a href=/4> <i title='Stars: 4'></i> four</a>",
    '<a href=/4><img src=/2.jpg alt="Stars: 4">Four</a>',
    "<i title='Stars: 4",
    f"<i title='Stars {'4' * 400}'></i>",
)


@pytest.mark.parametrize("markup", [*ICONS, *NO_ICONS])
def test_a_picture_or_an_icon_without_text_and_outside_links_says_what_its_attribute_says(markup):
    content = extract(f"<body><h1>Ulm</h1><p>{article(1)}</p><p>{markup}</p>").content
    assert content.endswith("\nStars: 4 & more") is ("Stars" in content) is (markup in ICONS)


def test_a_picture_in_the_header_of_an_article_is_of_the_article():
    """One in the header of the site, or of a teaser, is not."""
    header = "<header><img src=/7.jpg alt='a red mill'></header>"
    text = f"<h1>Ulm</h1><p>{article(1)}</p>"
    for tag in ("article", "main", "section"):
        assert "a red mill" in extract(f"<body><{tag}>{header}{text}</{tag}>").content
    assert "a red mill" not in extract(f"<body>{header}<main>{text}</main>").content
    teaser = f"<aside><article>{header}</article></aside>"
    assert "a red mill" not in extract(f"<body><main>{text}{teaser}</main>").content


NAMES = [f"<a href=/{name}>{name} (7)</a>" for name in ("Ann", "Bob", "Cem")]
TEAM = f"<p>{TEXT}</p><ul><li>{{}}</li></ul><img src=/8.jpg>"
PLAYERS = "<iframe src=https://tube.test/embed/7a?t=3></iframe><audio src=a.mp3></audio>"


#: What stands below a heading, the address of the page, and what it lists.
def test_the_last_link_of_a_long_list_is_its_entry_and_mark():
    links = (f"<li><a href=/{at}>{chr(0x4E00 + at)}</a>" for at in range(1000))
    found = extract(f"<ul>{''.join(links)}</ul>")
    assert chr(0x4E00 + 999) in found.listed
    assert "/999" in found.marks


LISTED = [
    # Links of the content, without their counts.
    *(
        (TEAM.format(between.join(NAMES)), url, {"Ann ()", "Bob ()", "Cem ()"})
        for between in ("</li><li>", ", ", " ")
        for url in ("", "http://a.test/office/")
    ),
    # Teasers lead to other pages of one folder.
    (TEAM.format(", ".join(NAMES)), "http://a.test/", set()),
    # That is the folder of the address which the page declares on its host.
    (f"<link rel=canonical href=/7>{TEAM.format(NAMES[0])}", "http://a.test/go/post", set()),
    (
        f"<link rel=canonical href=http://b.test/7>{TEAM.format(NAMES[0])}",
        "http://a.test/go/post",
        {"Ann ()"},
    ),
    # All links and pictures of a page without text.
    ("<ul><li><a href=/Ann>Ann</a></ul><img src=/8.jpg>", "http://a.test/", {"Ann", "/8.jpg"}),
    # Files and players that it offers.
    (
        f"<p>{TEXT}</p>{PLAYERS}<ul><li><a href='minutes.PDF?sid=4#p2'>Minutes</a></li></ul>",
        "http://a.test/2026/",
        {"//tube.test/embed/7a", "/2026/a.mp3", "/2026/minutes.PDF Minutes"},
    ),
]


@pytest.mark.parametrize(("body", "url", "listed"), LISTED, ids=range(len(LISTED)))
def test_a_page_lists_what_is_an_entry_of_its_content(body, url, listed):
    page = f"<body><nav><a href=/>Home</a></nav><main><h1>Team</h1>{body}</main>"
    assert extract(page, url=url).listed == listed


@pytest.mark.parametrize("after", ["", "<div class=a></div>", "<div><p>Opening hours</div>"])
def test_a_body_whose_tag_is_left_out_begins_with_its_first_element(after):
    body = f"<header>The club</header><main><h1>Lake</h1><p>{article(1)}</main>{after}<footer>Ulm"
    head = "<!doctype html><meta name=a><script>1</script><title>Lake</title>"
    one, other = extract(f"{head}{body}"), extract(f"{head}<body>{body}")
    assert article(1) in one.text
    assert (one.text, one.content, one.own) == (other.text, other.content, other.own)


def test_a_line_runs_through_any_number_of_inline_elements():
    assert extract("<p>" + "<b>x</b>" * 30_000).text.startswith("x" * 20_000)


def test_an_unclosed_nav_keeps_the_text_of_its_page():
    """What holds most of the text is no navigation."""
    line = "Some text of a page, with words and all that there is to it."
    assert line in extract(f"<nav><ul><li>Home</ul>{f'<p>{line}</p>' * 9}").text
