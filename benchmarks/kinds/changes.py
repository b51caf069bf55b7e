"""The ways in which a page changes and stays the same, or becomes another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import zip_longest
from random import Random
from typing import Any

from lxml import etree

from benchmarks.kinds.phrases import CHINESE, ENGLISH, Phrases
from benchmarks.kinds.templates import Page

_LONGEST_HEADLINE = 70  # letters

_HAN = re.compile(r"[\u3400-\u9fff]")
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{3,4}")


def with_attribution(page: Page, chance: Random) -> str:
    """The same text, with a line on where it comes from before it or after it, or both."""
    phrases = phrases_for(page)
    draft = page.draft()
    ends = chance.choice(("before", "after", "both"))
    if ends != "after":
        draft.insert(
            page.slots[0],
            _block("p", chance.choice(phrases.sources), phrases, chance),
        )
    if ends != "before":
        credit = _said(chance.choice(phrases.credits), phrases, chance)
        last = page.slots[-1]
        draft.write(last, [page.lines[last].text, credit])
    return draft.html()


def with_ads(page: Page, chance: Random) -> str:
    """The same text, parted by blocks of advertisement, or with its sentences in paragraphs."""
    phrases = phrases_for(page)
    draft = page.draft()
    wanted = 1 + len(page.text) // (600 if is_chinese(page) else 1500)
    slots = page.slots[1:] or page.slots
    places = chance.sample(slots, min(wanted, 6, len(slots)))
    said = {at: _said(chance.choice(phrases.ads), phrases, chance) for at in places}
    inside = {at for at in places if chance.random() < 0.3}
    for at in inside:
        draft.append(at, f" {said[at]}")
    for at in places:
        if at not in inside:
            block = etree.Element(chance.choice(("div", "p", "section")))
            block.set("class", chance.choice(("ad", "banner", "box", "partner")))
            block.text = said[at]
            draft.insert(at, block)
    return draft.html()


def with_other_counters(page: Page, chance: Random) -> str:
    """The same text among other numbers: counts, dates, and session ids in the links."""
    phrases = phrases_for(page)
    draft = page.draft()
    body = {*page.body, page.heading_line}
    for at in range(len(page.lines)):
        if at not in body:
            draft.edit(at, lambda text: _DIGITS.sub(lambda m: _digits(len(m[0]), chance), text))
    session = f"sid={chance.getrandbits(64):016x}"
    for link in draft.attributes("href"):
        href = link.get("href")
        if link.tag == "a" and not href.startswith(("#", "javascript:", "mailto:")):
            link.set("href", f"{href}{'&' if '?' in href else '?'}{session}")
    draft.insert(
        page.slots[0],
        _block("div", chance.choice(phrases.counters), phrases, chance),
    )
    return draft.html()


def with_edits(page: Page, chance: Random, share: float) -> str:
    """The same text with a share of its words changed, and a few neighbouring sentences swapped."""
    draft = page.draft()
    change = _editor(page, chance, share)
    for at in page.body:
        draft.edit(at, change)
    return draft.html()


def edited_paragraphs(page: Page, chance: Random, share: float) -> list[str]:
    """The paragraphs of the same text after such edits."""
    return list(map(_editor(page, chance, share), page.paragraphs))


def _editor(page: Page, chance: Random, share: float) -> Callable[[str], str]:
    """Return what edits a piece of the body; each piece of it is to come once.

    Where words are not parted by spaces, runs of three or four characters take their place.
    """
    token = _HAN_RUN if is_chinese(page) else _WORD
    space = "" if is_chinese(page) else " "
    vocabulary = [word for line in page.paragraphs for word in token.findall(line)]
    total = len(vocabulary)
    marked = set(chance.sample(range(total), min(total, max(1, round(share * total)))))
    seen = 0

    def change(match: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        if seen - 1 not in marked:
            return match[0]
        other = chance.choice(vocabulary)
        return chance.choice((other, "", f"{match[0]}{space}{other}"))

    def edit(text: str) -> str:
        sentences = _SENTENCE.split(token.sub(change, text))
        if len(sentences) >= 3 and chance.random() <= 5 * share:
            at = chance.randrange(len(sentences) - 1)
            sentences[at : at + 2] = sentences[at + 1], sentences[at]
        return space.join(sentences)

    return edit


def other_headline(page: Page, chance: Random) -> str:
    """Return what another paper may print above the text: a sentence of it, if a long one cut."""
    sentences = [s for s in _sentences(page) if len(s) >= 20 and s != page.headline]
    said = chance.choice(sentences or [page.text])
    if len(said) <= _LONGEST_HEADLINE:
        return said.rstrip(".。 ")
    cut = said[:_LONGEST_HEADLINE]
    return cut if is_chinese(page) else cut.rpartition(" ")[0] or cut


def blended(page: Page, other: Page) -> list[str]:
    """Half of the sentences of each of two bodies in turn, as much of one as of the other."""
    space = "" if is_chinese(page) else " "
    # The even ones of one and the odd ones of the other: two pages blended both ways share none.
    sides = _sentences(page)[::2], _sentences(other)[1::2]
    length = min(sum(map(len, side)) for side in sides)
    own, foreign = (_cut(side, length) for side in sides)
    mixed = [s for pair in zip_longest(own, foreign) for s in pair if s is not None]
    return [space.join(mixed[at : at + 4]) for at in range(0, len(mixed), 4)]


def _sentences(page: Page) -> list[str]:
    return [s for line in page.paragraphs for s in _SENTENCE.split(line) if s]


def _cut(sentences: list[str], length: int) -> list[str]:
    kept: list[str] = []
    for sentence in sentences:
        if sum(map(len, kept)) >= length:
            break
        kept.append(sentence[:length])
    return kept


def is_chinese(page: Page) -> bool:
    """Whether at least a fifth of the body is Han characters."""
    return len(_HAN.findall(page.text)) > 0.2 * len(page.text)


def phrases_for(page: Page) -> Phrases:
    """What is added to a page: Chinese to Chinese ones, English to all others."""
    return CHINESE if is_chinese(page) else ENGLISH


def _block(tag: str, phrase: str, phrases: Phrases, chance: Random) -> Any:
    block = etree.Element(tag)
    block.text = _said(phrase, phrases, chance)
    return block


def _said(phrase: str, phrases: Phrases, chance: Random) -> str:
    """The phrase with all names in braces filled in."""
    return re.sub(r"\{(\w+)\}", lambda match: _word(match[1], phrases, chance), phrase)


def _word(name: str, phrases: Phrases, chance: Random) -> str:
    """Draw what stands for a name in braces: a number, a date, a model, a place ..."""
    if name == "number":
        return str(chance.randrange(10, 10_000))
    if name == "model":
        return f"{chance.choice('ABCDEFGHKLMNPRSTVX')}{chance.randrange(10, 100)}0"
    if name == "date":
        year, month, day = (chance.randrange(*span) for span in ((2004, 2026), (1, 13), (1, 29)))
        if phrases is CHINESE:
            return f"{year}年{month}月{day}日"
        return f"{year}-{month:02}-{day:02}"
    choices = {
        "paper": phrases.papers,
        "person": phrases.people,
        "place": phrases.places,
        "thing": phrases.things,
    }
    return chance.choice(choices[name])


def _digits(length: int, chance: Random) -> str:
    return "".join(chance.choices("0123456789", k=length))
