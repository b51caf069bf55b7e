"""Whole pages of records: what their fields say tells them apart, whatever the site adds."""

import pytest

from scrapy_simhash import Document, SyncDedup
from tests.pages import article, edited, framed, html, judged, located

PROSE = (
    "All lots are sold as seen and without warranty. Bidders are asked to inspect them before the "
    "sale. A fee of twenty percent is added, and all lots have to be collected within a week. Who "
    "cannot come may leave a bid with the office, by letter or by telephone, until the day before."
)


def record(*fields: str) -> str:
    """Return a record: fields with ``: `` and others in a table under one heading."""
    rows = "".join(f"<tr><th>{field.replace(': ', '<td>')}" for field in fields)
    return framed(f"<table>{rows}</table><p>{PROSE}", "Lot details")


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


def test_a_field_tells_records_apart():
    for line in FIELDS.strip().splitlines():
        one, other = (record("Seats: 7", *each.strip().split(" + ")) for each in line.split(" | "))
        ruling = judged(("http://lots.test/1", one), ("http://lots.test/2", other))
        assert ruling == (False, "own-values"), line


TEXT = article(1, 900) + " It has 146 seats."
AFTER = {
    "another number": TEXT.replace("146", "74"),
    "the same": TEXT,
    "no number": article(1, 900),
    "other sentences as well": edited(TEXT, 3, 0.02).replace("146", "74"),
}


@pytest.mark.parametrize("after", AFTER)
def test_a_copy_is_doubtful_if_each_page_has_another_number_among_one_text(after):
    with SyncDedup(processes=0) as dedup:
        dedup.check(Document("http://a.example/1", html(TEXT)))
        verdict = dedup.check(Document("http://b.test/2", html(AFTER[after])), wait=False)
    assert (verdict.kind, verdict.doubtful) == ("duplicate", after == "another number")


def pictures(year: int, start: str = "<p>") -> str:
    return framed(f"<p>{STORY}" + "".join(f"{start}<img src=/{year}/{n}.jpg>" for n in range(6)))


def section(link: str) -> str:
    return framed(f"<h2>Colour{link and f' [<a href=/{link}>{link}</a>]'}</h2><p>{PROSE}")


def files(*links: str) -> str:
    rows = "".join(f"<li><a href={link.replace('|', '>')}</a>" for link in links)
    return framed(f"<p>{PROSE}<ul>{rows}</ul>")


def boxes(kind: str, sizes: range) -> str:
    rows = (f"<div><label><input type={kind}>{size} cm</label></div>" for size in sizes)
    return framed(f"<p>{PROSE}", top=f"<div class=options>{''.join(rows)}</div>")


def error(said: str, path: str) -> str:
    return framed(f"<p>{PROSE}<p>{said.format(path)}", "Search")


def tent(text: str, price: int) -> str:
    offer = f'<script type="application/ld+json">{{"price": {price}}}</script>'
    return f"<title>Tent</title><p>{text}{offer}"


def boat(colour: str, shown: str) -> str:
    heading = f"<h1>A boat in {colour}</h1>"
    text = f"{shown.format(colour)}<p>{STORY}"
    return framed(text, f"A boat in {colour}").replace(heading, "")


STORY, MENUS = article(6), ("lib/2012/menu.js", "lib/2015/menu.css")
BIG, RULES = "<p><a href=/big/7.jpg>", "/rules.pdf|Rules"
ERRORS = ("The page “/{}” was not found.", "/{}", "No results for {}!")
LOADING = "Enable JavaScript. The shop is loading."
ENDS = {"2026/11/29": "2026/11/28", "7": "8", "flat-7": "flat-8", "a/flat-7": "a/flat-8"}
UNSEEN = (
    '<script type="application/ld+json">{{"@type": "Product", "color": "{}"}}</script>',
    "<img src=/i.jpg alt='The boat in {}, as seen from the shore'>",
    "<input readonly value='The boat in {}, with a sail'>",
)
#: Two addresses at the lake, the pages there, and whether one repeats the other.
PAIRS: list[tuple[str, str, str, bool]] = [
    # Galleries with one text have pictures of their own.
    *(("a b", pictures(2024, start), pictures(2025, start), False) for start in ("<p>", BIG)),
    ("a b", pictures(2024), pictures(2024), True),
    # A picture that leads to another page is a teaser, and few pictures may be advertisements.
    ("a b", *(pictures(year, f"<p><a href=/{year}>") for year in (2024, 2025)), True),
    ("a b", *(framed(f"<p>{STORY}<p>{article(7)}<img src=/{n}.png>") for n in "12"), True),
    # A link in brackets in a heading is a value.
    ("a b", section("red"), section("blue"), False),
    ("a a?printable=yes", section("red"), section("blue"), False),
    # Links to one file with other names are other entries.
    *(
        (
            "1/a 1/b",
            *(files(f"'{to}{month}'|Minutes of {month}") for month in ("May", "July")),
            False,
        )
        for to in ("/get.pdf?minutes=", "/minutes.pdf#page=")
    ),
    # A view that offers another one of two files is another page.
    ("a a?to=b", *(files(f"/{name}.pdf|Minutes", RULES) for name in ("spring", "fall")), False),
    # Radio buttons beside the text are values.
    ("a b", boxes("radio", range(40, 43)), boxes("radio", range(70, 73)), False),
    # The path of a page that an error repeats is no value.
    *((" ".join(MENUS), *(error(said, path) for path in MENUS), True) for said in ERRORS),
    *(("1 2", *(error(said, path) for path in MENUS), False) for said in ERRORS),
    # What a path ends with is a value unless it is all of the path: a day, a number or a name.
    *(
        (f"a/{one} a/{other}", *(framed(f"<p>{PROSE}<p>{end}") for end in (one, other)), False)
        for one, other in ENDS.items()
    ),
    # The path of a page is a value where the page is named by it, and so is its folder.
    (
        "log/net/input.c log/net/output.c",
        *(
            framed(f"<p>{STORY}<p>All changes of {path} since May", f"{path} - History")
            for path in ("net/input.c", "net/output.c")
        ),
        False,
    ),
    (
        "red/list.html blue/list.html",
        *(framed(f"<p>{PROSE}<p>Files of /{folder}/") for folder in ("red", "blue")),
        False,
    ),
    # A price for programs tells the variants of a product apart.
    *(
        ("tent tent?color=blue", tent(text, 146), tent(text, price), price == 146)
        for text in (LOADING, PROSE)
        for price in (74, 146)
    ),
    # A view whose title and unseen values differ is another page.
    *(
        ("boat boat?colour=blue", boat("red", shown), boat("blue", shown), False)
        for shown in UNSEEN
    ),
]


@pytest.mark.parametrize(("paths", "one", "other", "is_copy"), PAIRS, ids=range(len(PAIRS)))
def test_what_a_page_alone_has_tells_it_from_others_of_its_template(paths, one, other, is_copy):
    addresses = [f"http://lake.test/{path}" for path in paths.split()]
    pages = zip(addresses, (one, other), strict=True)
    assert judged(*((at, located(page, at)) for at, page in pages)).is_copy is is_copy
