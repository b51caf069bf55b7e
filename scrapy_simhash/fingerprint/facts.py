"""Small facts about a page that stand beside its fingerprint, for the rule to judge by."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from hashlib import blake2b

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import fingerprint_from_sums, ngram_sums

_LAYOUT = struct.Struct("<IIIQBBB")
#: How many bytes the facts of a page take.
FACTS_SIZE = _LAYOUT.size

_LONGEST_HEADING = 1000  # characters; a page may call its whole text its title
_HEADINGS = 3
_STEPS = 8  # of a length, to an octave
_NGRAM = 5  # characters; the page's fingerprint is of the default recipe's kind

# Between a page's own title and the name of its site. "_" is none, or SPI_commit and SPI_rollback
# would have one title.
_SEPARATOR = re.compile(r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|\uff5c\u00bb]|\u2014\u2014")
# An outline number: "13.8.", "Chapter 4.", "A.1", "第 4 章". Another release numbers anew.
_OUTLINE = re.compile(
    r"\s*(?:(?:chapter|part|section|appendix)\s{1,9}[\divxlc]{1,9}|[a-z]?\d{1,4}(?:\.\d{1,4}){1,6}"
    r"|\d{1,4}(?=[.)、:]))[\s.:)、\u2014\u2013-]+"
    r"|\s*第\s{0,9}[\d一二三四五六七八九十百零]{1,9}\s{0,9}[章节節部分编編篇条回]\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a page shows beside its main text, in 23 bytes.

    A hash of a heading is keyed with the recipe's seed; 0 means that there is no such heading.
    Lengths are those of the normalised text in UTF-8 bytes, rounded to steps of an eighth of an
    octave: in characters, a text in Chinese would seem a third of its size.

    Attributes:
        headings: 32-bit hash of the whole title and the first three ``h1``.
        title: 32-bit hash of the title's own part, without outline number and site's name.
        heading: 32-bit hash of the last of the first three ``h1``: the first one is the name of
            the site in many themes.
        page: 64-bit simhash of all visible text.
        text_steps: length of the main text, in steps from 0 to 255.
        page_steps: length of all visible text, in steps from 0 to 255.
        thin: the page has no main text, and the fingerprint is of all that it shows.
    """

    headings: int
    title: int
    heading: int
    page: int
    text_steps: int
    page_steps: int
    thin: bool

    def to_bytes(self) -> bytes:
        """Return the facts as an index keeps them."""
        return _LAYOUT.pack(*astuple(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what :meth:`to_bytes` returned.

        Raises:
            ValueError: the length is another.
        """
        if len(data) != FACTS_SIZE:
            raise ValueError(f"the facts of a page have {FACTS_SIZE} bytes, not {len(data)}")
        headings, title, heading, page, text_steps, page_steps, thin = _LAYOUT.unpack(data)
        return cls(headings, title, heading, page, text_steps, page_steps, bool(thin))

    @property
    def text_bytes(self) -> float:
        """The length of the main text, within 5%."""
        return 2 ** (self.text_steps / _STEPS)

    @property
    def page_bytes(self) -> float:
        """The length of all visible text, within 5%."""
        return 2 ** (self.page_steps / _STEPS)


def facts_of(extraction: Extraction, recipe: Recipe) -> bytes:
    """Return the facts of a page, as an index keeps them.

    Args:
        extraction: what the extractor took from the page. Where it names no visible text, the
            main text counts as all that the page shows.
        recipe: its seed changes every hash.
    """
    key = key_from_seed(recipe.seed) if recipe.seed else b""
    title = extraction.title[:_LONGEST_HEADING]
    headings = [h for text in extraction.headings[:_HEADINGS] if (h := text[:_LONGEST_HEADING])]
    text = normalise(extraction.text)
    page = normalise(extraction.shown) if extraction.shown else text
    return Facts(
        headings=_hash(map(normalise, (title, *headings)), key),
        title=_hash([_own_part(title)], key),
        heading=_hash([_without_number(headings[-1])] if headings else [], key),
        page=fingerprint_from_sums(ngram_sums(page, _NGRAM, bits=64, seed=recipe.seed).values),
        text_steps=_steps(text),
        page_steps=_steps(page),
        thin=extraction.thin,
    ).to_bytes()


def _own_part(title: str) -> str:
    """Return the normalised title without what follows its first separator."""
    return next(filter(None, map(_without_number, _SEPARATOR.split(title))), "")


def _without_number(heading: str) -> str:
    """Return the normalised heading without an outline number in front of it."""
    return normalise(_OUTLINE.sub("", heading, count=1) if _OUTLINE.match(heading) else heading)


def _hash(texts: Iterable[str], key: bytes) -> int:
    """Return 32 bits for a sequence of texts; 0 only if all of them are empty."""
    joined = "\0".join(texts)
    if not joined.strip("\0"):
        return 0
    digest = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=4, key=key)
    return int.from_bytes(digest.digest(), "little") or 1


def _steps(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return min(255, round(_STEPS * math.log2(max(size, 1))))
