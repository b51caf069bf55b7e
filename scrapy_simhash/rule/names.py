"""Reads what a page calls itself, and whether its text speaks of that.

A title has the names of the page and of the site, in any order. The name of the page is
the part that is a heading of the page; else the part of which the text lacks least.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.normalisation import (
    composed,
    fold,
    has_words,
    normalise,
)

_LONGEST_NAME = 1000  # characters; a page may call its whole text its title
_LONGEST_TEXT = 100_000  # the characters in which words are looked for

# Between a page's own title and the name of its site. "_" and "-" part titles only in
# front of a character of Chinese or the like, or SPI_commit and SPI_rollback would have
# one title.
_SEPARATOR = re.compile(
    r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|\uff5c\u00bb]|\u2014\u2014"
    r"|(?<![A-Za-z0-9])[_-]{1,2}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"\w+")
# An outline number: "13.8.", "Chapter 4.", "A.1", "第 4 章". Another release numbers
# anew. And what a mailing list puts before a subject: "[tea-users]"; "[New-York]" is a
# place.
_OUTLINE = re.compile(
    r"\s*(?:(?:chapter|part|section|appendix)\s{1,9}[\divxlc]{1,9}|[a-z]?\d{1,4}(?:\.\d{1,4}){1,6}"
    r"|\d{1,4}(?=[.)、:]))[\s.:)、\u2014\u2013-]+"
    r"|\s*\[(?-i:[a-z]{1,20}-){1,3}(?-i:[a-z]{1,20})\]\s{1,9}"
    r"|\s*第\s{0,9}[\d一二三四五六七八九十百零]{1,9}\s{0,9}[章节節部分编編篇条回]\s*",
    re.IGNORECASE,
)
# A name keeps its signs, or "operator<" and "operator>" would be one, and marks between
# digits. Marks of punctuation, quotes and dashes differ between templates, and so do
# signs beyond ASCII, such as those of links to a section.
_NO_NAME = re.compile("(?:[^\\w!-~]|['\"`,.;:!?|_-])(?!(?<=\\d.)\\d)")


class Names(NamedTuple):
    """The names of a page; hashes are keyed with the recipe's seed, and 0 is no name.

    Attributes:
        headings: 24-bit hash of the whole title and the first three ``h1``.
        title: 24-bit hash of the page's own part of the title, without outline number
            or mailing list.
        heading: 24-bit hash of the ``h1`` that stands in the title, without them, too;
            if none does, of the last of the first three, because themes have
            the site's name in the first.
        unsaid: the words of the ``h1``, or else of the title, that the text does not
            have, their numbers, and their signs, such as those of an operator.
    """

    headings: int
    title: int
    heading: int
    unsaid: set[str]


def names_of(extraction: Extraction, text: str, key: bytes) -> Names:
    """Return the names of a page.

    Args:
        extraction: what the extractor took from the page.
        text: its normalised main text.
        key: makes other hashes of the same names.
    """
    headings = [
        heading[:_LONGEST_NAME] for heading in extraction.headings[:3] if heading
    ]
    title = extraction.title[:_LONGEST_NAME]
    name = _name_in(title, headings, extraction.site_name, text)
    names = filter(has_words, [title, *headings])
    is_heading = _plain(name) in map(_plain, headings)
    return Names(
        headings=_hash(dict.fromkeys(map(_as_written, names)), key),
        title=_hash([_unnumbered(name)], key),
        heading=_hash(
            [_unnumbered(name if is_heading else "".join(headings[-1:]))], key
        ),
        unsaid=_unsaid(" ".join(headings) or title, text),
    )


def _name_in(title: str, headings: list[str], site: str, text: str) -> str:
    """Return the part of a title that names its page; the other parts name the site."""
    parts = [part for part in _SEPARATOR.split(title) if has_words(part)]
    site = _plain(site)
    names = {_plain(heading) for heading in headings} - {site}

    def doubt(part: str) -> tuple[bool, bool, float]:
        plain = _plain(part)
        return (
            plain not in names,
            plain == site,
            len(_unsaid(part, text)) / len(part.split()),
        )

    return min(parts, key=doubt, default="")


def _unnumbered(heading: str) -> str:
    """Return the letters, digits and signs of a heading after an outline number or mailing list."""
    number = _OUTLINE.match(heading)
    name = heading[number.end() :] if number else heading
    return _plain(name) if has_words(name) else ""


def _as_written(name: str) -> str:
    """Return a name as :func:`_plain` does, with the case of a word: it may be an identifier."""
    return _plain(name) if " " in name.strip() else _NO_NAME.sub("", composed(name))


def _plain(name: str) -> str:
    """Return the letters, digits and signs of a name in lower case."""
    return _NO_NAME.sub("", fold(name[:_LONGEST_NAME]))


def _hash(texts: Iterable[str], key: bytes) -> int:
    """Return 24 bits for a sequence of texts; 0 only if all of them are empty."""
    joined = "\0".join(texts)
    if not joined.strip("\0"):
        return 0
    hashed = blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=3, key=key)
    return int.from_bytes(hashed.digest(), "little") or 1


def _unsaid(heading: str, text: str) -> set[str]:
    """Return the words of a heading that a text does not have, and its numbers and signs."""
    normal = normalise("\n".join(heading.split()), by_line=True)
    said = text[:_LONGEST_TEXT]
    missing = {word for word in normal.split("\n") if word not in said}
    return {*missing, *_DIGITS.findall(heading), _LETTERS.sub("", _plain(heading))} - {
        ""
    }
