"""Differences between two texts, on a terminal and on a page."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.excerpt import CUT, excerpt, first_lines
from scrapy_simhash.report.difference import change_lines, changes, own_lines, stretches, width
from tests.pages import article

TEXTS = st.text(st.sampled_from("abc .,会议\n"), max_size=60)


@given(TEXTS, TEXTS)
def test_every_word_of_both_texts_is_in_one_stretch(before: str, after: str) -> None:
    parts = stretches(before, after)
    assert "".join(part.before for part in parts) == " ".join(before.split())
    assert "".join(part.after for part in parts) == " ".join(after.split())
    for part, following in itertools.pairwise(parts):
        assert part.changed != following.changed
    for part in parts:
        assert part.changed or part.before.split() == part.after.split()


@pytest.mark.parametrize("columns", [60, 100])
def test_a_line_of_changes_is_no_wider_than_asked_for(columns: int) -> None:
    before = "".join(f"第{n}次会议在{n}号楼举行，到会的人不多。" for n in range(40))
    after = before.replace("会议", "聚会").replace("人", "人们")
    lines = change_lines(before, after, columns, 2, colour=False)
    assert len(lines) == 2
    assert all(width(line) <= columns for line in lines)
    assert "[-会议-]{+聚会+}" in lines[0]
    assert re.search(r"\(and \d+ more\)$", lines[1])
    for text in (article(1), article(2)):
        assert width(change_lines(article(3), text, columns, 1, colour=False)[0]) <= columns


def test_equal_texts_have_no_changes() -> None:
    assert change_lines("one  text", "one text", 80, 3, colour=False) == []


def test_excerpts_that_were_cut_at_other_places_differ_where_the_texts_do() -> None:
    words = article(1, 3000).split()
    edited = ["First", *words[:-20], "second", *words[-20:]]
    pair = [excerpt(" ".join(text), 1000) for text in (words, edited)]
    assert [each[:2] for each in changes(*pair, 80)] == [("", "First"), ("", "second")]


def test_of_a_whole_text_and_a_cut_one_the_cut_is_no_difference() -> None:
    words = [f"word{number}" for number in range(120)]
    whole = " ".join(words[:-1])
    longer = " ".join([*words[:20], "other", *words[21:], "and", "more", "of", "it"])
    cut = excerpt(longer, len(whole))
    assert CUT in cut
    told = list(changes(whole, cut, 100))
    assert (told[0].removed, told[0].added) == ("word20", "other")
    assert [each.added.endswith("of it") for each in told[1:]] == [True]


def test_a_word_that_differs_keeps_its_distance_from_the_word_before() -> None:
    text = article(1, 100)
    words = text.split()
    words[50] = "otherwise"
    [line] = change_lines(text, " ".join(words), 80, 3, colour=False)
    assert f"{words[49]} [-" in line


def test_lines_of_one_page_alone_stand_beside_those_of_the_other() -> None:
    left = ["Flat", "Rooms", "3", "Lift: yes", "Garden", "Open"]
    right = ["Flat", "Rooms", "4", "Lift: no", "Open"]
    assert own_lines(left, right) == [
        ("Rooms: 3", "Rooms: 4"),
        ("Lift: yes", "Lift: no"),
        ("Garden", ""),
    ]
    assert own_lines(left, left) == []


@given(st.lists(st.text("ab 1:\n")), st.lists(st.text("ab 1:\n")))
def test_own_lines_are_few_and_none_are_there_only_where_pages_have_the_same_lines(
    before: list[str], after: list[str]
) -> None:
    if before == after:
        assert own_lines(before, after) == []
    elif {*before} != {*after}:
        assert own_lines(before, after)
    found = own_lines([line * 90 for line in before], after * 300, most=4)
    assert len(found) <= 4
    assert all(width(side) <= 52 for pair in found for side in pair)


def test_a_line_at_another_place_is_no_difference_but_a_value_is() -> None:
    left = ["Our other stories", "A flat", "Rooms", "3", "Floor", "4", "All rights reserved"]
    right = ["A flat", "Rooms", "5", "Floor", "6", "All rights reserved", "Our other stories"]
    assert own_lines(left, right) == [("Rooms: 3", "Rooms: 5"), ("Floor: 4", "Floor: 6")]


def test_of_long_lines_the_part_that_differs_is_shown() -> None:
    title = "title: What the falcons of the old tower do at night - "
    pair = "title: Wha … r do at night - Weekly", "title: Wha … r do at night - Harbour Post"
    assert own_lines([f"{title}Weekly"], [f"{title}Harbour Post"]) == [pair]


def test_a_line_that_comes_again_takes_no_room_unless_it_is_a_value() -> None:
    assert first_lines(["Rooms", "3", "Buy", "Baths", "3", "Buy"], 99) == [
        *("Rooms", "3", "Buy", "Baths", "3")
    ]


def test_lines_beyond_the_cut_of_a_list_are_no_difference() -> None:
    lines = [f"line {number}" for number in range(90)]
    pages = [first_lines(each, 200) for each in (lines, ["one more", *lines])]
    assert own_lines(*pages) == [("", "one more")]
    assert all(sum(len(line) + 1 for line in page[:-1]) <= 200 for page in pages)
