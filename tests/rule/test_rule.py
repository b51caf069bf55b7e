"""The rule: which pages with near fingerprints are copies."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.rule.facts import Facts
from scrapy_simhash.rule.kinship import ONE_HOST, RECORDS, Kinship
from scrapy_simhash.rule.rule import REASONS, Rule, headings_alike, rule
from scrapy_simhash.rule.ruling import Page, Ruling


def page(
    headings: int = 1,
    title: int = 1,
    heading: int = 1,
    *,
    site: int = 1,
    around: int = 0,
    text: int = 5000,
    shown: int = 6000,
    thin: bool = False,
    backed: bool = True,
    linked: float = 0,
) -> Facts:
    steps = [round(8 * math.log2(length)) for length in (text, shown)]
    return Facts(headings, title, heading, site, around, *steps, thin, backed, linked)


STORY = page()
OTHER = page(2, 2, 2)
RELEASE = page(2, 1, 1)
ELSEWHERE = page(2, 2, 2, site=2, around=2**32 - 1)
ADDRESS, QUERY, VALUE, HOST, VERSIONS, DOMAIN, SITES = Kinship


def test_like_headings_and_near_texts_make_a_copy() -> None:
    for kin in (ADDRESS, QUERY, VERSIONS, DOMAIN):
        assert rule(STORY, STORY, kin, 48, 48) == (True, "like-headings")


@pytest.mark.parametrize("kin", RECORDS)
def test_if_they_may_be_two_records_texts_with_other_surroundings_have_to_be_nearer(
    kin: Kinship,
) -> None:
    for text, shown in ((5000, 5000), (1400, 1700)):
        one, other, alike = (page(text=text, shown=shown, around=2**n - 1) for n in (0, 10, 9))
        assert rule(one, other, kin, 14, 48) == (True, "like-headings")
        assert rule(one, other, kin, 15, 48) == (False, "short")
        assert rule(one, alike, kin, 28, 48) == (True, "like-headings")


@pytest.mark.parametrize("kin", RECORDS)
def test_a_few_words_around_a_text_that_is_not_long_are_no_surroundings(kin: Kinship) -> None:
    one, other = (page(text=1400, shown=1500, around=around) for around in (0, 0x3FF))
    assert rule(one, other, kin, 28, 48) == (True, "like-headings")
    assert rule(one, other, kin, 29, 48) == (False, "short")


@pytest.mark.parametrize("kin", RECORDS)
def test_if_nothing_names_two_records_they_have_nearly_one_text(kin: Kinship) -> None:
    for thin, reason in ((False, "like-headings"), (True, "thin-page")):
        unnamed = page(0, 0, 0, thin=thin)
        assert rule(unnamed, unnamed, kin, 3, 48) == (True, reason)
        assert rule(unnamed, unnamed, kin, 4, 48) == (False, "short")
        for other in (ADDRESS, QUERY, VERSIONS, DOMAIN, SITES):
            assert rule(unnamed, unnamed, other, 8, 48) == (True, reason)


def test_like_headings_on_two_sites_count_a_third_beyond_k_if_both_texts_have_their_words() -> None:
    assert rule(STORY, STORY, SITES, 64, 48) == (True, "like-headings")
    assert rule(STORY, STORY, SITES, 65, 48) == (False, "far")
    silent = page(backed=False)
    assert rule(STORY, silent, SITES, 48, 48) == (True, "like-headings")
    assert rule(STORY, silent, SITES, 49, 48) == (False, "far")
    for kin in (ADDRESS, HOST, QUERY, VERSIONS, DOMAIN):
        assert rule(STORY, STORY, kin, 49, 48) == (False, "far")
    assert rule(page(thin=True), page(thin=True), SITES, 49, 48) == (False, "far")
    short = page(text=200, shown=220)
    assert rule(short, short, SITES, 49, 48) == (False, "far")


def test_what_stands_around_one_address_does_not_count() -> None:
    for text, shown in ((5000, 10_000), (1000, 3000), (200, 2000)):
        one, other = (page(text=text, shown=shown, around=around) for around in (0, 2**64 - 1))
        assert rule(one, other, ADDRESS, 48, 48).is_copy
        assert not rule(one, other, QUERY, 0, 48).is_copy
    assert rule(STORY, page(around=2**64 - 1, text=2500), ADDRESS, 0, 48).reason == "other-length"
    assert rule(STORY, OTHER, ADDRESS, 25, 48) == (False, "other-heading")


def test_other_headings_on_one_host_make_another_page() -> None:
    assert rule(STORY, OTHER, HOST, 25, 48) == (False, "other-heading")


def test_long_texts_that_are_very_near_may_have_other_titles_around_one_name() -> None:
    assert rule(STORY, RELEASE, HOST, 24, 48) == (True, "long-text")
    assert rule(STORY, RELEASE, HOST, 25, 48) == (False, "other-heading")
    short, other_package = page(2, text=1000, shown=1000), page(2, site=2)
    assert rule(STORY, short, HOST, 0, 48) == (False, "other-heading")
    assert rule(STORY, other_package, HOST, 4, 48) == (False, "other-heading")


def test_siblings_of_one_publication_are_told_apart_by_their_names() -> None:
    for kin in (HOST, DOMAIN):
        assert rule(STORY, OTHER, kin, 4, 48) == (False, "other-heading")
        assert rule(STORY, page(2, 1, 2), kin, 4, 48) == (False, "other-heading")


def test_one_path_on_two_hosts_of_a_domain_is_a_name() -> None:
    assert rule(STORY, OTHER, VERSIONS, 48, 48) == (True, "long-text")
    assert rule(STORY, OTHER, VERSIONS, 49, 48) == (False, "far")
    assert rule(STORY, page(2, 2, 2, text=330, shown=600), VERSIONS, 48, 48) == (True, "long-text")
    for short in (page(2, 2, 2, text=280, shown=300), page(2, 2, 2, shown=15_000)):
        assert rule(STORY, short, VERSIONS, 0, 48) == (False, "other-heading")


def test_the_same_long_text_needs_no_name_where_it_is_most_of_the_page() -> None:
    assert rule(STORY, OTHER, HOST, 3, 48) == (True, "long-text")
    assert rule(STORY, page(2, 2, 2, shown=6500), HOST, 3, 48) == (False, "other-heading")


def test_short_texts_have_to_be_nearer() -> None:
    short = page(text=200, shown=220)
    for kin in (VERSIONS, DOMAIN, SITES):
        assert rule(short, STORY, kin, 28, 48) == (True, "like-headings")
        assert rule(short, STORY, kin, 29, 48) == (False, "short")


def test_if_they_may_be_two_records_short_texts_have_to_be_nearer_still() -> None:
    short, other = page(text=450, shown=500), page(text=550, shown=600)
    for kin in RECORDS:
        assert rule(short, other, kin, 14, 48) == (True, "like-headings")
        assert rule(short, other, kin, 15, 48) == (False, "short")
    for kin in (QUERY, VERSIONS, DOMAIN, SITES):
        assert rule(short, other, kin, 48, 48) == (True, "like-headings")


def test_a_reply_that_quotes_a_mail_is_no_copy_of_it() -> None:
    mail, reply = page(text=1400, shown=1500), page(text=1700, shown=1800)
    assert rule(mail, mail, HOST, 28, 48) == (True, "like-headings")
    assert rule(mail, mail, HOST, 29, 48) == (False, "short")
    assert rule(mail, reply, HOST, 14, 48) == (True, "like-headings")
    assert rule(mail, reply, HOST, 15, 48) == (False, "short")
    for kin in (QUERY, VERSIONS, DOMAIN):
        assert rule(mail, mail, kin, 48, 48) == (True, "like-headings")


@pytest.mark.parametrize("kin", RECORDS)
def test_two_records_that_share_most_of_a_long_text_are_no_copies(kin: Kinship) -> None:
    assert rule(STORY, STORY, kin, 38, 48) == (True, "like-headings")
    assert rule(STORY, STORY, kin, 39, 48) == (False, "short")


@pytest.mark.parametrize("kin", RECORDS)
def test_texts_of_two_records_have_to_be_nearer_if_one_is_a_tenth_longer(kin: Kinship) -> None:
    for alike in (page(text=5400), page(shown=9000)):
        assert rule(STORY, alike, kin, 38, 48) == (True, "like-headings")
    longer = page(text=5900)
    assert rule(STORY, longer, kin, 14, 48) == (True, "like-headings")
    assert rule(STORY, longer, kin, 15, 48) == (False, "short")
    assert rule(STORY, longer, QUERY, 48, 48) == (True, "like-headings")


@pytest.mark.parametrize("distance", [0, 14])
def test_a_text_of_one_host_that_is_much_longer_is_no_copy(distance: int) -> None:
    alike, longer = page(text=6300, shown=7000), page(text=7000, shown=7400)
    for kin in (HOST, VALUE, QUERY):
        assert rule(STORY, alike, kin, distance, 48) == (True, "like-headings")
        assert rule(STORY, longer, kin, distance, 48) == (False, "other-length")
    for kin in (VERSIONS, DOMAIN, SITES):
        assert rule(STORY, longer, kin, distance, 48) == (True, "like-headings")


def test_views_may_be_less_near_if_they_are_long_or_what_stands_around_them_is_alike() -> None:
    for text in (200, 1400):
        shown = text + 100
        one, alike, other = (page(text=text, shown=shown, around=2**n - 1) for n in (0, 12, 13))
        assert rule(one, other, QUERY, 28, 48) == (True, "like-headings")
        assert rule(one, other, QUERY, 29, 48) == (False, "short")
        assert rule(one, alike, QUERY, 48, 48) == (True, "like-headings")
    assert rule(STORY, page(around=2**13 - 1), QUERY, 48, 48) == (True, "like-headings")


def test_two_views_under_one_title_may_have_other_h1_if_what_stands_around_them_is_alike() -> None:
    counted = page(headings=2, heading=2, around=2**12 - 1)
    assert rule(STORY, counted, QUERY, 48, 48) == (True, "like-headings")
    for other in (
        replace(counted, around=2**13 - 1),
        replace(counted, title=2),
        replace(counted, site=2),
    ):
        assert rule(STORY, other, QUERY, 48, 48) == (False, "other-heading")
    for kin in RECORDS:
        assert rule(STORY, replace(counted, around=0), kin, 48, 48) == (False, "other-heading")


def test_a_small_part_of_a_page_counts_only_if_the_rest_is_alike() -> None:
    part = page(text=600, shown=9000)
    for kin, most in ((HOST, 9), (VALUE, 9), (QUERY, 12), (VERSIONS, 18), (DOMAIN, 18)):
        alike, other = (page(text=600, shown=9000, around=2**bits - 1) for bits in (most, most + 1))
        assert rule(part, alike, kin, 0, 48) == (True, "whole-page")
        assert rule(part, other, kin, 0, 48) == (False, "part-of-page")
    assert rule(part, other, SITES, 0, 48) == (True, "like-headings")


def test_on_two_sites_a_short_text_that_is_a_small_part_of_a_page_does_not_count() -> None:
    notice = page(text=280, shown=1800)
    for other in (notice, page(text=280, shown=600)):
        assert rule(notice, other, SITES, 0, 48) == (False, "part-of-page")
    assert rule(page(text=280, shown=600), page(text=280, shown=900), SITES, 0, 48).is_copy


def test_the_next_page_of_a_list_has_the_same_text_above_it_and_is_no_copy() -> None:
    first, second = page(text=2000, shown=3400), page(text=2000, shown=3400, around=0x1FFF)
    for kin in (QUERY, VALUE):
        assert rule(first, second, kin, 3, 48) == (False, "part-of-page")
        assert rule(first, second, kin, 4, 48) == (True, "like-headings")
    for shown, around in ((3400, 0xFFF), (2600, 0x1FFF)):
        other = page(text=2000, shown=shown, around=around)
        assert rule(first, other, QUERY, 3, 48) == (True, "like-headings")
    for kin in (HOST, VERSIONS, DOMAIN, SITES):
        assert rule(first, second, kin, 3, 48) == (True, "like-headings")


def test_records_under_one_heading_share_a_notice_and_are_no_copies() -> None:
    line, other_line = page(text=1400, shown=2400), page(text=1400, shown=2400, around=0x3FF)
    assert rule(line, other_line, HOST, 0, 48) == (False, "part-of-page")
    assert rule(line, other_line, QUERY, 28, 48) == (True, "like-headings")
    for shown, around in ((2400, 0x1FF), (1700, 0x3FF)):
        other = page(text=1400, shown=shown, around=around)
        assert rule(line, other, HOST, 14, 48) == (True, "like-headings")
    first, second = page(text=1600, shown=2400), page(text=1600, shown=2400, around=0x3FF)
    assert rule(first, second, HOST, 14, 48) == (True, "like-headings")


def test_on_one_host_links_do_not_count_in_the_lengths_of_texts() -> None:
    mail, other = (page(text=3000, shown=3600, around=around, linked=0.9) for around in (0, 1023))
    assert rule(mail, mail, HOST, 14, 48) == (True, "like-headings")
    assert rule(mail, mail, HOST, 15, 48) == (False, "short")
    assert rule(mail, other, HOST, 0, 48) == (False, "part-of-page")
    for kin in (VERSIONS, DOMAIN, SITES):
        assert rule(mail, other, kin, 48, 48) == (True, "like-headings")


def test_two_publications_may_print_a_story_under_headings_of_their_own() -> None:
    assert rule(STORY, ELSEWHERE, SITES, 56, 48) == (True, "other-site")
    assert rule(STORY, ELSEWHERE, SITES, 57, 48) == (False, "far")
    assert rule(STORY, ELSEWHERE, DOMAIN, 48, 48) == (False, "other-heading")


def test_a_story_elsewhere_beyond_k_has_the_words_of_both_headings() -> None:
    silent = page(2, 2, 2, site=2, around=2**32 - 1, backed=False)
    assert rule(STORY, silent, SITES, 48, 48) == (True, "other-site")
    assert rule(STORY, silent, SITES, 49, 48) == (False, "far")


@pytest.mark.parametrize(
    "sibling",
    [page(2, 2, 2, site=1, around=2**32 - 1), page(2, 2, 2, site=2, around=2**18 - 1)],
    ids=["the same name in the title", "the same template"],
)
def test_siblings_on_two_mirrors_are_no_copies(sibling: Facts) -> None:
    assert rule(STORY, sibling, SITES, 25, 48) == (False, "other-heading")


def test_a_story_elsewhere_has_the_words_of_a_heading_or_fills_its_page() -> None:
    notice = {"site": 2, "around": 2**32 - 1, "backed": False}
    unnamed = page(backed=False)
    assert rule(unnamed, page(2, 2, 2, **notice), SITES, 48, 48) == (True, "other-site")
    part = page(2, 2, 2, shown=11_000, **notice)
    assert rule(unnamed, part, SITES, 0, 48) == (False, "other-heading")
    assert rule(STORY, part, SITES, 0, 48) == (True, "other-site")


def test_where_a_site_has_no_name_a_story_elsewhere_is_longer() -> None:
    short = page(2, 2, 2, site=2, around=2**32 - 1, text=400)
    assert rule(page(site=1), short, SITES, 0, 48) == (True, "other-site")
    assert rule(page(site=0), short, SITES, 0, 48) == (False, "other-heading")


def test_pages_without_main_text_repeat_only_their_like() -> None:
    thin = page(thin=True)
    for kin in Kinship:
        most = 8 if kin in ONE_HOST else 28
        assert rule(thin, thin, kin, most, 48) == (True, "thin-page")
        assert rule(thin, thin, kin, most + 1, 48) == (False, "short")
    assert rule(thin, STORY, HOST, 0, 48) == (False, "one-thin")
    assert rule(thin, page(2, 2, 2, thin=True), HOST, 0, 48) == (False, "other-heading")
    for kin in Kinship:
        assert rule(thin, page(shown=7500, thin=True), kin, 0, 48) == (True, "thin-page")
        assert rule(thin, page(shown=9000, thin=True), kin, 0, 48) == (False, "other-length")


@pytest.mark.parametrize(
    ("one", "other", "kin", "alike"),
    [
        (page(1, 5, 6), page(2, 5, 6), HOST, False),
        (page(1, 5, 6), page(2, 5, 6, site=0), HOST, True),
        (page(1, 5, 6), page(2, 5, 6, site=2), HOST, False),
        (page(1, 5, 0), page(2, 5, 0, site=0), QUERY, False),
        (page(1, 5, 6), page(2, 5, 6), DOMAIN, True),
        (page(1, 5, 6), page(2, 5, 7), DOMAIN, False),
        (page(1, 5, 0), page(2, 5, 7), DOMAIN, True),
        (page(1, 5, 6), page(2, 5, 7), SITES, True),
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
    assert Rule(48)(Page("a", facts), Page("b", b""), 48) == Ruling(True, "distance")


def test_thresholds_follow_the_distance_of_the_recipe() -> None:
    long, other = STORY.to_bytes(), RELEASE.to_bytes()
    one, two = "http://a.com/1.html", "http://a.com/2.html"
    assert Rule(3)(Page(one, long), Page(two, other), 1) == Ruling(True, "long-text")
    assert Rule(3)(Page(one, long), Page(two, other), 2) == Ruling(False, "other-heading")


def test_pages_beyond_k_are_far_whichever_of_them_is_thin() -> None:
    assert rule(STORY, page(thin=True), SITES, 49, 48) == (False, "far")
    assert rule(page(thin=True), STORY, SITES, 49, 48) == (False, "far")


@given(
    st.builds(page, *[st.integers(0, 2)] * 3, text=st.sampled_from([200, 400, 600, 2000])),
    st.builds(page, *[st.integers(0, 2)] * 3, site=st.integers(0, 2), thin=st.booleans()),
    st.sampled_from(Kinship),
    st.integers(0, 64),
)
def test_order_does_not_matter_and_every_reason_has_a_meaning(
    one: Facts, other: Facts, kin: Kinship, distance: int
) -> None:
    ruling = rule(one, other, kin, distance, 48)
    assert ruling == rule(other, one, kin, distance, 48)
    assert ruling.reason in REASONS


def test_facts_of_another_length_count_as_none():
    assert Rule(48)(Page("a", bytes(24)), Page("b", bytes(5)), 48).is_copy
    assert not Rule(48)(Page("a", bytes(5)), Page("b", bytes(24)), 49).is_copy
