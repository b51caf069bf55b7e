"""The content: which lines of a page are its own, and which are the site's."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.rule.facts import facts_of
from scrapy_simhash.rule.state import is_same
from tests.extraction.made import NAMES, PARTS, WORDS, made_page
from tests.pages import article

RECIPE = named_recipe("default")
PART_NAMES = st.lists(st.sampled_from([*PARTS]), unique=True)
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


def changes(body: str, old: str, new: str) -> bool:
    """Return whether a page has changed that has another line in the place of one."""
    assert old in body
    one, other = (facts_of(extract(page(each)), RECIPE) for each in (body, body.replace(old, new)))
    return not is_same(one, other, 0)


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


COMMENTS = {
    "a list": "<ol class=comment-list><li class=comment><p>{}</p></li></ol>",
    "articles, with their authors in a footer": "<section class=comment-wrapper><article>"
    "<footer class=comment-meta>Ann</footer><p>{}</p></article></section>",
    "a list of terms": "<dl id=comments><dt>Ann<dd>{}</dl>",
    "answers": "<div id=answers><div class=answer>{}</div></div>",
}


@pytest.mark.parametrize("markup", COMMENTS)
def test_what_readers_write_is_content(markup):
    body = f"<main>{ARTICLE}{COMMENTS[markup].format(SAID)}</main>"
    assert SAID in own(body)
    assert changes(body, SAID, "Quite right.")


def test_what_readers_write_is_content_where_no_element_holds_it_with_the_text():
    body = f"<div>{ARTICLE}</div><div><ol class=comments><li>Fine<li>Quite so</ol></div>"
    assert changes(body, "Quite so", "Not so")


def test_what_stands_above_the_heading_of_a_page_without_text_is_the_sites():
    body = f"<p>Stall 12 is open</p><div><h1>Rates</h1>{FIELDS}</div>"
    assert not changes(body, "Stall 12", "Stall 13")


def test_the_latest_comments_of_other_pages_are_the_sites():
    body = f"{ARTICLE}<aside class=recent-comments><p>{SAID}</p></aside>"
    assert not changes(body, SAID, "Quite right.")
    body = f"{ARTICLE}<div class='widget recent-comments'><p>{SAID}</p></div>"
    assert not changes(body, SAID, "Quite right.")


def test_the_footer_of_a_page_of_links_is_the_sites():
    footer = f"<p>© 2021 The mill</p><p>{article(8, words=30)}</p>"
    body = f"<div><h1>All pages</h1><ul>{TEASERS}</ul></div><div class=footer>{footer}</div>"
    assert not changes(body, "2021 The mill", "2021 The hill")
    assert "mill" not in extract(page(body)).text


@pytest.mark.parametrize("tag", ["header", "footer"])
def test_the_head_and_the_foot_of_an_article_are_parts_of_it(tag):
    """Those of the site are not."""
    line = f"<{tag}><p>Closed on 3 May</p></{tag}>"
    assert changes(f"<main><article><h1>The mill</h1>{TEXT}{line}</article></main>", "3 May", "4")
    assert not changes(ARTICLE + line, "3 May", "4")


def test_a_table_is_content_where_headlines_beside_it_are_longer():
    body = f"<div><h1>Rates</h1>{FIELDS}</div><div class=side><ul>{TEASERS}</ul></div>"
    extraction = extract(page(body))
    assert extraction.thin
    assert extraction.text == "Rates\nRooms\n3\nArea\n70 m²\nStreet\nMill Street 7"
    assert not any(mark in ("20", "21", "22", "23") for mark in extraction.marks)


def test_a_list_is_content_although_more_is_said_elsewhere():
    body = f"<div><h1>News</h1><p>{SAID}</p></div><ul>{TEASERS * 5}</ul>"
    assert changes(body, article(21, words=5), article(31, words=5))


def test_entries_of_a_list_stand_below_a_heading_that_is_the_first_line():
    entries = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("Lamp", "Chair", "Desk"))
    listed = f"<h1>Furniture</h1><ul>{entries}</ul><footer><p>{article(4, 60)}</p></footer>"
    assert extract(page(listed)).listed == {"Lamp", "Chair", "Desk"}


def test_lines_made_alike_are_fields_where_they_stand_in_one_element():
    fields = (
        "<div class=box><div class=r>{}</div><div class=r>2 rooms</div><div class=r>A 7</div></div>"
    )
    assert changes(f"{fields}<main>{ARTICLE}</main>", "2 rooms", "4 rooms")
    clock = "<table><tr><td class=s>It is 12:03</table>"
    posts = "".join(f"<tr><td class=s>Post {n}<td><p>{article(n, 40)}</p>" for n in range(3))
    assert not changes(f"{clock}<div><h1>Posts</h1><table>{posts}</table></div>", "12:03", "1:08")


POST = (
    "<div class=post><div class=profile><a href=/u/{0}>Ann {0}</a><div>{1}</div></div><div><p>{2}"
)


def test_a_number_of_the_author_beside_each_post_is_no_content():
    """The posts are, and so are fields, of which each entry of a list has three or more."""
    posts = [POST.format(n, f"Posts: {40 + n}", f"{article(n, 40)}</div></div>") for n in range(3)]
    body = f"<main><h1>The mill</h1>{''.join(posts)}</main>"
    assert not changes(body, "Posts: 41", "Posts: 57")
    assert changes(body, article(1, 40), article(9, 40))
    three = "Rooms: {0}</div><div>Floor: {0}</div><div>Doors: {0}"
    flats = [POST.format(n, three.format(n), f"{article(n, 40)}</div></div>") for n in range(3)]
    assert changes(f"<main><h1>Flats</h1>{''.join(flats)}</main>", "Floor: 1", "Floor: 5")
    costs = [POST.format(n, f"Price: {n} EUR", f"{article(n, 40)}</div></div>") for n in range(3)]
    assert changes(f"<main><h1>Flats</h1>{''.join(costs)}</main>", "1 EUR", "5 EUR")


def test_main_text_is_part_of_the_content():
    online = "<footer>There are 24 members and 665 guests online, and 17 robots.</footer>"
    extraction = extract(page(ARTICLE + online))
    assert set(extraction.text.split("\n")) <= set(extraction.own.split("\n"))


def test_a_quote_before_the_page_is_a_field_and_a_clock_is_none():
    line = "<div class=q>{}</div>"
    assert changes(line.format("Last 33.24 Change -0.21") + ARTICLE, "33.24", "34.10")
    assert not changes(line.format("Sat 18 Oct 2014 12:03") + ARTICLE, "12:03", "1:08")


def test_a_sentence_elsewhere_is_content_unless_names_or_tags_say_that_it_is_the_sites():
    body = f"<div>{ARTICLE}</div><div><p>{article(9, 20)}</p></div>"
    assert changes(body, article(9, 20), article(10, 20))
    assert not changes(body.replace("<div><p>", "<div class=teaser><p>"), article(9, 20), SAID)


def test_a_thin_page_is_what_its_main_says_or_else_all_below_its_heading():
    stall = "Stall 12 is open"
    assert stall not in own(f"<main>{THIN}</main><div><p>{stall}</p></div>")
    assert stall in own(f"<div>{THIN}</div><div><p>{stall}</p></div>")


@pytest.mark.parametrize("tag", ["footer", "nav", "div role=dialog", "div class=cookie-notice"])
def test_fields_in_a_part_of_the_site_are_the_sites(tag):
    assert "Guests: 3" not in own(f"{ARTICLE}<{tag}>{ROW}</{tag.partition(' ')[0]}>")


def test_fields_in_an_aside_and_in_a_closed_tab_are_the_pages():
    assert "Guests: 3" in own(f"{ARTICLE}<aside>{ROW}</aside>")
    hidden = ARTICLE.replace("</article>", f"<div hidden>{ROW}</div></article>")
    assert "Guests: 3" in own(hidden)
    assert "Guests: 3" not in own(f"{ARTICLE}<div hidden>{ROW}</div>")


def test_fields_in_an_aside_of_the_text_and_anywhere_on_a_thin_page_are_the_pages():
    assert "Guests: 3" in own(ARTICLE.replace("</article>", f"<aside>{ROW}</aside></article>"))
    assert "Guests: 3" in own(f"<div><h1>Rates</h1><p>{SAID}</p></div><footer>{ROW}</footer>")


def test_dates_of_teasers_are_no_fields():
    """Most of them follow links."""
    teasers = "".join(
        f"<p><a href=/{n}>{article(n, 4)}</a></p><div>{n} May</div>" for n in range(5)
    )
    assert "3 May" not in own(f"<div>{teasers}</div><main>{ARTICLE}</main>")
    assert "3 May" in own(f"<div>{re.sub('<p>.*?</p>', '', teasers)}</div><main>{ARTICLE}</main>")


def test_rows_of_one_cell_in_a_table_stand_together():
    rows = "".join(f"<tr><td><div>{line}</div>" for line in ("2 rooms", "1 hall", "A 7"))
    assert "2 rooms" in own(f"<div><table>{rows}</table></div><div>{ARTICLE}</div>")


NAMED = {
    "a heading": "<h3>Ann Berg</h3>",
    "a heading with a number": "<h4>Member 4711</h4>",
    "bold": "<p><b>Ann Berg</b></p>",
    "the head of a box": "<div class=panel-heading>Ann Berg</div>",
    "a link to the page itself": "<h3><a href=/u/7>Ann Berg</a></h3>",
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
    content = extract(body, url="http://a.test/u/7").content.split("\n")
    assert {"Ann Berg", "Member 4711"} & {*content}


def test_a_clock_beside_teasers_is_the_sites():
    body = BESIDE["columns"].format("<p>Hello</p>", STORIES) + "<div>{}</div>"
    assert not changes(body.format("It is 12:03"), "12:03", "1:08")
    assert changes(body.format("Ann Berg"), "Ann", "Eva")


def test_a_price_in_a_teaser_or_in_a_part_of_the_site_is_the_sites():
    price = "<p>From 12 €</p>"
    assert "From 12 €" in own(f"<div>{price}</div><div>{ARTICLE}</div>")
    teaser = f"<div><p><a href=/7>A house</a></p>{price}</div>"
    assert "From 12 €" not in own(f"{teaser}<div>{ARTICLE}</div>")
    assert "From 12 €" not in own(f"{ARTICLE}<footer>{price}</footer>")


def test_a_street_with_a_telephone_is_a_field_and_a_date_is_none():
    line = "<div><p>{}</p></div>" + f"<div>{ARTICLE}</div>"
    assert "Mill 3, 8501 Ulm, 0544 173" in own(line.format("Mill 3, 8501 Ulm, 0544 173"))
    assert "Rain, 12.50 mm" not in own(line.format("Rain, 12.50 mm"))
    assert "Sat 18 Oct 2014 12:03" not in own(line.format("Sat 18 Oct 2014 12:03"))


def test_a_count_beside_the_only_text_is_its_field():
    post = POST.format(1, "Rooms: 3", f"{article(1, 40)}</div></div>")
    assert "Rooms: 3" in own(f"<main><h1>The mill</h1>{post}</main>")


def test_everything_below_the_heading_is_content_if_it_is_most():
    goods = "".join(f"<div><a href=/{n}>{article(n, 9)}</a></div>" for n in range(20))
    shop = f"<div><h1>The shop</h1><p>{article(3, 40)}</p></div>"
    assert article(5, 9) in own(shop + goods)
    assert article(5, 9) not in own(
        f"<div>{ARTICLE}</div><div><a href=/5>{article(5, 9)}</a></div>"
    )


def test_links_are_text_on_a_list_alone():
    stories = "".join(f"<li><a href=/{n}>{article(n, 14)}</a>" for n in range(20, 30))
    assert not extract(page(f"<h1>News</h1><ul>{stories}</ul>")).thin
    mail = f"<h1>Re: mill</h1><p>Agreed, Ann.</p><p><a href=/8>Next: {article(8, 30)}</a></p>"
    assert extract(page(mail)).thin


def test_links_below_a_heading_are_content_where_little_else_is_said():
    listed = "<ul><li><a href=/ann>Ann</a><li><a href=/bob>Bob</a></ul>"
    assert "Ann" in own(f"<div><h1>Team</h1><p>We are three people</p></div>{listed}")
    assert "Ann" not in own(f"<div>{ARTICLE}</div><div>{listed}</div>")


def test_links_in_a_text_make_no_list_of_it():
    """The targets of a list tell it from another one."""
    links = "".join(f"<li><a href=/{n}>{article(n, 5)}</a>" for n in range(20, 28))
    linked = ARTICLE.replace("</article>", f"<ul>{links}</ul></article>")
    assert "/20" not in extract(page(linked)).marks
    assert "/20" in extract(page(f"<h1>All pages</h1><ul>{links}</ul>")).marks


def test_what_says_most_of_a_page_is_no_part_of_the_site():
    """Headlines say nothing, and next to a table a tip of a line or two is not much."""
    lines = "".join(f"<p>{article(n, 6)}</p>" for n in range(9))
    body = f"<h1>Rates</h1><p>Open daily</p><div role=contentinfo>{lines}</div>"
    assert article(3, 6) in own(body)
    headlines = "".join(f"<h4>{article(n, 9)}</h4>" for n in range(9))
    assert article(3, 9) not in own(f"<h1>Rates</h1>{FIELDS}<aside>{headlines}</aside>")
    assert SAID not in own(f"<h1>Rates</h1>{FIELDS}<aside><p>{SAID}</p></aside>")
    tip = article(5, 40)
    assert tip not in own(f"{ARTICLE}<aside><p>{tip}</p></aside>")
    assert tip not in own(f"<div>{ARTICLE}</div><div hidden><p>{tip}</p></div>")


def test_the_heading_above_the_text_is_that_of_the_page():
    stall = "<p>Stall 12 is open</p>"
    body = f"<div><div>{ARTICLE}</div><div>{stall}</div></div><div><h1>Newsletter</h1></div>"
    assert "Stall 12 is open" not in own(body)
    assert "Stall 12 is open" not in own(f"<div><h1>Mills</h1>{stall}</div><div>{ARTICLE}</div>")


def test_a_count_beside_short_texts_is_of_their_authors():
    """Texts of a line or two stand between long ones."""
    texts = [article(n, 40 if n % 4 == 0 else 6) for n in range(12)]
    posts = [
        POST.format(n, f"Posts: {40 + n}", f"{text}</div></div>") for n, text in enumerate(texts)
    ]
    body = f"<main><h1>The mill</h1>{''.join(posts)}</main>"
    assert not changes(body, "Posts: 46", "Posts: 57")
    assert changes(body, texts[6], SAID)


def test_a_count_that_stands_with_a_text_in_one_element_is_a_field_of_it():
    flats = [f"<div><p>{article(n, 40)}</p><p>Rooms: {n}</p></div>" for n in range(3)]
    assert changes(f"<main><h1>Flats</h1>{''.join(flats)}</main>", "Rooms: 1", "Rooms: 5")
    between = f"<p>{article(1, 40)}</p><p>Rooms: 1</p><p>{article(2, 40)}</p><p>Floor: 2</p>"
    assert changes(f"<main><h1>A flat</h1>{between}</main>", "Rooms: 1", "Rooms: 5")


def test_boxes_to_check_in_an_aside_are_no_fields():
    """They filter a list; what they say in a text is content."""
    boxes = "<div><label><input type=checkbox>Red (4)</label></div>"
    boxes = f"<div>{boxes}{boxes.replace('Red', 'Blue')}{boxes.replace('Red', 'Oak')}</div>"
    assert "Red (4)" not in own(f"{ARTICLE}<aside>{boxes}</aside>")
    assert "Red (4)" in own(ARTICLE.replace("</article>", f"{boxes}</article>"))


def test_a_header_beside_main_is_the_sites_however_much_it_says():
    lines = "".join(f"<p>{article(n, 30)}</p>" for n in range(9))
    body = f"<header>{lines}</header><{{0}}><h1>Rates</h1>{FIELDS}</{{0}}>"
    assert article(3, 30) not in own(body.format("main"))
    assert article(3, 30) in own(body.format("div"))


def test_links_beside_a_stray_line_of_a_thin_page_are_the_sites():
    stray = "<div><p>Stall 12 is open</p><ul><li><a href=/ann>Ann</a></ul></div>"
    assert "Ann" not in own(f"<div>{THIN}</div>{stray}")


def test_lines_of_an_element_right_beside_the_page_are_no_row():
    box = "<div>It is 12:03<br>Sunny<br>24 degrees</div>"
    assert "Sunny" not in own(f"{box}<div>{ARTICLE}</div>")
    assert "Sunny" in own(f"<div>{box}</div><div>{ARTICLE}</div>")


def test_the_region_of_a_page_that_says_little_is_more_than_its_heading():
    table = "<table><tr><td>Rooms<td>3<tr><td>Owner<td><a href=/ann>Ann</a></table>"
    assert "Ann" in own(f"<div><h1>{article(3, 24)}</h1></div><div>{table}</div>")
