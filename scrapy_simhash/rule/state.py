"""Makes one small hash of all that a page says, and tells by it whether the page is as it was.

The hash leaves out what changes by itself: an age, such as "3 days ago", a number that its own
words call a count of visits or answers, the id of a visit, and the year of a copyright. Any other
number is in it, because nothing but its words tells a counter from a price, and a change that is
taken for noise is lost. Dates are, too, because one that stands in the content may be that of an
event.
"""

import functools
import re
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.normalisation import code_points

#: Bytes of a state, which stand at the end of the facts.
STATE_SIZE = 3
_LONGEST = 1 << 20  # characters
#: Counts and ages stand in shorter lines; characters.
_SHORT = 100
_DIGIT = re.compile(r"\d")
_NUMBER = r"\d{1,3}(?:[., \u00a0]\d{3}){1,4}(?!\d)|\d{1,15}(?:[.,]\d{1,2}(?=\s?[km万만천]))?"
# English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish
_COUNTED = (
    "view views pageview pageviews viewed viewing visit visits visitor visitors hits read reads"
    " accessed guests click clicks download downloads downloaded likes shares followers"
    " comment comments replies votes reviews ratings"
    " aufrufe besucher gelesen klicks kommentar kommentare antworten bewertungen stimmen"
    " vue vues visite visites visiteurs lectures commentaire commentaires r\u00e9ponses avis"
    " vistas visitas visitantes comentario comentarios respuestas votos descargas"
    " visualiza\u00e7\u00f5es acessos coment\u00e1rio coment\u00e1rios respostas"
    " visualizzazioni visitatori commenti risposte voti bekeken bezoekers reacties"
    " wy\u015bwietle\u0144 ods\u0142on komentarzy g\u00f6r\u00fcnt\u00fclenme okunma yorum"
).split()
# Russian and Vietnamese
_COUNTED_STEMS = (
    r"\u043f\u0440\u043e\u0441\u043c\u043e\u0442\u0440\w{0,3}|\u043f\u043e\u0441\u0435\u0442"
    r"\u0438\u0442\u0435\u043b\w{0,3}|\u043a\u043e\u043c\u043c\u0435\u043d\u0442\u0430\u0440\w{0,3}"
    r"|l\u01b0\u1ee3t xem|b\u00ecnh lu\u1eadn"
)
# Chinese, Japanese, Korean
_COUNTED_UNSPACED = (
    "\u6d4f\u89c8|\u9605\u8bfb|\u70b9\u51fb|\u67e5\u770b|\u8bbf\u95ee|\u4eba\u6c14|\u8bc4\u8bba"
    "|\u56de\u590d|\u70b9\u8d5e|\u5728\u7ebf|\u4e0b\u8f7d\u6b21|\u95b2\u89a7|\u30b3\u30e1\u30f3\u30c8"
    "|\uc870\ud68c|\ub313\uae00|\ucd94\ucc9c"
)
_WORDS = rf"(?:\b(?:{'|'.join(_COUNTED)}|{_COUNTED_STEMS})\b|(?:{_COUNTED_UNSPACED}))"
_GAP = r"[\s:\uff1a()\uff08\uff09]{0,3}"
#: A count after its words, or before them.
_COUNT = re.compile(
    rf"(?P<before>{_WORDS}(?:\u91cf|\u6570|\u6b21\u6570|(?<=visitor)\s(?:no\.|number))?{_GAP})(?:{_NUMBER})(?![\d.,]*\d|\s?[%$\u20a0-\u20cf])"
    rf"|(?<![\d.,$\u20a0-\u20cf])(?:{_NUMBER})\s?[km\u4e07\ub9cc\ucc9c]?(?P<after>{_GAP}"
    rf"(?:\u6b21|\u6761|\u4eba|min(?:utes?)?\s(?=read\b))?{_WORDS})"
)
_COPYRIGHT = re.compile(
    r"(?:\bcopyright|\u00a9|\(c\))[\s\u00a9:]{0,3}(?:\d{4}\s?[-\u2013]\s?)?\d{4}\b"
)
_REQUEST = re.compile(r"\brequest[ -]?id\b\W{0,3}[\w-]{6,64}")
_AGE = re.compile(
    r"\b(?:\d{1,4}|an?|one)\s\w{1,12}\s(?:ago|geleden|temu|\u043d\u0430\u0437\u0430\u0434|\u00f6nce"
    r"|tr\u01b0\u1edbc|atr\u00e1s|fa)\b"
    r"|\b(?:vor|hace|h\u00e1|il y a)\s(?:\d{1,4}|eine[rmn]?|un[ae]?|uma?)\s\w{1,12}"
    r"|\b(?:just now|yesterday|gestern|hier|ayer|\u0432\u0447\u0435\u0440\u0430)\b"
    r"|\d{1,4}\s?(?:\u79d2|\u5206\u949f|\u5206|\u5c0f\u65f6|\u6642\u9593|\u5929|\u65e5|\u5468|\u9031\u9593"
    r"|\u4e2a\u6708|\u304b\u6708|\u5e74|\ucd08|\ubd84|\uc2dc\uac04|\uc77c|\uc8fc|\uac1c\uc6d4|\ub144)\s?"
    r"(?:\u4e4b?\u524d|\uc804)|\u521a\u521a|\u6628\u5929"
)
# An id of 64 bits, or a UUID. Longer ones are the checksums of files.
_RUN_OF_ID = b"\1" * 12  # so many letters and digits stand together in each
# It begins with a letter of the id, because a search for a \b takes twice the time.
_VISIT = re.compile(
    r"[0-9a-f](?<!\w[0-9a-f])[0-9a-f]{7}(?:[0-9a-f]{8}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)
# Without a digit, a line with an age has one of these.
_AGES = re.compile("ago|now|yesterday|gestern|hier|ayer|\u0447\u0435\u0440\u0430|\u521a|\u6628")
# Each line with a count or an age has one of these words or, beyond ASCII, of these parts. Words
# are looked up, because the expressions above take ten times as long.
_OF_AGES = (
    "ago geleden temu \u043d\u0430\u0437\u0430\u0434 \u00f6nce tr\u01b0\u1edbc atr\u00e1s fa vor"
    " hace h\u00e1 il just yesterday gestern hier ayer \u0432\u0447\u0435\u0440\u0430"
).split()
_TELLING = frozenset([*_COUNTED, *_OF_AGES, "copyright", "c", "request"])
_LETTERS = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS = re.compile("[a-z]+")
_TELLING_PARTS = re.compile(
    rf"{_COUNTED_STEMS}|{_COUNTED_UNSPACED}|[\u00a9\u524d\uc804]|\u521a\u521a|\u6628\u5929"
)
_SPACE, _MARK, _HEX_LETTER, _DIGIT_KIND = 1, 2, 3, 4
_SPACES = "\t\n\r \u00a0\u2000-\u200b\u202f\u3000"
_MARKS = (
    "!-#'-*,-/:;?@\\[-`{-~\u00a1\u00a7\u00ab\u00b4\u00b6-\u00b8\u00bb\u00bf\u2010-\u2027\u2032-\u205e"
    "\u3001-\u3020\u30fb\ue000-\uf8ff\ufe30-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f\uff1a\uff1b\uff1f\uff20\uff3b-\uff40"
)


def state_of(content: str, key: bytes = b"") -> bytes:
    """Return a hash of what a page says, without what changes by itself.

    Marks of punctuation play no part but beside a digit, nor do signs of icon fonts, nor does
    how much space is between words.

    Args:
        content: lines; the first 1,048,576 characters count.
        key: makes another hash of the same text.
    """
    text = "\n".join(map(lasting, content[:_LONGEST].split("\n")))
    codes = code_points(text)
    kinds = _kinds().take(codes, mode="clip")
    if _RUN_OF_ID in (kinds >= _HEX_LETTER).tobytes():
        codes = code_points(_VISIT.sub(" ", text))
        kinds = _kinds().take(codes, mode="clip")
    codes = codes.copy()
    is_digit = kinds == _DIGIT_KIND
    is_beside = np.zeros(len(codes), np.bool_)
    is_beside[1:] |= is_digit[:-1]
    is_beside[:-1] |= is_digit[1:]
    is_gap = (kinds == _SPACE) | ((kinds == _MARK) & ~is_beside)
    np.putmask(codes, is_gap, ord(" "))
    stays = ~is_gap
    stays[1:] |= ~is_gap[:-1]
    said = codes.compress(stays).tobytes().removesuffix(b" \0\0\0")
    return blake2b(said, digest_size=STATE_SIZE, key=key).digest()


def is_same(facts: bytes, others: bytes, distance: int) -> bool:
    """Return whether a page says the same at two times, for :attr:`.IndexSpec.same`.

    In doubt it has changed: a page that is delivered without a change costs work, and a change that
    is not delivered is lost. Fingerprints tell it only of a page without facts, because a word more
    in a long text may leave all of their bits as they are.

    Args:
        facts: of the page; see :func:`.facts_of`.
        others: of the page as it was.
        distance: of their fingerprints, in bits.
    """
    if facts and others:
        return facts[-STATE_SIZE:] == others[-STATE_SIZE:]
    return distance == 0


def lasting(line: str) -> str:
    """Return a line without the counts and ages in it, which a longer one may keep."""
    return line if len(line) >= _SHORT else _lasting(line)


# A site has the same short lines on each of its pages, and a page has them twice.
@functools.lru_cache(maxsize=4096)
def _lasting(line: str) -> str:
    lower = line.lower()
    has_digit = _DIGIT.search(line)
    if not has_digit and not _AGES.search(lower):
        return line
    letters = _ASCII_LETTERS if lower.isascii() else _LETTERS
    if _TELLING.isdisjoint(letters.findall(lower)) and (
        lower.isascii() or not _TELLING_PARTS.search(lower)
    ):
        return line
    without = _AGE.sub(" ", lower)
    if has_digit:
        without = _COUNT.sub(r"\g<before> \g<after>", without)
        without = _REQUEST.sub(" ", _COPYRIGHT.sub(" ", without))
    return line if without == lower else without


@functools.cache
def _kinds() -> npt.NDArray[np.uint8]:
    """Return for each code point what kind it is of; 0 for all others."""
    kinds = np.zeros(0x10001, np.uint8)
    kinds[ord("a") : ord("g")] = _HEX_LETTER
    for kind, ranges in ((_SPACE, _SPACES), (_MARK, _MARKS), (_DIGIT_KIND, "0-9\uff10-\uff19")):
        for first, last in re.findall(r"(\\?.)(?:-(.))?", ranges, re.DOTALL):
            kinds[ord(first[-1]) : ord(last or first[-1]) + 1] = kind
    return kinds
