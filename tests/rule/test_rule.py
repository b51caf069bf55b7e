"""The rule: which pages with near fingerprints are copies."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.rule.facts import Facts
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import REASONS, Rule, rule
from scrapy_simhash.rule.ruling import Page, Ruling
from scrapy_simhash.rule.sketch import hashes_of, sketch
from tests.rule.made import MENU, page

ADDRESS, DECLARED, VIEW, DOMAIN, BRANCH, TRANSLATION, SITES, TEXT = Kinship
ONE_SITE = (VIEW, DECLARED, DOMAIN)
RENTED = tuple(f"a sentence of this one {n}" for n in range(6))
LET = tuple(f"a sentence of that one {n}" for n in range(6))
STORY = page()
COPY = "like-headings"
COPIES = (COPY, "same-text", "thin-page")
#: Kinship, two pages, the bits between them, and the reason of the ruling.
Case = tuple[Kinship, Facts, Facts, float, str]


def farthest(kin: Kinship) -> float:
    """Return how many bits two texts may be apart."""
    return {BRANCH: 36, TRANSLATION: 36, SITES: 64}.get(kin, 48)


def salaried(salary: str, *, menu: tuple[str, ...] = ()) -> Facts:
    return page(menu=menu, labels=["salary", "place"], pairs=["place oslo", f"salary {salary}"])


def sized(size: int, **own: object) -> Facts:
    return page(size=size, **own)


def values() -> Iterator[Case]:
    three, four = page(numbers=["3"]), page(numbers=["4"])
    priced = [page(numbers=[n], words=[n]) for n in ("$2.15", "$2.95")]
    seen, again = page(numbers=["2,250", "14"]), page(numbers=["2,251", "15"])
    for sort in ("numbers", "words"):
        one, other = (
            page(**{sort: own}) for own in (["30", "50", "70", "90"], ["3", "5", "7", "9"])
        )
        yield from ((kin, one, other, 0, "own-values") for kin in ONE_SITE)
        yield ADDRESS, one, other, 0, COPY
    # Numbers with one bit are told apart by the hash of all that a page says, or of its values.
    for kin in (*ONE_SITE, TEXT):
        yield kin, three, replace(four, numbers=three.numbers), 0, "own-values"
    # A page that declares the address of the other one may have other counters.
    yield DECLARED, seen, again, 10, COPY
    yield VIEW, seen, again, 10, "own-values"
    yield DECLARED, *priced, 10, "own-values"
    # Without main text, neither of two views has a value more.
    for thin, reason in ((True, "own-values"), (False, COPY)):
        yield VIEW, page(thin=thin), page(words=["licence b"], thin=thin), 10, reason
    # Nor has a variant, which declares the address of a third page.
    for sort, more in (("numbers", ["11.95"]), ("words", ["sold out"])):
        one, other = page(canonical=7), page(canonical=7, **{sort: more})
        yield VIEW, one, other, 0, "own-values"
        yield VIEW, one, replace(other, canonical=8), 0, COPY
        yield DECLARED, one, other, 0, COPY
    # Texts that are no pages may have other sentences.
    yield TEXT, page(sentences=RENTED), page(sentences=LET), 43, COPY


def labels() -> Iterator[Case]:
    """A label with another value is of another record on any site."""
    other = salaried("50,000", menu=MENU)
    for kin in (VIEW, DECLARED, SITES):
        yield kin, salaried("40,000"), other, 0, "own-values"
        yield kin, STORY, other, 0, COPY
    # A release has another value for each 1,500 bytes.
    ages = [page(labels=["age", "hall"], pairs=[f"age {age}", "hall a"], size=2000) for age in "78"]
    yield BRANCH, *ages, 0, COPY
    yield BRANCH, *(replace(each, text_bytes=1400) for each in ages), 0, "own-values"
    other = page(labels=["age", "hall"], pairs=["age 8", "hall b"], size=2000)
    yield BRANCH, ages[0], other, 0, "own-values"
    # A label that only one page has is no other value of a release.
    terms = (["age", "hall", "rent", *own] for own in (["beds"], ["doors"]))
    flats = [
        page(labels=names, pairs=[f"{name} 7" for name in names], size=2000) for names in terms
    ]
    yield BRANCH, *flats, 0, COPY
    yield from ((kin, *flats, 0, "own-values") for kin in (VIEW, DECLARED, SITES))


def sentences() -> Iterator[Case]:
    one, other = (page(sentences=[said]) for said in ("Perhaps so.", "Perhaps not."))
    yield from ((kin, one, other, 0, "own-text") for kin in ONE_SITE)
    # A view may have a word, a number or a notice more.
    more = page(numbers=["7"], words=["new"], sentences=["This is the view for printing."])
    yield VIEW, STORY, more, 24, COPY
    yield DOMAIN, STORY, more, 24, "own-text"
    # Beyond three quarters of k, at most a quarter of the sentences differs.
    altered = page(sentences=LET[:3])
    foreign = replace(STORY, sentences=sketch(hashes_of(LET * 2, 8), 64))
    yield SITES, page(sentences=RENTED[:3]), altered, 60, COPY
    yield SITES, STORY, foreign, 36, COPY
    yield SITES, STORY, foreign, 37, "own-text"


def entries() -> Iterator[Case]:
    """An entry in the place of another one makes another list, but most of a view is the same."""
    names = [f"item {n}" for n in range(20)]
    one, other, moved, grown = (
        page(listed=names[part]) for part in (slice(10), slice(9, 19), slice(1, 11), slice(13))
    )
    for kin in ONE_SITE:
        yield kin, one, other, 0, "own-values"
        yield kin, one, grown, 0, COPY
    yield DOMAIN, one, moved, 0, "own-values"
    # Beside a short text and few values, a list is what a page is about.
    for numbers, ruling in ((["7"], "own-values"), (names, COPY)):
        short, longer = (sized(450, listed=names[:count], numbers=numbers) for count in (10, 11))
        yield DOMAIN, short, longer, 0, ruling


def distances() -> Iterator[Case]:
    for kin in Kinship:
        yield kin, STORY, STORY, farthest(kin), COPY
        yield kin, STORY, STORY, farthest(kin) + 1, "far"
    # Short texts have to be nearer, most of all those that may come from one program.
    short, mirrored = sized(450), sized(450, menu=MENU)
    for kin in (BRANCH, TRANSLATION, TEXT, SITES):
        yield kin, short, short, 24, COPY
        yield kin, short, short, 25, "short"
    yield SITES, short, mirrored, 25, "short"


def lengths() -> Iterator[Case]:
    """Of two views, the shorter text has three quarters of the longer one."""
    for kin in (DECLARED, VIEW):
        yield kin, STORY, sized(3500), 0, "other-length"
        yield kin, STORY, sized(4000), 0, COPY
    yield BRANCH, sized(1200), sized(800), 0, "other-length"
    yield from ((kin, STORY, sized(3500), 0, COPY) for kin in (ADDRESS, BRANCH))


def counts() -> Iterator[Case]:
    """Records of a program on two sites, and branches, may differ in few numbers."""
    # Of a record most numbers are its own, and a story has counters.
    for size, numbers, ruled in ((1400, 1, "own-values"), (5000, 3, COPY), (5000, 4, "own-values")):
        one, other = ([f"{n}{digit}" for n in range(numbers)] for digit in "78")
        record = sized(size, numbers=one)
        yield SITES, record, sized(size, numbers=other), 0, ruled
        yield SITES, record, sized(size, numbers=other, menu=MENU), 0, COPY
        shared = [f"{n}00" for n in range(12)]
        story, other = (sized(5000, numbers=[*shared, *numbers]) for numbers in (one, other))
        yield SITES, story, other, 0, COPY
    for size, allowed in ((1600, "3"), (3200, "34")):
        original = sized(size, numbers=["30", "40", "50"])
        yield BRANCH, original, sized(size, numbers=[*allowed]), 24, COPY
        yield BRANCH, original, sized(size, numbers=[*allowed, "9"]), 24, "own-values"
        yield TRANSLATION, original, sized(size, numbers=[*allowed]), 24, "own-values"
    # Branches with little text replace nothing, as two views.
    for sort, own, reason in (
        ("numbers", "37", "own-values"),
        ("words", ["Ulm", "Linz"], "own-values"),
        ("sentences", [RENTED, LET], "own-text"),
    ):
        for size, ruled in ((1400, reason), (5000, COPY)):
            one, other = (sized(size, **{sort: [*units]}) for units in own)
            yield BRANCH, one, other, 14, ruled
    # In another language, a long page has other names, and two sentences for each 1,500 bytes.
    for size, number, ruled in (
        (1400, 2, "own-text"),
        (1600, 2, "same-text"),
        (1600, 3, "own-text"),
    ):
        one, other = (sized(size, sentences=own[:number]) for own in (RENTED, LET))
        yield TRANSLATION, one, replace(other, headings=202, title=2, heading=2), 14, ruled
    # One country alone may have a price or be sold out, and each has its own dealers.
    for size, sort, own in (
        (1600, "numbers", ("3", "37")),
        (1400, "words", (["Ulm"], ["Ulm", "Linz"])),
        (1600, "listed", (["Ulm"], ["Linz"])),
    ):
        one, other = (sized(size, **{sort: [*units]}) for units in own)
        yield TRANSLATION, one, other, 14, "own-values"
    # They may replace sentences if both declare one page, unless each has a name of its own.
    one, other = (sized(1400, sentences=own, canonical=7) for own in (RENTED, LET))
    yield BRANCH, one, other, 14, COPY
    yield BRANCH, one, replace(other, headings=202, title=2, heading=2), 14, "own-text"


def headings() -> Iterator[Case]:
    """Pages of a site that say the same at length may have other headings."""
    yield VIEW, STORY, page(2, 2), 0, "same-text"
    yield DOMAIN, STORY, page(2, 1), 0, "same-text"
    design = page(2, 2, canonical=7)
    for names, canonical, ruled in (
        ((1, 1), 7, "same-text"),
        ((1, 1), 8, "other-heading"),
        ((1, 2), 8, "same-text"),
    ):
        yield DOMAIN, design, page(*names, canonical=canonical), 0, ruled
    yield BRANCH, design, page(1, 1, canonical=8), 0, "same-text"
    # What a page holds in attributes or for programs is no part of the lines that it shows.
    yield VIEW, STORY, page(2, 2, said=1), 0, "other-heading"
    # Views have one h1, or one title. A print view may have the name of the page only as its h1.
    for kin in (VIEW, DECLARED):
        for story in (page(1, 0, size=280), page(1, 1, size=280)):
            yield kin, story, page(0, 1, size=280), 0, COPY
    for names, ruled in (((1, 2), "other-heading"), ((2, 1), COPY), ((2, 2), "other-heading")):
        yield VIEW, STORY, page(*names, numbers=["7"]), 48, ruled
    # One title may be that of all pages of a site; a short text under it may have any h1.
    for kin in (VIEW, DECLARED, BRANCH):
        for menu in ((), MENU):
            yield kin, page(1, 1, size=280), page(1, 2, size=280, menu=menu), 0, "other-heading"


def publications() -> Iterator[Case]:
    """Two sites may print a story under headings of their own, and notices differ in theirs."""
    other = page(2, 2, menu=MENU)
    yield SITES, STORY, other, 48, "same-text"
    printed = page(2, 2, menu=MENU, sentences=LET[:2])
    yield SITES, page(sentences=RENTED[:2]), printed, 0, "same-text"
    for notice in (
        page(2, 2),
        page(2, 2, menu=MENU, unsaid=["oslo", "rome"], size=1400),
        page(2, 2, menu=MENU, sentences=LET),
    ):
        yield SITES, page(sentences=RENTED), notice, 0, "other-heading"
    # A title or an h1 is the same, or the title of one page is the h1 of the other.
    for one, second, ruled in (
        (page(5, 0), page(5, 7), COPY),
        (page(5, 6), page(5, 7), "other-heading"),
        (page(5, 6), page(5, 7, menu=MENU), "same-text"),
        (page(5, 6), page(5, 7, menu=MENU, size=450), "other-heading"),
        (page(4, 6), page(5, 6), COPY),
        (page(5, 6), page(4, 5), "other-heading"),
        (page(5, 6), page(4, 7), "other-heading"),
        (page(0, 0), page(0, 7), "other-heading"),
    ):
        yield SITES, one, second, 24, ruled


def thin() -> Iterator[Case]:
    """Thin pages with anything of their own are two, and a view may have something more."""
    plain = page(thin=True)
    yield DOMAIN, plain, plain, 48, "thin-page"
    yield DOMAIN, plain, page(2, 2, thin=True), 0, "other-heading"
    yield VIEW, plain, page(sentences=["[x] tea"], thin=True), 10, "thin-page"
    # The titles of two sites name them, and the table under one h1 is one table.
    yield SITES, page(4, 6, thin=True), page(5, 6, thin=True), 48, "thin-page"
    pictures = [page(listed=["logo", name], thin=True) for name in ("dawn", "dusk")]
    yield VIEW, *pictures, 10, "own-values"
    # A counter more is a value more, even where one declares the address of the other.
    yield DECLARED, plain, page(numbers=["14"], thin=True), 10, "own-values"


QUESTIONS = (
    *(values, labels, sentences, entries, distances),
    *(lengths, counts, headings, publications, thin),
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_rule_asks_what_only_one_page_has(question):
    for kin, one, other, distance, reason in question():
        ruling = Ruling(reason in COPIES, reason)
        near = distance / 48
        assert rule(one, other, kin, near) == ruling, (kin, one, other, distance)
        assert rule(other, one, kin, near) == ruling, (kin, other, one, distance)


def test_two_views_with_long_lists_of_which_few_entries_are_the_same_are_two_pages():
    """Their sketches are full, and may differ in less than half of the bits by chance."""
    for size in (40, 100, 300):
        lists = [page(listed=[f"item {size} {at} {n}" for n in range(size)]) for at in range(30)]
        dropped = [rule(lists[0], other, VIEW, 0).is_copy for other in lists[1:]]
        assert sum(dropped) <= 1


def test_a_page_without_text_may_be_another_record_in_any_release_and_on_any_site():
    plain, linked = (page(words=words, thin=True).to_bytes() for words in ((), ["a link"]))
    for one, other in (("a.test/4.2/mill", "a.test/3.0/mill"), ("a.test/mill", "b.test/mill")):
        page_of_one = Page(f"http://{one}", plain)
        assert Rule(48)(page_of_one, Page(f"http://{other}", plain), 48).reason == "thin-page"
        assert not Rule(48)(page_of_one, Page(f"http://{other}", linked), 0).is_copy


def test_pages_without_facts_are_judged_by_distance():
    bare = Page("b", b"")
    assert Rule(48)(Page("a", b""), bare, 49) == Ruling(False, "far")
    for facts in (b"", STORY.to_bytes(), bytes(5)):
        assert Rule(48)(Page("a", facts), bare, 48) == Ruling(True, "distance")


def test_distances_count_as_a_share_of_the_recipe():
    pages = [Page(f"http://{site}.test/1", STORY.to_bytes()) for site in "ab"]
    for k, distance, ruled in ((3, 4, COPY), (3, 5, "far"), (0, 0, COPY)):
        assert Rule(k)(*pages, distance) == (ruled == COPY, ruled)


PAGES = st.builds(
    page,
    st.integers(0, 2),
    st.integers(0, 2),
    numbers=st.sampled_from([(), ("3",), ("4", "5", "6")]),
    words=st.sampled_from([(), ("red",), ("blue",)]),
    sentences=st.sampled_from([(), RENTED, LET, LET[:1]]),
    menu=st.sampled_from([(), MENU]),
    size=st.sampled_from([200, 400, 600, 2000, 5000]),
    thin=st.booleans(),
)


@given(PAGES, PAGES, st.sampled_from(Kinship), st.floats(0, 1.5))
def test_order_does_not_matter_and_every_reason_has_a_meaning(one, other, kin, near):
    ruling = rule(one, other, kin, near)
    assert ruling == rule(other, one, kin, near)
    assert ruling.reason in REASONS
