"""Sketches of the units of a page, which tell how many units only one of two pages has.

A unit is a number, a short line, a sentence. The odd sketch of a set has one bit for
each hash value, which is 1 if an odd number of units have it. What both pages have
cancels out, however much it is, so the Hamming distance of two sketches tells the size
of the symmetric difference (Mitzenmacher, Pagh and Pham, "Efficient estimation for high
similarities using odd sketches", WWW 2014, section 3).
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import reduce
from itertools import filterfalse
from operator import xor
from typing import NamedTuple

import xxhash

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.normalisation import LONGEST, normalise
from scrapy_simhash.rule.state import SHORT_LINE, lasting

#: A shorter piece of text is a name or the value of a field, and a longer one a
#: sentence; bytes.
_SENTENCE = 20
_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
# An amount of money has two decimals, or the sign of a currency beside it.
_DECIMALS = re.compile(r"\d[.,]\d\d(?![.,]?\d)")
_CURRENCIES = "$€£¥₹₽₩₺฿"
_PRICE = re.compile(
    rf"[{_CURRENCIES}]\s?\d[\d.,]{{0,15}}|(?<![\d.,])\d[\d.,]{{0,15}}\s?[{_CURRENCIES}]"
)
# Each date has one, and few lines do.
_YEAR = re.compile(r"(?:19|20)\d\d")
# The day on which a page was written is of no record: a word that says so, with a date
# beside it.
_DATE = (
    r"(?:(?:19|20)\d\d\s?[./\u5e74\ub144-]\s?\d{1,2}\s?[./\u6708\uc6d4-]\s?\d{1,2}[\u65e5\uc77c]?"
    r"|\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d"
    r"|\d{1,2}(?:st|nd|rd|th|\.)?\s(?:de\s)?[^\W\d_]{3,12}\.?,?\s(?:de\s)?(?:19|20)\d\d"
    r"|[^\W\d_]{3,12}\.?\s\d{1,2}(?:st|nd|rd|th)?,?\s(?:19|20)\d\d)"
    r"(?:[T,\s]{1,3}(?:at\s|um\s)?\d{1,2}:\d\d(?::\d\d)?)?"
)
_WRITTEN = (
    r"(?:\b(?:updated?|modified|changed|revised|edited|posted|published|printed|generated|created"
    r"|submitted|aktualisiert|geändert|veröffentlicht|stand|mise? à jour|modifiée?|publiée?"
    r"|actualizad[oa]|publicad[oa]|aggiornat[oa]|bijgewerkt|обновл\w{0,9}|опубл\w{0,9})\b"
    r"|更新|发布|发表|修改|编辑|編輯|수정|작성)"
)
_DATELINE = re.compile(
    rf"(?P<word>{_WRITTEN}\D{{0,12}}?){_DATE}|{_DATE}(?P<after>\D{{0,12}}?{_WRITTEN})",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (". ", "! ", "? ", "\u3002", "\uff01", "\uff1f")
_DIGIT_BYTES = b"0123456789"
# Signs that say something are letters of a piece, in which no digit is left: x < 5, C#.
_SIGNS = bytes.maketrans(b"#$%&+<=>", b"01234567")


class Units(NamedTuple):
    """The units of a page by their sort, all but ``rest`` of its content.

    Attributes:
        numbers: as they are written, without ages and counts of visits; prices have
            their currency, too.
        fields: short lines, each with the one before it, which may be its label; longer
            ones with a number; and the marks of the page.
        sentences: of the main text, without digits.
        words: short sentences, such as a colour; and amounts of money, which are no
            counts.
        labels: the names of fields that have one value.
        pairs: these with their values.
        rest: words and sentences of the site.
        listed: the entries of lists.
        all_sentences: of the content, because the order of the entries of a list may
            decide which of them are main text.
    """

    numbers: Collection[str]
    fields: Collection[str]
    sentences: Collection[str]
    words: Collection[str]
    labels: Collection[str]
    pairs: Collection[str]
    rest: Collection[str]
    listed: Collection[str]
    all_sentences: Collection[str]


class Sketch(NamedTuple):
    """An odd sketch, the number of units in it (255 is that or more), and its width in bits."""

    bits: int
    size: int
    width: int

    def to_bytes(self) -> bytes:
        return self.bits.to_bytes(self.width // 8, "little") + bytes((self.size,))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Sketch":
        return cls(int.from_bytes(data[:-1], "little"), data[-1], 8 * len(data) - 8)

    def apart(self, other: "Sketch") -> float:
        """Return about how many units only one of two sets has.

        It is infinite if the sketches do not tell it. Where units share a bit, it is
        too little.
        """
        differing = (self.bits ^ other.bits).bit_count()
        if 2 * differing >= self.width:
            return math.inf
        return round(-self.width / 2 * math.log(1 - 2 * differing / self.width))

    def own(self, other: "Sketch") -> tuple[float, float]:
        """Return about how many units this set and the other one have of their own."""
        more = self.size - other.size
        apart = max(self.apart(other), abs(more))
        return min((apart + more) / 2, self.size), min((apart - more) / 2, other.size)

    def replaced(self, other: "Sketch") -> float:
        """Return about how many units of each set the other one has another unit for."""
        return min(self.own(other))

    def added(self, other: "Sketch") -> float:
        """Return about how many units one of the two sets has alone, at most."""
        return max(self.own(other))

    def is_as_large(self, other: "Sketch") -> bool:
        """Return whether two sets are known to be of one size."""
        return self.size == other.size < 255

    def is_like(self, other: "Sketch") -> bool:
        """Return whether both sets have more than half of all units in common.

        Where half as many units as bits or more differ, the sketches do not tell it.
        """
        apart = sum(self.own(other))
        return not apart or (
            2 * apart < self.width and 3 * apart < self.size + other.size
        )


def units_of(extraction: Extraction) -> Units:
    """Return the units of a page, without those of its headings, which are compared as names."""
    lines = _undated(_unnamed(extraction))
    main, others = _main_and_others(extraction, lines)
    of_text = _pieces("\n".join(main))
    pieces = of_text | _pieces("\n".join(others))
    words = _names_in(pieces)
    numbers, amounts = _numbers(main + others)
    pairs = _pairs(extraction.pairs)
    return Units(
        numbers=numbers,
        fields=_fields(lines, extraction.marks),
        sentences=of_text - words,
        words=words | amounts,
        labels=pairs,
        pairs=[*map("\0".join, pairs.items())],
        rest=_pieces(extraction.template[:LONGEST]),
        listed=extraction.listed,
        all_sentences=pieces - words,
    )


def _main_and_others(
    extraction: Extraction, lines: list[str]
) -> tuple[list[str], list[str]]:
    """Return the lines of the content that are main text, and all others.

    The lines of a text that stand in links are no part of the content outside links.
    """
    text = _undated(extraction.text[:LONGEST].split("\n"))
    is_main = {*text}.__contains__
    return [*filter(is_main, lines)] or text, [*filterfalse(is_main, lines)]


def _numbers(lines: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the numbers in lines, and those that are amounts of money, with and without sign."""
    lasts = [*map(lasting, lines)]
    text = "\n".join(lasts)
    numbers = {*_NUMBER.findall(text)}
    signs = [sign for sign in _CURRENCIES if sign in text]
    priced = [line for line in lasts if any(map(line.__contains__, signs))]
    prices = _PRICE.findall("\n".join(priced))
    return numbers | {*prices}, {*filter(_DECIMALS.search, numbers), *prices}


def _unnamed(extraction: Extraction) -> list[str]:
    """Return the lines of the content that are none of the headings."""
    headings = (extraction.title, *extraction.headings)
    names = {" ".join(heading[:LONGEST].split()) for heading in headings}
    lines = extraction.content[:LONGEST].split("\n")
    # To split and join a long line takes far longer than to look at its beginning.
    words = tuple(name.partition(" ")[0] for name in names)
    return [
        line
        for line in lines
        if not line.lstrip().startswith(words) or " ".join(line.split()) not in names
    ]


def _undated(lines: list[str]) -> list[str]:
    """Return lines, the short ones without the date on which the page was written or changed."""
    return [
        _DATELINE.sub(r"\g<word>\g<after>", line)
        if len(line) < SHORT_LINE
        and ("19" in line or "20" in line)
        and _YEAR.search(line)
        else line
        for line in lines
    ]


def _fields(lines: Iterable[str], marks: Iterable[str]) -> set[str]:
    """Return short lines, each with the one before it, longer ones with a number, and the marks."""
    fields = {f"\0{mark}" for mark in marks}
    label = ""
    for line in lines:
        is_short = len(line) < _SENTENCE
        # A list may have the same number beside another entry.
        is_field = is_short or (len(line) < SHORT_LINE and bool(_NUMBER.search(line)))
        value = "".join(lasting(line).split()) if is_field else ""
        if value:
            fields.add(f"{label}\0{value}" if is_short else f"\0{value}")
        label = value if is_short else ""
    return fields


def _pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the values of the labels that have one value."""
    values = defaultdict[str, set[str]](set)
    for label, value in pairs:
        if said := "".join(lasting(value).split()):
            values[normalise(label)].add(said.lower())
    return {label: said.pop() for label, said in values.items() if len(said) == 1}


def _pieces(text: str) -> set[str]:
    """Return the sentences of a text, without digits, spaces and marks of punctuation."""
    # It takes half of the time of str.replace; a character is found far faster than
    # two.
    for end in _SENTENCE_ENDS:
        if end[0] in text:
            text = "\n".join(text.split(end))
    without = utf8(text).translate(_SIGNS, _DIGIT_BYTES)
    text = without.decode("utf-8", "surrogatepass")
    return set(normalise(text, by_line=True).split("\n")) - {""}


def _names_in(pieces: Collection[str]) -> set[str]:
    """Return the pieces that are no sentences; signs, as in C++, make none of a name."""
    return {
        piece
        for piece in pieces
        if len(utf8(piece).translate(None, _DIGIT_BYTES)) < _SENTENCE
    }


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def hashes_of(units: Iterable[str], seed: int) -> list[int]:
    return [xxhash.xxh3_64_intdigest(utf8(unit), seed) for unit in units]


def sketch(hashes: Collection[int], width: int) -> Sketch:
    # Most sets have less than a hundred units, for which a loop takes half the time of
    # NumPy.
    bits = reduce(xor, [1 << (each % width) for each in hashes], 0)
    return Sketch(bits, min(len(hashes), 255), width)


def digest(hashes: Iterable[int], size: int) -> int:
    """Return the hash of a set, in any order, in ``size`` bytes."""
    return reduce(xor, hashes, 0) >> (64 - 8 * size)
