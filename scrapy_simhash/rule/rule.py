"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of one template share its prose, its
menus and its labels. What both have cancels out, so the rule asks what each page has of its own. A
page that is dropped wrongly is lost, and a copy that is kept costs only work; so each limit that is
not kept makes another page. ``TABLE`` is the rule for pages with like headings, a line for each
kinship of their addresses; :func:`_under_other_headings` is the rule for all others.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scrapy_simhash.rule.facts import FACTS_SIZE, LONG_TEXT, Facts
from scrapy_simhash.rule.kinship import ONE_HOST, TWO_SITES, VIEWS, Kinship, kinship
from scrapy_simhash.rule.ruling import Page, Ruling
from scrapy_simhash.rule.sketch import SAMPLE, WIDE, units_apart

#: The reason for pages beyond k. Verdicts do not name them, because they are not near.
FAR = "far"
#: Every reason that the rule gives, with what it means.
REASONS = {
    "distance": "the texts are near, and nothing else is known of them",
    "like-headings": "the texts are near, the headings are alike, and no page has much of its own",
    "edits": "the headings are alike, and what differs in the texts stands in pairs, as edits do",
    "long-text": "the headings differ, but the texts have one path or one name",
    "other-site": "two publications have the text under headings of their own",
    "thin-page": "neither page has a main text, and no page has anything of its own",
    FAR: "the texts are beyond k, and nothing allows for more",
    "short": "the texts are within k, but not near enough for such short ones",
    "own-values": "each page has numbers, names or values of its own, as records have",
    "own-text": "a page has sentences of its own, as a reply has",
    "other-heading": "the headings differ",
    "one-thin": "only one of the pages has a main text",
    "other-length": "one of the pages has much more text than the other",
}


class Limits(NamedTuple):
    """How much may differ between two copies with like headings; None is no limit.

    Attributes:
        near: the distance, as a share of k.
        near_if_short: the same of short texts.
        length: the shorter text, as a share of the longer one.
        own: how many numbers only one of the pages has, beside edits; one that differs counts for
            each page. Without edits the pages may have no numbers, fields or sentences of their
            own; None where nothing of this is asked.
        values: how many numbers only one of the pages has, if no sentence differs and the text is
            below 1,500 bytes, as those of records of one program are.
    """

    near: float = 1
    near_if_short: float = 1
    length: float = 0
    own: int | None = None
    values: float = math.inf


#: Two views of one page may have other counters, teasers and notices.
_ONE_PAGE = Limits(length=0.75)
#: Two addresses of one domain that may be two records, replies, forms.
_TWO_PAGES = Limits(own=3)
#: One path on two hosts of a domain, as in two releases.
_TWO_VERSIONS = Limits(near_if_short=0.45)
#: A mirror has notices among the text.
_TWO_SITES = Limits(near=4 / 3, near_if_short=0.6, values=1)

TABLE = {
    Kinship.ADDRESS: _ONE_PAGE,
    # A folder may be the branch or the year of a record, or the category that it is in.
    Kinship.FOLDER: _ONE_PAGE._replace(values=1),
    Kinship.QUERY: _ONE_PAGE,
    Kinship.VALUE: _TWO_PAGES,
    Kinship.HOST: _TWO_PAGES,
    Kinship.VERSIONS: _TWO_VERSIONS,
    Kinship.DOMAIN: _TWO_PAGES,
    # Two releases have two numbers each. Branches of a firm have pages of one name, too.
    Kinship.MIRROR: _TWO_SITES._replace(values=3),
    Kinship.NONE: _TWO_SITES,
}
#: A shorter text may come from the program behind two sites, or be no story; bytes.
SHORT_TEXT, STORY = 500, 300
#: So many sentences, links, or pieces of what a page shows are enough to tell something by.
ENOUGH = 6
#: Edits come in pairs: the page with fewer sentences of its own has half of the other's number.
#: They are all over a text: enough sentences have changed, and of all sentences this share, times
#: the square of the distance as a share of k. That square follows the share of the text that has
#: changed (by the angle; Charikar 2002, section 3), and an edit leaves most of its sentence.
TOUCHED = 1 / 4
#: Two lists are others if at most this share of their links or pictures is the same.
LISTED = 1 / 3
#: Within so much of k, two texts are the same but for a word or two.
SAME = 1 / 6
#: Beyond so much of k, at most half of a text may be its own on two sites.
DOUBT = 5 / 6
#: Two sites are one publication if what they show around the texts is so much alike.
ONE_PUBLICATION = 1 / 5
#: A share of k, of a page, of its sentences, of what two pages show around their texts.
HALF = 1 / 2


@dataclass(frozen=True, slots=True)
class Rule:
    """The judge of an index, by the distance of its recipe."""

    distance: int

    def __call__(self, page: Page, other: Page, distance: int) -> Ruling:
        """Rule on an arrival and an original; without whole facts of both, by distance alone."""
        if not len(page.facts) == len(other.facts) == FACTS_SIZE:
            near = distance <= self.distance
            return Ruling(True, "distance") if near else Ruling(False, FAR)
        facts = _unpacked(page.facts), _unpacked(other.facts)
        kin = kinship(page.key, other.key, is_same=distance <= SAME * self.distance)
        return rule(*facts, kin, distance, self.distance)


#: A page is judged beside many, and an entry beside many pages.
_unpacked = lru_cache(maxsize=1024)(Facts.from_bytes)


def rule(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    """Return whether two pages at a distance are copies, and why."""
    near, limits = distance / k if k else 0.0, TABLE[kin]
    # Beyond k, the texts have to be what both pages are about.
    are_about = a.backed and b.backed and not (a.thin or b.thin)
    if near > (limits.near if are_about else min(limits.near, 1)):
        return Ruling(False, FAR)
    if a.thin != b.thin:
        return Ruling(False, "one-thin")
    shorter, longer = sorted((a.text_bytes, b.text_bytes))
    if kin in TWO_SITES and near > DOUBT and a.text.own_share(b.text) > HALF:
        return Ruling(False, "own-text")
    if shorter < LONG_TEXT and _are_records(a, b, kin):
        return Ruling(False, "own-values")
    if not headings_alike(a, b, kin, near):
        return _under_other_headings(a, b, kin, near)
    is_short = shorter < SHORT_TEXT
    if a.thin and kin is not Kinship.ADDRESS:
        limits = _TWO_PAGES
    if shorter < limits.length * longer:
        return Ruling(False, "other-length")
    if near > (limits.near_if_short if is_short else limits.near):
        return Ruling(False, "short")
    return _under_like_headings(a, b, near, limits)


def _under_like_headings(a: Facts, b: Facts, near: float, limits: Limits) -> Ruling:
    if limits.own is not None:
        if units_apart(a.numbers, b.numbers, WIDE) > limits.own or _list_others(a, b):
            return Ruling(False, "own-values")
        if a.said != b.said:
            less, more = sorted(a.sentences.own(b.sentences))
            if not more:
                return Ruling(False, "own-values")
            touched = less / max(min(a.sentences.size, b.sentences.size), 1)
            is_edited = near <= SAME or (less >= ENOUGH and touched >= TOUCHED * near**2)
            # Sentences that are no part of the texts are no edits of them.
            is_sampled = a.text.size == b.text.size == SAMPLE
            is_in_text = near > 0 and (a.text.bits != b.text.bits or is_sampled)
            are_pairs = less >= HALF * more and one_template(a, b)
            if is_in_text and are_pairs and is_edited:
                return Ruling(True, "edits")
            return Ruling(False, "own-text")
    return Ruling(True, "thin-page") if a.thin else Ruling(True, "like-headings")


def _under_other_headings(a: Facts, b: Facts, kin: Kinship, near: float) -> Ruling:
    size, share = min(a.text_bytes, b.text_bytes), min(a.share, b.share)
    other = Ruling(False, "other-heading") if near <= 1 else Ruling(False, FAR)
    if a.thin or near > 1:
        return other
    is_long = size >= LONG_TEXT and share >= HALF
    if one_publication(a, b, kin):
        is_one_path = kin is Kinship.VERSIONS and size >= STORY and share >= HALF
        one_name = (a.title, a.heading, a.site) == (b.title, b.heading, b.site)
        one_name = one_name and a.title != 0 and a.heading != 0
        is_copy = is_one_path or (is_long and one_name and near <= HALF)
        return Ruling(True, "long-text") if is_copy else other
    # The text is the subject of both pages, and no notice that they share.
    if is_long or (size >= STORY and a.backed and b.backed):
        return Ruling(True, "other-site")
    return other


def _are_records(a: Facts, b: Facts, kin: Kinship) -> bool:
    says_the_same = not any(a.sentences.own(b.sentences))
    apart = units_apart(a.numbers, b.numbers, WIDE)
    return (says_the_same or _share_a_program(a, b, kin)) and apart > TABLE[kin].values


def _share_a_program(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether the records of two sites may share a text, which does not speak of them."""
    silent = kin in TWO_SITES and not (a.backed or b.backed)
    return silent and min(a.rest.size, b.rest.size) >= ENOUGH and one_publication(a, b, kin)


def _list_others(a: Facts, b: Facts) -> bool:
    """Return whether two pages list other pages, as the parts of a catalogue do."""
    are_lists = min(a.listed.size, b.listed.size) >= ENOUGH
    return are_lists and a.listed.likeness(b.listed) <= LISTED


def one_template(a: Facts, b: Facts) -> bool:
    """Return whether two pages show much the same around their texts."""
    return a.rest.likeness(b.rest) >= HALF


def one_publication(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages stand on one site, or on mirrors of one.

    Mirrors have the same name of the site in their titles, or much of the same template.
    """
    is_one = kin not in TWO_SITES or a.site == b.site != 0
    return is_one or a.rest.likeness(b.rest) >= ONE_PUBLICATION


def headings_alike(a: Facts, b: Facts, kin: Kinship, near: float = HALF) -> bool:
    """Return whether two pages call themselves the same.

    On one host the whole titles and the ``h1`` are the same, but for the name of the site, which
    print views lack; or the title of one, which has no other ``h1``, is the ``h1`` of the other, as
    a print view may have the name of the site as its title. Two views of one page have one title
    and one last ``h1``, because a print view has no ``h2``; in like surroundings one title, because
    an ``h1`` may count something, or one ``h1`` and nearly one text (k/6), because a title may say
    how a list is sorted. Two hosts put the name of the site
    into the title, each its own; and a page may have as its title what another has as its ``h1``.
    """
    if a.headings == b.headings:
        return True
    titles = a.title == b.title != 0
    headings = a.heading == b.heading != 0
    if kin in VIEWS:
        under_one_title = titles and a.site == b.site
        is_sorted = headings and near <= SAME and not a.thin
        if (under_one_title and headings) or (
            (under_one_title or is_sorted) and one_template(a, b)
        ):
            return True
    if kin in ONE_HOST:
        is_named = _is_name_of(a, b) or _is_name_of(b, a)
        return is_named or (titles and headings and (a.site == 0) != (b.site == 0))
    if kin not in TWO_SITES:
        return titles and (headings or not (a.heading and b.heading))
    # In one template, all lists of members may have one title.
    are_siblings = a.heading and b.heading and (near > DOUBT or one_template(a, b))
    is_titled = titles and not are_siblings
    return is_titled or headings or a.title == b.heading != 0 or a.heading == b.title != 0


def _is_name_of(a: Facts, b: Facts) -> bool:
    """Return whether the title of a page, which has no other ``h1``, is the ``h1`` of another."""
    return a.title == b.heading not in (0, b.title) and a.heading in (0, b.heading)
