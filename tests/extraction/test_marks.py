"""Targets and pictures: where a page leads, without what names only the visit."""

import numpy as np
import pytest

from scrapy_simhash.extraction.addresses import Folder
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.extraction.marks import targets
from scrapy_simhash.extraction.page import Page


def led_to(body: str, *, thin: bool = True) -> set[str]:
    page = Page(f"<body>{body}</body>")
    return set(targets(page, np.ones(len(page.texts), np.bool_), thin=thin))


def links(*addresses: str) -> str:
    return "".join(f"<a href='{address}'>tea</a>" for address in addresses)


VISITS = [
    (links("/7?utm_source=top"), links("/7?utm_source=all")),
    (links("/7;jsessionid=0123456789ABCDEF"), links("/7")),
    (links("/7?id=1&id=1"), links("/7?id=1")),
    # Orders of a list, with all that the page itself was asked for.
    (links("/a/a?s=1&o=up", "/a/a?s=1&o=down"), links("/a?s=2&o=up", "/a?s=2&o=down")),
]
PLACES = [
    (links("/7"), links("/8")),
    (links("/show?id=7"), links("/show?id=8")),
    (links("/show?a=1&id=1", "/show?a=1&id=2"), links("/show?a=1&id=3", "/show?a=1&id=4")),
]


@pytest.mark.parametrize(("one", "other"), [*VISITS, *PLACES])
def test_marks_of_a_visit_and_parts_of_the_list_itself_are_no_targets(one, other):
    assert (led_to(one) == led_to(other)) is ((one, other) in VISITS)


@pytest.mark.parametrize(
    ("names", "is_told"),
    [(["Green tea"], True), (["Tea 7"], False), ([""], False), (["Details", "Details"], False)],
)
def test_beside_a_text_a_name_that_one_target_has_tells_where_it_leads(names, is_told):
    entries = "".join(f"<li><a href='/{n}'>{name}</a></li>" for n, name in enumerate(names))
    assert led_to(entries)
    assert led_to(entries, thin=False) == (set() if is_told else led_to(entries))


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("/1.jpg?v=1699912345", "/1.jpg?v=1700012345", True),
        ("/1.jpg;jsessionid=0123456789ABCDEF", "/1.jpg", True),
        ("/1.jpg?Expires=1700000000&Signature=aB3~xY9-Qw7_zZ1k", "/1.jpg", True),
        ("/thumb.php?id=7&sid=0123456789abcdef", "/thumb.php?id=7", True),
        ("/thumb.php?id=7", "/thumb.php?id=8", False),
    ],
)
def test_a_picture_is_one_on_each_visit_and_one_of_a_program_by_its_parameters(one, other, is_one):
    shown = [Page(f"<img src='{source}'>").pictures for source in (one, other)]
    assert (shown[0] == shown[1]) is is_one


def test_addresses_that_climb_out_of_a_trap_are_resolved():
    """All others lead ever deeper in it."""
    folder = Folder("http://a.test/tea/tea/1")
    assert folder.resolved("../../7") == "/7"
    assert folder.resolved("tea/1") == "tea/1"


@pytest.mark.parametrize(
    "link",
    ["/login?next=/{0}", "/map?city={0}", "https://pay.example/?back=//a.example/{0}&item={0}"],
)
def test_a_link_that_repeats_the_address_of_a_page_may_be_all_that_tells_what_a_script_shows(link):
    marks = [
        extract(f"<a href='{link.format(city)}'>Go</a>", url=f"https://a.example/{city}").marks
        for city in ("oslo", "rome")
    ]
    assert marks[0] != marks[1]


TEXT = f"<p>{'The house by the sea serves tea. ' * 9}</p>"
CALL = "<a href='/call'>Call 90 123 457</a>"
LABELLED = [
    f"<p>Phone: {CALL}</p>",
    f"<dl><dt>Phone</dt><dd>{CALL}</dd></dl>",
    f"<table><tr><th>Phone</th><td>{CALL}</td></tr></table>",
    f"<table><tr><td>Phone</td><td>{CALL}</td></tr></table>",
    f"<div><span>Phone</span></div><div>{CALL}</div>",
    f"<h2>{CALL.replace('/call', '/house')}</h2>",
    # A later h1 is a label, too.
    f"<h1>Phone</h1><p>{CALL}</p>",
]
UNLABELLED = [
    # A heading is neither the label of a link nor the value of the line before it.
    f"<p>{CALL}</p>",
    f"<button>Buy</button><h2>{CALL}</h2>",
]


@pytest.mark.parametrize("field", [*LABELLED, *UNLABELLED])
def test_a_link_that_has_a_label_is_a_value_with_its_digits(field):
    page = f"<main><h1>Tea house</h1>{field}{TEXT}</main>"
    content = extract(page, url="https://a.example/house").content
    assert ("90 123 457" in content) is (field in LABELLED)


def test_a_line_that_is_the_title_is_a_label_of_a_link_on_a_page_without_h1():
    page = f"<title>Ann Lee</title><body><p>Ann Lee</p><p>{CALL}</p>{TEXT}"
    assert "90 123 457" in extract(page).content


@pytest.mark.parametrize(
    "field",
    [
        "<dl><dt><p>Size</p></dt><dd>XL</dl>",
        "<table><tr><th><div>Size</div></th><td>XL</table>",
        "<p>Size\uff1aXL</p>",
    ],
)
def test_what_stands_in_a_term_or_before_a_colon_is_the_label(field):
    page = f"<main><h1>Tea shirt</h1>{TEXT}{field}</main>"
    assert ("Size", "XL") in extract(page).pairs


def test_a_program_is_no_value_of_the_line_above_it():
    """But a line has its value before a program, and a term has it in one."""
    code = "<pre>brew(7)</pre>"
    text = f"<p>Write:</p>{code}<p>Cups: 7</p>{code}<dl><dt>Call</dt><dd>{code}</dl>"
    page = f"<main><h1>Tea</h1><p>{'It brews tea. ' * 19}</p>{text}</main>"
    assert extract(page).pairs == (("Cups", "7"), ("Call", "brew(7)"))


def test_character_references_in_json_ld_are_read_as_the_characters():
    """Some sites write the references of an address at random."""
    ways = "mail &#64; tea", "mail &#x40; tea", "mail @ tea"
    script = '<script type="application/ld+json">{"email": "%s", "date": "%d"}</script><p>x</p>'
    found = [extract(script % (way, at)).marks for at, way in enumerate(ways)]
    assert found[0] == found[1] == found[2] != ()
