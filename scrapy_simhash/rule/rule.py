"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of a manual share most of a short text,
and a notice of the template may be all that an extractor found. A page that is dropped wrongly is
lost, a copy that is kept costs only work. So a page is dropped only if these sentences, in the
order of the code, say so. k is the recipe's distance; surroundings stand around the texts.

Two addresses of one host are *one*, but for folders before the path and marks of a visit; or they
are *views* of one page, by a query; or they may be those of two *records*: they have two paths, or
each a parameter or value of its own, or one a number more, but for versions and lengths of lists.

1. Copies are within k. On two sites, if both texts have the words of their headings, it is 4/3 k
   under like headings and 7/6 k under others, because a mirror has notices among the text.
2. A page without main text is thin: it has the fingerprint of all that it shows, and repeats thin
   pages with like headings only.

Pages with like headings are copies, unless one of these holds:
3. One is a third longer: a text on one host, or a thin page. It says more than the other.
4. They are not near enough. They have to be within
   k/16 if they may be records, and nothing names them;
   k/6 if they are thin, on one host, because they show much of the template, else .6 k;
   .3 k if they may be records, and a text has less than 500 bytes, or one text is a tenth longer,
   or their surroundings differ, because a reference has many pages under one heading, a reply
   quotes a mail, and a job is for two towns; but a few words around a text of less than 1,500
   bytes, a tenth of the page, say nothing;
   .6 k if a text has less than 1,500 bytes on one host, unless they are no records and have like
   surroundings, or less than 300 bytes elsewhere;
   .8 k if they may be records, because judgments share paragraphs.
5. They share a notice: on one host, with other surroundings, a text that is less than 3/4 of both.
   If they may be records, it has less than 1,500 bytes, because timetables have one below them; if
   they are views, or only values differ, it may be longer but is the same (k/16), because
   the pages of a list have one text above them.
6. The text is less than a quarter of a page. It counts on one site with like surroundings, and on
   two sites from 300 bytes on, because a shorter one may come from the program behind both.

Links do not count in 4 and 5 on one host, because an archive lists the thread below each mail; they
do where one text is a tenth longer.
All surroundings of one address are alike, because a shop puts an article into several categories,
each time beside others.
Pages with other headings are siblings, unless one of these holds:
7. Texts of 300 bytes, half of their pages, have one path or file name on two hosts of one site.
8. Texts of 1,500 bytes are half of their pages and within k/2, and their names and the rest of the
   titles differ in numbers only; or they are four fifths of their pages and within k/16.
9. One story stands in two publications, which have names and surroundings of their own: a text with
   the words of a heading (of 300 bytes; of 500 if a title does not name its site), or a long one
   that is half of its page, is what the pages are about.
"""

import math
from dataclasses import dataclass

from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.rule.facts import FACTS_SIZE, LONG_TEXT, Facts
from scrapy_simhash.rule.kinship import ONE_HOST, RECORDS, VIEWS, Kinship, kinship
from scrapy_simhash.rule.ruling import Page, Ruling

SHORT_TEXT = 300  # bytes
MIDDLE_TEXT = 500  # bytes

#: The reason for pages beyond k. Verdicts do not name them, because they are not near.
FAR = "far"
#: Every reason that the rule gives, with what it means.
REASONS = {
    "distance": "the texts are near, and nothing else is known of them",
    "like-headings": "the texts are near and the headings are alike",
    "whole-page": "the texts are a small part of their pages, but the rest is alike, too",
    "long-text": "the headings differ, but the texts have one name, or are long and the same",
    "other-site": "two publications have the text under headings of their own",
    "thin-page": "neither page has a main text, and all that they show is near",
    FAR: "the texts are beyond k, and nothing allows for more",
    "short": "the texts are within k, but not near enough for such pages",
    "part-of-page": "the texts are a part of pages that differ otherwise",
    "other-heading": "the headings differ",
    "one-thin": "only one of the pages has a main text",
    "other-length": "one of the pages has much more text than the other",
}
#: How many of 64 bits may differ around the texts of pages with like surroundings.
AROUND_ALIKE = (
    dict.fromkeys(Kinship, 18)
    | dict.fromkeys(RECORDS, 9)
    | {Kinship.ADDRESS: 64, Kinship.QUERY: 12}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """The judge of an index, by the distance of its recipe."""

    distance: int

    def __call__(self, page: Page, other: Page, distance: int) -> Ruling:
        """Rule on an arrival and an original; without whole facts of both, by distance alone."""
        if not len(page.facts) == len(other.facts) == FACTS_SIZE:
            near = distance <= self.distance
            return Ruling(True, "distance") if near else Ruling(False, FAR)
        facts = Facts.from_bytes(page.facts), Facts.from_bytes(other.facts)
        is_same = 16 * distance <= self.distance
        kin = kinship(page.key, other.key, is_same=is_same)
        return rule(*facts, kin, distance, self.distance)


def rule(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    """Return whether two pages at a distance are copies, and why."""
    alike = headings_alike(a, b, kin)
    if distance > _reach(a, b, kin, alike) * k:
        return Ruling(False, FAR)
    if a.thin != b.thin:
        return Ruling(False, "one-thin")
    if alike:
        return _under_like_headings(a, b, kin, distance, k)
    if a.thin:
        return Ruling(False, "other-heading")
    if _have_one_name(a, b, kin, distance, k):
        return Ruling(True, "long-text")
    if not one_publication(a, b, kin) and _is_what_both_are_about(a, b):
        return Ruling(True, "other-site")
    return Ruling(False, "other-heading" if distance <= k else FAR)


def _reach(a: Facts, b: Facts, kin: Kinship, alike: bool) -> float:
    """Return how far apart any two copies may be, as a share of k."""
    if kin is not Kinship.NONE or a.thin or b.thin or not (a.backed and b.backed):
        return 1
    return 4 / 3 if alike else 7 / 6


def _under_like_headings(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    if not _have_like_lengths(a, b, kin):
        return Ruling(False, "other-length")
    if distance > _nearness(a, b, kin) * k:
        return Ruling(False, "short") if distance <= k else Ruling(False, FAR)
    if a.thin:
        return Ruling(True, "thin-page")
    if _share_a_notice(a, b, kin, distance, k):
        return Ruling(False, "part-of-page")
    if _share(a, b) >= 0.25 or (kin is Kinship.NONE and _size(a, b, kin) >= SHORT_TEXT):
        return Ruling(True, "like-headings")
    if kin is not Kinship.NONE and _around_alike(a, b, kin):
        return Ruling(True, "whole-page")
    return Ruling(False, "part-of-page")


def _have_like_lengths(a: Facts, b: Facts, kin: Kinship) -> bool:
    if not a.thin and kin not in ONE_HOST:
        return True
    lengths = (a.page_bytes, b.page_bytes) if a.thin else (a.text_bytes, b.text_bytes)
    return min(lengths) >= 0.75 * max(lengths)


def _nearness(a: Facts, b: Facts, kin: Kinship) -> float:
    """Return how far apart two copies with like headings may be, as a share of k."""
    if kin in RECORDS and not a.headings:
        return 1 / 16
    if a.thin:
        return 1 / 6 if kin in ONE_HOST else 0.6
    size, like_around = _size(a, b, kin), _around_alike(a, b, kin)
    says_more = min(a.text_bytes, b.text_bytes) < 0.9 * max(a.text_bytes, b.text_bytes)
    has_surroundings = size >= LONG_TEXT or max(a.own_share, b.own_share) < 0.9
    other_around = has_surroundings and not like_around
    if kin in RECORDS and (size < MIDDLE_TEXT or says_more or other_around):
        return 0.3
    is_short = size < (LONG_TEXT if kin in ONE_HOST else SHORT_TEXT)
    if is_short and not (kin in VIEWS and like_around):
        return 0.6
    return 0.8 if kin in RECORDS else math.inf


def _share_a_notice(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> bool:
    """Return whether the text of two pages of one host is one that other pages have, too."""
    if kin not in ONE_HOST or _around_alike(a, b, kin) or max(a.own_share, b.own_share) >= 0.75:
        return False
    is_short, is_same = _size(a, b, kin) < LONG_TEXT, 16 * distance <= k
    return (is_short and kin in RECORDS) or (is_same and kin is not Kinship.HOST)


def _have_one_name(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> bool:
    """Return whether two pages of one publication with other headings are one page all the same."""
    size, share = min(a.text_bytes, b.text_bytes), _share(a, b)
    if kin is Kinship.VERSIONS and size >= SHORT_TEXT and share >= 0.5:
        return True
    if size < LONG_TEXT:
        return False
    if headings_alike(a, b, Kinship.DOMAIN) and a.site == b.site:
        return share >= 0.5 and 2 * distance <= k
    return share >= 0.8 and 16 * distance <= k


def _is_what_both_are_about(a: Facts, b: Facts) -> bool:
    """Return whether the texts are the pages' subject, and no notice that they share."""
    size = min(a.text_bytes, b.text_bytes)
    if size >= LONG_TEXT and _share(a, b) >= 0.5:
        return True
    # A longer text is needed if no name tells the two publications apart.
    least = SHORT_TEXT if a.site and b.site else MIDDLE_TEXT
    return size >= least and (a.backed or b.backed)


def one_publication(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages stand on one site, or on mirrors of one.

    Mirrors have the same name of the site in their titles, or the same template.
    """
    return kin is not Kinship.NONE or a.site == b.site != 0 or _around_alike(a, b, kin)


def headings_alike(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages call themselves the same.

    On one host the whole titles and the ``h1`` are the same, but for the name of the site, which
    print views lack. Two views of one page have like surroundings and one title, because an ``h1``
    may count something. Two hosts put the name of the site into the title, each its own; and a page
    may have as its title what another has as its ``h1``.
    """
    if a.headings == b.headings:
        return True
    titles = a.title == b.title != 0
    headings = a.heading == b.heading != 0
    if kin in VIEWS and titles and a.site == b.site and _around_alike(a, b, kin):
        return True
    if kin in ONE_HOST:
        return titles and headings and (a.site == 0) != (b.site == 0)
    if kin is not Kinship.NONE:
        return titles and (headings or not (a.heading and b.heading))
    return titles or headings or a.title == b.heading != 0 or a.heading == b.title != 0


def _size(a: Facts, b: Facts, kin: Kinship) -> float:
    """Return the length of the shorter text, in bytes; on one host, links do not count."""
    if kin in ONE_HOST:
        return min(a.own_bytes, b.own_bytes)
    return min(a.text_bytes, b.text_bytes)


def _share(a: Facts, b: Facts) -> float:
    return min(a.share, b.share)


def _around_alike(a: Facts, b: Facts, kin: Kinship) -> bool:
    return hamming_distance(a.around, b.around) <= AROUND_ALIKE[kin]
