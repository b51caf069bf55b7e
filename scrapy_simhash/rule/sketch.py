"""Sketches of the units of a page, which tell how many units only one of two pages has.

A unit is a number, a short line, a sentence. The odd sketch of a set has one bit for each hash
value, which is 1 if an odd number of units have it. What both pages have cancels out, however much
it is, so the Hamming distance of two sketches tells the size of the symmetric difference
(Mitzenmacher, Pagh and Pham, "Efficient estimation for high similarities using odd sketches",
WWW 2014, section 3).
"""

import math
import re
from collections.abc import Collection, Iterable
from functools import reduce
from itertools import chain
from operator import xor
from typing import NamedTuple

import xxhash

from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.rule.state import SHORT_LINE, lasting

#: Bits of a sketch: where a few units count, elsewhere, and where a share is enough.
WIDE, SMALL, NARROW = 128, 64, 32
#: The size of a sample: of larger sets it has the units with the least hashes, so that two sketches
#: tell which share of the units differs, where the sketches of all would be full.
SAMPLE = 32
#: Characters of what a page says that are looked at, and units of a sort.
_LONGEST = 1 << 18
_MOST = 10_000
#: A shorter piece of text is a name or the value of a field, and a longer one a sentence; bytes.
_SENTENCE = 20
#: A short line that says when the page was written or changed is of no record.
_STAMP = re.compile(
    r"\b(?:updated?|modified|changed|revised|edited|posted|published|generated|created|submitted"
    r"|aktualisiert|geändert|veröffentlicht|stand|mise? à jour|modifiée?|publiée?|actualizad[oa]"
    r"|publicad[oa]|aggiornat[oa]|bijgewerkt|обновл\w*|опубл\w*)\b"
    "|更新|发布|发表|修改|编辑|編輯|수정|작성",
    re.IGNORECASE,
)
#: A date with a day has five digits or more.
_DATE = re.compile(r"\d(?:\D{0,15}\d){4}")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
_ENDS = (". ", "! ", "? ", "\u3002", "\uff01", "\uff1f")
_DIGITS = b"0123456789"


class Units(NamedTuple):
    """The units of a page by their sort, without those of links and datelines.

    All but the last two are of its content.

    Attributes:
        numbers: as they are written, without ages and what its own words call a count of visits.
        fields: short lines, each with the one before it, which may be its label; and what the page
            is known by.
        sentences: without digits.
        words: short sentences, such as a colour.
        text: words and sentences of the main text.
        rest: words and sentences of all other lines, the site's among them.
    """

    numbers: Collection[str]
    fields: Collection[str]
    sentences: Collection[str]
    words: Collection[str]
    text: Collection[str]
    rest: Collection[str]


class Sketch(NamedTuple):
    """An odd sketch, the number of units in it, and its width in bits."""

    bits: int
    size: int
    width: int = SMALL

    def own(self, other: "Sketch") -> tuple[float, float]:
        """Return about how many units this set and the other one have of their own, if not all."""
        more = self.size - other.size
        apart = max(units_apart(self.bits, other.bits, self.width), abs(more))
        return min((apart + more) / 2, self.size), min((apart - more) / 2, other.size)

    def own_share(self, other: "Sketch") -> float:
        """Return the share of own units in the set that has fewer of them, from 0 to 1."""
        shares = zip(self.own(other), (self.size, other.size), strict=True)
        return min(min(own / max(count, 1), 1.0) for own, count in shares)

    def likeness(self, other: "Sketch") -> float:
        """Return about which share of the units of both sets both have; 0 if there are none."""
        together, apart = self.size + other.size, sum(self.own(other))
        return max(0.0, (together - apart) / (together + apart)) if together else 0.0


#: The sketch of no unit.
EMPTY = Sketch(0, 0)


def units_apart(bits: int, others: int, width: int) -> float:
    """Return about how many units only one of two sets has, given their sketches.

    It is infinite where the sketches do not tell it, and too little, if anything, for few units.
    """
    differing = (bits ^ others).bit_count()
    if 2 * differing >= width:
        return math.inf
    return round(-width / 2 * math.log(1 - 2 * differing / width))


def units_of(content: str, text: str, template: str = "", marks: Iterable[str] = ()) -> Units:
    """Return the units of a page.

    Args:
        content: its own lines outside links.
        text: its main text; lines of it that are in links count where all of them are.
        template: all other lines outside links.
        marks: what it is known by.
    """
    main = set(text[:_LONGEST].split("\n"))
    lines = [line for line in content[:_LONGEST].split("\n") if not _is_dateline(line)]
    in_text = [line for line in lines if line in main] or text[:_LONGEST].split("\n")
    others = [line for line in lines if line not in main]
    text_units, beside = _pieces("\n".join(in_text)), _pieces("\n".join(others))
    pieces = text_units | beside
    words = {
        piece for piece in pieces if len(piece) < _SENTENCE and size_in_bytes(piece) < _SENTENCE
    }
    numbers = set(_NUMBER.findall("\n".join(map(lasting, chain(in_text, others))))[:_MOST])
    rest = beside | _pieces(template[:_LONGEST])
    fields = {f"\0{mark}" for mark in marks} | _fields(lines)
    return Units(numbers, fields, pieces - words, words, text_units, rest)


def _fields(lines: Iterable[str]) -> set[str]:
    """Return the short lines as they are written, each with the one before it."""
    fields = set()
    label = ""
    for line in lines:
        value = "".join(lasting(line).split()) if len(line) < _SENTENCE else ""
        if value:
            fields.add(f"{label}\0{value}")
        label = value
    return fields


def _is_dateline(line: str) -> bool:
    """Return whether a short line says when the page was written or changed."""
    return len(line) < SHORT_LINE and bool(
        _DIGIT.search(line) and _DATE.search(line) and _STAMP.search(line)
    )


def _sentences(text: str) -> str:
    # It takes half of the time of str.replace; a character is found far faster than two.
    for end in _ENDS:
        if end[0] in text:
            text = "\n".join(text.split(end))
    return text


def _pieces(text: str) -> set[str]:
    text = _sentences(text)
    without = text.encode("utf-8", "surrogatepass").translate(None, _DIGITS)
    text = without.decode("utf-8", "surrogatepass")
    return set(normalise(text, by_line=True).split("\n")[:_MOST]) - {""}


def size_in_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def hashes_of(units: Iterable[str], seed: int) -> list[int]:
    encoded = [unit.encode("utf-8", "surrogatepass") for unit in units]
    return [xxhash.xxh3_64_intdigest(unit, seed) for unit in encoded]


# Most sets have less than a hundred units, for which a loop takes half the time of NumPy.
def sketch(hashes: list[int], most: int = _MOST, width: int = SMALL) -> Sketch:
    """Return the sketch of a set; where it has more units, of a sample of so many."""
    sample = sorted(hashes)[:most] if len(hashes) > most else hashes
    return Sketch(odd_bits(sample, width), len(sample), width)


def odd_bits(hashes: Iterable[int], width: int) -> int:
    """Return an odd sketch of so many bits, a power of two."""
    return reduce(xor, [1 << (each & (width - 1)) for each in hashes], 0)


def digest(hashes: Iterable[int]) -> int:
    """Return 24 bits of a set, in any order."""
    return reduce(xor, hashes, 0) >> 40
