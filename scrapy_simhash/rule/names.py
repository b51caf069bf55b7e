"""Reads what a page calls itself, and whether its text speaks of that.

A title has the name of the page and that of the site, in any order. The name of the page is the
part that is a heading of the page; else the part of whose words the text has the largest share.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b
from itertools import combinations
from typing import NamedTuple

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.normalisation import composed, fold, has_words, normalise
from scrapy_simhash.fingerprint.segmentation import MARKS
from scrapy_simhash.rule.state import lasting

#: A text of this length says what its page is; bytes.
LONG_TEXT = 1500
HALF = 1 / 2

_LONGEST_NAME = 1000  # characters; a page may call its whole text its title
_MOST_PARTS = 8  # parts of a title, and lines above a text

# Between a page's own title and the name of its site. "_" and "-" part titles only in front of a
# character of Chinese or the like, or SPI_commit and SPI_rollback would have one title.
_SEPARATOR = re.compile(
    r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|\uff5c\u00bb]|\u2014\u2014"
    r"|(?<![A-Za-z0-9])[_-]{1,2}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
)
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"\w+")
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
    """The names of a page; hashes are keyed with the recipe's seed, and 0 is no name.

    Attributes:
        headings: 24-bit hash of the whole title and the first three ``h1``.
            The last ``h2`` above the text is among them if the text speaks of it, or does not speak
            of them, or has less than 1,500 bytes and the title is the ``h1``, which may be the
            site's name; if there are none of either, the short lines above the text are.
        title: 24-bit hash of the page's own part of the title, without outline number.
        heading: 24-bit hash of the ``h1`` that stands in the title, without outline number; if none
            does, of the last of the first three, because themes have the site's name in the first.
        unsaid: the words of the ``h1``, or else of the title, that the text does not have, their
            numbers, and their signs, such as those of an operator.
    """

    headings: int
    title: int
    heading: int
    unsaid: set[str]


def names_of(extraction: Extraction, text: str, size: int, key: bytes) -> Names:
    """Return the names of a page.

    Args:
        extraction: what the extractor took from the page.
        text: its normalised main text.
        size: the length of that, in UTF-8 bytes.
        key: makes other hashes of the same names.
    """
    headings = [heading[:_LONGEST_NAME] for heading in extraction.headings[:3] if heading]
    title = extraction.title[:_LONGEST_NAME]
    name = _name_in(title, headings, extraction.site_name, text)
    alike = [each for each in headings if _unnumbered(each) == _unnumbered(name)]
    heading = next(iter(alike or headings[-1:]), "")
    is_backed = max(_share_said(heading, text), _share_said(name, text)) >= HALF
    names = [title, *headings, *map(lasting, extraction.labels[:_MOST_PARTS])]
    may_be_site = size < LONG_TEXT and _unnumbered(heading) == _unnumbered(title)
    subheading = extraction.subheading[:_LONGEST_NAME]
    if may_be_site or not is_backed or _share_said(subheading, text) >= HALF:
        names.append(subheading)
    return Names(
        headings=_hash(map(_as_written, filter(has_words, names)), key),
        title=_hash([_unnumbered(name)], key),
        heading=_hash([_unnumbered(heading)], key),
        unsaid=_unsaid(" ".join(headings) or title, text),
    )


def _name_in(title: str, headings: list[str], site: str, text: str) -> str:
    """Return the part of a title that names its page; the other parts name the site."""
    parts = [part for part in _SEPARATOR.split(title) if has_words(part)][:_MOST_PARTS]
    plain = [_plain(part) for part in parts]
    known = {_plain(heading) for heading in headings} - {_plain(site), ""}
    # A name may have a mark that parts titles, so several parts together may be a heading.
    runs = combinations(range(len(parts) + 1), 2)
    for start, end in sorted(runs, key=lambda run: run[0] - run[1]):
        if "".join(plain[start:end]) in known:
            return " ".join(parts[start:end])
    by_text = [(_plain(part) != _plain(site), _share_said(part, text)) for part in parts]
    return parts[by_text.index(max(by_text))] if parts else ""


def _unnumbered(heading: str) -> str:
    """Return the letters, digits and signs of a heading without the outline number before it."""
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


def _words(heading: str, text: str, shortest: int = 4) -> tuple[list[str], list[str]]:
    """Return words of a heading, and those of them that a normalised text does not have."""
    words: dict[str, None] = {}
    for run in _WORD.findall(fold(heading)):
        letters = run.lower() if run.isascii() else normalise(run)
        if _UNSPACED.search(letters):
            words.update(dict.fromkeys(letters[at : at + 2] for at in range(len(letters) - 1)))
        elif stem := _KOREAN.match(letters):
            words[stem.group()] = None
        elif len(run) >= shortest:  # words of three letters stand in any text
            words[letters] = None
    sample = list(words)[:24]
    searched = text[:100_000]
    return sample, [word for word in sample if word not in searched]


def _unsaid(heading: str, text: str) -> set[str]:
    """Return the words of a heading that a text does not have, and its numbers and signs."""
    _, words = _words(heading, text, shortest=1)
    return {*words, *_DIGITS.findall(heading), _LETTERS.sub("", _plain(heading))} - {""}


def _share_said(heading: str, text: str) -> float:
    """Return the share of the words of a heading that a normalised text has, from 0 to 1."""
    words, unsaid = _words(heading, text)
    return 1 - len(unsaid) / len(words) if words else 0.0
