"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of one template share its prose, its
menus and its labels. What both have cancels out, so the rule asks what each page has of its own.
It asks five questions in a fixed order, and each of them can only keep a page: nothing that differs
excuses anything else that differs. How much is allowed follows from two things alone: the kinship
of the pages, and the length of the shorter text. A page that is dropped wrongly is lost, and a copy
that is kept costs only work.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, address_hash
from scrapy_simhash.rule.kinship import VIEWS, Kinship, kinship
from scrapy_simhash.rule.names import HALF, LONG_TEXT
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

#: How far two texts on two sites may be apart, as a share of k, if both speak of their headings.
SITES_APART = 4 / 3
#: The same for short texts, which may come from one program.
SHORT_APART = {
    Kinship.BRANCH: 0.45,
    Kinship.TEXT: 0.45,
    Kinship.SITES: 0.6,
}
#: A shorter text is a short one, which says nothing for itself where the headings differ; bytes.
SHORT_TEXT = 500
#: This many numbers of a page may be counts of visits.
COUNTS = 3
#: Two views share most of a text, and so do two sites if their distance is most of k. Releases that
#: are farther apart have new sections.
MOST = 3 / 4


@dataclass(frozen=True, slots=True)
class Rule:
    """The judge of an index, by the distance of its recipe."""

    distance: int

    def __call__(self, page: Page, other: Page, distance: int) -> Ruling:
        """Rule on an arrival and an original; without whole facts of both, by distance alone."""
        if not len(page.facts) == len(other.facts) == FACTS_SIZE:
            is_near = distance <= self.distance
            return Ruling(True, "distance") if is_near else Ruling(False, FAR)
        near = distance / self.distance if self.distance else 0.0
        for kin in kinships(page, other):
            ruling = rule(_unpacked(page.facts), _unpacked(other.facts), kin, near)
            if ruling.is_copy:
                break
        return ruling


@lru_cache(maxsize=1024)  # a page is judged beside many, and an entry beside many pages
def _unpacked(facts: bytes) -> Facts:
    return Facts.from_bytes(facts)


def kinships(page: Page, other: Page) -> Iterator[Kinship]:
    """Yield how two pages with facts are related, by what they declare and by their addresses."""
    a = _unpacked(page.facts)
    b = _unpacked(other.facts)
    if a.alone or b.alone:
        yield Kinship.TEXT
        return
    kin = kinship(page.key, other.key)
    # All parts of a list may declare the first one, so a list needs the same headings as well.
    if kin is not Kinship.SITES and (a.headings == b.headings or not (a.thin or b.thin)):
        if (
            a.canonical == address_hash(other.key) != 0
            or b.canonical == address_hash(page.key) != 0
        ):
            yield Kinship.DECLARED
        elif a.canonical == b.canonical != 0:
            yield Kinship.SIBLING
    yield kin


def rule(a: Facts, b: Facts, kin: Kinship, near: float) -> Ruling:
    """Return whether two pages are copies, and why.

    Args:
        a: the facts of a page.
        b: those of the other page.
        kin: how the pages are related.
        near: the distance of their fingerprints, as a share of k.
    """
    pair = Pair(a, b, kin, near)
    for question in (_far, _values, _sentences, _headings, _length):
        if reason := question(pair):
            return Ruling(False, reason)
    if not pair.headings_alike:
        return Ruling(True, "same-text")
    if pair.is_thin:
        return Ruling(True, "thin-page")
    return Ruling(True, "like-headings")


@dataclass
class Pair:
    """Two pages, and what several questions ask about them."""

    a: Facts
    b: Facts
    kin: Kinship
    near: float

    @property
    def is_thin(self) -> bool:
        return self.a.thin or self.b.thin

    @property
    def is_view(self) -> bool:
        """True of two views; branches with little text are asked the same, as cities on two hosts.

        Names of cities and results of votes are as near as two releases of a page.
        """
        is_little = self.size < LONG_TEXT and not self.is_thin
        return self.kin in VIEWS or (self.kin is Kinship.BRANCH and is_little)

    @property
    def size(self) -> float:
        """The length of the shorter text, in bytes."""
        return min(self.a.text_bytes, self.b.text_bytes)

    @property
    def most(self) -> float:
        """The number of details that may differ in texts of this length."""
        return self.size / LONG_TEXT

    @property
    def unsaid(self) -> int:
        """The number of words that the headings do not share and the text lacks; an estimate."""
        return (self.a.unsaid ^ self.b.unsaid).bit_count()

    @property
    def is_one_template(self) -> bool:
        """True if the templates around both pages are much the same, or one is not known."""
        a, b = self.a.rest, self.b.rest
        return not (a.size and b.size) or a.likeness(b) > HALF

    @property
    def clashes(self) -> float:
        """The number of labels that both pages have, each with another value; an estimate."""
        return (self.a.pairs.apart(self.b.pairs) - self.a.labels.apart(self.b.labels)) / 2

    @cached_property
    def headings_alike(self) -> bool:
        """True if the pages call themselves the same.

        On one domain the whole titles and the ``h1`` are the same. Two views of one page have one
        title and one ``h1``, or one of them and nearly one text (k/2), because a title may say how
        a list is sorted. Two sites put the name of the site into the title, each its own; and a
        page may have as its title what another has as its ``h1``, as a print view has.
        """
        a, b = self.a, self.b
        if a.headings == b.headings or self.kin is Kinship.TEXT:
            return True
        titles = a.title == b.title != 0
        headings = a.heading == b.heading != 0
        names = titles + headings
        if self.kin in VIEWS and (names == 2 or (names == 1 and self.near <= HALF)):
            return True
        if self.kin in (*VIEWS, Kinship.DOMAIN):
            return _is_named_by_its_site(a, b) or _is_named_by_its_site(b, a)
        # In one template, all lists of members may have one title.
        are_siblings = a.heading and b.heading and self.is_one_template
        crossed = a.title == b.heading != 0 or a.heading == b.title != 0
        return headings or crossed or (titles and not are_siblings)

    @property
    def lists_others(self) -> bool:
        """True if an entry of a list replaces another one; of two views, half of all are others.

        Beyond half of its bits, a sketch does not tell how many others there are.
        """
        a, b = self.a.listed, self.b.listed
        is_like = a.likeness(b) > HALF and a.apart(b) < HALF * a.width
        return a.replaced(b) >= 1 and not (self.kin in VIEWS and is_like)


def _is_named_by_its_site(a: Facts, b: Facts) -> bool:
    """Return whether the title of a page is the ``h1`` of another, whose title names the site."""
    is_site_alone = b.title == 0 and b.site == a.site != 0
    return is_site_alone and a.title == b.heading != 0 and a.heading in (0, b.heading)


def _far(pair: Pair) -> str:
    a, b = pair.a, pair.b
    is_story = a.backed and b.backed and pair.headings_alike and not pair.is_thin
    apart = SITES_APART if is_story and pair.kin is Kinship.SITES else 1
    if pair.near > (MOST if pair.kin is Kinship.BRANCH else apart):
        return FAR
    is_short = pair.size < SHORT_TEXT and not pair.is_thin
    return "short" if is_short and pair.near > SHORT_APART.get(pair.kin, 1) else ""


def _values(pair: Pair) -> str:
    """Ask for numbers, words, fields and entries."""
    a, b, kin = pair.a, pair.b, pair.kin
    numbers = a.numbers.replaced(b.numbers)
    has_more = a.numbers.added(b.numbers) > 0 or a.words.added(b.words) > 0
    if kin is Kinship.ADDRESS:
        return ""
    if kin is Kinship.TEXT:
        differ = has_more
    elif pair.is_view:
        differ = numbers > (COUNTS if kin is Kinship.DECLARED else 0)
        differ = differ or a.words.replaced(b.words) > 0 or pair.clashes >= 1
        differ = differ or pair.lists_others or (kin is Kinship.SIBLING and has_more)
    elif kin is Kinship.DOMAIN or pair.is_thin:
        are_sentences = a.sentences.added(b.sentences) > 0 and not numbers
        differ = pair.lists_others or (a.said != b.said and not are_sentences)
    elif kin is Kinship.SITES:
        differ = _are_records(pair)
    else:
        # Another release of a long text has another number here and there.
        differ = numbers > (pair.most if pair.headings_alike else 1)
    return "own-values" if differ else ""


def _are_records(pair: Pair) -> bool:
    """Return whether two pages of two sites are records: of one program, or with like labels."""
    # Labels are the form of a record. Where few are the same, lines of comments look like them.
    if pair.clashes >= 1 and pair.a.labels.likeness(pair.b.labels) >= HALF:
        return True
    if not pair.is_one_template:
        return False
    a, b = pair.a.numbers, pair.b.numbers
    if pair.size < LONG_TEXT:
        return a.replaced(b) > 0
    # A story has other counters around it, and of a record most numbers are its own.
    return a.replaced(b) > COUNTS and a.own_share(b) >= HALF


def _sentences(pair: Pair) -> str:
    a, b, kin = pair.a, pair.b, pair.kin
    differ = False
    if pair.is_view:
        differ = kin is not Kinship.ADDRESS and a.sentences.replaced(b.sentences) > 0
    elif kin is Kinship.DOMAIN or pair.is_thin:
        differ = a.said != b.said
    elif kin is Kinship.SITES:
        differ = pair.near > MOST and a.text.own_share(b.text) > 1 - MOST
    return "own-text" if differ else ""


def _headings(pair: Pair) -> str:
    """Ask what the pages call themselves, unless they say the same at length."""
    a, b, kin = pair.a, pair.b, pair.kin
    if pair.headings_alike:
        return ""
    fills = a.fills and b.fills
    if kin is Kinship.SITES:
        # The text is the subject of both pages, and no notice that they share.
        is_subject = (pair.size >= LONG_TEXT and fills) or (a.backed and b.backed)
        details = pair.unsaid + a.sentences.replaced(b.sentences)
        is_same = is_subject and not pair.is_one_template and details <= pair.most
    elif kin is Kinship.BRANCH:
        is_same = fills
    else:
        is_same = pair.is_one_template and a.said == b.said and a.listed == b.listed
    is_long = pair.size >= SHORT_TEXT and not pair.is_thin
    return "" if is_same and is_long else "other-heading"


def _length(pair: Pair) -> str:
    longer = max(pair.a.text_bytes, pair.b.text_bytes)
    is_one_page = pair.kin in (*VIEWS, Kinship.BRANCH) and pair.kin is not Kinship.ADDRESS
    return "other-length" if is_one_page and pair.size < MOST * longer else ""


def is_doubtful(page: bytes, other: bytes) -> bool:
    """Return whether people should look at two copies, by their facts.

    They may be records: each page has a number of its own, and at most one sentence. Or a page
    shows next to nothing, and what it is about may come from a script. No such thing is known of
    pages that were compared by distance alone.
    """
    if not len(page) == len(other) == FACTS_SIZE:
        return False
    a = _unpacked(page)
    b = _unpacked(other)
    if min(a.text_bytes, b.text_bytes) < SHORT_TEXT:
        return True
    return a.numbers.replaced(b.numbers) > 0 and a.sentences.added(b.sentences) <= 1
