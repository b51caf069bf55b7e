"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of one template share its prose, its
menus and its labels. What both have cancels out, so the rule asks what each page has of its own.
Its questions come in a fixed order, values first, and each of them can only keep a page: what the
one page has and the other has not is never forgiven for something else that differs. A page that
is dropped wrongly is lost, and a copy that is kept costs only work.
"""

from dataclasses import dataclass
from functools import lru_cache

from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, address_hash
from scrapy_simhash.rule.kinship import VIEWS, Kinship, kinship
from scrapy_simhash.rule.names import LONG_TEXT
from scrapy_simhash.rule.ruling import Page, Ruling

#: The reason for pages beyond k. Verdicts do not name them, because they are not near.
FAR = "far"
#: Every reason that the rule gives, with what it means.
REASONS = {
    "distance": "the texts are near, and nothing else is known of them",
    "like-headings": "the texts are near, and the headings are alike",
    "same-text": "the headings differ, but the pages say the same",
    "thin-page": "a page has no main text, and no value of the pages differs",
    FAR: "the texts are beyond k, and nothing allows for more",
    "short": "the texts are within k, but not near enough for such short ones",
    "own-values": "a page has numbers, names or values of its own, as records have",
    "own-text": "a page has sentences of its own, as a reply has",
    "other-heading": "the headings differ",
    "other-length": "one of the pages has much more text than the other",
}

#: How far two texts may be apart, as a share of k: on two sites, if both are what their pages are
#: about; and short ones, which may come from the program behind two hosts or two sites.
SITES_APART = 4 / 3
SHORT_APART = {Kinship.RELEASE: 0.45, Kinship.VERSIONS: 0.45, Kinship.SITES: 0.6}
#: A shorter text is a short one, or no story; bytes.
SHORT_TEXT, STORY = 500, 300
#: So many numbers of a story on another site may be dates or counts of visits.
COUNTS = 3
#: This many links are enough to tell two lists by.
ENOUGH = 6
#: Within so much of k, two texts are the same but for a word or two.
SAME = 1 / 6
#: Beyond so much of k, at most a quarter of a text may be its own on two sites.
DOUBT = 3 / 4
HALF, QUARTER = 1 / 2, 1 / 4
#: The shorter text of two views, as a share of the longer one.
LENGTH = 3 / 4


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
        names = a.canonical or address_hash(page.key), b.canonical or address_hash(other.key)
        # All parts of a list may declare the first one, so a list needs the same headings as well.
        is_view = names[0] == names[1] != 0 and (a.headings == b.headings or not _is_thin(a, b))
        if kin is Kinship.DOMAIN and is_view:
            ruling = rule(a, b, Kinship.VIEW, distance, self.distance)
            if ruling.is_copy:
                return ruling
        return rule(a, b, kin, distance, self.distance)


#: A page is judged beside many, and an entry beside many pages.
_unpacked = lru_cache(maxsize=1024)(Facts.from_bytes)


def rule(a: Facts, b: Facts, kin: Kinship, distance: int, k: int) -> Ruling:
    """Return whether two pages at a distance are copies, and why."""
    near = distance / k if k else 0.0
    reason = (
        _far(a, b, kin, near)
        or _values(a, b, kin)
        or _text(a, b, kin, near)
        or _headings(a, b, kin, near)
        or _length(a, b, kin)
    )
    if reason:
        return Ruling(False, reason)
    if not headings_alike(a, b, kin, near):
        return Ruling(True, "same-text")
    return Ruling(True, "thin-page" if _is_thin(a, b) else "like-headings")


def _far(a: Facts, b: Facts, kin: Kinship, near: float) -> str:
    is_far_allowed = kin is Kinship.SITES and a.backed and b.backed and not _is_thin(a, b)
    if near > (SITES_APART if is_far_allowed else 1):
        return FAR
    is_short = _size(a, b) < SHORT_TEXT and not _is_thin(a, b)
    return "short" if is_short and near > SHORT_APART.get(kin, 1) else ""


def _values(a: Facts, b: Facts, kin: Kinship) -> str:
    """Ask for numbers, words, fields and entries."""
    numbers = min(a.numbers.own(b.numbers))
    is_thin = _is_thin(a, b)
    if kin is Kinship.ADDRESS:
        return ""
    if kin is Kinship.VIEW:
        # A thin page may have no more than a picture.
        others = _list_others(a, b, 1 if is_thin else 2)
        return "own-values" if numbers or min(a.words.own(b.words)) or others else ""
    if kin is Kinship.DOMAIN or is_thin:
        if a.said == b.said and not _list_others(a, b, ENOUGH):
            return ""
        is_text = max(a.sentences.own(b.sentences)) > 0 and not numbers
        return "own-text" if is_text else "own-values"
    is_short = _size(a, b) < LONG_TEXT
    if kin is Kinship.SITES:
        # A story has other counters around it, and of a record most numbers are its own.
        is_record = numbers > (0 if is_short else COUNTS) and one_template(a, b)
        is_record = is_record and (is_short or a.numbers.own_share(b.numbers) >= HALF)
    else:
        # Another release of a long text has another number here and there.
        allowed = _size(a, b) / LONG_TEXT if headings_alike(a, b, kin) else 1
        is_record = numbers > max(1, allowed)
    return "own-values" if is_record else ""


def _text(a: Facts, b: Facts, kin: Kinship, near: float) -> str:
    """Ask for sentences."""
    if kin is Kinship.VIEW:
        return "own-text" if min(a.sentences.own(b.sentences)) > 0 else ""
    is_in_doubt = kin is Kinship.SITES and near > DOUBT
    return "own-text" if is_in_doubt and a.text.own_share(b.text) > QUARTER else ""


def _headings(a: Facts, b: Facts, kin: Kinship, near: float) -> str:
    """Ask what the pages call themselves; it does not matter where they say the same at length."""
    if headings_alike(a, b, kin, near):
        return ""
    size, fill = _size(a, b), a.fills and b.fills
    if _is_thin(a, b) or size < STORY or near > 1:
        return FAR if near > 1 else "other-heading"
    if kin is Kinship.SITES:
        # The text is the subject of both pages, and no notice that they share.
        is_subject = (size >= LONG_TEXT and fill) or (a.backed and b.backed)
        shares = a.text.own_share(b.text), a.sentences.own_share(b.sentences)
        is_one = is_subject and max(shares) <= QUARTER and not one_publication(a, b, kin)
    elif kin is Kinship.VERSIONS:
        is_one = fill
    else:
        is_one = fill and a.said == b.said and a.listed == b.listed
    return "" if is_one else "other-heading"


def _length(a: Facts, b: Facts, kin: Kinship) -> str:
    shorter, longer = sorted((a.text_bytes, b.text_bytes))
    return "other-length" if kin in VIEWS and shorter < LENGTH * longer else ""


def _is_thin(a: Facts, b: Facts) -> bool:
    return a.thin or b.thin


def _size(a: Facts, b: Facts) -> float:
    return min(a.text_bytes, b.text_bytes)


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
    """Return whether two copies, by their facts, may be records: one text with other numbers.

    Each page has a number of its own, and at most one sentence. No such thing is known of pages
    that were compared by distance alone.
    """
    if not len(page) == len(other) == FACTS_SIZE:
        return False
    a, b = _unpacked(page), _unpacked(other)
    return min(a.numbers.own(b.numbers)) > 0 and max(a.sentences.own(b.sentences)) <= 1
