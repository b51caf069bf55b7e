"""The content: which lines of a page are its own, and which are the site's."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.extraction.made import NAMES, PARTS, WORDS, made_page
from tests.pages import article

RECIPE = named_recipe("default")
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
    """Whatever other parts a page has, its own lines are content, and the site's are not."""
    # A page that says little has nothing to tell what stands outside from what it is about.
    is_outside = any(PARTS[name].place == "outside" for name in parts)
    names = dict.fromkeys([*parts, telling, *(["text"] if is_outside else [])])
    made = made_page([*names], seed, elements)
    content = set(extract(made.html).own.split("\n"))
    assert not made.own - content
    assert not made.site & content


BESIDE_TEASERS = "<div><div class=col-8>{}</div><div class=col-4>{}</div></div>"
COMMENTS = (
    "<ol class=comment-list><li class=comment><p>{}</p></li></ol>",
    "<section class=comment-wrapper><article><footer class=comment-meta>Ann</footer><p>{}</p>"
    "</article></section>",
    "<dl id=comments><dt>Ann<dd>{}</dl>",
    "<div id=answers><div class=answer>{}</div></div>",
)
POST = (
    "<div class=post><div class=profile><a href=/u/{0}>Ann {0}</a><div>{1}</div></div><div><p>{2}"
    "</div></div>"
)
OPEN, STREET = "Stall 12 is open", "Mill 3, 8501 Ulm, 0544 173"
STALL = f"<p>{OPEN}</p>"
IN_ARTICLE = ARTICLE.replace("</article>", "{}</article>").format


def beside(markup: str) -> str:
    return f"<div>{markup}</div><div>{ARTICLE}</div>"


def posts(profile: str, texts: list[str]) -> str:
    shown = "".join(POST.format(n, profile.format(n), text) for n, text in enumerate(texts))
    return f"<main><h1>The mill</h1>{shown}</main>"


def repeated(pattern: str, count: int, words: int, around: str = "{}") -> str:
    return around.format("".join(pattern.format(n, article(n, words)) for n in range(count)))


LONG = [article(n, 40) for n in range(3)]
# Texts of a line or two stand between long ones.
MIXED = [article(n, 40 if n % 4 == 0 else 6) for n in range(12)]
BOXES = repeated(
    "<div><label><input type=checkbox>Box {0} (4)</label></div>", 3, 1, "<div>{}</div>"
)
DATES = repeated("<p><a href=/{0}>{1}</a></p><div>{0} May</div>", 5, 4, "<div>{}</div>")
HEADER = (
    repeated("<p>{1}</p>", 9, 30, "<header>{}</header>") + f"<{{0}}><h1>Rates</h1>{FIELDS}</{{0}}>"
)
TIP = article(5, 40)
GOODS = repeated("<div><a href=/{0}>{1}</a></div>", 20, 9)
LISTED = "<ul><li><a href=/ann>Ann</a><li><a href=/bob>Bob</a></ul>"
BOX = "<div>It is 12:03<br>Sunny<br>24 degrees</div>"
ALIKE = "<div class=r>5 baths</div><div class=r>2 rooms</div><div class=r>A 7</div>"
ROOMS = "<p>{}</p><p>Rooms: 1</p>".format
#: Whether a line is the page's own, the line, and the page.
PLACES: list[tuple[bool, str, str]] = [
    # What readers write is content, and the latest comments of other pages are not.
    *((True, SAID, f"<main>{ARTICLE}{markup.format(SAID)}</main>") for markup in COMMENTS),
    (False, SAID, f"{ARTICLE}<aside class=recent-comments><p>{SAID}</p></aside>"),
    (False, SAID, f"{ARTICLE}<div class='widget recent-comments'><p>{SAID}</p></div>"),
    (
        True,
        "Quite so",
        f"<div>{ARTICLE}</div><div><ol class=comments><li>Fine<li>Quite so</ol></div>",
    ),
    # A thin page is what its main says, or else all below its heading.
    (True, OPEN, f"<div>{THIN}</div><div>{STALL}</div>"),
    (False, OPEN, f"<main>{THIN}</main><div>{STALL}</div>"),
    (False, OPEN, f"{STALL}<div><h1>Rates</h1>{FIELDS}</div>"),
    # The heading of the page is the one above the text.
    (
        False,
        OPEN,
        f"<div><div>{ARTICLE}</div><div>{STALL}</div></div><div><h1>Newsletter</h1></div>",
    ),
    (False, OPEN, f"<div><h1>Mills</h1>{STALL}</div><div>{ARTICLE}</div>"),
    # The footer of a page of links is the site's.
    (
        False,
        TIP,
        f"<div><h1>All pages</h1><ul>{TEASERS}</ul></div><div class=footer><p>{TIP}</p></div>",
    ),
    # The head and the foot of an article are parts of it, and those of the site are not.
    *(
        (True, "Closed on 3 May", IN_ARTICLE(f"<{tag}>Closed on 3 May</{tag}>"))
        for tag in ("header", "footer")
    ),
    *(
        (False, "Closed on 3 May", f"{ARTICLE}<{tag}>Closed on 3 May</{tag}>")
        for tag in ("header", "footer")
    ),
    # A header beside main is the site's, however much it says.
    (True, article(3, 30), HEADER.format("div")),
    (False, article(3, 30), HEADER.format("main")),
    # A list is content although more is said elsewhere.
    (True, article(21, words=5), f"<div><h1>News</h1><p>{SAID}</p></div><ul>{TEASERS * 5}</ul>"),
    # Lines made alike are fields where they stand in one element.
    (True, "2 rooms", f"<div>{ALIKE}</div><main>{ARTICLE}</main>"),
    (True, "2 rooms", beside(repeated("<tr><td><div>{0} rooms</div>", 3, 1, "<table>{}</table>"))),
    # A cell that is made like those of posts is no row with them.
    (
        False,
        "It is 12:03",
        "<table><tr><td class=s>It is 12:03</table><div><h1>Posts</h1>"
        + repeated("<tr><td class=s>Post {0}<td><p>{1}</p>", 3, 40, "<table>{}</table></div>"),
    ),
    (
        False,
        "It is 12:03",
        BESIDE_TEASERS.format("<p>Hello</p>", repeated("<h5>{1}</h5>", 4, 20)) + "It is 12:03",
    ),
    # Lines of an element right beside the page are no row.
    (True, "Sunny", beside(BOX)),
    (False, "Sunny", f"{BOX}<div>{ARTICLE}</div>"),
    # A number of the author beside each post is no content.
    (False, "Posts: 1", posts("Posts: {0}", LONG)),
    (False, "Posts: 1", posts("Posts: {0}", MIXED)),
    # The posts are, also those of a line or two.
    (True, MIXED[6], posts("Posts: {0}", MIXED)),
    # Three fields, or a price, of each entry of a list are fields.
    (True, "Floor: 1", posts("Rooms: {0}</div><div>Floor: {0}</div><div>Doors: {0}", LONG)),
    (True, "Price: 1 EUR", posts("Price: {0} EUR", LONG)),
    # A count is a field of the only text, or of the one in its element.
    (
        True,
        "Rooms: 1",
        f"<main><h1>The mill</h1>{POST.format(1, 'Rooms: 1', article(1, 40))}</main>",
    ),
    (
        True,
        "Rooms: 1",
        repeated("<div><p>{1}</p><p>Rooms: {0}</p></div>", 3, 40, "<main><h1>Flats</h1>{}</main>"),
    ),
    (
        True,
        "Rooms: 1",
        f"<main><h1>A flat</h1>{ROOMS(TIP)}<p>{article(2, 40)}</p><p>Floor: 2</p></main>",
    ),
    # A sentence elsewhere is content unless a name says that it is the site's.
    (True, article(9, 20), f"<div>{ARTICLE}</div><div><p>{article(9, 20)}</p></div>"),
    (False, article(9, 20), f"<div>{ARTICLE}</div><div class=teaser>{article(9, 20)}</p></div>"),
    # Fields in an aside and in a closed tab are the page's, and those in a part of the site not.
    (True, "Guests: 3", f"{ARTICLE}<aside>{ROW}</aside>"),
    *(
        (True, "Guests: 3", IN_ARTICLE(f"<{tag}>{ROW}</{tag.partition(' ')[0]}>"))
        for tag in ("div hidden", "aside")
    ),
    (True, "Guests: 3", f"<div><h1>Rates</h1><p>{SAID}</p></div><footer>{ROW}</footer>"),
    *(
        (False, "Guests: 3", f"{ARTICLE}<{tag}>{ROW}</{tag.partition(' ')[0]}>")
        for tag in ("footer", "nav", "div role=dialog", "div class=cookie-notice", "div hidden")
    ),
    # Boxes to check in an aside filter a list, and in a text they say something.
    (True, "Box 1 (4)", IN_ARTICLE(BOXES)),
    (False, "Box 1 (4)", f"{ARTICLE}<aside>{BOXES}</aside>"),
    # Dates that follow links are of teasers.
    (True, "3 May", f"{re.sub('<p>.*?</p>', '', DATES)}<main>{ARTICLE}</main>"),
    (False, "3 May", f"{DATES}<main>{ARTICLE}</main>"),
    # The days of a month are no fields, and fewer numbers are.
    (True, "3", beside(repeated("<td>{0}", 28, 1, "<table><tr>{}</table>"))),
    (False, "3", beside(repeated("<td>{0}", 29, 1, "<table><tr>{}</table>"))),
    # A price in a teaser or in a part of the site is the site's.
    (True, "From 12 €", beside("<p>From 12 €</p>")),
    (
        False,
        "From 12 €",
        beside("<p><a href=/7>A house</a></p><p>From 12 €</p>"),
    ),
    (False, "From 12 €", f"{ARTICLE}<footer><p>From 12 €</p></footer>"),
    # A street with a telephone is a field, and the weather is none.
    (
        True,
        STREET,
        beside(f"<p>{STREET}</p>"),
    ),
    (False, "Rain, 12.50 mm", beside("<p>Rain, 12.50 mm</p>")),
    # Everything below the heading is content if it is most.
    (True, article(5, 9), f"<div><h1>The shop</h1><p>{article(3, 40)}</p></div>{GOODS}"),
    (False, article(5, 9), f"<div>{ARTICLE}</div><div><a href=/5>{article(5, 9)}</a></div>"),
    # Links are content below a heading where little else is said.
    (True, "Ann", f"<div><h1>Team</h1><p>We are three people</p></div>{LISTED}"),
    (
        True,
        "Ann",
        f"<div><h1>{article(3, 24)}</h1></div><div><table><tr><td>Rooms<td>3<tr><td>Owner"
        "<td><a href=/ann>Ann</a></table></div>",
    ),
    (False, "Ann", f"<div>{ARTICLE}</div><div>{LISTED}</div>"),
    (False, "Ann", f"<div>{THIN}</div><div>{STALL}{LISTED}</div>"),
    # What says most of a page is no part of the site.
    (
        True,
        article(3, 6),
        "<h1>Rates</h1><p>Open daily</p>"
        + repeated("<p>{1}</p>", 9, 6, "<div role=contentinfo>{}</div>"),
    ),
    (False, article(3, 6), f"<h1>Rates</h1>{FIELDS}<aside>" + repeated("<h4>{1}</h4>", 9, 6)),
    # A tip of a line or two is not much, nor is one beside an article.
    (False, SAID, f"<h1>Rates</h1>{FIELDS}<aside><p>{SAID}</p></aside>"),
    (False, TIP, f"{ARTICLE}<aside><p>{TIP}</p></aside>"),
    (False, TIP, f"<div>{ARTICLE}</div><div hidden><p>{TIP}</p></div>"),
]


@pytest.mark.parametrize(("is_own", "line", "body"), PLACES, ids=range(len(PLACES)))
def test_the_place_of_a_line_tells_whose_it_is(is_own, line, body):
    assert (line in own(body)) is is_own


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


def test_main_text_is_part_of_the_content():
    online = "<footer>There are 24 members and 665 guests online, and 17 robots.</footer>"
    extraction = extract(page(ARTICLE + online))
    assert set(extraction.text.split("\n")) <= set(extraction.own.split("\n"))


NAMED = {
    "a heading": "<h3>Ann Berg</h3>",
    "a heading with a number": "<h4>Member 4711</h4>",
    "bold": "<p><b>Ann Berg</b></p>",
    "the head of a box": "<div class=panel-heading>Ann Berg</div>",
    "a link to the page itself": "<h3><a href=/u/7?id=4711>Ann Berg</a></h3>",
    "a number that its address has": "<p>No. 4711</p>",
}
NOTHING = "<h5>Latest posts</h5><p>Nothing found</p>"
STORIES = "".join(
    f"<h5><a href=/{n}>{article(n, 5)}</a></h5><p>{article(n, 20)}</p>" for n in range(4)
)
BESIDE = {
    "columns": "<div><div class=col-8>{0}</div><div class=col-4>{1}</div></div>",
    "the teasers first": "<div><div class=col-4>{1}</div><div class=col-8>{0}</div></div>",
    "main": "<div><main>{0}</main><div class=col-4>{1}</div></div>",
    "all in main": "<main><div>{0}</div><div>{1}</div></main>",
    "an article": "<article>{0}</article><div>{1}</div>",
    "sections": "<section>{0}</section><section><h2>News</h2>{1}</section>",
    "an aside": "<div><div>{0}</div><aside>{1}</aside></div>",
    "cells": "<table><tr><td>{0}<td>{1}</table>",
    "a sidebar": "<div class=profile-sidebar>{0}</div><div>{1}</div>",
    "above": "<div class=jumbotron>{0}</div><div class=row>{1}</div>",
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
    body = body.replace("<title>The old mill", "<title>Profile")
    content = extract(body, url="http://a.test/u/7?id=4711").content.split("\n")
    assert {"Ann Berg", "Member 4711", "No. 4711"} & {*content}


def test_a_name_in_the_sites_header_is_content_unless_the_title_has_it_or_an_h1():
    body = f"<header><p>{{}}</p></header>{{}}<div>{STORIES}</div>"
    assert "Ann Berg" in own(body.format("Ann Berg", ""))
    assert "It is 12:03" not in own(body.format("It is 12:03", ""))
    assert "Page: The old mill" not in own(body.format("Page: The old mill", ""))
    assert "Ann Berg" not in own(body.format("Ann Berg", "<h1>The old mill</h1>"))


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


def test_fields_of_all_entries_are_content_if_one_entry_has_three():
    fields = ["Rooms: 1</div><div>Floor: 5</div><div>Doors: 6", "Rooms: 2", "Rooms: 3"]
    flats = "".join(POST.format(n, *flat) for n, flat in enumerate(zip(fields, LONG, strict=True)))
    assert {f"Rooms: {n}" for n in (1, 2, 3)} <= {*own(f"<main><h1>Flats</h1>{flats}</main>")}


def test_two_numbers_with_decimals_are_the_quote_of_a_share():
    assert "33.24 -0.21" in own(beside("<p>33.24 -0.21</p>"))
    assert "Rain, 12.50 mm" not in own(beside("<p>Rain, 12.50 mm</p>"))


def test_what_stands_above_a_box_whose_heading_is_in_the_title_is_content():
    box = "<div><h3>Flats</h3><p>One line only</div>"
    page = f"<title>Flats | Inn</title><h1><a href=/>Inn</a></h1><p>Flat 7</p>{box}"
    assert "Flat 7" in extract(page).own


def test_links_are_text_on_a_list_alone():
    stories = "".join(f"<li><a href=/{n}>{article(n, 14)}</a>" for n in range(20, 30))
    assert not extract(page(f"<h1>News</h1><ul>{stories}</ul>")).thin
    mail = f"<h1>Re: mill</h1><p>Agreed, Ann.</p><p><a href=/8>Next: {article(8, 30)}</a></p>"
    assert extract(page(mail)).thin


def test_links_in_a_text_make_no_list_of_it():
    """The targets of numbered entries tell a list from another one."""
    links = "".join(f"<li><a href=/{n}>{n}. {article(n, 5)}</a>" for n in range(20, 28))
    linked = ARTICLE.replace("</article>", f"<ul>{links}</ul></article>")
    assert "/20" not in extract(page(linked)).marks
    assert "/20" in extract(page(f"<h1>All pages</h1><ul>{links}</ul>")).marks
