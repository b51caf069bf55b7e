"""Small facts about a page that stand beside its fingerprint, for the rule to judge by."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import composed, fold, has_words, normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.segmentation import MARKS
from scrapy_simhash.rule.sketch import (
    EMPTY,
    SAMPLE,
    WIDE,
    Sketch,
    digest,
    hashes_of,
    sketch,
    units_of,
)
from scrapy_simhash.rule.state import STATE_SIZE, state_of

# The hashes, the sketches, how many units are in each, the length, the flags and the state.
_LAYOUT = struct.Struct(f"<IIIBI16s16sQQHBBBBQ{STATE_SIZE}s")
#: How many bytes the facts of a page take.
FACTS_SIZE = _LAYOUT.size

_LONGEST_HEADING = 1000  # characters; a page may call its whole text its title
_HEADINGS = 3
_STEPS = 8  # of a length, to an octave
#: From so many bytes on, a text says by itself what its page is.
LONG_TEXT = 1500

# Between a page's own title and the name of its site. "_" and "-" part titles only in front of a
# character of Chinese or the like, or SPI_commit and SPI_rollback would have one title.
_SEPARATOR = re.compile(
    r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|\uff5c\u00bb]|\u2014\u2014"
    r"|(?<![A-Za-z0-9])[_-]{1,2}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
# "Name (the manual 1.2)" has the name of the site in brackets.
_IN_BRACKETS = re.compile(r"\(([^()]*)\)\s*$")
_DIGITS = re.compile(r"\d+")
# A date or a count, but no part of the name of a product: labels change with them.
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?![A-Za-z\d])")
# An outline number: "13.8.", "Chapter 4.", "A.1", "第 4 章". Another release numbers anew.
_OUTLINE = re.compile(
    r"\s*(?:(?:chapter|part|section|appendix)\s{1,9}[\divxlc]{1,9}|[a-z]?\d{1,4}(?:\.\d{1,4}){1,6}"
    r"|\d{1,4}(?=[.)、:]))[\s.:)、\u2014\u2013-]+"
    r"|\s*第\s{0,9}[\d一二三四五六七八九十百零]{1,9}\s{0,9}[章节節部分编編篇条回]\s*",
    re.IGNORECASE,
)
# A name keeps its signs, or "operator<" and "operator>" would be one. Quotes differ between
# releases of a template, and so do signs beyond ASCII, such as those of links to a section.
_NO_NAME = re.compile("[^\\w!-~]|['\"`]")
_MOST_WORDS = 24  # of a heading that are looked for in the text
_SEARCHED = 100_000  # characters of the text in which they are looked for
# Marks stand inside words, and so does what Tibetan has between syllables.
_WORD = re.compile(
    rf"[^\W_]+(?:[{MARKS}\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f0b\u102b-\u103e"
    r"\u17b4-\u17d3\u200c\u200d]+[^\W_]*)*"
)
# Scripts that do not part words by spaces: two letters stand for a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
# In Korean, too, the first two, because endings and particles are parts of a word.
_KOREAN = re.compile("[\uac00-\ud7af]{2}")
_SHORTEST_WORD = 4  # letters and marks; shorter ones stand in any text


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a page beside its fingerprint, in 83 bytes.

    A hash of a heading is keyed with the recipe's seed; 0 means that there is no such heading.

    Attributes:
        headings: 32-bit hash of the whole title and the first three ``h1``, as they are written.
            The last ``h2`` above the text is among them if the text speaks of it, or does not speak
            of them, or has less than 1,500 bytes and the title is the ``h1``, which may be the
            site's name; if there are none of either, the short lines above the text are.
        title: 32-bit hash of the title's own part, without outline number and site's name.
        heading: 32-bit hash of the last of the first three ``h1``, without outline number: the
            first one is the name of the site in many themes.
        site: 8-bit hash of the rest of the title, without digits: the name of the site.
        said: 24-bit hash of all numbers, fields and sentences of the page, see :mod:`.sketch`.
        numbers: sketch of 128 bits of the numbers of the page, of which it counts 255.
        sentences: sketch of its sentences.
        text: sketch of a sample of the words and sentences of its main text.
        rest: sketch of 128 bits of a sample of all others.
        text_steps: length of the normalised main text in UTF-8 bytes, because in characters a text
            in Chinese would seem a third of its size; in eighths of an octave, from 0 to 255.
        fills: the main text is at least a third of all visible text.
        thin: the page has no main text, and the fingerprint is of all that it shows.
        backed: the main text has at least half of the words of the title's own part or of the
            heading, so it is what the page is about.
        state: hash of what the page says, see :mod:`.state`.
        listed: sketch of a sample of the names of the links in the content, and of its pictures.
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

    def to_bytes(self) -> bytes:
        names = self.headings, self.title, self.heading, self.site
        said = self.said << 8 | min(self.numbers.size, 255)
        bits, counts, _ = zip(self.sentences, self.text, self.rest, strict=True)
        wide = [each.to_bytes(16, "little") for each in (self.numbers.bits, bits[2])]
        flags = self.thin | self.backed << 1 | self.fills << 2 | self.listed.size << 3
        return _LAYOUT.pack(
            *(*names, said, *wide, *bits[:2], *counts, self.text_steps, flags),
            *(self.listed.bits, self.state),
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
        of_sentences, of_text, of_rest, text_steps, flags, listed, state = others
        return cls(
            *(headings, title, heading, site, said >> 8),
            Sketch(int.from_bytes(numbers, "little"), said & 255, WIDE),
            Sketch(sentences, of_sentences),
            Sketch(text, of_text),
            Sketch(int.from_bytes(rest, "little"), of_rest, WIDE),
            *(text_steps, bool(flags & 4), bool(flags & 1), bool(flags & 2), state),
            Sketch(listed, flags >> 3),
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
    title = extraction.title[:_LONGEST_HEADING]
    headings = [h for text in extraction.headings[:_HEADINGS] if (h := text[:_LONGEST_HEADING])]
    own_part, site = _parts(title)
    heading = headings[-1] if headings else ""
    text = normalise(extraction.text) if normal is None else normal
    backed = _speaks_of(own_part, text) or _speaks_of(heading, text)
    names = [title, *headings, *[normalise(_NUMBER.sub("", label)) for label in extraction.labels]]
    size, unnumbered = _size(text), _without_number(heading)
    may_be_site = size < LONG_TEXT and unnumbered == _without_number(title)
    subheading = extraction.subheading[:_LONGEST_HEADING]
    if may_be_site or not backed or _speaks_of(subheading, text):
        names.append(subheading)
    units = units_of(extraction.said, extraction.text, extraction.marks, extraction.thin)
    seed = int.from_bytes(key[:8], "little")
    # A unit of two sorts would cancel itself out in the digest of them all.
    numbers, fields, sentences = (hashes_of(sort, seed + n) for n, sort in enumerate(units[:3]))
    of_text, of_rest = (hashes_of(sort, seed) for sort in units[3:])
    return Facts(
        headings=_hash([composed(name) for name in names if has_words(name)], key),
        title=_hash([_without_number(own_part)], key),
        heading=_hash([unnumbered], key),
        site=_hash([_DIGITS.sub("", site)], key) % 255 + 1 if site else 0,
        said=digest(numbers) ^ digest(fields) ^ digest(sentences),
        numbers=sketch(numbers, width=WIDE),
        sentences=sketch(sentences),
        text=sketch(of_text, SAMPLE),
        rest=sketch(of_rest, 2 * SAMPLE, WIDE),
        text_steps=_steps(size),
        fills=3 * _size(extraction.text) >= _size(extraction.shown),
        thin=extraction.thin,
        backed=backed,
        listed=sketch(hashes_of(extraction.listed, seed), SAMPLE // 2),
        state=state_of(extraction.content or extraction.text, key),
    ).to_bytes()


def facts_of_text(text: str, recipe: Recipe) -> bytes:
    """Return the facts of a text that is no page, which are its state alone."""
    return state_of(text, key_from_seed(recipe.seed) if recipe.seed else b"")


def _parts(title: str) -> tuple[str, str]:
    """Return the first part of a title, and the rest: the page's own name and the site's."""
    own, *others = [part for part in _SEPARATOR.split(title) if has_words(part)] or [""]
    return own, normalise(" ".join(others or _IN_BRACKETS.findall(own)))


def _without_number(heading: str) -> str:
    """Return the letters, digits and signs of a heading without the outline number before it."""
    number = _OUTLINE.match(heading)
    name = heading[number.end() :] if number else heading
    return _NO_NAME.sub("", fold(name)) if has_words(name) else ""


def _hash(texts: Iterable[str], key: bytes) -> int:
    """Return 32 bits for a sequence of texts; 0 only if all of them are empty."""
    joined = "\0".join(texts)
    if not joined.strip("\0"):
        return 0
    digest = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=4, key=key)
    return int.from_bytes(digest.digest(), "little") or 1


def _speaks_of(heading: str, text: str) -> bool:
    """Return whether a normalised text has at least half of the words of a heading."""
    words: dict[str, None] = {}
    for run in _WORD.findall(fold(heading)):
        letters = run.lower() if run.isascii() else normalise(run)
        if _UNSPACED.search(letters):
            words.update(dict.fromkeys(letters[at : at + 2] for at in range(len(letters) - 1)))
        elif stem := _KOREAN.match(letters):
            words[stem.group()] = None
        elif len(run) >= _SHORTEST_WORD:
            words[letters] = None
    sample = list(words)[:_MOST_WORDS]
    searched = text[:_SEARCHED]
    return bool(sample) and 2 * sum(word in searched for word in sample) >= len(sample)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _steps(size: float) -> int:
    return min(255, round(_STEPS * math.log2(max(size, 1))))
