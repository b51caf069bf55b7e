"""Sketches: what two pages share cancels out, and what only one has is counted."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.rule.sketch import (
    WIDE,
    hashes_of,
    odd_bits,
    sketch,
    units_apart,
    units_of,
)

WORDS = st.sets(st.text(min_size=1, max_size=9), max_size=40)


@given(WORDS, WORDS, WORDS)
def test_what_both_pages_have_cancels_out_in_any_order(
    one: set[str], other: set[str], both: set[str]
) -> None:
    def bits(*units: str) -> int:
        return odd_bits(hashes_of(units, 7), WIDE)

    one, other = one - both, other - both
    assert bits(*one) ^ bits(*other) == bits(*one, *both) ^ bits(*sorted(both), *other)


def test_units_that_only_one_page_has_are_counted_unless_they_are_too_many() -> None:
    one, other = (odd_bits(hashes_of(map(str, range(most)), 7), WIDE) for most in (100, 104))
    assert units_apart(one, other, WIDE) == 4
    assert units_apart(0, (1 << 64) - 1, WIDE) == float("inf")


@given(*[st.sets(st.integers(0, 2**64 - 1), max_size=200)] * 2)
def test_a_set_has_no_more_units_of_its_own_than_it_has(one: set[int], other: set[int]) -> None:
    a, b = sketch([*one]), sketch([*other])
    own, others = a.own(b)
    assert 0 <= own <= len(one)
    assert 0 <= others <= len(other)
    assert 0 <= a.likeness(b) <= 1


def test_a_field_is_a_number_and_a_value_and_a_line_that_says_when_is_neither() -> None:
    units = units_of("Rooms: 3\nPosted 7 May 2031\nIt has a garden, and a view of the sea.", "")
    assert set(units.numbers) == {"3"}
    assert set(units.words) == {"rooms"}
    assert set(units.fields) == {"\0Rooms:3"}
    assert set(units.sentences) == {"ithasagardenandaviewofthesea"}


def test_units_of_megabytes_take_no_time() -> None:
    for unit in ("1 ", "a\n", "。", "a. ", "\ufdfa"):
        begun = time.process_time()
        units_of(unit * 2_000_000, "")
        assert time.process_time() - begun < 2
