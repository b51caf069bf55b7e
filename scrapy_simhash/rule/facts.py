"""Small facts about a page that stand beside its fingerprint, for the rule to judge by."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.rule.names import names_of
from scrapy_simhash.rule.sketch import (
    EMPTY,
    SAMPLE,
    WIDE,
    Sketch,
    digest,
    grams_of,
    hashes_of,
    sketch,
    units_of,
)
from scrapy_simhash.rule.state import STATE_SIZE, state_of

# The hashes, the sketches, how many units are in each, the length, the flags and the state.
_LAYOUT = struct.Struct(f"<IIIBI16s16sQQHBBBBQ16s{STATE_SIZE}s")
#: How many bytes the facts of a page take.
FACTS_SIZE = _LAYOUT.size

_STEPS = 8  # of a length, to an octave


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a page beside its fingerprint, in 99 bytes.

    Attributes:
        headings, title, heading, site, backed: what it calls itself, see :mod:`.names`.
        said: 24-bit hash of all numbers, fields and sentences of the page, see :mod:`.sketch`.
        numbers: sketch of 128 bits of the numbers of the page, of which it counts 255.
        sentences: sketch of its sentences.
        text: sketch of a sample of the words and sentences of its main text.
        rest: sketch of 128 bits of a sample of all others.
        text_steps: length of the normalised main text in UTF-8 bytes, because in characters a text
            in Chinese would seem a third of its size; in eighths of an octave, from 0 to 255.
        fills: the main text is at least a third of all visible text.
        thin: the page has no main text, and the fingerprint is of all that it shows.
        state: hash of what the page says, see :mod:`.state`.
        listed: sketch of a sample of the names of the links in the content, and of its pictures.
        grams: sketch of 128 bits of one in 8 character 8-grams of the main text.
    """

    headings: int
    title: int
    heading: int
    site: int
    said: int
    numbers: Sketch
    sentences: Sketch
    text: Sketch
    rest: Sketch
    text_steps: int
    fills: bool
    thin: bool
    backed: bool
    state: bytes = bytes(STATE_SIZE)
    listed: Sketch = EMPTY
    grams: int = 0

    def to_bytes(self) -> bytes:
        names = self.headings, self.title, self.heading, self.site
        said = self.said << 8 | min(self.numbers.size, 255)
        bits, counts, _ = zip(self.sentences, self.text, self.rest, strict=True)
        wide = [each.to_bytes(16, "little") for each in (self.numbers.bits, bits[2])]
        flags = self.thin | self.backed << 1 | self.fills << 2 | self.listed.size << 3
        return _LAYOUT.pack(
            *(*names, said, *wide, *bits[:2], *counts, self.text_steps, flags),
            *(self.listed.bits, self.grams.to_bytes(16, "little"), self.state),
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what :meth:`to_bytes` returned.

        Raises:
            ValueError: the length is another.
        """
        if len(data) != FACTS_SIZE:
            raise ValueError(f"the facts of a page have {FACTS_SIZE} bytes, not {len(data)}")
        names = _LAYOUT.unpack(data)
        headings, title, heading, site, said, numbers, rest, sentences, text, *others = names
        of_sentences, of_text, of_rest, text_steps, flags, listed, grams, state = others
        return cls(
            *(headings, title, heading, site, said >> 8),
            Sketch(int.from_bytes(numbers, "little"), said & 255, WIDE),
            Sketch(sentences, of_sentences),
            Sketch(text, of_text),
            Sketch(int.from_bytes(rest, "little"), of_rest, WIDE),
            *(text_steps, bool(flags & 4), bool(flags & 1), bool(flags & 2), state),
            Sketch(listed, flags >> 3),
            int.from_bytes(grams, "little"),
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
    size = _size(_once(text, extraction.text))
    names = names_of(extraction, text, size, key)
    units = units_of(extraction.said, extraction.text, extraction.marks, extraction.thin)
    seed = int.from_bytes(key[:8], "little")
    # A unit of two sorts would cancel itself out in the digest of them all.
    numbers, fields, sentences = (hashes_of(sort, seed + n) for n, sort in enumerate(units[:3]))
    of_text, of_rest = (hashes_of(sort, seed) for sort in units[3:])
    return Facts(
        *names[:4],
        said=digest(numbers) ^ digest(fields) ^ digest(sentences),
        numbers=sketch(numbers, width=WIDE),
        sentences=sketch(sentences),
        text=sketch(of_text, SAMPLE),
        rest=sketch(of_rest, 2 * SAMPLE, WIDE),
        text_steps=_steps(size),
        fills=3 * _size(extraction.text) >= _size(extraction.shown),
        thin=extraction.thin,
        backed=names.backed,
        listed=sketch(hashes_of(extraction.listed, seed), SAMPLE // 2),
        grams=sketch(grams_of(text, recipe.seed), width=WIDE).bits,
        state=state_of(extraction.content or extraction.text, key),
    ).to_bytes()


def facts_of_text(text: str, recipe: Recipe) -> bytes:
    """Return the facts of a text that is no page, which are its state alone."""
    return state_of(text, key_from_seed(recipe.seed) if recipe.seed else b"")


def _once(text: str, lines: str) -> str:
    """Return a normalised text, without the lines that it has for the second time."""
    each = lines.split("\n")
    once = dict.fromkeys(each)
    return text if len(once) == len(each) else normalise("\n".join(once))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _steps(size: float) -> int:
    return min(255, round(_STEPS * math.log2(max(size, 1))))
