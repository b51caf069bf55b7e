"""The rule that says whether a page repeats another one whose fingerprint is near.

A near fingerprint is a question, not an answer: two pages of one template share its
prose, its menus and its labels. What both have cancels out, so the rule asks what each
page has of its own. It asks five questions in a fixed order, and each of them can only
keep a page: nothing that differs excuses anything else that differs. How much is
allowed follows from two things alone: the kinship of the pages, and the length of the
shorter text. A page that is dropped wrongly is lost, and a copy that is kept costs only
work.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from scrapy_simhash.rule.facts import FACTS_SIZE, Facts, address_hash
from scrapy_simhash.rule.kinship import EDITIONS, VIEWS, Kinship, kinship
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

#: A shorter text is a short one, which says nothing for itself where the headings
#: differ; bytes.
SHORT_TEXT = 500
#: A text of this length says what its page is, and details may differ in it; bytes.
LONG_TEXT = 1500
#: This many numbers of a page may be counts of visits.
COUNTS = 3
#: Two views share most of a text. Two releases are no farther apart than most of k,
#: and two sites that are share most of the sentences.
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


def kinships(page: Page, other: Page) -> list[Kinship]:
    """Return how two pages with facts are related, by what they declare and by their addresses."""
    a = _unpacked(page.facts)
    b = _unpacked(other.facts)
    if a.alone or b.alone:
        return [Kinship.TEXT]
    kin = kinship(page.key, other.key)
    if kin is Kinship.SITES:
        return [kin]
    if (
        a.canonical == address_hash(other.key) != 0
        or b.canonical == address_hash(page.key) != 0
    ):
        return [Kinship.DECLARED, kin]
    return [Kinship.VIEW, kin] if a.canonical == b.canonical != 0 else [kin]


def rule(a: Facts, b: Facts, kin: Kinship, near: float) -> Ruling:
    """Return whether two pages are copies, and why.

    Args:
        a: the facts of a page.
        b: those of the other page.
        kin: how the pages are related.
        near: the distance of their fingerprints, as a share of k.
    """
    pair = Pair(a, b, kin, near)
    questions = [_far, _values, _sentences, _headings, _length]
    if kin is Kinship.ADDRESS:  # what it shows may be of any time
        questions = [_far, _headings]
    for question in questions:
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
    def asked(self) -> Kinship:
        """The kinship by whose row of the table the pages are asked what only one of them has.

        A page without main text may be another record, and so it has to say the same.
        Two releases or hosts with little text are asked what views are: names of cities
        and results of votes are as near as two releases of a page, unless both declare
        one canonical address under like headings.
        """
        if self.kin in VIEWS:
            return self.kin
        if self.is_thin:
            return Kinship.DOMAIN
        is_one_page = self.a.canonical == self.b.canonical != 0 and self.headings_alike
        is_little = self.size < LONG_TEXT and not is_one_page
        return Kinship.VIEW if self.kin in EDITIONS and is_little else self.kin

    @property
    def is_view(self) -> bool:
        return self.asked in VIEWS

    @property
    def size(self) -> float:
        """The length of the shorter text, in bytes."""
        return min(self.a.text_bytes, self.b.text_bytes)

    @property
    def most(self) -> float:
        """The number of details that may differ in texts of this length."""
        return self.size / LONG_TEXT

    @property
    def clashes(self) -> float:
        """The number of labels that are others or have another value, if most are shared.

        Labels are the form of a record. If few are the same, lines of comments or of a
        program look like them.
        """
        a, b = self.a, self.b
        return a.pairs.replaced(b.pairs) if a.labels.is_like(b.labels) else 0

    @property
    def is_one_template(self) -> bool:
        """True if the templates around both pages are much the same."""
        return self.a.rest.is_like(self.b.rest)

    @cached_property
    def headings_alike(self) -> bool:
        """True if the pages call themselves the same.

        On one domain the whole titles and the ``h1`` are the same. Two views or
        releases, and two sites, which put their names into titles, have one name in
        common: a title, an ``h1``, or the title of a page that is the ``h1`` of the
        other, as of a print view. The title may be one for many pages, so two ``h1``
        are not alike under it.
        """
        a, b = self.a, self.b
        if a.headings == b.headings or self.kin is Kinship.DOMAIN:
            return a.headings == b.headings
        if 0 != a.heading != b.heading != 0:
            return False
        return bool({a.title, a.heading} & {b.title, b.heading} - {0})

    @property
    def lists_others(self) -> bool:
        """True if an entry of a list replaces another one; of two views, half of all are others.

        What has more entries than values, beside a short text, is a list, and one entry
        more makes another one.
        """
        a, b = self.a.listed, self.b.listed
        if self.is_view and a.is_like(b):
            return False
        is_list = self.asked is Kinship.DOMAIN and self.size < SHORT_TEXT
        for page in (self.a, self.b):
            is_list = is_list and page.numbers.size + page.words.size < page.listed.size
        return (a.added(b) if is_list else a.replaced(b)) >= 1


def _far(pair: Pair) -> str:
    farthest = dict.fromkeys(EDITIONS, MOST) | {Kinship.SITES: 1 / MOST}
    if pair.near > (1 if pair.is_thin else farthest.get(pair.kin, 1)):
        return FAR
    may_share_program = pair.kin not in (*VIEWS, Kinship.DOMAIN)
    is_short = may_share_program and pair.size < SHORT_TEXT
    return "short" if is_short and pair.near > 1 / 2 else ""


def _values(pair: Pair) -> str:
    """Ask for numbers, words, labels and entries."""
    questions = dict.fromkeys(EDITIONS, _are_records_in_editions)
    questions[Kinship.SITES] = _are_records_on_sites
    differ = questions.get(pair.asked, _have_own_values)
    return "own-values" if differ(pair) else ""


def _are_records_in_editions(pair: Pair) -> bool:
    """Return whether more differs than a number or a label here and there in a long text."""
    a, b = pair.a, pair.b
    values = pair.clashes - a.labels.replaced(b.labels)
    if pair.kin is Kinship.TRANSLATION:
        # One country alone may have a price, and each its own dealers.
        return a.numbers.added(b.numbers) > 0 or pair.lists_others or values >= 1
    allowed = pair.most if pair.headings_alike else 1
    return a.numbers.replaced(b.numbers) > allowed or values >= max(allowed, 1)


def _are_records_on_sites(pair: Pair) -> bool:
    """Return whether two pages of two sites are records: of one program, or with like labels."""
    a, b = pair.a.numbers, pair.b.numbers
    numbers = a.replaced(b) if pair.is_one_template else 0
    # A story has other counters around it, and of a record most numbers are its own.
    is_story = pair.size >= LONG_TEXT and (numbers <= COUNTS or a.is_like(b))
    return pair.clashes >= 1 or (numbers > 0 and not is_story)


def _have_own_values(pair: Pair) -> bool:
    """Return whether each page has a value in the place of another, or one has more."""
    a, b, kin = pair.a, pair.b, pair.asked
    # Variants declare one address as well, and one of them may have a price more.
    are_variants = kin is Kinship.VIEW and a.canonical == b.canonical != 0
    numbers = a.numbers.replaced(b.numbers)
    # Two values may share a bit of a sketch, but not the hash of all. If it differs and
    # both pages have as many values, one is replaced.
    as_many = a.numbers.is_as_large(b.numbers) and a.words.is_as_large(b.words)
    is_whole = pair.is_thin or are_variants or (as_many and not numbers)
    if is_whole or pair.kin in (Kinship.TEXT, Kinship.TRANSLATION):
        differ = a.values != b.values
    else:
        counts = COUNTS if kin is Kinship.DECLARED else 0
        differ = numbers > counts or a.words.replaced(b.words) > 0
    differ = differ or pair.lists_others
    if kin is Kinship.DOMAIN:
        return differ or (a.said != b.said and not a.sentences.added(b.sentences))
    return differ or a.pairs.replaced(b.pairs) >= 1


def _sentences(pair: Pair) -> str:
    a, b, kin = pair.a, pair.b, pair.asked
    differ = pair.is_view and a.sentences.replaced(b.sentences) > 0
    if kin is Kinship.DOMAIN:
        differ = a.said != b.said
    elif kin is Kinship.TRANSLATION:
        differ = a.sentences.replaced(b.sentences) > 2 * pair.most
    elif kin is Kinship.SITES:
        differ = pair.near > MOST and not a.sentences.is_like(b.sentences)
    return "own-text" if differ else ""


def _headings(pair: Pair) -> str:
    """Ask what the pages call themselves, unless they say the same at length."""
    a, b = pair.a, pair.b
    if pair.headings_alike:
        return ""
    if pair.kin is Kinship.SITES:
        details = a.unsaid.apart(b.unsaid) + a.sentences.replaced(b.sentences)
        is_same = not pair.is_one_template and details <= pair.most
    else:
        is_same = a.said == b.said and a.listed == b.listed
        # A site with an address and an h1 for each has two pages, as a shop has of two
        # designs.
        are_two = a.heading != b.heading and 0 != a.canonical != b.canonical != 0
        is_same = pair.kin in EDITIONS or (is_same and not are_two)
    is_long = pair.size >= SHORT_TEXT and not pair.is_thin
    return "" if is_same and is_long else "other-heading"


def _length(pair: Pair) -> str:
    longer = max(pair.a.text_bytes, pair.b.text_bytes)
    return "other-length" if pair.is_view and pair.size < MOST * longer else ""


def is_doubtful(page: bytes, other: bytes) -> bool:
    """Return whether people should look at two copies, by their facts.

    They may be records: each page has a number of its own, and at most one sentence. Or
    a page shows next to nothing, and what it is about may come from a script. No such
    thing is known of pages that were compared by distance alone.
    """
    if not len(page) == len(other) == FACTS_SIZE:
        return False
    a = _unpacked(page)
    b = _unpacked(other)
    if min(a.text_bytes, b.text_bytes) < SHORT_TEXT:
        return True
    return a.numbers.replaced(b.numbers) > 0 and a.sentences.added(b.sentences) <= 1
