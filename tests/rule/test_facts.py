"""Facts of a page: what stands in them, and that they stay small and quick."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, facts_of
from tests.pages import DEFAULT

PAGE = Extraction(
    *("The text.", False, "Site. The text.", "A story | Site", ("Site", "A story")),
    content="Site. The text.\nNumber 7",
)


def facts(extraction: Extraction = PAGE, **changes: object) -> Facts:
    return Facts.from_bytes(facts_of(replace(extraction, **changes), DEFAULT))  # type: ignore[arg-type]


def test_facts_are_the_same_after_they_were_bytes():
    data = facts_of(PAGE, DEFAULT)
    assert len(data) == FACTS_SIZE <= 255
    assert Facts.from_bytes(data).to_bytes() == data
    with pytest.raises(
        ValueError, match=f"the facts of a page have {FACTS_SIZE} bytes, not {FACTS_SIZE + 1}"
    ):
        Facts.from_bytes(data + b"x")


def test_golden_facts():
    """Facts that change tell pages apart that are the same, in every stored index.

    If they have to, raise the version of the facts in ``recipe.py`` and write the file anew.
    """
    folder = Path(__file__).parents[1] / "fingerprint/golden"
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    made = dict[str, str]()
    for (name, text), other in zip(texts.items(), [*texts.values()][::-1], strict=True):
        page = Extraction(text, title=other.replace(" ", " | "), headings=(other,), content=text)
        made[name] = facts_of(page, DEFAULT).hex()
    version = DEFAULT.identity.rpartition(" ")[2]
    assert json.loads((folder / "facts.json").read_text("utf-8")) == {version: made}


RED = "A red that has slept in oak for nine months."
WHITE = "A white of the upper lake, for fish and cheese."
#: A field of the facts, two pages by what they have else than others, and whether it is the same.
FIELDS: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    # The title of another site has the same part.
    ("title", {}, {"title": "A Story – Another paper"}, True),
    ("headings", {}, {"title": "A Story – Another paper"}, False),
    # The h1 of a box is no name, unless none stands in the title.
    ("heading", {}, {"headings": ("Site", "A story", "Newsletter")}, True),
    ("heading", {"title": ""}, {"title": "", "headings": ("Site", "A story", "News")}, False),
    # On one host, headings are those that are written.
    ("headings", {"headings": ("KEY_Ehook",)}, {"headings": ("KEY_ehook",)}, False),
    ("headings", {"headings": ("|",)}, {"headings": ()}, True),
    # Words of a heading that the text does not have are kept.
    ("unsaid", *({"headings": (f"Plumber in {town}",)} for town in ("Oslo", "Rome")), False),
    # All pages of some sites declare the front page.
    ("canonical", {"canonical": "http://j.test/"}, {}, True),
    ("canonical", {"canonical": "http://j.test/7"}, {}, False),
    # Two orders of a list say the same, whichever of its texts is main text.
    ("said", *({"text": text, "content": f"{RED}\n{WHITE}"} for text in (RED, WHITE)), True),
    ("sentences", *({"text": text, "content": f"{RED}\n{WHITE}"} for text in (RED, WHITE)), False),
]


@pytest.mark.parametrize(("name", "one", "other", "is_same"), FIELDS, ids=range(len(FIELDS)))
def test_what_is_the_same_of_two_pages_has_the_same_facts(name, one, other, is_same):
    values = [getattr(facts(**page), name) for page in (one, other)]
    assert (values[0] == values[1]) is is_same


def test_what_names_a_page_in_one_place_has_the_hash_that_it_has_in_another():
    assert facts(title="4.2. A story").title == facts().heading == facts().title != 0
    assert facts(headings=("Plumber",), text="A plumber.").unsaid.size == 0


OUTLINES = """
    13.8. Full text | 12.7. Full text
    Chapter 4. Full text | Chapter 12. Full text
    第 4 章 Full text | 第十二章 Full text
    4. Full text | Full text
    [tea-users] Full text | Full text"""
NAMES = """
    SPI_commit | SPI_rollback
    Area 51 | Area 52
    [2] Area | [3] Area
    [Solved] Area | Area
    [New-York] Area | [Los-Angeles] Area
    7 wonders | 8 wonders
    operator< | operator++
    allocator | ~allocator"""


@pytest.mark.parametrize(("lines", "are_alike"), [(OUTLINES, True), (NAMES, False)])
def test_an_outline_number_is_no_part_of_a_heading_and_what_names_the_page_is(lines, are_alike):
    for line in lines.strip().splitlines():
        one, other = (facts(title=name, headings=(name,)) for name in line.strip().split(" | "))
        assert (one.heading == other.heading) is (one.title == other.title) is are_alike, line
        assert one.headings != other.headings


@pytest.mark.parametrize(
    "other",
    [
        *("The ferry returns: why!", "The ferry returns \u2013 why?", "THE FERRY RETURNS, WHY"),
        *("\u201cThe fer\u00adry\u201d returns \u2014 why", "The ferry returns - why \U0001f6a2"),
        *("The 'ferry' returns, why \u00b6", "The ferry returns: why\uf0c1"),
    ],
)
def test_marks_and_case_are_no_part_of_a_name(other):
    one = facts(title=f"{other} | Herald", headings=(other,))
    two = facts(title="The ferry returns - why | Herald", headings=("The ferry returns - why",))
    assert (one.headings, one.heading) == (two.headings, two.heading)
    assert facts(headings=("Release 1.2",)).heading != facts(headings=("Release 12",)).heading


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("Lamp Day 2 | Repair Circle", {"headings": ("Lamp Day 2",)}),
        ("Repair Circle : Lamp Day 2", {"headings": ("Events", "Lamp Day 2")}),
        ("Repair Circle | Lamp Day 2", {"headings": (), "site_name": "Repair Circle"}),
        ("Repair Circle | Lamp Day 2", {"headings": (), "text": "A lamp is lit on this day."}),
    ],
)
def test_the_name_of_a_page_is_a_heading_or_what_the_text_speaks_of(title, known):
    named = facts(title="Lamp Day 2", headings=())
    assert facts(title=title, **known).title == named.title


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Storm over Oslo", "The storm of Monday has passed over\nOslo."),
        ("台风 海南", "台风于周一登陆海南岛。"),
        ("पुराना पुल", "नदी पर बना पुराना पुल अगले वसंत तक खुलेगा।"),
        ("الجِسْرُ القَدِيمُ", "يفتح الجسر القديم في الربيع."),
    ],
)
def test_a_text_says_a_heading_whose_words_it_has_in_any_script(heading, text):
    assert not facts(headings=(heading,), text=text).unsaid.size
    assert facts(headings=(heading,), text="12").unsaid.size == len(heading.split())


def test_a_page_without_headings_has_no_hash_of_any():
    none = facts(title=" | ", headings=("", "…"))
    assert (none.headings, none.title, none.heading) == (0, 0, 0)


def test_hashes_follow_the_seed():
    secret = replace(DEFAULT, seed="secret")
    one, other = facts(), Facts.from_bytes(facts_of(PAGE, secret))
    for name in ("headings", "title", "heading", "said", "numbers"):
        assert getattr(one, name) != getattr(other, name), name
    assert one.text_bytes == other.text_bytes


@pytest.mark.parametrize(("text", "size"), [("a", 1), ("a" * 1500, 1500), ("汉" * 100, 300)])
def test_lengths_are_those_of_the_text_in_bytes(text, size):
    assert facts(text=text).text_bytes == size


@pytest.mark.parametrize("unit", ["a", "1.", "第", "\ufdfa", "第 ", "chapter ", " - ", "\ud800"])
def test_headings_of_megabytes_take_no_time(unit):
    huge = unit * (4_000_000 // len(unit))
    begun = time.process_time()
    facts(title=huge, headings=(huge,) * 3)
    assert time.process_time() - begun < 1
