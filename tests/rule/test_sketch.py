"""Sketches: what two pages share cancels out, and what only one has is counted."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.rule.sketch import Units, hashes_of, sketch, units_of

WIDTH = 128
WORDS = st.sets(st.text(min_size=1, max_size=9), max_size=40)


@given(WORDS, WORDS, WORDS)
def test_what_both_pages_have_cancels_out_in_any_order(one, other, both):
    def bits(*units: str) -> int:
        return sketch(hashes_of(units, 7), WIDTH).bits

    one, other = one - both, other - both
    assert bits(*one) ^ bits(*other) == bits(*one, *both) ^ bits(*sorted(both), *other)


def test_units_that_only_one_page_has_are_counted_unless_they_are_too_many():
    one, other = (sketch(hashes_of(map(str, range(most)), 7), WIDTH) for most in (100, 104))
    assert one.apart(other) == 4
    assert sketch([], WIDTH).apart(one._replace(bits=(1 << 64) - 1)) == float("inf")


@given(st.integers(1, 254))
def test_a_set_of_any_size_is_like_itself_and_not_like_one_of_others(size):
    one, other = (sketch(hashes_of(map(str, range(size)), seed), WIDTH) for seed in (7, 8))
    assert one.is_like(one)
    assert not one.is_like(other)
    assert not one.is_like(sketch([], WIDTH))


@given(*[st.sets(st.integers(0, 2**64 - 1), max_size=200)] * 2)
def test_a_set_has_no_more_units_of_its_own_than_it_has(one, other):
    a, b = sketch([*one], WIDTH), sketch([*other], WIDTH)
    own, others = a.own(b)
    assert 0 <= own <= len(one)
    assert 0 <= others <= len(other)
    assert a.is_like(b) == b.is_like(a)


def units(content: str, **known: Any) -> Units:
    return units_of(Extraction("", content=content, **known))


def test_a_field_is_a_number_and_a_value():
    text = "It has a garden, and a view of the sea."
    found = units_of(Extraction(text, content=f"Rooms: 3\n{text}\nIt is let by the week in May."))
    assert set(found.numbers) == {"3"}
    assert set(found.words) == {"rooms"}
    assert set(found.fields) == {"\0Rooms:3"}
    assert set(found.sentences) == {"ithasagardenandaviewofthesea"}
    assert set(found.all_sentences) == {*found.sentences, "itisletbytheweekinmay"}


def test_a_label_is_told_from_its_value_and_a_count_of_visits_is_none():
    found = units("", pairs=(("Rooms", "3 or 4"), ("Seen", "71 views"), ("Area", "")))
    assert set(found.labels) == {"rooms", "seen"}
    assert set(found.pairs) == {"rooms\x003or4", "seen\x00views"}


@pytest.mark.parametrize("amount", ["$74", "74 €", "1,074.00", "74.50"])
def test_an_amount_of_money_is_a_number_and_a_word_and_no_count(amount):
    found = units(f"It costs {amount} in all 12 shops.")
    assert amount in {*found.words} & {*found.numbers}


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("You pass the test where x < 5.", "You pass the test where x > 5.", False),
        ("It's so: a good, old mill.", "It’s so – a good old mill", True),
    ],
)
def test_a_sentence_keeps_the_signs_that_say_something_and_loses_punctuation(one, other, is_same):
    assert (units(one).all_sentences == units(other).all_sentences) is is_same


WRITTEN = """
    Posted on 2025-09-15 by Ann
    May 3, 2024, last modified
    Zuletzt geändert am 3. Mai 2021, 10:11
    发布于2025年9月15日"""
NUMBERS = {
    **{line.strip(): "" for line in WRITTEN.strip().splitlines()},
    f"© Copyright 2019-2025, {'Jane Doe, ' * 12}": "",
    f"(c) 3000 crowns of {'each house, ' * 12}": "3000",
    "Price updated: 245,000": "245,000",
    "Updated 20 November 2025, 2 rooms": "2",
}


def test_numbers_and_dates_are_numbers_of_a_page_and_the_date_on_which_it_was_written_is_none():
    assert {line: {*units(line).numbers} for line in NUMBERS} == {
        line: {*numbers.split()} for line, numbers in NUMBERS.items()
    }


def test_units_of_megabytes_take_no_time():
    for unit in ("1 ", "a\n", "。", "a. ", "\ufdfa", "updated ", "1.1.", "$1", "2020-1"):
        begun = time.process_time()
        units(unit * 2_000_000)
        units(f"{unit * 9}\n" * 200_000)
        assert time.process_time() - begun < 3
