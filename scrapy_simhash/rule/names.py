"""Reads what a page calls itself, and whether its text speaks of that."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.normalisation import composed, fold, has_words, normalise
from scrapy_simhash.fingerprint.segmentation import MARKS

#: From so many bytes on, a text says by itself what its page is.
LONG_TEXT = 1500

_LONGEST_HEADING = 1000  # characters; a page may call its whole text its title

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
# A name keeps its signs, or "operator<" and "operator>" would be one, and marks between digits.
# Marks of punctuation, quotes and dashes differ between templates, and so do signs beyond ASCII,
# such as those of links to a section.
_NO_NAME = re.compile("(?:[^\\w!-~]|['\"`,.;:!?|_-])(?!(?<=\\d.)\\d)")
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


class Names(NamedTuple):
    """The names of a page, as hashes that are keyed with the recipe's seed; 0 is no name.

    Attributes:
        headings: 24-bit hash of the whole title and the first three ``h1``.
            The last ``h2`` above the text is among them if the text speaks of it, or does not speak
            of them, or has less than 1,500 bytes and the title is the ``h1``, which may be the
            site's name; if there are none of either, the short lines above the text are.
        title: 24-bit hash of the title's own part, without outline number and site's name.
        heading: 24-bit hash of the last of the first three ``h1``, without outline number: the
            first one is the name of the site in many themes.
        site: 8-bit hash of the rest of the title, without digits: the name of the site.
        backed: the main text has at least half of the words of the title's own part or of the
            heading, so it is what the page is about.
    """

    headings: int
    title: int
    heading: int
    site: int
    backed: bool


def names_of(extraction: Extraction, text: str, size: int, key: bytes) -> Names:
    """Return the names of a page.

    Args:
        extraction: what the extractor took from the page.
        text: its normalised main text.
        size: the length of that, in UTF-8 bytes.
        key: makes other hashes of the same names.
    """
    title = extraction.title[:_LONGEST_HEADING]
    headings = [h for text in extraction.headings[:3] if (h := text[:_LONGEST_HEADING])]
    own_part, site = _parts(title)
    heading = headings[-1] if headings else ""
    backed = _speaks_of(own_part, text) or _speaks_of(heading, text)
    names = [title, *headings, *[normalise(_NUMBER.sub("", label)) for label in extraction.labels]]
    unnumbered = _without_number(heading)
    may_be_site = size < LONG_TEXT and unnumbered == _without_number(title)
    subheading = extraction.subheading[:_LONGEST_HEADING]
    if may_be_site or not backed or _speaks_of(subheading, text):
        names.append(subheading)
    return Names(
        _hash([_as_written(name) for name in names if has_words(name)], key),
        _hash([_without_number(own_part)], key),
        _hash([unnumbered], key),
        _hash([_DIGITS.sub("", site)], key) % 255 + 1 if site else 0,
        backed,
    )


def _parts(title: str) -> tuple[str, str]:
    """Return the first part of a title, and the rest: the page's own name and the site's."""
    own, *others = [part for part in _SEPARATOR.split(title) if has_words(part)] or [""]
    return own, normalise(" ".join(others or _IN_BRACKETS.findall(own)))


def _without_number(heading: str) -> str:
    """Return the letters, digits and signs of a heading without the outline number before it."""
    number = _OUTLINE.match(heading)
    name = heading[number.end() :] if number else heading
    return _plain(name) if has_words(name) else ""


def _as_written(name: str) -> str:
    """Return a name as :func:`_plain` does, but for the case of a word: it may be an identifier."""
    return _plain(name) if " " in name.strip() else _NO_NAME.sub("", composed(name))


def _plain(name: str) -> str:
    """Return the letters, digits and signs of a name in lower case."""
    return _NO_NAME.sub("", fold(name))


def _hash(texts: Iterable[str], key: bytes) -> int:
    """Return 24 bits for a sequence of texts; 0 only if all of them are empty."""
    joined = "\0".join(texts)
    if not joined.strip("\0"):
        return 0
    digest = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=3, key=key)
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
        elif len(run) >= 4:  # shorter words stand in any text
            words[letters] = None
    sample = list(words)[:24]
    searched = text[:100_000]
    return bool(sample) and 2 * sum(word in searched for word in sample) >= len(sample)
