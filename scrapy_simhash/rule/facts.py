"""Small facts about a page, which the index keeps with its fingerprint for the rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any

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
    sketch,
    units_of,
    utf8,
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
    "unsaid": 16,
}
#: The bytes of each number in the facts.
_SIZES = {
    "headings": 3,
    "title": 3,
    "heading": 3,
    "said": 3,
    "values": 2,
    "canonical": 3,
    "text_bytes": 3,
    "thin": 1,
    "alone": 1,
    "state": STATE_SIZE,
}
#: The units in the sample of the site's own lines.
_SAMPLE = 32
#: The sorts of units in each digest: all that a page says, and its values alone.
_DIGESTS = {
    "said": ("numbers", "fields", "all_sentences", "words", "unsaid"),
    "values": ("numbers", "words"),
}
#: The bytes of the facts of a page: sketches, with their sizes, and numbers.
FACTS_SIZE = sum(SKETCHES.values()) // 8 + len(SKETCHES) + sum(_SIZES.values())


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a page beside its fingerprint, in 80 bytes.

    Attributes:
        headings, title, heading: what it calls itself; see :mod:`.names`.
        said: 24-bit hash of all numbers, fields and sentences of the content, see
            :mod:`.sketch`, and of what the text lacks of the heading.
        values: 16-bit hash of all numbers and words, because a sketch does not tell two
            values that share a bit.
        canonical: 24-bit hash of the address that the page declares canonical; 0 if it
            declares none, or the front page of a site, as all pages of some sites do.
        text_bytes: length of the normalised main text in UTF-8, because in characters a
            text in Chinese would seem a third of its size.
        thin: the page has no main text, and the fingerprint is of all that it shows.
        alone: it is a text that is no page, such as that of an item.
        numbers: sketch of 128 bits of the numbers of the content.
        words: sketch of 32 bits of its short sentences, such as a colour, and amounts
            of money.
        sentences: sketch of 64 bits of its other sentences.
        labels: sketch of 32 bits of the labels of the content.
        pairs: sketch of 32 bits of its labels with their values.
        rest: sketch of 40 bits of a sample of the words and sentences of the site.
        listed: sketch of 32 bits of the entries of lists.
        unsaid: sketch of 16 bits of what the text lacks of the heading. It counts in
            how many words two pages differ; only the hash of all tells each part of a
            series from all others.
        state: hash of the content as it is written, see :mod:`.state`.
    """

    headings: int
    title: int
    heading: int
    said: int
    values: int
    canonical: int
    text_bytes: int
    thin: bool
    alone: bool
    numbers: Sketch
    words: Sketch
    sentences: Sketch
    labels: Sketch
    pairs: Sketch
    rest: Sketch
    listed: Sketch
    unsaid: Sketch
    state: int

    def to_bytes(self) -> bytes:
        sketches = b"".join(getattr(self, name).to_bytes() for name in SKETCHES)
        return sketches + b"".join(
            getattr(self, name).to_bytes(size, "little")
            for name, size in _SIZES.items()
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Read what :meth:`to_bytes` returned.

        Raises:
            ValueError: the length is another.
        """
        if len(data) != FACTS_SIZE:
            raise ValueError(
                f"the facts of a page have {FACTS_SIZE} bytes, not {len(data)}"
            )
        read = BytesIO(data).read
        fields: dict[str, Any] = {
            name: Sketch.from_bytes(read(width // 8 + 1))
            for name, width in SKETCHES.items()
        }
        for name, size in _SIZES.items():
            fields[name] = int.from_bytes(read(size), "little")
        return cls(**fields)


def facts_of(
    extraction: Extraction, recipe: Recipe, normal: str | None = None
) -> bytes:
    """Return the facts of a page, as an index keeps them.

    Args:
        extraction: what the extractor took from the page. Where it names no visible
            text, the main text counts as all that the page shows.
        recipe: its seed changes every hash.
        normal: the normalised main text, where it is known.
    """
    key = key_from_seed(recipe.seed) if recipe.seed else b""
    text = normalise(extraction.text) if normal is None else normal
    names = names_of(extraction, text, key)
    hashes = _hashes(extraction, names.unsaid, int.from_bytes(key[:8], "little"))
    sketches = {sort: sketch(hashes[sort], width) for sort, width in SKETCHES.items()}
    return Facts(
        **names._asdict() | sketches | _digests(hashes),
        canonical=address_hash(extraction.canonical),
        text_bytes=len(utf8(text)),
        thin=extraction.thin,
        alone=extraction.alone,
        state=state_of(extraction.own or extraction.text, key),
    ).to_bytes()


def _hashes(
    extraction: Extraction, unsaid: set[str], seed: int
) -> dict[str, list[int]]:
    """Return the hashes of the units of a page by their sort."""
    units = units_of(extraction)._asdict() | {"unsaid": unsaid}
    # A unit of two sorts would cancel itself out in the digest of them all.
    hashes = {
        sort: hashes_of(each, seed + n) for n, (sort, each) in enumerate(units.items())
    }
    # Two samples of the least hashes tell which share differs, where two whole sketches
    # are full.
    return hashes | {"rest": sorted(hashes["rest"])[:_SAMPLE]}


def _digests(hashes: dict[str, list[int]]) -> dict[str, int]:
    """Return the digests of the sorts of units in ``_DIGESTS``."""
    return {
        name: digest(chain.from_iterable(hashes[sort] for sort in sorts), _SIZES[name])
        for name, sorts in _DIGESTS.items()
    }


def address_hash(address: str) -> int:
    """Return 24 bits of an http address; 0 for anything else, and for the front page of a site."""
    parts = split_address(address)
    if parts is None or (parts.path in ("", "/") and not parts.query):
        return 0
    with suppress(ValueError):  # such as http://[
        address = page_key(address)
    return digest(hashes_of([address], 0), _SIZES["canonical"]) or 1
