"""A page at two times: what is a change, and what is noise."""

import pytest

from scrapy_simhash.core.analysis import analyse_body, text_body
from scrapy_simhash.rule.state import is_same, lasting, state_of
from tests.pages import DEFAULT, analysed, article, distance_of, framed

TEXT = f"<p>{article(3, 120)}</p>"
READ = "Read 7 times, 2 days ago"
BOX = "<ul><li>Price: 19.90 euro</li><li>In stock: 5</li><li>Rated 4.5 (120 reviews)</li></ul>"


def is_as_before(before: str, now: str) -> bool:
    old, new = (analysed(html) for html in (before, now))
    return is_same(new.facts, old.facts, distance_of(before, now))


def page(text: str = TEXT, beside: str = f"<p>{READ}</p>", head: str = "") -> str:
    return framed(text, "A lamp", head=head, foot=beside)


VISITS = """
    3 days ago by Jane | 2 months ago by Jane
    1,234 views | 1,240 views
    Просмотров: 99 | Просмотров: 100
    阅读 99 次 | 阅读 100 次
    vor 3 Tagen | vor 12 Stunden
    Ray ID: 166d5a830415012e | Ray ID: 166d5a82362b1219
    You are visitor no. 10,001 | You are visitor no. 10,002
    Downloaded 31 times | Downloaded 62 times
    4 min read | 5 min read
    Copyright 2019-2025 Jane Doe | Copyright 2019-2026 Jane Doe
    © 2025 Jane Doe | © 2026 Jane Doe"""
NUMBERS = """
    View no. 7 | View no. 8
    It takes 5 minutes | It takes 6 minutes
    Built in 2025 | Built in 2026
    Request 1234567 | Request 1234568
    Copyright 2025 Jane Doe | Copyright 2025 John Doe"""


@pytest.mark.parametrize(("lines", "is_noise"), [(VISITS, True), (NUMBERS, False)])
def test_an_age_a_count_and_the_id_of_a_visit_are_no_change_and_other_numbers_are(lines, is_noise):
    for line in lines.strip().splitlines():
        before, now = (page(f"<p>{said.strip()}</p>{TEXT}") for said in line.split(" | "))
        assert is_as_before(before, now) is is_noise, line


ENTRIES = [f"<li><a href=/{n}>{article(n, 5)}</a>" for n in range(30)]
PRICES = (
    f"<div>Now $19.90</div><div>{TEXT}</div>",
    f"<div><p>$19.90</p></div><div>{TEXT}</div>",
    page(head='<script type="application/ld+json">{"offers": {"price": "19.90"}}</script>'),
    page(head='<meta property="product:price:amount" content="19.90">'),
)
VALUES = (("19.90", "24.90"), ("euro", "dollar"), ("stock: 5", "stock: 0"), ("4.5", "4.4"))
#: A page before and now.
NOISE = {
    "a counter": (page(), page(beside="<p>Read 7913 times, 31 days ago</p>")),
    "a token": (page(), page(beside=f"<p data-token=9d3f>{READ}</p><script>a = 'c0ffee'</script>")),
    "an advertisement": (page(), page(beside=f"<p>{READ}</p><a href=/x>Lamps at half price</a>")),
    "a sentence of the site": (page(), page(beside="<p>The shop is closed from now on.</p>")),
    "nothing beside a price": (PRICES[0], PRICES[0]),
}
CHANGES = {
    "a sentence more": (page(), page(TEXT + "<p>It is sold out, and will not come back.</p>")),
    "half of the text": (page(), page(TEXT[:400] + "</p>")),
    "a word more": (page(), page(TEXT.replace("</p>", " lamps</p>"))),
    "a short line more": (page(), page(f"<h2>Lamps</h2>{TEXT}")),
    **{
        f"{now} {place}": (page(text), page(text.replace(before, now)))
        for before, now in VALUES
        for place, text in enumerate((BOX + TEXT, TEXT + BOX, BOX + "<p>A lamp for the desk.</p>"))
    },
    **{f"a price {n}": (each, each.replace("19.90", "24.90")) for n, each in enumerate(PRICES)},
    "links of a list": tuple(page(f"<ul>{''.join(each)}</ul>") for each in (ENTRIES[1:], ENTRIES)),
}


@pytest.mark.parametrize("what", [*NOISE, *CHANGES])
def test_what_is_a_change_of_a_page_and_what_is_noise(what):
    before, now = (NOISE | CHANGES)[what]
    assert is_as_before(before, now) is (what in NOISE)


def test_spaces_marks_and_lines_are_no_change():
    assert state_of("One, two -  three\nfour.") == state_of("One two\nthree \u201cfour\u201d\u00b6")
    assert state_of('As "7" or more') == state_of("As \u201c 7\u201d or more")


@pytest.mark.parametrize(
    "texts",
    ["19.90 1990 -19.90 19.90- $19.90 €19.90", "US us", "re-sign resign", "\U0001e955 -\U0001e955"],
)
def test_signs_marks_beside_a_number_capitals_and_where_a_word_ends_are_a_change(texts):
    assert len({*map(state_of, texts.split())}) == len(texts.split())


def test_a_word_more_in_a_text_that_is_no_page_is_a_change():
    text = article(3, 300)
    old, new = (analyse_body(text_body(each), DEFAULT).facts for each in (text, f"{text} 19.90"))
    assert is_same(old, old, 0)
    assert not is_same(new, old, 0)


@pytest.mark.parametrize("facts", [b"", analysed(page()).facts])
def test_without_facts_of_both_the_fingerprint_alone_tells(facts):
    assert is_same(facts, b"", 0)
    assert not is_same(b"", facts, 1)


@pytest.mark.parametrize("capital", ["I", "\u0130"])
def test_a_count_is_found_behind_letters_that_are_longer_in_lower_case(capital):
    line = f"{capital * 3}: 5 Views, price 77"
    assert lasting(line) == lasting(line.replace("5", "6"))
    assert lasting(line) != lasting(line.replace("77", "78"))
