"""The rule: which pages with near fingerprints are copies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.rule.facts import SKETCHES, Facts
from scrapy_simhash.rule.kinship import VIEWS, Kinship
from scrapy_simhash.rule.rule import REASONS, Rule, rule
from scrapy_simhash.rule.ruling import Page, Ruling
from scrapy_simhash.rule.sketch import digest, hashes_of, sketch

#: What all pages of a site have.
SHARED = {
    "numbers": ("1", "2"),
    "sentences": tuple(f"a sentence that all pages of the site have {n}" for n in range(12)),
    "text": tuple(f"a sentence that all pages of the site have {n}" for n in range(12)),
    "rest": tuple(f"entry {n}" for n in range(12)),
}
MENU = tuple(f"another entry {n}" for n in range(12))
RENTED = tuple(f"a sentence of this one {n}" for n in range(6))
LET = tuple(f"a sentence of that one {n}" for n in range(6))


def page(*names: int, size: int = 5000, menu: tuple[str, ...] = (), **own: Any) -> Facts:
    """Return a page by title and ``h1``, with what it has of its own beside what all have."""
    title, heading = names or (1, 1)
    units = {sort: [*SHARED.get(sort, ()), *own.pop(sort, ())] for sort in SKETCHES}
    if menu:
        units["rest"] = [*menu]
    hashes = {sort: hashes_of(each, 7) for sort, each in units.items()}
    said = digest(hashes["numbers"]) ^ digest(hashes["words"]) ^ digest(hashes["sentences"])
    fixed: dict[str, Any] = {
        "said": said,
        "state": said.to_bytes(3, "little"),
        "headings": 100 * title + heading,
        "site": 1,
        "unsaid": 0,
        "canonical": 0,
        "thin": False,
        "fills": True,
        "backed": True,
        "alone": False,
    }
    return Facts(
        title=title,
        heading=heading,
        steps=round(8 * math.log2(size)),
        **{sort: sketch(hashes[sort], width) for sort, width in SKETCHES.items()},
        **fixed | own,
    )


STORY = page()
ONE_SITE = (Kinship.VIEW, Kinship.DECLARED, Kinship.SIBLING, Kinship.DOMAIN)
COPY = Ruling(True, "like-headings")
VALUES = Ruling(False, "own-values")
TEXT = Ruling(False, "own-text")


def bits(number: int) -> float:
    """Return a distance of the default recipe as a share of its k."""
    return number / 48


def farthest(kin: Kinship) -> float:
    """Return how far two texts may be apart, as a share of k."""
    return 0.75 if kin is Kinship.BRANCH else 1


@pytest.mark.parametrize("kin", [*Kinship])
def test_near_texts_under_like_headings_are_copies(kin: Kinship) -> None:
    assert rule(STORY, STORY, kin, farthest(kin)) == COPY


@pytest.mark.parametrize("kin", ONE_SITE)
@pytest.mark.parametrize("sort", ["numbers", "words"])
def test_a_value_in_the_place_of_another_is_of_another_page_of_the_site(
    kin: Kinship, sort: str
) -> None:
    one, other = (page(**{sort: own}) for own in (["30", "50", "70", "90"], ["3", "5", "7", "9"]))
    assert rule(one, other, kin, 0) == VALUES
    assert rule(one, other, Kinship.ADDRESS, 0) == COPY


@pytest.mark.parametrize("kin", ONE_SITE)
def test_a_sentence_in_the_place_of_another_is_of_another_page_of_the_site(kin: Kinship) -> None:
    one, other = (page(sentences=[said]) for said in ("Perhaps so.", "Perhaps not."))
    assert rule(one, other, kin, 0) == TEXT


def test_numbers_with_one_bit_are_told_apart_by_the_hash_of_all() -> None:
    three, four = page(numbers=["3"]), page(numbers=["4"])
    assert rule(three, replace(four, numbers=three.numbers), Kinship.DOMAIN, 0) == VALUES


def test_a_view_may_have_a_word_a_number_or_a_notice_more() -> None:
    more = page(numbers=["7"], words=["new"], sentences=["This is the view for printing."])
    assert rule(STORY, more, Kinship.VIEW, 0.5) == COPY
    assert rule(STORY, more, Kinship.DOMAIN, 0.5) == TEXT


def test_of_two_pages_that_declare_a_third_one_has_no_value_more() -> None:
    notice = page(sentences=["Back to all the hooks of the shop."])
    assert rule(STORY, notice, Kinship.SIBLING, 0.2) == COPY
    assert rule(STORY, page(words=["licence b"]), Kinship.SIBLING, 0.2) == VALUES


def test_a_page_that_declares_the_address_of_another_may_have_other_counters() -> None:
    seen, again = page(numbers=["2,250", "14"]), page(numbers=["2,251", "15"])
    assert rule(seen, again, Kinship.DECLARED, 0.2) == COPY
    assert rule(seen, again, Kinship.VIEW, 0.2) == VALUES
    priced = [page(numbers=[n], words=[n]) for n in ("$2.15", "$2.95")]
    assert rule(*priced, Kinship.DECLARED, 0.2) == VALUES


def salaried(salary: str, *, menu: tuple[str, ...] = ()) -> Facts:
    return page(menu=menu, labels=["salary", "place"], pairs=["place oslo", f"salary {salary}"])


@pytest.mark.parametrize("kin", [Kinship.VIEW, Kinship.DECLARED, Kinship.SIBLING, Kinship.SITES])
def test_a_label_with_another_value_is_of_another_record_on_any_site(kin: Kinship) -> None:
    other = salaried("50,000", menu=MENU)
    assert rule(salaried("40,000"), other, kin, 0) == VALUES
    assert rule(salaried("50,000"), other, kin, 0) == COPY
    assert rule(STORY, other, kin, 0) == COPY


def test_texts_that_are_no_pages_have_the_same_numbers_and_short_lines() -> None:
    one, other = page(numbers=["3"]), page(numbers=["4"])
    assert rule(one, other, Kinship.TEXT, 0.1) == VALUES
    assert rule(STORY, one, Kinship.TEXT, 0.1) == VALUES
    assert rule(page(sentences=RENTED), page(sentences=LET), Kinship.TEXT, 0.9) == COPY


@pytest.mark.parametrize("kin", [kin for kin in Kinship if kin is not Kinship.SITES])
def test_beyond_k_no_pages_of_one_site_are_copies(kin: Kinship) -> None:
    assert rule(STORY, STORY, kin, bits(49)) == (False, "far")


def test_two_sites_may_be_a_third_beyond_k_if_both_texts_speak_of_their_headings() -> None:
    assert rule(STORY, STORY, Kinship.SITES, bits(64)) == COPY
    assert rule(STORY, STORY, Kinship.SITES, bits(65)) == (False, "far")
    for other in (page(backed=False), page(thin=True)):
        assert rule(STORY, other, Kinship.SITES, bits(49)) == (False, "far")


def test_beyond_three_quarters_of_k_a_quarter_of_a_text_differs_on_two_sites_at_most() -> None:
    altered = replace(STORY, text=page(text=RENTED).text)
    foreign = replace(STORY, text=sketch(hashes_of(LET * 2, 8), 32))
    assert rule(STORY, altered, Kinship.SITES, bits(60)) == COPY
    assert rule(STORY, foreign, Kinship.SITES, bits(36)) == COPY
    assert rule(STORY, foreign, Kinship.SITES, bits(37)) == TEXT


@pytest.mark.parametrize(
    ("kin", "most"),
    [(Kinship.BRANCH, 21), (Kinship.TEXT, 21), (Kinship.SITES, 28)],
)
def test_short_texts_of_two_hosts_have_to_be_nearer(kin: Kinship, most: int) -> None:
    short, elsewhere = page(size=450), page(size=450, menu=MENU)
    assert rule(short, elsewhere, kin, bits(most)) == COPY
    assert rule(short, elsewhere, kin, bits(most + 1)) == (False, "short")


def test_a_later_release_with_new_sections_is_farther_than_most_of_k() -> None:
    assert rule(STORY, STORY, Kinship.BRANCH, bits(36)) == COPY
    assert rule(STORY, STORY, Kinship.BRANCH, bits(37)) == (False, "far")


@pytest.mark.parametrize("kin", [Kinship.DECLARED, Kinship.VIEW, Kinship.SIBLING, Kinship.BRANCH])
def test_of_two_views_the_shorter_text_has_three_quarters_of_the_longer_one(kin: Kinship) -> None:
    assert rule(STORY, page(size=3500), kin, 0) == (False, "other-length")
    assert rule(STORY, page(size=4000), kin, 0) == COPY


def test_one_address_has_one_page() -> None:
    assert rule(STORY, page(size=3500), Kinship.ADDRESS, 0) == COPY


def test_records_of_one_program_on_two_sites_differ_in_a_number_or_in_long_texts_in_four() -> None:
    for size, fewer, enough in ((1400, "", "3"), (5000, "345", "3456")):
        one = page(size=size, numbers=[f"{n}0" for n in enough])
        assert rule(one, page(size=size, numbers=[*enough]), Kinship.SITES, 0) == VALUES
        assert rule(one, page(size=size, numbers=[*fewer]), Kinship.SITES, 0) == COPY
        mirror = page(size=size, numbers=[*enough], menu=MENU)
        assert rule(one, mirror, Kinship.SITES, 0) == COPY


def test_branches_with_one_path_have_a_number_for_each_1500_bytes() -> None:
    one, two = (page(size=size, numbers=["30", "40", "50"]) for size in (1600, 3200))
    for original, allowed in ((one, "3"), (two, "34")):
        size = round(original.text_bytes)
        other, more = (page(size=size, numbers=[*found]) for found in (allowed, f"{allowed}9"))
        assert rule(original, other, Kinship.BRANCH, 0.5) == COPY
        assert rule(original, more, Kinship.BRANCH, 0.5) == VALUES


@pytest.mark.parametrize(
    ("sort", "own"), [("numbers", "37"), ("words", ["Ulm", "Linz"]), ("sentences", [RENTED, LET])]
)
def test_branches_with_little_text_replace_nothing_as_two_views(sort: str, own: list[Any]) -> None:
    for size, is_copy in ((1400, False), (5000, True)):
        one, other = (page(size=size, **{sort: [*units]}) for units in own)
        assert rule(one, other, Kinship.BRANCH, 0.3).is_copy is is_copy
    more = page(size=1400, sentences=LET[:1])
    assert rule(page(size=1400), more, Kinship.BRANCH, 0.3) == COPY


def test_two_states_whose_menus_differ_are_two_pages() -> None:
    """A folder of two letters is that of a language, a state or a department."""
    one, other = "http://a.test/tx/mill", "http://a.test/ny/mill"
    for own in (["Texas"], ["Utah"]), (["Texas"], []):
        pages = page(words=own[0]), page(words=own[1], menu=MENU)
        known = [
            Page(key, facts.to_bytes()) for key, facts in zip((one, other), pages, strict=True)
        ]
        assert not Rule(48)(*known, 0).is_copy


def test_an_entry_in_the_place_of_another_one_makes_another_list() -> None:
    names = [f"item {n}" for n in range(20)]
    one, other, moved, grown = (
        page(listed=names[part]) for part in (slice(10), slice(9, 19), slice(1, 11), slice(13))
    )
    for kin in ONE_SITE:
        assert rule(one, other, kin, 0) == VALUES
        assert rule(one, grown, kin, 0).is_copy
    assert rule(one, moved, Kinship.DOMAIN, 0) == VALUES
    # Most of a view is the same list.
    assert rule(one, moved, Kinship.VIEW, 0).is_copy
    for kin in (Kinship.ADDRESS, Kinship.BRANCH, Kinship.SITES):
        assert rule(one, other, kin, 0) == COPY


def test_two_views_with_long_lists_of_which_few_entries_are_the_same_are_two_pages() -> None:
    """Their sketches are full, and may differ in less than half of the bits by chance."""
    for size in (40, 100, 300):
        lists = [page(listed=[f"item {size} {at} {n}" for n in range(size)]) for at in range(30)]
        dropped = [rule(lists[0], other, Kinship.VIEW, 0).is_copy for other in lists[1:]]
        assert sum(dropped) <= 1


def test_pages_of_one_site_that_say_the_same_at_length_may_have_other_headings() -> None:
    """What they say has a hash, with the words of the headings that the text lacks."""
    assert rule(STORY, page(2, 2), Kinship.VIEW, 0) == (True, "same-text")
    assert rule(STORY, page(2, 1), Kinship.DOMAIN, 0) == (True, "same-text")
    for other in (
        page(2, 1, size=280),
        page(2, 1, menu=MENU),
        page(2, 1, listed=["tea"]),
    ):
        assert rule(STORY, other, Kinship.DOMAIN, 0) == (False, "other-heading")
    # What a page holds in attributes or for programs is no part of the lines that it shows.
    for kin in (Kinship.DOMAIN, Kinship.VIEW):
        assert not rule(STORY, page(2, 2, said=1), kin, 0).is_copy


def test_two_publications_may_print_a_story_under_headings_of_their_own() -> None:
    other = page(2, 2, site=2, menu=MENU)
    assert rule(STORY, other, Kinship.SITES, 1) == (True, "same-text")
    assert rule(STORY, other, Kinship.SITES, bits(49)) == (False, "far")
    assert rule(
        page(sentences=RENTED[:2]),
        page(2, 2, site=2, menu=MENU, sentences=LET[:2]),
        Kinship.SITES,
        0,
    ).is_copy
    for notice in (
        page(2, 2, site=2),
        page(2, 2, site=2, menu=MENU, backed=False, size=1000),
        page(2, 2, site=2, menu=MENU, unsaid=0b110, size=1400),
        page(2, 2, site=2, menu=MENU, sentences=LET),
    ):
        assert rule(page(sentences=RENTED), notice, Kinship.SITES, 0) == (False, "other-heading")


@pytest.mark.parametrize("kin", ONE_SITE)
def test_a_print_view_may_have_the_name_of_the_site_as_its_title(kin: Kinship) -> None:
    """Its ``h1`` is the title of the page, which has no other."""
    short = {"size": 280}
    for story in (page(1, 0, **short), page(1, 1, **short)):
        assert rule(story, page(0, 1, **short), kin, 0) == COPY
        assert rule(story, page(0, 2, **short), kin, 0) == (False, "other-heading")
    other = page(0, 1, site=2, **short)
    assert rule(page(1, 0, **short), other, Kinship.DOMAIN, 0) == (False, "other-heading")


@pytest.mark.parametrize(
    ("title", "heading", "near", "alike"),
    [
        (1, 2, 0.5, True),
        (1, 2, 0.6, False),
        (2, 1, 0.5, True),
        (2, 1, 0.6, False),
        (2, 2, 0, False),
    ],
)
def test_views_have_the_same_title_or_nearly_the_same_text(
    title: int, heading: int, near: float, alike: bool
) -> None:
    other = page(title, heading, numbers=["7"])
    assert rule(STORY, other, Kinship.VIEW, near).is_copy is alike
    assert rule(STORY, other, Kinship.DOMAIN, near).is_copy is False


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (page(5, 0), page(5, 7), True),
        (page(5, 6), page(5, 7), False),
        (page(5, 6), page(5, 7, menu=MENU), True),
        (page(4, 6), page(5, 6), True),
        (page(5, 6), page(4, 5), True),
        (page(5, 6), page(4, 7), False),
        (page(0, 0), page(0, 7), False),
    ],
)
def test_two_sites_have_a_title_or_an_h1_that_is_the_same(
    one: Facts, other: Facts, alike: bool
) -> None:
    one, other = (replace(each, backed=False, fills=False) for each in (one, other))
    assert rule(one, other, Kinship.SITES, 0.5).is_copy is alike
    assert rule(other, one, Kinship.SITES, 0.5).is_copy is alike


@pytest.mark.parametrize("kin", [kin for kin in Kinship if kin not in (*VIEWS, Kinship.TEXT)])
def test_thin_pages_with_anything_of_their_own_are_two_pages(kin: Kinship) -> None:
    thin = page(thin=True)
    assert rule(thin, thin, kin, farthest(kin)) == (True, "thin-page")
    for other in (thin, STORY):
        assert rule(page(words=["a link"], thin=True), other, kin, 0) == VALUES
    assert rule(thin, page(2, 2, thin=True), kin, 0) == (False, "other-heading")


def test_a_thin_view_may_have_something_more_and_no_picture_in_the_place_of_another() -> None:
    one, other = (page(words=own, thin=True) for own in ((), ("[x] tea",)))
    assert rule(one, other, Kinship.VIEW, 0.2) == (True, "thin-page")
    pictures = [page(listed=["logo", name], thin=True) for name in ("dawn", "dusk")]
    assert rule(*pictures, Kinship.VIEW, 0.2) == VALUES


def test_pages_without_facts_are_judged_by_distance() -> None:
    facts = STORY.to_bytes()
    assert Rule(48)(Page("a", b""), Page("b", b""), 48) == Ruling(True, "distance")
    assert Rule(48)(Page("a", b""), Page("b", b""), 49) == Ruling(False, "far")
    for other in (facts, bytes(5)):
        assert Rule(48)(Page("a", other), Page("b", b""), 48) == Ruling(True, "distance")


def test_distances_count_as_a_share_of_the_recipe() -> None:
    one, other = (Page(f"http://{site}.test/1", STORY.to_bytes()) for site in "ab")
    assert Rule(3)(one, other, 4) == COPY
    assert Rule(3)(one, other, 5) == (False, "far")
    assert Rule(0)(one, other, 0) == COPY


PAGES = st.builds(
    page,
    st.integers(0, 2),
    st.integers(0, 2),
    site=st.integers(0, 2),
    numbers=st.sampled_from([(), ("3",), ("4", "5", "6")]),
    words=st.sampled_from([(), ("red",), ("blue",)]),
    sentences=st.sampled_from([(), RENTED, LET, LET[:1]]),
    menu=st.sampled_from([(), MENU]),
    size=st.sampled_from([200, 400, 600, 2000, 5000]),
    thin=st.booleans(),
    backed=st.booleans(),
)


@given(PAGES, PAGES, st.sampled_from(Kinship), st.floats(0, 1.5))
def test_order_does_not_matter_and_every_reason_has_a_meaning(
    one: Facts, other: Facts, kin: Kinship, near: float
) -> None:
    ruling = rule(one, other, kin, near)
    assert ruling == rule(other, one, kin, near)
    assert ruling.reason in REASONS
