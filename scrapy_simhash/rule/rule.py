"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of one template share its prose, its
menus and its labels. What both have cancels out, so the rule asks what each page has of its own. A
page that is dropped wrongly is lost, and a copy that is kept costs only work; so each limit that is
not kept makes another page. ``TABLE`` is the rule for pages with like headings, a line for each
kinship of their addresses; :func:`_under_other_headings` is the rule for all others.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, address_hash
from scrapy_simhash.rule.kinship import VIEWS, Kinship, kinship
from scrapy_simhash.rule.names import LONG_TEXT
from scrapy_simhash.rule.ruling import Page, Ruling
from scrapy_simhash.rule.sketch import ONE_GRAM_IN, SAMPLE, WIDE, units_apart

#: The reason for pages beyond k. Verdicts do not name them, because they are not near.
FAR = "far"
#: Every reason that the rule gives, with what it means.
REASONS = {
    "distance": "the texts are near, and nothing else is known of them",
    "like-headings": "the texts are near, and the headings are alike",
    "edits": "the headings are alike, and what differs in the texts stands in pairs, as edits do",
    "long-text": "the headings differ, but the texts have one path or one name",
    "other-site": "two publications have the text under headings of their own",
    "thin-page": "a page has no main text, and no value of the pages differs",
    FAR: "the texts are beyond k, and nothing allows for more",
    "short": "the texts are within k, but not near enough for such short ones",
    "own-values": "a page has numbers, names or values of its own, as records have",
    "own-text": "a page has sentences of its own, as a reply has",
    "other-heading": "the headings differ",
    "other-length": "one of the pages has much more text than the other",
}


class Limits(NamedTuple):
    """The differences that two copies with like headings may have; None is no limit.

    Attributes:
        near: the distance, as a share of k.
        near_if_short: the same of short texts.
        length: the shorter text, as a share of the longer one.
        own: how many numbers only one of the pages has, beside edits; one that differs counts for
            each page. Without edits the pages may have no numbers, fields or sentences of their
            own; None where nothing of this is asked.
        is_asked: whether values that stand against each other make another page: numbers, words,
            entries of a list, or sentences that are no edits of each other.
    """

    near: float = 1
    near_if_short: float = 1
    length: float = 0
    own: int | None = None
    is_asked: bool = False


#: This many numbers of a page may be dates, counts of visits or answers, and its release.
COUNTS = 3
#: Two views of one page may have other counters, teasers and notices.
_ONE_PAGE = Limits(length=0.75)
#: A shop shows its variants, and a list its parts, under one path.
_VIEW = _ONE_PAGE._replace(is_asked=True)

TABLE = {
    Kinship.ADDRESS: _ONE_PAGE,
    Kinship.VIEW: _VIEW,
    # The old one has a notice and numbers of its own.
    Kinship.RELEASE: Limits(near_if_short=0.45),
    # Two records, replies, forms may have much the same text.
    Kinship.DOMAIN: Limits(own=COUNTS),
    # Two releases of a site have one path.
    Kinship.VERSIONS: Limits(near_if_short=0.45),
    # A mirror has notices among the text.
    Kinship.SITES: Limits(near=4 / 3, near_if_short=0.6),
}
#: A shorter text may come from the program behind two sites, or be no story; bytes.
SHORT_TEXT, STORY = 500, 300
#: This many sentences or links are enough to tell something by.
ENOUGH = 6
#: An edited sentence has its other near by: for each sentence that only one page has, so many
#: character grams at most are in one text alone. Another word in a sentence makes some 13, and
#: another sentence some 100, or 30 where all sentences are made alike.
EDITED = 16
#: Within so much of k, two texts are the same but for a word or two.
SAME = 1 / 6
#: Beyond so much of k, at most half of a text may be its own on two sites.
DOUBT = 3 / 4
#: A share of k, of the links of two lists, or of what two pages show around their texts.
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
        a, b = _unpacked(page.facts), _unpacked(other.facts)
        kin = kinship(page.key, other.key)
        # Parts of a list may declare the whole one, so it is evidence of a view only.
        names = a.canonical or address_hash(page.key), b.canonical or address_hash(other.key)
        if kin is Kinship.DOMAIN and names[0] == names[1] != 0:
            ruling = rule(a, b, Kinship.VIEW, distance, self.distance)
            if ruling.is_copy:
                return ruling
        return rule(a, b, kin, distance, self.distance)


#: A page is judged beside many, and an entry beside many pages.
_unpacked = lru_cache(maxsize=1024)(Facts.from_bytes)


def rule(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    """Return whether two pages at a distance are copies, and why."""
    near, limits = distance / k if k else 0.0, TABLE[kin]
    is_thin, backed = a.thin or b.thin, a.backed and b.backed
    # Beyond k, the texts have to be what both pages are about.
    are_about = backed and not is_thin
    if near > (limits.near if are_about else min(limits.near, 1)):
        return Ruling(False, FAR)
    alike = headings_alike(a, b, kin, near)
    if kin is Kinship.SITES and near > DOUBT and a.text.own_share(b.text) > HALF:
        return Ruling(False, "own-text")
    shorter, longer = sorted((a.text_bytes, b.text_bytes))
    if _are_records(a, b, kin, shorter < LONG_TEXT):
        return Ruling(False, "own-values")
    if not alike:
        return _under_other_headings(a, b, kin, near)
    if is_thin and kin not in VIEWS:
        limits = TABLE[Kinship.DOMAIN]
    if shorter < limits.length * longer:
        return Ruling(False, "other-length")
    if near > (limits.near_if_short if shorter < SHORT_TEXT else limits.near):
        return Ruling(False, "short")
    return _under_like_headings(a, b, limits)


def _under_like_headings(a: Facts, b: Facts, limits: Limits) -> Ruling:
    less, more = sorted(a.sentences.own(b.sentences))
    like = Ruling(True, "thin-page") if a.thin or b.thin else Ruling(True, "like-headings")
    if limits.own is not None:
        if sum(a.numbers.own(b.numbers)) > limits.own or _list_others(a, b, ENOUGH):
            return Ruling(False, "own-values")
        if a.said == b.said:
            return like
        if not more:
            return Ruling(False, "own-values")
    elif limits.is_asked:
        # A page may have no more than a picture.
        if _stand_against(a, b) or _list_others(a, b, 1 if a.thin or b.thin else 2):
            return Ruling(False, "own-values")
        if not less:
            return like
    else:
        return like
    are_edits = less > 0 and _are_edits(a, b, less + more)
    return Ruling(True, "edits") if are_edits else Ruling(False, "own-text")


def _are_edits(a: Facts, b: Facts, sentences: float) -> bool:
    """Return whether so many sentences, which only one of two pages has, are edits in one text."""
    # Sentences outside the texts are no edits of them.
    is_in_text = a.text.bits != b.text.bits or a.text.size == b.text.size == SAMPLE
    grams = ONE_GRAM_IN * units_apart(a.grams, b.grams, WIDE)
    return is_in_text and grams <= EDITED * sentences and one_template(a, b)


def _under_other_headings(a: Facts, b: Facts, kin: Kinship, near: float) -> Ruling:
    size = min(a.text_bytes, b.text_bytes)
    other = Ruling(False, "other-heading") if near <= 1 else Ruling(False, FAR)
    if a.thin or b.thin or near > 1:
        return other
    fill = a.fills and b.fills
    is_long = size >= LONG_TEXT and fill
    if one_publication(a, b, kin):
        is_one_path = kin is Kinship.VERSIONS and size >= STORY and fill
        one_name = (a.title, a.heading, a.site) == (b.title, b.heading, b.site)
        one_name = one_name and a.title != 0 and a.heading != 0
        is_copy = is_one_path or (is_long and one_name and near <= HALF)
        return Ruling(True, "long-text") if is_copy else other
    # The text is the subject of both pages, and no notice that they share.
    if is_long or (size >= STORY and a.backed and b.backed):
        return Ruling(True, "other-site")
    return other


def _are_records(a: Facts, b: Facts, kin: Kinship, is_short: bool) -> bool:
    """Return whether two texts on two hosts may be those of two records of one program."""
    if kin not in (Kinship.SITES, Kinship.VERSIONS, Kinship.RELEASE):
        return False
    numbers, says_the_same = min(a.numbers.own(b.numbers)), max(a.sentences.own(b.sentences)) <= 1
    # A story that two sites edit has other numbers as well, but among other sentences.
    if not (is_short or says_the_same):
        return False
    is_plain = is_short and says_the_same
    if kin is Kinship.SITES:
        return numbers >= (1 if is_plain else COUNTS + 1) and one_template(a, b)
    # Branches of a firm have one path each, and other streets and telephones.
    return numbers >= (2 if is_plain else COUNTS)


def _stand_against(a: Facts, b: Facts) -> bool:
    """Return whether each of two pages has a number or a word that the other lacks."""
    return min(a.numbers.own(b.numbers)) >= 1 or min(a.words.own(b.words)) >= 1


def _list_others(a: Facts, b: Facts, least: int) -> bool:
    """Return whether two pages list other pages, as the parts of a catalogue do.

    Each has so many entries of its own at least, and half of all are in one list alone.
    """
    are_others = min(a.listed.own(b.listed)) >= least
    return are_others and a.listed.likeness(b.listed) <= HALF


def one_template(a: Facts, b: Facts) -> bool:
    """Return whether two pages show much the same around their texts."""
    return a.rest.likeness(b.rest) >= HALF


def one_publication(a: Facts, b: Facts, kin: Kinship) -> bool:
    """Return whether two pages stand on one site, or on mirrors of one.

    Mirrors have the same name of the site in their titles, or one template.
    """
    return kin is not Kinship.SITES or a.site == b.site != 0 or one_template(a, b)


def headings_alike(a: Facts, b: Facts, kin: Kinship, near: float = HALF) -> bool:
    """Return whether two pages call themselves the same.

    Two views of one page have one title, and one last ``h1``, nearly one text (k/2) or one menu;
    or one ``h1`` and the same text (k/6), because a title may say how a list is sorted. On one
    domain the whole titles and the ``h1`` are the same, but for the name of the site, which print
    views lack; or the title of one, which has no other ``h1``, is the ``h1`` of the other, as a
    print view may have the name of the site as its title. Two sites put the name of the site into
    the title, each its own; and a page may have as its title what another has as its ``h1``.
    """
    if a.headings == b.headings:
        return True
    titles = a.title == b.title != 0
    headings = a.heading == b.heading != 0
    if kin in VIEWS:
        under_one_title = titles and (headings or near <= HALF or one_template(a, b))
        if under_one_title or (headings and near <= SAME):
            return True
    if kin in (*VIEWS, Kinship.DOMAIN):
        is_named = _is_name_of(a, b) or _is_name_of(b, a)
        return is_named or (titles and headings and (a.site == 0) != (b.site == 0))
    # In one template, all lists of members may have one title.
    are_siblings = a.heading and b.heading and (near > DOUBT or one_template(a, b))
    is_titled = titles and not are_siblings
    return is_titled or headings or a.title == b.heading != 0 or a.heading == b.title != 0


def _is_name_of(a: Facts, b: Facts) -> bool:
    """Return whether the title of a page, which has no other ``h1``, is the ``h1`` of another."""
    return a.title == b.heading not in (0, b.title) and a.heading in (0, b.heading)


def is_doubtful(page: bytes, other: bytes) -> bool:
    """Return whether people should look at two copies, by their facts.

    They may be records: each page has a number of its own, and at most one sentence. Or a page
    shows next to nothing, and what it is about may come from a script. No such thing is known of
    pages that were compared by distance alone.
    """
    if not len(page) == len(other) == FACTS_SIZE:
        return False
    a, b = _unpacked(page), _unpacked(other)
    if min(a.text_bytes, b.text_bytes) < STORY:
        return True
    return min(a.numbers.own(b.numbers)) > 0 and max(a.sentences.own(b.sentences)) <= 1
