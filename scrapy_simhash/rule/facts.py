"""Small facts about a page, which the index keeps with its fingerprint for the rule."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Any

import xxhash

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.keys import page_key, split_address
from scrapy_simhash.rule.names import names_of
from scrapy_simhash.rule.sketch import (
    Sketch,
    digest,
    hashes_of,
    size_in_bytes,
    sketch,
    units_of,
)
from scrapy_simhash.rule.state import STATE_SIZE, state_of

#: The bits of each sketch. A byte with its size follows.
SKETCHES = {
    "numbers": 128,
    "words": 32,
    "sentences": 64,
    "labels": 32,
    "pairs": 32,
    "rest": 40,
    "listed": 32,
}
#: The bytes of each number in the facts.
_SIZES = {
    "headings": 3,
    "title": 3,
    "heading": 3,
    "unsaid": 2,
    "said": 3,
    "canonical": 3,
    "steps": 1,
    "thin": 1,
    "alone": 1,
    "paged": 1,
    "state": STATE_SIZE,
}
#: The units in the sample of the site's own lines.
_SAMPLE = 32
#: The sorts of units that together are what a page says.
_SAID = ("numbers", "fields", "all_sentences", "words", "unsaid")
#: The bytes of the facts of a page: sketches, with their sizes, and numbers.
FACTS_SIZE = sum(SKETCHES.values()) // 8 + len(SKETCHES) + sum(_SIZES.values())

#: Where a link to another part of a list leads.
_PART = re.compile(r"([\w-]{1,30}=)(\d{1,9})")
_STEPS = 8  # of a length, to an octave


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a page beside its fingerprint, in 76 bytes.

    Attributes:
        headings, title, heading: what it calls itself; see :mod:`.names`.
        unsaid: odd sketch of 16 bits of what the text lacks of the heading. It counts in how many
            words two pages differ; only the next hash tells each part of a series from all others.
        said: 24-bit hash of these, and of all numbers, fields and sentences of the content, see
            :mod:`.sketch`.
        canonical: 24-bit hash of the address that the page declares canonical; 0 if it declares
            none, or the front page of a site, as all pages of some sites do.
        steps: length of the normalised main text in UTF-8 bytes, because in characters a text in
            Chinese would seem a third of its size; in eighths of an octave, from 0 to 255.
        thin: the page has no main text, and the fingerprint is of all that it shows.
        alone: it is a text that is no page, such as that of an item.
        paged: it shows a part of a list, and links to others by their numbers.
        numbers: sketch of 128 bits of the numbers of the content.
        words: sketch of 32 bits of its short sentences, such as a colour, and amounts of money.
        sentences: sketch of 64 bits of its other sentences.
        labels: sketch of 32 bits of the labels of the content.
        pairs: sketch of 32 bits of its labels with their values.
        rest: sketch of 40 bits of a sample of the words and sentences of the site.
        listed: sketch of 32 bits of the entries of lists.
        state: hash of the content as it is written, see :mod:`.state`.
    """

    headings: int
    title: int
    heading: int
    unsaid: int
    said: int
    canonical: int
    steps: int
    thin: bool
    alone: bool
    paged: bool
    numbers: Sketch
    words: Sketch
    sentences: Sketch
    labels: Sketch
    pairs: Sketch
    rest: Sketch
    listed: Sketch
    state: int

    def to_bytes(self) -> bytes:
        parts = list[bytes]()
        for name, width in SKETCHES.items():
            each: Sketch = getattr(self, name)
            parts += each.bits.to_bytes(width // 8, "little"), bytes((each.size,))
        parts += [getattr(self, name).to_bytes(size, "little") for name, size in _SIZES.items()]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what :meth:`to_bytes` returned.

        Raises:
            ValueError: the length is another.
        """
        if len(data) != FACTS_SIZE:
            raise ValueError(f"the facts of a page have {FACTS_SIZE} bytes, not {len(data)}")
        fields = dict[str, Any]()
        start = 0
        for name, width in SKETCHES.items():
            end = start + width // 8
            fields[name] = Sketch(int.from_bytes(data[start:end], "little"), data[end], width)
            start = end + 1
        for name, size in _SIZES.items():
            fields[name] = int.from_bytes(data[start : start + size], "little")
            start += size
        return cls(**fields)

    @property
    def text_bytes(self) -> float:
        """The length of the main text, within 5%."""
        return 2 ** (self.steps / _STEPS)


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
    hashes = _hashes(extraction, names.unsaid, int.from_bytes(key[:8], "little"))
    # Two samples of the least hashes tell which share differs, where two whole sketches are full.
    hashes["rest"] = sorted(hashes["rest"])[:_SAMPLE]
    sketches: dict[str, Any] = {
        sort: sketch(hashes[sort], width) for sort, width in SKETCHES.items()
    }
    return Facts(
        **names._asdict() | {"unsaid": sketch(hashes["unsaid"], 16).bits},
        said=reduce(xor, (digest(hashes[sort]) for sort in _SAID)),
        canonical=address_hash(extraction.canonical),
        steps=min(255, round(_STEPS * math.log2(max(size, 1)))),
        thin=extraction.thin,
        alone=extraction.alone,
        paged=_is_paged(extraction.marks),
        **sketches,
        state=state_of(extraction.own or extraction.text, key),
    ).to_bytes()


def _is_paged(marks: tuple[str, ...]) -> bool:
    """Return whether links lead to parts of a list that follow each other, unlike its entries."""
    parts = {(part[1], int(part[2])) for part in map(_PART.fullmatch, marks) if part}
    return any((name, number + 1) in parts for name, number in parts)


def _hashes(extraction: Extraction, unsaid: set[str], seed: int) -> dict[str, list[int]]:
    """Return the hashes of the units of a page by their sort, and of the entries of its lists."""
    units = units_of(extraction)._asdict() | {"listed": extraction.listed, "unsaid": unsaid}
    # A unit of two sorts would cancel itself out in the digest of them all.
    return {sort: hashes_of(each, seed + n) for n, (sort, each) in enumerate(units.items())}


def address_hash(address: str) -> int:
    """Return 24 bits of an http address; 0 for anything else, and for the front page of a site."""
    parts = split_address(address)
    if parts is None or (parts.path in ("", "/") and not parts.query):
        return 0
    with suppress(ValueError):  # such as http://[
        address = page_key(address)
    return xxhash.xxh3_64_intdigest(address.encode("utf-8", "replace")) & 0xFFFFFF or 1


def _once(text: str, lines: str) -> str:
    """Return a normalised text, without the lines that it has for the second time."""
    each = lines.split("\n")
    once = dict.fromkeys(each)
    return text if len(once) == len(each) else normalise("\n".join(once))
