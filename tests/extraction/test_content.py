"""The content: which lines of a page are its own, and which are the site's."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.extraction.extractor import extract
from tests.extraction.made import NAMES, PARTS, WORDS, made_page
from tests.pages import article

TELLING = [name for name, part in PARTS.items() if part.says_what_the_page_is]
TEXT = "".join(f"<p>{article(seed, words=40)}</p>" for seed in range(3))
ARTICLE = f"<article><h1>The old mill</h1>{TEXT}</article>"
SAID = article(7, words=12)
TEASERS = "".join(f"<li><a href=/{seed}>{article(seed, words=5)}</a>" for seed in range(20, 24))
FIELDS = "<table><tr><th>Rooms<td>3<tr><th>Area<td>70 m²<tr><th>Street<td>Mill Street 7</table>"
THIN = f"<h1>Rates</h1><p>{SAID}</p>{FIELDS}"
ROW = "<ul><li>Guests: 3<li>Members: 4<li>Robots: 5</ul>"


def page(body: str, head: str = "") -> str:
    return (
        f"<html><head><title>The old mill</title></head><body>{head}<nav><a href=/>Home</a></nav>"
        f"{body}<footer>About the mill</footer></body></html>"
    )


def own(body: str) -> list[str]:
    return extract(page(body)).own.split("\n")


@pytest.mark.parametrize("elements", [WORDS, NAMES], ids=["words", "names"])
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*PARTS]), unique=True), st.sampled_from(TELLING), st.integers(0, 99)
)
def test_what_is_the_pages_and_what_is_the_sites(elements, parts, telling, seed):
    """The main text is a part of the content."""
    # A page that says little has nothing to tell what stands outside from what it is about.
    is_outside = any(PARTS[name].place == "outside" for name in parts)
    names = dict.fromkeys([*parts, telling, *(["text"] if is_outside else [])])
    html, own_lines, site_lines = made_page(names, seed, elements)
    found = extract(html)
    content = {*found.own.split("\n")}
    assert content.issuperset(found.text.split("\n"))
    assert not own_lines - content
    assert not site_lines & content


COMMENTS = (
    "<ol class=comment-list><li class='comment thread-even depth-1'><p>{}</p></li></ol>",
    "<section class=comment-wrapper><article><footer class=comment-meta>Ann</footer><p>{}</p>"
    "</article></section>",
    "<dl id=comments><dt>Ann<dd>{}</dl>",
    "<div id=answers><div class=answer>{}</div></div>",
)
POST = (
    "<div class=post><div class=profile><a href=/u/{0}>Ann {0}</a><div>{1}</div></div><div><p>{2}"
    "</div></div>"
)
OPEN, TIP = "Stall 12 is open", article(5, 40)
STALL = f"<p>{OPEN}</p>"


def both(*parts: str) -> str:
    return "".join(f"<div>{part}</div>" for part in parts)


def beside(markup: str) -> str:
    return both(markup, ARTICLE)


def inside(markup: str) -> str:
    return ARTICLE.replace("</article>", f"{markup}</article>")


def posts(profile: str, texts: list[str]) -> str:
    shown = "".join(POST.format(n, profile.format(n), text) for n, text in enumerate(texts))
    return f"<main><h1>The mill</h1>{shown}</main>"


def repeated(pattern: str, count: int, words: int, around: str = "{}") -> str:
    return around.format("".join(pattern.format(n, article(n, words)) for n in range(count)))


LONG = [article(n, 40) for n in range(3)]
# Texts of a line or two stand between long ones.
MIXED = [article(n, 40 if n % 4 == 0 else 6) for n in range(12)]
DATES = repeated("<p><a href=/{0}>{1}</a></p><div>{0} May</div>", 5, 4, "<div>{}</div>")
CELLS = repeated("<tr><td class=s>Post {0}<td><p>{1}</p>", 3, 40, "<table>{}</table>")
HEADER = repeated("<p>{1}</p>", 9, 30, "<header>{}</header>")
GOODS = repeated("<div><a href=/{0}>{1}</a></div>", 20, 9)
NUMBERED = repeated("<tr><td><div>{0} rooms</div>", 3, 1, "<table>{}</table>")
FLATS = repeated("<div><p>{1}</p><p>Rooms: {0}</p></div>", 3, 40, "<main><h1>Flats</h1>{}</main>")
LISTED = "<ul><li><a href=/ann>Ann</a><li><a href=/bob>Bob</a></ul>"
BOX = "<div>It is 12:03<br>Sunny<br>24 degrees</div>"
ALIKE = "<div class=r>5 baths</div><div class=r>2 rooms</div><div class=r>A 7</div>"
SHORT = repeated("<p>{1}</p>", 9, 6)
OWNER = "<table><tr><td>Rooms<td>3<tr><td>Owner<td><a href=/ann>Ann</a></table>"
#: Lines that are the page's own, and the page.
OWN = [
    # Below the heading in "main", whatever a class hints at.
    (
        "Mill 7",
        "<main><div><h1>Mills</h1></div><p class=post-head><a href=/7>Mill 7</a></p></main>",
    ),
    # What readers write is content.
    *((SAID, f"<main>{ARTICLE}{markup.format(SAID)}</main>") for markup in COMMENTS),
    ("Quite so", both(ARTICLE, "<ol class=comments><li>Fine<li>Quite so</ol>")),
    # A thin page is what its main says, or else all below its heading.
    (OPEN, both(THIN, STALL)),
    (article(3, 30), f"{HEADER}<div><h1>Rates</h1>{FIELDS}</div>"),
    # A list is content although more is said elsewhere.
    (article(21, words=5), f"<div><h1>News</h1><p>{SAID}</p></div><ul>{TEASERS * 5}</ul>"),
    # Lines made alike are fields where they stand in one element.
    ("2 rooms", f"<div>{ALIKE}</div><main>{ARTICLE}</main>"),
    ("2 rooms", beside(NUMBERED)),
    ("Sunny", beside(BOX)),
    # Posts are content, also those of a line or two.
    (MIXED[6], posts("Posts: {0}", MIXED)),
    # Three fields, or a price, of each entry of a list are fields.
    ("Floor: 1", posts("Rooms: {0}</div><div>Floor: {0}</div><div>Doors: {0}", LONG)),
    ("Price: 1 EUR", posts("Price: {0} EUR", LONG)),
    # A count is a field of the only text, or of the one in its element.
    ("Rooms: 1", f"<main><h1>The mill</h1>{POST.format(1, 'Rooms: 1', article(1, 40))}</main>"),
    ("Rooms: 1", FLATS),
    ("Rooms: 1", f"<main><h1>A</h1><p>{TIP}</p><p>Rooms: 1</p><p>{LONG[2]}</p><p>Floor: 2</p>"),
    # Fields in an aside and in a closed tab are the page's.
    ("Guests: 3", f"{ARTICLE}<aside>{ROW}</aside>"),
    ("Guests: 3", inside(f"<div hidden>{ROW}</div>")),
    ("Guests: 3", inside(f"<aside>{ROW}</aside>")),
    # A page that says little may have them in any part that is seen.
    ("Guests: 3", f"<div><h1>Rates</h1><p>{SAID}</p></div><footer>{ROW}</footer>"),
    ("3 May", f"{re.sub('<p>.*?</p>', '', DATES)}<main>{ARTICLE}</main>"),
    ("33.24 -0.21", beside("<p>33.24 -0.21</p>")),
    # Everything below the heading is content if it is most.
    (article(5, 9), f"<div><h1>The shop</h1><p>{article(3, 40)}</p></div>{GOODS}"),
    # Links are content below a heading where little else is said.
    ("Ann", f"<div><h1>Team</h1><p>We are three people</p></div>{LISTED}"),
    ("Ann", both(f"<h1>{article(3, 24)}</h1>", OWNER)),
    # A page without h1 may have its name in the header of the site.
    ("Flat seven", f"<header><p>Flat seven</p></header><p>The old mill</p><p>{SAID}</p>"),
    # A word of a class is not doubtful for containing one that is, nor is an id of a section, and
    # of an attribute only the beginning is looked at.
    *(
        (TIP, f"<div>{ARTICLE}</div><{opening}><p>{TIP}</p></{opening.split()[0]}>")
        for opening in (
            "div class=commentary",
            "div class=story-body",
            "form class=user-info-from-cookie",
            "section id=http-cookies",
            f"div class='{'x' * 100_000} cookie'",
        )
    ),
    # What says most of a page is no part of the site.
    (article(3, 6), f"<h1>Rates</h1><p>Open daily</p><div role=contentinfo>{SHORT}</div>"),
]
#: Lines that are the site's, and the page.
SITES = [
    # The latest comments of other pages.
    (SAID, f"{ARTICLE}<aside class=recent-comments><p>{SAID}</p></aside>"),
    (SAID, f"{ARTICLE}<div class='widget recent-comments'><p>{SAID}</p></div>"),
    (OPEN, both(f"<main>{THIN}</main>", STALL)),
    (OPEN, f"{STALL}<div><h1>Rates</h1>{FIELDS}</div>"),
    # The heading of the page is the one above the text.
    (OPEN, both(both(ARTICLE, STALL), "<h1>Newsletter</h1>")),
    (OPEN, both(f"<h1>Mills</h1>{STALL}", ARTICLE)),
    # The footer of a page of links, and a header beside main, however much it says.
    (TIP, f"<div><h1>All</h1><ul>{TEASERS}</ul></div><div class=footer><p>{TIP}</p></div>"),
    (article(3, 30), f"{HEADER}<main><h1>Rates</h1>{FIELDS}</main>"),
    # A cell that is made like those of posts is no row with them, nor are lines right in the body.
    ("It is 12:03", f"<table><tr><td class=s>It is 12:03</table><div><h1>A</h1>{CELLS}</div>"),
    ("It is 12:03", both("<p>Hello</p>", repeated("<h5>{1}</h5>", 4, 20)) + "It is 12:03"),
    ("Sunny", f"{BOX}<div>{ARTICLE}</div>"),
    # Lines made alike that stand far apart are no row.
    ("2 rooms", beside(ALIKE.replace("<div class=r>", "<div><ul><li><p>"))),
    # A number of the author beside each post.
    ("Posts: 1", posts("Posts: {0}", LONG)),
    ("Posts: 1", posts("Posts: {0}", MIXED)),
    *(
        ("Guests: 3", f"{ARTICLE}<{tag}>{ROW}</{tag.partition(' ')[0]}>")
        for tag in ("footer", "nav", "div role=navigation", "div role=dialog", "div id=CONSENT")
    ),
    # What follows a link is of a teaser.
    ("3 May", f"{DATES}<main>{ARTICLE}</main>"),
    ("From 12 €", beside("<p><a href=/7>A house</a></p><p>From 12 €</p>")),
    ("From 12 €", f"{ARTICLE}<footer><p>From 12 €</p></footer>"),
    ("Rain, 12.50 mm", beside("<p>Rain, 12.50 mm</p>")),
    (article(5, 9), both(ARTICLE, f"<a href=/5>{article(5, 9)}</a>")),
    ("Ann", both(ARTICLE, LISTED)),
    ("Ann", both(THIN, STALL + LISTED)),
    # A tip of a line or two is not much, nor are headlines, nor is a text beside an article.
    (article(3, 6), f"<h1>Rates</h1>{FIELDS}<aside>" + repeated("<h4>{1}</h4>", 9, 6)),
    (SAID, f"<h1>Rates</h1>{FIELDS}<aside><p>{SAID}</p></aside>"),
    (TIP, f"{ARTICLE}<aside><p>{TIP}</p></aside>"),
    *(
        (TIP, f"<div>{ARTICLE}</div><div {attribute}><p>{TIP}</p></div>")
        for attribute in (
            "aria-hidden=true",
            "style='color: red; display : none'",
            "class=cookie-note",
            "class=main-menu",
        )
    ),
]


@pytest.mark.parametrize(("line", "body"), OWN, ids=range(len(OWN)))
def test_the_place_of_a_line_makes_it_the_pages(line, body):
    assert line in own(body)


@pytest.mark.parametrize(("line", "body"), SITES, ids=range(len(SITES)))
def test_the_place_of_a_line_makes_it_the_sites(line, body):
    assert line not in own(body)


def test_a_table_is_content_where_headlines_beside_it_are_longer():
    body = f"<div><h1>Rates</h1>{FIELDS}</div><div class=side><ul>{TEASERS}</ul></div>"
    extraction = extract(page(body))
    assert extraction.thin
    assert extraction.text == "Rates\nRooms\n3\nArea\n70 m²\nStreet\nMill Street 7"
    assert not any(mark in ("20", "21", "22", "23") for mark in extraction.marks)


def test_entries_of_a_list_stand_below_a_heading_that_is_the_first_line():
    entries = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("Lamp", "Chair", "Desk"))
    listed = f"<h1>Furniture</h1><ul>{entries}</ul><footer><p>{article(4, 60)}</p></footer>"
    assert extract(page(listed)).listed == {"Lamp", "Chair", "Desk"}


NAMED = {
    "a heading": "<h3>Ann Berg</h3>",
    "a heading with a number": "<h4>Member 4711</h4>",
    "a link": "<h3><a href=/ann>Ann Berg</a></h3>",
    "bold": "<p><b>Ann Berg</b></p>",
    "the head of a box": "<div class=panel-heading>Ann Berg</div>",
    "a number that its address has": "<p>No. 4711</p>",
}
NOTHING = "<h5>Latest posts</h5><p>Nothing found</p>"
STORIES = "".join(
    f"<h5><a href=/{n}>{article(n, 5)}</a></h5><p>{article(n, 20)}</p>" for n in range(4)
)
BESIDE = {
    "columns": "<div><div class=col-8>{0}</div><div class=col-4>{1}</div></div>",
    "main": "<div><main>{0}</main><div class=col-4>{1}</div></div>",
    "an article": "<article>{0}</article><div>{1}</div>",
    "an aside": "<div><div>{0}</div><aside>{1}</aside></div>",
    "cells": "<table><tr><td>{0}<td>{1}</table>",
    "a sidebar": "<div class=profile-sidebar>{0}</div><div>{1}</div>",
    "far above": "<div>{0}</div><div><div><div><p>Hello</p></div><div>{1}</div></div></div>",
    "a box with an h1": "<div><div>{0}</div><div><h1>News</h1>{1}</div></div>",
    "below the site's name": "<div><h1>Mills</h1></div><div><div>{0}</div><div>{1}</div></div>",
    "about the site": f"<div><div>{{0}}</div><div><h4>Us</h4><p>{article(4, 90)}</p></div></div>",
}


@pytest.mark.parametrize("layout", BESIDE)
@pytest.mark.parametrize("named", NAMED)
def test_a_name_beside_teasers_is_content_on_a_page_without_text(named, layout):
    """The heading of the page is unknown, and most of the text is the site's."""
    body = page(BESIDE[layout].format(NAMED[named] + NOTHING, STORIES))
    profile = body.replace("<title>The old mill", "<title>Profile")
    found = extract(profile, url="http://a.test/u/7?id=4711")
    lines = found.own if named == "a link" else found.content
    assert {"Ann Berg", "Member 4711", "No. 4711"} & {*lines.split("\n")}


def test_a_name_in_the_sites_header_is_content_unless_the_title_has_it_or_an_h1():
    body = f"<header><p>{{}}</p></header>{{}}<div>{STORIES}</div>"
    assert "Ann Berg" in own(body.format("Ann Berg", ""))
    assert "It is 12:03" not in own(body.format("It is 12:03", ""))
    assert "Page: The old mill" not in own(body.format("Page: The old mill", ""))
    for colon in (":", "\uff1a"):
        assert f"Members{colon}" not in own(f"<div>Members{colon}</div><div>{STORIES}</div>")
    for sign in ("", "<a href=#mill>¶</a>", " <a href=#mill>#</a>"):
        assert "Ann Berg" not in own(body.format("Ann Berg", f"<h1>The old mill{sign}</h1>"))
    assert "Ann Berg" in own(body.format("Ann Berg", "<h1>M#</h1>"))


def test_a_heading_in_the_title_is_that_of_the_page_if_the_h1_leads_to_the_front_page():
    """Themes have the name of the site as ``h1``, and what stands beside the text is the site's."""
    beside_it = "<div><p>Guests: 3</p></div>"
    below = f"{beside_it}<div><h2>T</h2><p>{article(1, 80)}</div>"
    theme = f"<title>T | Mill news</title><h1><a href=http://a.test/>Mill news</a></h1>{below}"
    found = extract(theme, url="http://a.test/t")
    assert found.headings == ("T",)
    assert "Guests" not in found.own
    assert extract(theme.replace("/>Mill", "/7>Mill")).headings == ("Mill news",)
    assert extract(theme.replace("T |", "S |")).headings == ("Mill news",)
    assert extract(theme.replace("<h1>", "<h1>On ")).headings == ("On Mill news",)
    box = "<div><h3>Flats</h3><p>One line only</div>"
    above = f"<title>Flats | Inn</title><h1><a href=/>Inn</a></h1><p>Flat 7</p>{box}"
    assert "Flat 7" in extract(above).own


def test_a_line_that_is_the_title_is_the_heading_of_a_page_without_h1():
    """Old templates have it in a cell, and show slides above it."""
    slides = f"<div><div><h4>Awards</h4><p>{article(8, 60)}</p></div></div>"
    list_of_links = "".join(f"<br><a href=/{name}>{name}</a>" for name in ("Lamp", "Desk"))
    text = "<table><tr><td><img src=/icon.gif>THE OLD MILL</table>"
    text += f"<table><tr><td><p>{SAID}{list_of_links}</table>"
    found = extract(page(f"{slides}<a href=/mill>The old mill</a><div>{text}</div>{BOX}"))
    assert found.headings == ("THE OLD MILL",)
    assert {"Lamp", "Desk"} <= found.listed
    assert not extract(page(f"{slides}<p>The old mill in May</p>")).headings


def test_an_element_of_the_class_title_names_a_page_beside_the_line_that_is_the_title():
    lines = "<p class=title>The old mill</p>", "<p>The old mill</p><p><a class=title>Lamp 7</a>"
    found = [extract(page(f"{line}<p>{SAID}</p>" + BOX)).headings for line in lines]
    assert found == [("The old mill",), ("The old mill", "Lamp 7")]


def test_a_line_that_is_the_title_is_no_heading_below_most_of_the_rest():
    """All pages of a site may have its name there."""
    fields = "<div>First floor</div><div>By the river</div>"
    found = extract(page(f"{fields}<div><p>The old mill</p></div>"))
    assert not found.headings
    assert {"First floor", "By the river"} <= {*found.content.split("\n")}


def test_fields_of_all_entries_are_content_if_one_entry_has_three():
    fields = ["Rooms: 1</div><div>Floor: 5</div><div>Doors: 6", "Rooms: 2", "Rooms: 3"]
    flats = "".join(POST.format(n, *flat) for n, flat in enumerate(zip(fields, LONG, strict=True)))
    assert {f"Rooms: {n}" for n in (1, 2, 3)} <= {*own(f"<main><h1>Flats</h1>{flats}</main>")}


def test_links_are_text_on_a_list_alone():
    stories = "".join(f"<li><a href=/{n}>{article(n, 14)}</a>" for n in range(20, 25))
    assert not extract(page(f"<h1>News</h1><ul>{stories}</ul>")).thin
    mail = f"<h1>Re: mill</h1><p>Agreed, Ann.</p><p><a href=/8>Next: {article(8, 30)}</a></p>"
    assert extract(page(mail)).thin


def test_links_in_a_text_make_no_list_of_it():
    """The targets of numbered entries tell a list from another one."""
    links = "".join(f"<li><a href=/{n}>{n}. {article(n, 5)}</a>" for n in range(20, 28))
    linked = ARTICLE.replace("</article>", f"<ul>{links}</ul></article>")
    assert "/20" not in extract(page(linked)).marks
    assert "/20" in extract(page(f"<h1>All pages</h1><ul>{links}</ul>")).marks
