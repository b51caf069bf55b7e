"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of a manual share most of a short text,
and a notice of the template may be all that an extractor found. A page that is dropped wrongly is
lost, a copy that is kept costs only work, so a page is dropped only if a sentence of the rule says
so:

1. Two pages with like headings are copies if their texts are within k; on two sites within 4/3 k,
   because a mirror has notices of its own among the text; on one host only if the shorter text has
   three quarters of the longer one. Where the shorter text has less than 300 bytes, they have to be
   within 2/3 k, unless their surroundings are alike and they are two views of one list: one path or
   file name with a query, or a file name that is in the other's query. Other pages of one host have
   to be within .9 k, texts of less than 1,500 bytes within .6 k, and texts of less than 500 bytes
   within .3 k; so have texts of any length if a tenth of both pages stands around them and differs,
   for long ones by much: many pages of a reference have one general heading, a mail quotes another
   one, a job is advertised for several towns, and a class inherits most of what it shows. If
   nothing names these pages, they have to be within k/16. On one site, a text that is less than a
   quarter of its page does not count without like surroundings; on two sites not at all if it has
   less than 300 bytes, because the program behind both may have put it there. On one host, a text
   of less than three quarters of both pages does not, either, if it is the same (k/16) in two
   views, because each page of a list has one text above it; or if it has less than 1,500 bytes in
   other pages, because many records have one notice below them. In lengths and shares of pages of
   one host, links do not count, because a list of the thread may stand below each of its mails.
2. Two pages with other headings may be one story in two publications: on two sites, with names
   and surroundings of their own, they are copies if their texts are within k and are what the pages
   are about, which a text is that has the words of a heading, or that is long and half of its page.
   If both texts have the words of their headings, they may be within 7/6 k; else within 2/3 k, if
   the surroundings are those of one program.
   In one publication they are siblings, unless their texts are half of their pages and have one
   name: texts of 500 bytes within 2/3 k that have one path or file name on two hosts of a domain,
   or of 1,500 bytes within k/2 whose names are alike, and the rest of their titles but for numbers.
   Texts of 1,500 bytes within k/16 that are four fifths of their pages need no name.
3. A page without main text has the fingerprint of all that it shows. Two of them are copies if
   they have like headings, are of like length, and within 2/3 k; on one host, where the template
   is most of what they show, within k/4 in two views, or k/6.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from urllib.parse import urlsplit

from scrapy_simhash.fingerprint.facts import LONG_TEXT, Facts
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.contract import Ruling
from scrapy_simhash.keys import registered_domain

SHORT_TEXT = 300  # bytes
MIDDLE_TEXT = 500  # bytes
FIELDS_ALIKE = 3  # of 64 bits around the texts
PAGES_ALIKE = 12  # of 64 bits around the texts
RECORDS_ALIKE = 9  # of 64 bits around the texts
TEMPLATES_ALIKE = 18  # of 64 bits around the texts
PROGRAMS_ALIKE = 20  # of 64 bits around the texts
LIKE_TEXTS = 0.75  # the shorter of two lengths, as a share of the longer one
LIKE_PAGES = 0.7

_LANGUAGE = re.compile(r"\.[a-z]{2}(?:-[a-z]{2})?(?=\.)", re.IGNORECASE)

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


class Kinship(Enum):
    """How two addresses are related."""

    QUERY = "one host; one path or file name and a query, or a query with the other's name in it"
    HOST = "one host"
    VERSIONS = "two hosts of one registered domain, and one path or file name"
    DOMAIN = "two hosts of one registered domain"
    NONE = "two sites"


ONE_HOST = (Kinship.QUERY, Kinship.HOST)


@dataclass(frozen=True, slots=True)
class Rule:
    """The judge of an index.

    Attributes:
        distance: k of the recipe.
    """

    distance: int

    def __call__(
        self, key: str, facts: bytes, other: str, other_facts: bytes, distance: int
    ) -> Ruling:
        """Rule on an arrival and an original; without the facts of both, by distance alone."""
        if not (facts and other_facts):
            near = distance <= self.distance
            return Ruling(True, "distance") if near else Ruling(False, FAR)
        pages = Facts.from_bytes(facts), Facts.from_bytes(other_facts)
        return rule(*pages, kinship(key, other), distance, self.distance)


def rule(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    """Return whether two pages are copies, and why.

    Args:
        a: facts of one.
        b: facts of the other.
        kin: how their addresses are related.
        distance: between their fingerprints, in bits.
        k: the recipe's distance.
    """
    alike = headings_alike(a, b, kin)
    on_two_sites = 4 * k / 3 if alike else 7 * k / 6
    if distance > (k if kin is not Kinship.NONE or a.thin or b.thin else on_two_sites):
        return Ruling(False, FAR)
    if a.thin != b.thin:
        return Ruling(False, "one-thin")
    if kin is Kinship.HOST and alike and not a.headings and 16 * distance > k:
        return Ruling(False, "short")
    if a.thin:
        return _on_thin_pages(a, b, kin, distance, k)
    if alike:
        return _under_like_headings(a, b, kin, distance, k)
    if _have_one_name(a, b, kin, distance, k):
        return Ruling(True, "long-text")
    if not one_publication(a, b, kin) and _is_what_both_are_about(a, b, distance, k):
        return Ruling(True, "other-site")
    return Ruling(False, "other-heading" if distance <= k else FAR)


def _under_like_headings(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    if kin in ONE_HOST and _ratio(a.text_bytes, b.text_bytes) < LIKE_TEXTS:
        return Ruling(False, "other-length")
    like_around = _around(a, b) <= PAGES_ALIKE
    whole = kin is not Kinship.NONE and like_around and _pages_alike(a, b)
    is_view = kin is Kinship.QUERY and whole
    on_paths = kin is Kinship.HOST
    size = min(a.own_bytes, b.own_bytes) if kin in ONE_HOST else _size(a, b)
    if on_paths:
        most, around = (0.6, FIELDS_ALIKE) if size < LONG_TEXT else (0.9, RECORDS_ALIKE)
        fields_differ = max(a.share, b.share) < 0.9 and _around(a, b) > around
        is_short = distance > (0.3 if size < MIDDLE_TEXT or fields_differ else most) * k
    else:
        is_short = size < SHORT_TEXT and 3 * distance > 2 * k and not is_view
    if is_short:
        return Ruling(False, "short")
    if kin in ONE_HOST and max(a.own_share, b.own_share) < 0.75:
        is_notice = size < LONG_TEXT and _around(a, b) > RECORDS_ALIKE
        stands_above_list = 16 * distance <= k and not like_around
        is_part = is_notice if on_paths else stands_above_list
        if is_part:
            return Ruling(False, "part-of-page")
    if _share(a, b) >= 0.25 or (kin is Kinship.NONE and size >= SHORT_TEXT):
        return Ruling(True, "like-headings")
    return Ruling(True, "whole-page") if whole else Ruling(False, "part-of-page")


def _have_one_name(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> bool:
    """Return whether two pages of one publication with other headings are one page all the same."""
    size, share = _size(a, b), _share(a, b)
    if kin is Kinship.VERSIONS and size >= MIDDLE_TEXT and share >= 0.5 and 3 * distance <= 2 * k:
        return True
    if size < LONG_TEXT:
        return False
    if headings_alike(a, b, Kinship.DOMAIN) and a.site == b.site:
        return share >= 0.5 and 2 * distance <= k
    return share >= 0.8 and 16 * distance <= k


def _is_what_both_are_about(a: Facts, b: Facts, distance: int, k: int) -> bool:
    """Return whether the texts are the pages' subject, and no notice that they share."""
    # Two shops of one program may have one notice below all that they sell.
    most = 2 * k / 3 if _around(a, b) <= PROGRAMS_ALIKE else k
    if distance > most and not (a.backed and b.backed):
        return False
    if _size(a, b) >= LONG_TEXT and _share(a, b) >= 0.5:
        return True
    # A longer text is needed if no name tells the two publications apart.
    least = SHORT_TEXT if a.site and b.site else MIDDLE_TEXT
    return _size(a, b) >= least and (a.backed or b.backed)


def _on_thin_pages(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    if not headings_alike(a, b, kin):
        return Ruling(False, "other-heading")
    nearest = {Kinship.HOST: k / 6, Kinship.QUERY: k / 4}
    if distance > nearest.get(kin, 2 * k / 3):
        return Ruling(False, "short")
    return Ruling(True, "thin-page") if _pages_alike(a, b) else Ruling(False, "other-length")


def one_publication(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages stand on one site, or on mirrors of one.

    Mirrors have the same name of the site in their titles, or the same template.
    """
    return kin is not Kinship.NONE or a.site == b.site != 0 or _around(a, b) <= TEMPLATES_ALIKE


def headings_alike(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages call themselves the same.

    On one host the whole titles and the ``h1`` are the same. Two hosts put the name of the site
    into the title, each its own; and a page may have as its title what another has as its ``h1``.
    """
    if a.headings == b.headings:
        return True
    if kin in ONE_HOST:
        return False
    titles = a.title == b.title != 0
    headings = a.heading == b.heading != 0
    if kin is not Kinship.NONE:
        return titles and (headings or not (a.heading and b.heading))
    return titles or headings or a.title == b.heading != 0 or a.heading == b.title != 0


def kinship(key: str, other: str) -> Kinship:
    """Return how the addresses in two keys are related; keys that are no addresses are of one host.

    Args:
        key: as :func:`scrapy_simhash.keys.page_key` makes it, or any text.
        other: in the same way.
    """
    (one, name, query), (two, other_name, other_query) = _place(key), _place(other)
    if one == two or not (one and two):
        # A wiki has a page as /Flour and as ?title=Flour.
        named = f"={name}&" in f"{other_query}&" or f"={other_name}&" in f"{query}&"
        is_view = (query or other_query) and (name == other_name or named)
        return Kinship.QUERY if is_view else Kinship.HOST
    if registered_domain(one) == registered_domain(two):
        return Kinship.VERSIONS if (name, query) == (other_name, other_query) else Kinship.DOMAIN
    return Kinship.NONE


def _size(a: Facts, b: Facts) -> float:
    return min(a.text_bytes, b.text_bytes)


def _share(a: Facts, b: Facts) -> float:
    return min(a.share, b.share)


def _around(a: Facts, b: Facts) -> int:
    return hamming_distance(a.around, b.around)


def _pages_alike(a: Facts, b: Facts) -> bool:
    return _ratio(a.page_bytes, b.page_bytes) >= LIKE_PAGES


def _ratio(one: float, other: float) -> float:
    return min(one, other) / max(one, other)


@lru_cache(maxsize=4096)
def _place(key: str) -> tuple[str, str, str]:
    """Return host, file name and query of the address in a key; one that is no address has none.

    The name is without the language that servers put into it ("x.en.html" is "x.html"). A folder's
    index has the whole path as its name.
    """
    address = key.rpartition(" ")[2]  # the key of anything but a GET begins with the method
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, such as http://[
        return "", "", ""
    file = _LANGUAGE.sub("", parts.path.rpartition("/")[2])
    is_index = file.partition(".")[0] in ("", "index")
    return parts.hostname or "", parts.path if is_index else file, parts.query
