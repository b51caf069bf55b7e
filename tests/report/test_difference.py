"""Differences between two pages, on a terminal and in the report."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.printable import CUT, excerpt, first_lines
from scrapy_simhash.report.difference import (
    COLUMNS,
    difference_lines,
    differences,
    own_lines,
    stretches,
)
from scrapy_simhash.report.words import width
from tests.pages import article

TEXTS = st.text(st.sampled_from("abc .,会议\n"), max_size=60)
LINES = st.lists(st.text("ab 1:\n", min_size=1))


def lines_of(before: list[str], after: list[str], most: int = 9) -> list[str]:
    return difference_lines(differences(before, after), most)


@given(TEXTS, TEXTS)
def test_every_word_of_both_texts_is_in_one_stretch(before, after):
    parts = stretches(before, after)
    assert "".join(part.before for part in parts).split() == before.split()
    assert "".join(part.after for part in parts).split() == after.split()
    for part, following in itertools.pairwise(parts):
        assert part.changed != following.changed
    for part in parts:
        assert part.changed or part.before.split() == part.after.split()


def test_a_difference_is_shown_once_and_is_no_wider_than_a_terminal():
    before = "".join(f"第{n}次会议在{n}号楼举行，到会的人不多。" for n in range(40))
    after = before.replace("会议", "聚会").replace("人", "人们")
    lines = lines_of([before], [after], 1)
    assert "[-会议-]{+聚会+}" in lines[0]
    assert lines[1] == "and 1 more"  # one in other words; the rest say the same
    long = [[article(n), article(n + 9), f"Title: {article(n + 9)}"] for n in (1, 2)]
    assert max(map(width, lines + lines_of(*long))) <= COLUMNS


def test_excerpts_that_were_cut_at_other_places_differ_where_the_texts_do():
    words = article(1, 3000).split()
    edited = ["First", *words[:-20], "second", *words[-20:]]
    pair = [[excerpt(" ".join(text), 1000)] for text in (words, edited)]
    assert [each[:2] for each in differences(*pair)] == [("", "First"), ("", "second")]


def test_of_a_whole_text_and_a_cut_one_the_cut_is_no_difference():
    words = [f"word{number}" for number in range(120)]
    whole = " ".join(words[:-1])
    longer = " ".join([*words[:20], "other", *words[21:], "and", "more", "of", "it"])
    cut = excerpt(longer, len(whole))
    assert CUT in cut
    told = differences([whole], [cut])
    assert (told[0].removed, told[0].added) == ("word20", "other")
    assert [each.added.endswith("of it") for each in told[1:]] == [True]


def test_lines_of_one_page_alone_stand_beside_those_of_the_other():
    left = ["Flat", "Rooms", "3", "Lift: yes", "Garden", "Open"]
    right = ["Flat", "Rooms", "4", "Lift: no", "Open"]
    pairs = [("Rooms: 3", "Rooms: 4"), ("Lift: yes", "Lift: no"), ("Garden", "")]
    assert own_lines(left, right) == pairs
    lines = lines_of(["", *left], ["", *right])
    assert lines == ["Rooms: [-3-]{+4+}", "Lift: [-yes-]{+no+}", "[-Garden-]"]
    # A line at another place is no difference, but a value is.
    left = ["Our other stories", "A flat", "Rooms", "3", "Floor", "4", "All rights reserved"]
    right = ["A flat", "Rooms", "5", "Floor", "6", "All rights reserved", "Our other stories"]
    assert own_lines(left, right) == [("Rooms: 3", "Rooms: 5"), ("Floor: 4", "Floor: 6")]


@given(LINES, LINES)
def test_only_pages_with_the_same_lines_have_no_lines_of_their_own(before, after):
    assert own_lines(before, before) == []
    assert own_lines(before, after) or {*before} == {*after}


def test_lines_beyond_the_cut_of_a_list_are_no_difference():
    lines = [f"line {number}" for number in range(90)]
    pages = [first_lines(each, 200) for each in (lines, ["one more", *lines])]
    assert own_lines(*pages) == [("", "one more")]
    assert all(sum(len(line) + 1 for line in page[:-1]) <= 200 for page in pages)


def test_the_mark_of_a_cut_in_a_line_hides_no_difference():
    left, right = ([f"The mill, part {part} […]"] for part in (7, 8))
    lines = lines_of(["", *left], ["", *right])
    assert lines == ["The mill, part [-7-]{+8+} […]"]


def test_a_line_that_comes_again_takes_no_room_unless_it_is_a_value():
    lines = ["Rooms", "3", "Buy", "Baths", "3", "Buy"]
    assert first_lines(lines, 99) == lines[:-1]
