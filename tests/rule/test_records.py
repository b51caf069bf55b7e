"""Whole pages of records: what their fields say tells them apart, whatever the site adds."""

import pytest

from scrapy_simhash import Document, SyncDedup
from scrapy_simhash.core.analysis import Body
from tests.pages import article, edited, html, judged, located

PROSE = (
    "All lots are sold as seen and without warranty. Bidders are asked to inspect them before the "
    "sale. A fee of twenty percent is added, and all lots have to be collected within a week. Who "
    "cannot come may leave a bid with the office, by letter or by telephone, until the day before."
)


def record(*fields: str) -> str:
    """Return a record: fields with ``: `` in a table, others above it, under one heading."""
    added = "".join(field for field in fields if ": " not in field)
    rows = "".join(
        f"<tr><th>{label}</th><td>{value}</td></tr>"
        for label, _, value in (field.partition(": ") for field in fields if ": " in field)
    )
    return (
        "<title>Lot details | Hammer & Sons</title><nav><a href=/>Home</a></nav><div id=main>"
        f"<h1>Lot details</h1><p>{added}</p><table>{rows}</table><p>{PROSE}</p></div>"
    )


#: Fields, and those of another record.
FIELDS = """
    Temperature: 5 °C | Temperature: -5 °C
    Lead: <5 | Lead: >5
    Grade: A+ | Grade: A-
    Lift: ✓ | Lift: ✗
    Lift: yes + Garage: no | Lift: no + Garage: yes
    Rooms: 3 + Baths: 2 | Rooms: 2 + Baths: 3
    الغرف: ٤ | الغرف: ٥
    Vintage: 2015 | Vintage: 2016
    Date: Friday 3 March 2023 | Date: Friday 10 March 2023
    Hall: Foyer | Hall: Garden
    Sale 4 March 2023, hall two. | Sale 4 March 2023, hall one.
    From 4 March 2023, entry 18 EUR. | From 4 March 2023, entry 22 EUR."""
#: When and how often one record was shown.
VISITS = """
    Updated 15 September 2025 | Updated 2 May 2026
    Posted on 2025-09-15 by Ann | Posted on 2026-05-02 by Ann
    发布于2025年9月15日 | 发布于2026年5月2日
    4,885 visits | 5,102 visits
    3 days ago | 4 days ago"""


@pytest.mark.parametrize(
    ("lines", "ruling"), [(FIELDS, (False, "own-values")), (VISITS, (True, "like-headings"))]
)
def test_a_field_tells_records_apart_and_a_visit_does_not(lines, ruling):
    for line in lines.strip().splitlines():
        one, other = (record("Seats: 7", *each.strip().split(" + ")) for each in line.split(" | "))
        assert judged(("http://lots.test/1", one), ("http://lots.test/2", other)) == ruling, line


@pytest.mark.parametrize("text", ["Enable JavaScript. The shop is loading.", PROSE])
def test_a_price_for_programs_tells_the_variants_of_a_product_apart(text):
    page = (
        f'<title>Tent</title><p>{text}<script type="application/ld+json">{{"price": %d}}</script>'
    )
    red, blue = ("http://s.test/tent", page % 146), ("http://s.test/tent?color=blue", page % 74)
    assert judged(red, blue) == (False, "own-values")
    assert judged(red, (blue[0], red[1])).is_copy


TEXT = article(1, 900) + " It has 146 seats."


@pytest.mark.parametrize(
    ("after", "doubtful"),
    [
        (TEXT.replace("146", "74"), True),
        (TEXT, False),
        (article(1, 900), False),
        (edited(TEXT, 3, 0.02).replace("146", "74"), False),
    ],
    ids=["another number", "the same", "no number", "other sentences as well"],
)
def test_a_copy_is_doubtful_if_each_page_has_another_number_among_one_text(after, doubtful):
    with SyncDedup(processes=0) as dedup:
        dedup.check(Document("http://a.example/1", html(TEXT)))
        verdict = dedup.check(Document("http://b.test/2", html(after)), wait=False)
    assert (verdict.kind, verdict.doubtful) == ("duplicate", doubtful)


def framed(text: str, *, beside: str = "", name: str = "Summer at the lake") -> str:
    return (
        f"<title>{name}</title><body><nav><a href=/>Home</a></nav><main><h1>{name}</h1>{text}"
        f"</main><div class=options>{beside}</div><footer>The lake club</footer>"
    )


def at(address: str, page: str) -> tuple[str, Body]:
    """Return a page that knows where it stands."""
    return address, located(page, address)


def pictures(year: int, start: str = "<p>") -> str:
    return "".join(f"{start}<img src=/{year}/{number}.jpg>" for number in range(6))


@pytest.mark.parametrize("start", ["<p>", "<p><a href=/big/7.jpg>"])
def test_two_galleries_with_one_text_have_pictures_of_their_own(start):
    text = f"<p>{article(6)}"
    one, other = (framed(text + pictures(year, start)) for year in (2024, 2025))
    first, second = "http://lake.test/a", "http://lake.test/b"
    assert judged((first, one), (second, other)) == (False, "own-values")
    assert judged((first, one), (second, one)).is_copy
    # A picture that leads to another page is a teaser, and few pictures may be advertisements.
    teasers = [framed(text + pictures(year, f"<p><a href=/{year}>")) for year in (2024, 2025)]
    assert judged((first, teasers[0]), (second, teasers[1])).is_copy
    posts = [framed(f"{text}<p>{article(7)}<img src=/{n}.png>") for n in (1, 2)]
    assert judged((first, posts[0]), (second, posts[1])).is_copy


def test_a_link_in_brackets_in_a_heading_is_a_value_that_a_view_may_have_more():
    section = f"<h2>Colour{{}}</h2><p>{PROSE}"
    red, blue, plain = (
        framed(section.format(tool))
        for tool in (" [<a href=/red>red</a>]", " [<a href=/blue>blue</a>]", "")
    )
    page, other, view = (f"http://lake.test/{name}" for name in ("a", "b", "a?printable=yes"))
    assert judged((page, red), (other, blue)) == (False, "own-values")
    assert judged((page, red), (view, blue)) == (False, "own-values")
    assert judged((page, red), (view, plain)).is_copy


@pytest.mark.parametrize("address", ["/get.pdf?minutes={}", "/minutes.pdf#page={}"])
def test_links_to_one_file_with_other_names_are_other_entries(address):
    march, april = (
        framed(f"<p>{PROSE}<ul><li><a href='{address.format(month)}'>Minutes of {month}</a></ul>")
        for month in ("March", "April")
    )
    pages = ("http://lake.test/one/a", march), ("http://lake.test/one/b", april)
    assert judged(*pages) == (False, "own-values")


def test_a_view_that_offers_another_one_of_two_files_is_another_page():
    spring, autumn = (
        framed(
            f"<p>{PROSE}<ul><li><a href=/{file}>Minutes</a><li><a href=/rules.pdf>Rules</a></ul>"
        )
        for file in ("spring.pdf", "autumn.pdf")
    )
    page, view = "http://lake.test/one/a", "http://lake.test/one/a?term=autumn"
    assert judged((page, spring), (view, autumn)) == (False, "own-values")


def test_radio_buttons_beside_the_text_are_values_and_boxes_are_filters():
    for kind, is_copy in (("radio", False), ("checkbox", True)):
        one, other = (
            framed(
                f"<p>{PROSE}",
                beside="".join(
                    f"<div><label><input type={kind}>{size} cm</label></div>" for size in sizes
                ),
            )
            for sizes in ((40, 50, 60), (70, 80, 90))
        )
        ruling = judged(("http://lake.test/a", one), ("http://lake.test/b", other))
        assert ruling.is_copy is is_copy, kind


@pytest.mark.parametrize("said", ["The page “/{}” was not found.", "/{}", "No results for {}!"])
def test_the_path_of_a_page_that_an_error_repeats_is_no_value(said):
    paths = "lib/2012/menu.js", "lib/2015/menu.css"
    one, other = (framed(f"<p>{PROSE}<p>{said.format(path)}", name="Search") for path in paths)
    found = (
        at(f"http://lake.test/{path}", page) for path, page in zip(paths, (one, other), strict=True)
    )
    assert judged(*found).is_copy
    assert not judged(("http://lake.test/1", one), ("http://lake.test/2", other)).is_copy


@pytest.mark.parametrize("said", ["2026/11/29", "7", "flat-7", "a/flat-7"])
def test_what_a_path_ends_with_is_a_value_unless_it_is_all_of_the_path(said):
    """Days, numbers and names are what a page is about."""
    one, other = (f"{said[:-1]}{digit}" for digit in "78")
    pages = [
        (f"http://lake.test/a/{each}", framed(f"<p>{PROSE}<p>{each}")) for each in (one, other)
    ]
    assert not judged(*pages).is_copy


def test_the_path_of_a_page_is_a_value_where_the_page_is_named_by_it_and_so_is_its_folder():
    text = f"<p>{article(6)}<p>All changes of {{0}} since May"
    logs = (
        at(f"http://lake.test/log/{path}", framed(text.format(path), name=f"{path} - History"))
        for path in ("src/net/input.c", "src/net/output.c")
    )
    lists = (
        at(f"http://lake.test{folder}list.html", framed(f"<p>{PROSE}<p>Files of {folder}"))
        for folder in ("/red/", "/blue/")
    )
    assert not judged(*logs).is_copy
    assert not judged(*lists).is_copy


@pytest.mark.parametrize(
    "shown",
    [
        '<script type="application/ld+json">{{"@type": "Product", "color": "{}"}}</script>',
        "<img src=/i.jpg alt='The boat in {}, as seen from the shore'>",
        "<input readonly value='The boat in {}, with a sail'>",
    ],
)
def test_a_view_whose_title_and_unseen_values_differ_is_another_page(shown):
    red, blue = (
        framed(f"{shown.format(colour)}<p>{article(6)}", name=f"A boat in {colour}").replace(
            f"<h1>A boat in {colour}</h1>", ""
        )
        for colour in ("red", "blue")
    )
    page, view = "http://lake.test/boat", "http://lake.test/boat?colour=blue"
    assert judged((page, red), (view, blue)) == (False, "other-heading")
