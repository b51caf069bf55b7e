"""Whole pages of records: what their fields say tells them apart, whatever the site adds."""

from __future__ import annotations

import pytest

from tests.pages import judged

PROSE = (
    "All lots are sold as seen and without warranty. Bidders are asked to inspect them before the "
    "sale. A fee of twenty percent is added, and all lots have to be collected within a week. Who "
    "cannot come may leave a bid with the office, by letter or by telephone, until the day before."
)


def record(*fields: str, added: str = "") -> str:
    """Return a record whose fields are parted by ``: ``, under the heading of all records."""
    rows = "".join(
        f"<tr><th>{label}</th><td>{value}</td></tr>"
        for label, _, value in (field.partition(": ") for field in fields)
    )
    return (
        "<title>Lot details | Hammer & Sons</title><nav><a href=/>Home</a></nav><div id=main>"
        f"<h1>Lot details</h1><p>{added}</p><table>{rows}</table><p>{PROSE}</p></div>"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Temperature: 5 °C",), ("Temperature: -5 °C",)),
        (("Lead: <5",), ("Lead: >5",)),
        (("Grade: A+",), ("Grade: A-",)),
        (("Lift: ✓",), ("Lift: ✗",)),
        (("Lift: yes", "Garage: no"), ("Lift: no", "Garage: yes")),
        (("Rooms: 3", "Baths: 2"), ("Rooms: 2", "Baths: 3")),
        (("الغرف: ٤",), ("الغرف: ٥",)),
        (("Vintage: 2015",), ("Vintage: 2016",)),
        (("Date: Friday 3 March 2023",), ("Date: Friday 10 March 2023",)),
        (("Hall: Foyer",), ("Hall: Garden",)),
    ],
)
def test_two_records_that_differ_in_one_field_are_two_pages(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    pages = record(*one), record(*other)
    ruling = judged(("http://lots.test/1", pages[0]), ("http://lots.test/2", pages[1]))
    assert ruling == (False, "own-values")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sale 4 March 2023, hall two.", "Sale 4 March 2023, hall one."),
        ("From 4 March 2023, entry 18 EUR.", "From 4 March 2023, entry 22 EUR."),
    ],
)
def test_a_line_with_a_date_has_values_too(one: str, other: str) -> None:
    pages = record("Hall: Foyer", added=one), record("Hall: Foyer", added=other)
    assert not judged(("http://lots.test/1", pages[0]), ("http://lots.test/2", pages[1])).is_copy


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Updated 15 September 2025", "Updated 2 May 2026"),
        ("Posted on 2025-09-15 by Ann", "Posted on 2026-05-02 by Ann"),
        ("发布于2025年9月15日", "发布于2026年5月2日"),
        ("4,885 visits", "5,102 visits"),
        ("3 days ago", "4 days ago"),
    ],
)
def test_when_and_how_often_a_record_was_shown_is_no_field_of_it(one: str, other: str) -> None:
    pages = record("Rooms: 3", added=one), record("Rooms: 3", added=other)
    assert judged(("http://lots.test/1", pages[0]), ("http://lots.test/2", pages[1])).is_copy


@pytest.mark.parametrize("text", ["Enable JavaScript. The shop is loading.", PROSE])
def test_a_price_for_programs_tells_the_variants_of_a_product_apart(text: str) -> None:
    page = (
        f'<title>Tent</title><p>{text}<script type="application/ld+json">{{"price": %d}}</script>'
    )
    red, blue = ("http://s.test/tent", page % 146), ("http://s.test/tent?color=blue", page % 74)
    assert judged(red, blue) == (False, "own-values")
    assert judged(red, (blue[0], red[1])).is_copy
