"""Small facts about a page that stand beside its fingerprint, for the rule to judge by."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import reduce
from operator import xor

import xxhash

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.keys import split_address
from scrapy_simhash.rule.names import names_of
from scrapy_simhash.rule.sketch import (
    NARROW,
    SAMPLE,
    WIDE,
    Sketch,
    digest,
    hashes_of,
    size_in_bytes,
    sketch,
    units_of,
)
from scrapy_simhash.rule.state import STATE_SIZE, state_of

# Names and digest, the sketches with their counts, length, flags and state.
_LAYOUT = struct.Struct(f"<3s3s3sB3s16sBIBQHIBQBQ3sBB{STATE_SIZE}s")
#: The bytes that the facts of a page take.
FACTS_SIZE = _LAYOUT.size

_STEPS = 8  # of a length, to an octave
_LONG_ITEM = 1000  # bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a page beside its fingerprint, in 75 bytes.

    Attributes:
        headings, title, heading, site, backed: what it calls itself, see :mod:`.names`.
        said: 24-bit hash of all numbers, fields and sentences of the content, see :mod:`.sketch`.
        numbers: sketch of 128 bits of the numbers of the content, of which it counts 255.
        words: sketch of 32 bits of its short sentences, such as a colour; it counts 255, too.
        sentences: sketch of its other sentences.
        text: sketch of 32 bits of a sample of the words and sentences of the main text.
        rest: sketch of a sample of those outside the main text.
        listed: sketch of a sample of the entries of a list, and of the pictures.
        text_steps: length of the normalised main text in UTF-8 bytes, because in characters a text
            in Chinese would seem a third of its size; in eighths of an octave, from 0 to 255.
        fills: the main text is at least a third of all visible text.
        thin: the page has no main text, and the fingerprint is of all that it shows.
        canonical: 24-bit hash of the address that the page declares canonical; 0 is none.
        state: hash of the content as it is written, see :mod:`.state`.
    """

    headings: int
    title: int
    heading: int
    site: int
    said: int
    numbers: Sketch
    words: Sketch
    sentences: Sketch
    text: Sketch
    rest: Sketch
    listed: Sketch
    text_steps: int
    fills: bool
    thin: bool
    backed: bool
    state: bytes = bytes(STATE_SIZE)
    canonical: int = 0

    def to_bytes(self) -> bytes:
        names = self.headings, self.title, self.heading
        counted = self.words, self.sentences, self.text, self.rest
        return _LAYOUT.pack(
            *(*map(_three_bytes, names), self.site, _three_bytes(self.said)),
            *(self.numbers.bits.to_bytes(16, "little"), min(self.numbers.size, 255)),
            *(number for each in counted for number in (each.bits, each.size)),
            *(self.listed.bits, _three_bytes(self.canonical), self.text_steps),
            self.thin | self.backed << 1 | self.fills << 2 | self.listed.size << 3,
            self.state,
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what :meth:`to_bytes` returned.

        Raises:
            ValueError: the length is another.
        """
        if len(data) != FACTS_SIZE:
            raise ValueError(f"the facts of a page have {FACTS_SIZE} bytes, not {len(data)}")
        headings, title, heading, site, said, numbers, *sketches, steps, flags, _ = (
            int.from_bytes(part, "little") if isinstance(part, bytes) else part
            for part in _LAYOUT.unpack(data)
        )
        of_numbers, words, of_words, sentences, of_sentences, *others = sketches
        text, of_text, rest, of_rest, listed, canonical = others
        return cls(
            *(headings, title, heading, site, said),
            Sketch(numbers, of_numbers, WIDE),
            Sketch(words, of_words, NARROW),
            Sketch(sentences, of_sentences),
            Sketch(text, of_text, NARROW),
            Sketch(rest, of_rest),
            Sketch(listed, flags >> 3),
            *(steps, bool(flags & 4), bool(flags & 1), bool(flags & 2)),
            data[-STATE_SIZE:],
            canonical,
        )

    @property
    def text_bytes(self) -> float:
        """The length of the main text, within 5%."""
        return 2 ** (self.text_steps / _STEPS)


def facts_of(extraction: Extraction, recipe: Recipe, normal: str | None = None) -> bytes:
    """Return the facts of a page, as an index keeps them.

    Args:
        extraction: what the extractor took from the page. Where it names no visible text, the
            main text counts as all that the page shows.
        recipe: its seed changes every hash.
        normal: the normalised main text, where it is known.
    """
    key = key_from_seed(recipe.seed) if recipe.seed else b""
    text = normalise(extraction.text) if normal is None else normal
    size = size_in_bytes(_once(text, extraction.text))
    names = names_of(extraction, text, size, key)
    units = units_of(extraction.content, extraction.text, extraction.template, extraction.marks)
    seed = int.from_bytes(key[:8], "little")
    # A unit of two sorts would cancel itself out in the digest of them all.
    numbers, fields, sentences, words, text_units, rest = (
        hashes_of(sort, seed + n) for n, sort in enumerate(units)
    )
    return Facts(
        *names[:4],
        said=reduce(xor, map(digest, (numbers, fields, sentences, words))),
        numbers=sketch(numbers, width=WIDE),
        words=sketch(words, 255, NARROW),
        sentences=sketch(sentences),
        text=sketch(text_units, SAMPLE, NARROW),
        rest=sketch(rest, 2 * SAMPLE),
        listed=sketch(hashes_of(extraction.listed, seed), SAMPLE // 2),
        text_steps=_steps(size),
        fills=3 * size_in_bytes(extraction.text) >= size_in_bytes(extraction.shown),
        thin=extraction.thin,
        backed=names.backed,
        canonical=address_hash(extraction.canonical),
        state=state_of(extraction.own or extraction.text, key),
    ).to_bytes()


def address_hash(address: str) -> int:
    """Return 24 bits of an http address; 0 for anything else, such as a relative one."""
    if split_address(address) is None:
        return 0
    return xxhash.xxh3_64_intdigest(address.encode("utf-8", "replace")) & 0xFFFFFF or 1


def facts_of_text(text: str, recipe: Recipe, normal: str | None = None) -> bytes:
    """Return the facts of a text that is no page; of a long one these are its state alone.

    Short texts of one form, such as offers, differ in numbers and names. A long one is told from
    others by its fingerprint.
    """
    if size_in_bytes(text[:_LONG_ITEM]) < _LONG_ITEM:
        return facts_of(Extraction(text, content=text), recipe, normal)
    return state_of(text, key_from_seed(recipe.seed) if recipe.seed else b"")


def _once(text: str, lines: str) -> str:
    """Return a normalised text, without the lines that it has for the second time."""
    each = lines.split("\n")
    once = dict.fromkeys(each)
    return text if len(once) == len(each) else normalise("\n".join(once))


def _steps(size: float) -> int:
    return min(255, round(_STEPS * math.log2(max(size, 1))))


def _three_bytes(number: int) -> bytes:
    return number.to_bytes(3, "little")
