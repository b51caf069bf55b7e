"""The rule: which pages with near fingerprints are copies."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.rule.facts import Facts
from scrapy_simhash.rule.kinship import VIEWS, Kinship
from scrapy_simhash.rule.rule import REASONS, Rule, headings_alike, rule
from scrapy_simhash.rule.ruling import Page, Ruling
from scrapy_simhash.rule.sketch import (
    NARROW,
    SAMPLE,
    WIDE,
    digest,
    hashes_of,
    odd_bits,
    sketch,
)

PROSE = [f"a sentence that all pages of the site have {n}" for n in range(12)]
MENU = [f"entry {n}" for n in range(12)]


def page(
    headings: int = 1,
    title: int = 1,
    heading: int = 1,
    *,
    site: int = 1,
    numbers: tuple[str, ...] = (),
    words: tuple[str, ...] = (),
    sentences: tuple[str, ...] = (),
    prose: tuple[str, ...] = (),
    menu: tuple[str, ...] = (),
    text: int = 5000,
    shown: int = 6000,
    thin: bool = False,
    backed: bool = True,
    listed: Collection[str] = (),
    grams: int = 0,
) -> Facts:
    """Return a page with what it has of its own, beside what all pages of its site have."""
    names, spoken = hashes_of([*numbers, *words], 7), hashes_of([*PROSE, *sentences], 7)
    return Facts(
        *(headings, title, heading, site, digest(names) ^ digest(spoken)),
        sketch(hashes_of(["1", "2", *numbers], 7), width=WIDE),
        sketch(hashes_of(words, 7), width=NARROW),
        sketch(spoken),
        sketch(hashes_of(prose or [*PROSE, *sentences], 7), SAMPLE, NARROW),
        sketch(hashes_of(menu or MENU, 7), 2 * SAMPLE),
        sketch(hashes_of(listed, 7), SAMPLE // 2),
        round(8 * math.log2(text)),
        3 * text >= shown,
        thin,
        backed,
        grams=odd_bits(range(grams), WIDE),
    )


STORY = page()
OTHER = page(2, 2, 2)
RELEASE = page(2, 1, 1)
ELSEWHERE = page(2, 2, 2, site=2, menu=("a menu of its own", "and no other"))
ADDRESS, VIEW, RELEASES, DOMAIN, VERSIONS, SITES = Kinship
ONE_DOMAIN = (*VIEWS, DOMAIN)
RENTED = tuple(f"a sentence of this one {n}" for n in range(6))
LET = tuple(f"a sentence of that one {n}" for n in range(6))


def test_like_headings_and_near_texts_make_a_copy() -> None:
    for kin in Kinship:
        assert rule(STORY, STORY, kin, 48, 48) == (True, "like-headings")


def test_two_records_that_differ_in_a_number_or_a_word_are_two_pages() -> None:
    """The same goes for numbers that have one bit in the sketch."""
    three, four = page(numbers=("3", "71")), page(numbers=("4", "71"))
    red, blue = page(words=("red",)), page(words=("blue",))
    collision = replace(four, numbers=three.numbers)
    for one, other in ((three, four), (three, collision), (red, blue), (red, page())):
        assert rule(one, other, DOMAIN, 0, 48) == (False, "own-values")
        assert rule(one, other, ADDRESS, 0, 48).is_copy


@pytest.mark.parametrize("sort", ["numbers", "words", "sentences"])
def test_a_view_that_says_another_thing_in_the_place_of_one_is_a_variant(sort: str) -> None:
    red, blue, longer = (
        page(**{sort: own}, grams=grams)  # type: ignore[arg-type]
        for own, grams in ((("red",), 0), (("blue",), 9), (("red", "new"), 9))
    )
    reason = "own-text" if sort == "sentences" else "own-values"
    assert rule(red, blue, VIEW, 0, 48) == (False, reason)
    assert rule(red, longer, VIEW, 0, 48) == (True, "like-headings")
    assert rule(red, blue, ADDRESS, 0, 48) == (True, "like-headings")


def test_a_reply_with_a_sentence_of_its_own_is_no_copy_of_the_mail_that_it_quotes() -> None:
    reply = page(sentences=("I do not think so.",))
    assert rule(reply, STORY, DOMAIN, 4, 48) == (False, "own-text")
    other = page(sentences=("Neither do I.",), grams=5)
    assert rule(reply, other, DOMAIN, 20, 48) == (False, "own-text")


def test_edits_come_in_pairs_and_an_edited_sentence_has_its_other_near_by() -> None:
    """The same goes for two views of a page, and for two pages with one edit or many."""
    for kin in (DOMAIN, VIEW):
        for count, near, far in ((6, 20, 60), (1, 2, 5)):
            one = page(sentences=RENTED[:count])
            for grams, ruling in (
                (0, (True, "edits")),
                (near, (True, "edits")),
                (far, (False, "own-text")),
            ):
                other = page(sentences=LET[:count], grams=grams)
                assert rule(one, other, kin, 20, 48) == ruling


def test_an_edited_text_with_two_numbers_of_its_own_is_of_another_record() -> None:
    one, other = page(numbers=("3", "71"), sentences=RENTED), page(numbers=("3",), sentences=LET)
    assert rule(one, other, DOMAIN, 30, 48) == (True, "edits")
    other = page(numbers=("4", "72"), sentences=LET)
    assert rule(one, other, DOMAIN, 30, 48) == (False, "own-values")


def test_like_headings_on_two_sites_count_a_third_beyond_k_if_both_texts_have_their_words() -> None:
    assert rule(STORY, STORY, SITES, 64, 48) == (True, "like-headings")
    assert rule(STORY, STORY, SITES, 65, 48) == (False, "far")
    silent = page(backed=False)
    assert rule(STORY, silent, SITES, 48, 48) == (True, "like-headings")
    assert rule(STORY, silent, SITES, 49, 48) == (False, "far")
    for kin in (*ONE_DOMAIN, VERSIONS):
        assert rule(STORY, STORY, kin, 49, 48) == (False, "far")
    for other in (STORY, page(thin=True)):
        assert rule(page(thin=True), other, SITES, 49, 48) == (False, "far")


def test_far_apart_on_two_sites_a_page_needs_more_than_the_heading_of_another() -> None:
    altered = page(prose=tuple(f"a sentence with another word {n}" for n in range(12)))
    assert rule(STORY, altered, SITES, 36, 48) == (True, "like-headings")
    assert rule(STORY, altered, SITES, 37, 48) == (False, "own-text")
    shorter = page(prose=tuple(PROSE[:8]))
    assert rule(STORY, shorter, SITES, 60, 48) == (True, "like-headings")


def test_long_texts_that_are_very_near_may_have_other_titles_around_one_name() -> None:
    assert rule(STORY, RELEASE, DOMAIN, 24, 48) == (True, "long-text")
    assert rule(STORY, RELEASE, DOMAIN, 25, 48) == (False, "other-heading")
    short, other_package = page(2, text=1000, shown=1000), page(2, site=2)
    assert rule(STORY, short, DOMAIN, 0, 48) == (False, "other-heading")
    assert rule(STORY, other_package, DOMAIN, 4, 48) == (False, "other-heading")


@pytest.mark.parametrize("kin", ONE_DOMAIN)
def test_a_print_view_may_have_the_name_of_the_site_as_its_title(kin: Kinship) -> None:
    """Its ``h1`` is the title of the page, which has no other."""
    for story in (page(1, 1, 0), page(1, 1, 1)):
        assert headings_alike(story, page(2, 7, 1), kin)
        assert headings_alike(page(2, 7, 1), story, kin)
        assert not headings_alike(story, page(2, 7, 2), kin)
    under_logo = page(1, 1, 7)
    assert not headings_alike(under_logo, page(2, 7, 2), kin)
    assert not headings_alike(page(1, 7, 7), page(2, 7, 7), Kinship.DOMAIN)


def test_a_print_view_has_the_title_of_a_page_and_its_h1_or_nearly_its_text() -> None:
    story, printed = page(1, 1, 1), page(2, 1, 1, menu=("an address",))
    for kin in ONE_DOMAIN:
        assert headings_alike(story, printed, kin, 1) is (kin in VIEWS)
    without_h1 = replace(printed, heading=0)
    assert headings_alike(story, without_h1, VIEW, 0.5)
    assert not headings_alike(story, without_h1, VIEW, 0.51)


@pytest.mark.parametrize("kin", ONE_DOMAIN)
def test_a_view_may_say_in_its_title_how_it_is_sorted(kin: Kinship) -> None:
    one, sorted_by_name = page(1, 1, 3), page(2, 2, 3)
    is_view = kin in VIEWS
    assert rule(one, sorted_by_name, kin, 8, 48).is_copy is is_view
    assert not rule(one, sorted_by_name, kin, 9, 48).is_copy
    assert not rule(one, page(2, 2, 4), kin, 8, 48).is_copy


def test_pages_of_one_host_are_told_apart_by_their_names() -> None:
    unnamed = page(1, heading=0), page(2, heading=0)
    for one, other in ((STORY, OTHER), (STORY, page(2, 1, 2)), unnamed):
        assert rule(one, other, DOMAIN, 0, 48) == (False, "other-heading")


def test_one_path_on_two_hosts_of_a_domain_is_a_name() -> None:
    assert rule(STORY, OTHER, VERSIONS, 48, 48) == (True, "long-text")
    assert rule(STORY, OTHER, VERSIONS, 49, 48) == (False, "far")
    for short in (page(2, 2, 2, text=280, shown=300), page(2, 2, 2, shown=16_000)):
        assert rule(STORY, short, VERSIONS, 0, 48) == (False, "other-heading")


def test_short_texts_on_two_hosts_have_to_be_nearer() -> None:
    short, elsewhere = page(text=450, shown=500), page(text=450, shown=500, menu=("another menu",))
    for kin, most in ((VERSIONS, 21), (SITES, 28)):
        assert rule(short, elsewhere, kin, most, 48) == (True, "like-headings")
        assert rule(short, elsewhere, kin, most + 1, 48) == (False, "short")


@pytest.mark.parametrize("kin", VIEWS)
def test_a_view_whose_text_is_a_third_longer_is_no_copy(kin: Kinship) -> None:
    assert rule(STORY, page(text=3500), kin, 4, 48) == (False, "other-length")
    assert rule(STORY, page(text=4000), kin, 4, 48) == (True, "like-headings")


def test_two_views_under_one_title_may_have_other_h1_under_one_menu() -> None:
    counting = page(2, 1, 2)
    assert rule(STORY, counting, VIEW, 4, 48) == (True, "like-headings")
    assert rule(STORY, counting, DOMAIN, 4, 48) == (False, "other-heading")


def test_records_of_one_program_are_told_apart_on_two_sites() -> None:
    """The same goes where one text stands under two headings, as terms of delivery do."""
    one, other = (page(numbers=(n,), text=1400) for n in ("3", "4"))
    named = page(2, 2, 2, site=2, numbers=("4",), text=1400)
    for record in (other, named):
        assert rule(one, record, SITES, 0, 48) == (False, "own-values")
    mirror = replace(other, rest=page(menu=("a menu", "of its own")).rest)
    assert rule(one, mirror, SITES, 0, 48) == (True, "like-headings")
    long, twin = page(numbers=tuple("3456")), page(numbers=tuple("789A"))
    assert rule(long, twin, SITES, 0, 48) == (False, "own-values")
    story = replace(twin, sentences=page(sentences=LET[:2]).sentences)
    assert rule(long, story, SITES, 0, 48) == (True, "like-headings")


@pytest.mark.parametrize("kin", [VERSIONS, RELEASES])
def test_branches_have_one_path_each_and_other_numbers(kin: Kinship) -> None:
    """In a long text, only beside the same sentences; two releases have others."""
    for text, numbers in ((1400, 2), (5000, 3)):
        one, other = (page(numbers=tuple(own[:numbers]), text=text) for own in ("345", "678"))
        fewer = page(numbers=tuple("678"[: numbers - 1]), text=text)
        assert rule(one, other, kin, 20, 48) == (False, "own-values")
        assert rule(one, fewer, kin, 20, 48) == (True, "like-headings")
        release = replace(other, sentences=page(sentences=LET[:2]).sentences)
        assert rule(one, release, kin, 20, 48) == (True, "like-headings")
    short = (page(numbers=tuple(n), sentences=(n, n * 2), text=1400) for n in ("345", "678"))
    assert rule(*short, kin, 20, 48) == (False, "own-values")


def test_two_lists_of_other_links_below_one_text_are_two_pages() -> None:
    names = [f"item {n}" for n in range(20)]
    one, other, grown, few = (
        page(listed=names[part]) for part in (slice(10), slice(9, 19), slice(1, 11), slice(10, 14))
    )
    for kin in (DOMAIN, VIEW):
        assert rule(one, other, kin, 0, 48) == (False, "own-values")
        assert rule(one, grown, kin, 0, 48).is_copy
    links_back = (page(listed=(name,)) for name in ("back to all", "back to brass"))
    assert rule(*links_back, VIEW, 0, 48).is_copy
    # Few may be teasers, but those of one path are the same.
    assert rule(one, few, DOMAIN, 0, 48).is_copy
    assert rule(one, few, VIEW, 0, 48) == (False, "own-values")


@pytest.mark.parametrize("kin", [ADDRESS, VERSIONS, SITES])
def test_mirrors_of_a_page_may_have_other_teasers(kin: Kinship) -> None:
    one, other = (page(listed=[f"{part} {n}" for n in range(8)]) for part in "ab")
    assert rule(one, other, kin, 0, 48) == (True, "like-headings")


def test_sentences_around_two_texts_are_no_edits_of_them() -> None:
    one = page(sentences=RENTED)
    other = page(sentences=LET, menu=tuple(f"a translated entry {n}" for n in range(12)))
    assert rule(one, other, DOMAIN, 30, 48) == (False, "own-text")
    answers = [page(sentences=(said,), prose=tuple(PROSE)) for said in (RENTED[0], LET[0])]
    assert rule(*answers, DOMAIN, 8, 48) == (False, "own-text")


def test_two_publications_may_print_a_story_under_headings_of_their_own() -> None:
    assert rule(STORY, ELSEWHERE, SITES, 48, 48) == (True, "other-site")
    assert rule(STORY, ELSEWHERE, SITES, 49, 48) == (False, "far")
    silent = replace(ELSEWHERE, backed=False)
    assert rule(STORY, silent, SITES, 48, 48) == (True, "other-site")
    short = page(2, 2, 2, site=2, menu=("a menu", "of its own"), text=600, shown=700)
    assert rule(STORY, short, SITES, 9, 48) == (True, "other-site")
    notice = replace(short, backed=False)
    assert rule(STORY, notice, SITES, 9, 48) == (False, "other-heading")


def test_siblings_on_two_mirrors_are_no_copies() -> None:
    """One has the same menu, the other one has the same name of the site."""
    for sibling in (page(2, 2, 2, site=2, prose=LET), page(2, 2, 2, menu=("another menu",))):
        assert rule(STORY, sibling, SITES, 20, 48) == (False, "other-heading")


@pytest.mark.parametrize("kin", [kin for kin in Kinship if kin not in VIEWS])
def test_thin_pages_with_anything_of_their_own_are_two_pages(kin: Kinship) -> None:
    thin = page(thin=True)
    assert rule(thin, thin, kin, 48, 48) == (True, "thin-page")
    assert rule(thin, page(words=("a link",), thin=True), kin, 9, 48) == (False, "own-values")
    assert rule(STORY, page(words=("a link",), thin=True), kin, 9, 48) == (False, "own-values")
    assert rule(thin, page(2, 2, 2, thin=True), kin, 0, 48) == (False, "other-heading")


def test_a_thin_view_repeats_a_list_unless_it_has_something_in_the_place_of_another() -> None:
    one, ticked, other = (page(words=own, thin=True) for own in ((), ("[x] tea",), ("[x] oil",)))
    assert rule(one, ticked, VIEW, 9, 48) == (True, "thin-page")
    assert rule(ticked, other, VIEW, 9, 48) == (False, "own-values")
    pictures = (page(listed=("logo", name), thin=True) for name in ("dawn", "dusk"))
    assert rule(*pictures, VIEW, 9, 48) == (False, "own-values")


@pytest.mark.parametrize(
    ("one", "other", "kin", "alike"),
    [
        (page(1, 5, 6), page(2, 5, 6), DOMAIN, False),
        (page(1, 5, 6), page(2, 5, 6, site=0), DOMAIN, True),
        (page(1, 5, 6), page(2, 5, 6, site=2), DOMAIN, False),
        (page(1, 5, 0), page(2, 5, 0, site=0), VIEW, True),
        (page(1, 5, 6), page(2, 5, 7), VERSIONS, False),
        (page(1, 5, 0), page(2, 5, 7), VERSIONS, True),
        (page(1, 5, 6), page(2, 5, 7), SITES, False),
        (page(1, 5, 6), page(2, 5, 7, menu=("another menu",)), SITES, True),
        (page(1, 5, 0), page(2, 5, 7), SITES, True),
        (page(1, 5, 6), page(2, 4, 6), SITES, True),
        (page(1, 5, 6), page(2, 4, 5), SITES, True),
        (page(1, 5, 6), page(2, 4, 7), SITES, False),
        (page(1, 0, 0), page(2, 0, 0), SITES, False),
        (page(0, 0, 0), page(0, 0, 0), SITES, True),
    ],
)
def test_headings_are_compared_as_the_sites_are_related(
    one: Facts, other: Facts, kin: Kinship, alike: bool
) -> None:
    assert headings_alike(one, other, kin) is alike
    assert headings_alike(other, one, kin) is alike


def test_pages_without_facts_are_judged_by_distance() -> None:
    facts = STORY.to_bytes()
    assert Rule(48)(Page("a", b""), Page("b", b""), 48) == Ruling(True, "distance")
    assert Rule(48)(Page("a", b""), Page("b", b""), 49) == Ruling(False, "far")
    for other in (facts, bytes(5)):
        assert Rule(48)(Page("a", other), Page("b", b""), 48) == Ruling(True, "distance")


def test_thresholds_follow_the_distance_of_the_recipe() -> None:
    long, other = STORY.to_bytes(), RELEASE.to_bytes()
    one, two = "http://a.com/1.html", "http://a.com/2.html"
    assert Rule(3)(Page(one, long), Page(two, other), 1) == Ruling(True, "long-text")
    assert Rule(3)(Page(one, long), Page(two, other), 2) == Ruling(False, "other-heading")


PAGES = st.builds(
    page,
    *[st.integers(0, 2)] * 3,
    site=st.integers(0, 2),
    numbers=st.sampled_from([(), ("3",), ("4", "5", "6")]),
    words=st.sampled_from([(), ("red",), ("blue",)]),
    sentences=st.sampled_from([(), RENTED, LET, LET[:1]]),
    menu=st.sampled_from([(), ("another menu",)]),
    text=st.sampled_from([200, 400, 600, 2000, 5000]),
    thin=st.booleans(),
    backed=st.booleans(),
)


@given(
    PAGES,
    PAGES,
    st.sampled_from(Kinship),
    st.integers(0, 64),
)
def test_order_does_not_matter_and_every_reason_has_a_meaning(
    one: Facts, other: Facts, kin: Kinship, distance: int
) -> None:
    ruling = rule(one, other, kin, distance, 48)
    assert ruling == rule(other, one, kin, distance, 48)
    assert ruling.reason in REASONS
