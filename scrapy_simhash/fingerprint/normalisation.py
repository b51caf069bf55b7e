"""The form of a text that features are taken from, the same under every Python version."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Uint32s: TypeAlias = npt.NDArray[np.uint32]

# Python 3.10 knows Unicode 13.0. The letters and digits that Unicode 14 to 18 added are
# separators here, or a page that has one would get another fingerprint under a newer
# Python. The ranges also cover gaps that 13.0 leaves unassigned; the last one leaves
# room for what is to come.
_LATER = (
    "\u0558\u058b-\u058c\u0870-\u088f\u08b5\u08c8-\u08c9\u0c5c-\u0c5d\u0cdc-\u0cdd\u170d\u171f"
    "\u1b4c\u1c89-\u1c8a\u208f\u209d-\u209f\u2c2f\u2c5f\u9ffd-\u9fff\ua7c0-\ua7c1\ua7cb-\ua7f4"
    "\uab6c-\uab6d\U00010570-\U000105f3\U00010780-\U000107bf\U00010940-\U00010959"
    "\U00010d40-\U00010d85\U00010ec2-\U00010eee\U00010f70-\U00010f81\U00011071-\U00011075"
    "\U0001123f-\U00011240\U00011380-\U000113d3\U000116d0-\U000116e3\U00011740-\U00011746"
    "\U00011ab0-\U00011abf\U00011b0a-\U00011bf9\U00011db0-\U00011df1\U00011f02-\U00011f59"
    "\U0001246f\U00012475-\U0001247f\U00012550-\U00012ff0\U0001342f\U00013441-\U000143fa"
    "\U00016100-\U00016139\U00016a70-\U00016ac9\U00016d40-\U00016d79\U00016ea0-\U00016ed3"
    "\U00016ff2-\U00016ff6\U000187f8-\U000187ff\U00018cd6-\U00018cff\U00018d09-\U0001affe"
    "\U0001b11f-\U0001b132\U0001b155\U0001b168\U0001ccf0-\U0001ccf9\U0001d2c0-\U0001d2d3"
    "\U0001d6a6\U0001df00-\U0001dfff\U0001e030-\U0001e06d\U0001e290-\U0001e2ad"
    "\U0001e4d0-\U0001e7fe\U0002a6de-\U0002a6df\U0002b735-\U0002b73f\U0002b81e"
    "\U0002cea2-\U0002cead\U0002ebf0-\U0002ee5d\U0003134b-\U0010ffff"
)
# NFKC takes time quadratic in a run of combining marks (8 s for 100,000), so fold()
# cuts long ones.
_UNFOLDABLE = re.compile(rf"[{_LATER}]|[^\w\s]{{64,}}")
_LATER_LETTER = re.compile(f"[{_LATER}]")
_WORD_CHARACTERS = re.compile(rf"[^\W{_LATER}]+")
# The marks that NFC makes one letter of with the letter before them.
_COMPOSING = "\u0300-\u0345\u0653-\u0655\u0bd7\u102e\u1b35\u3099-\u309a\U000110ba"
# Letters that NFC writes as a letter and a mark, and three that it makes of a letter
# and a nukta, which nearly every text in Hindi has. All of them lose the mark.
_POINTED = (
    "\u0929\u0931\u0934\u0958-\u095f\u09dc-\u09dd\u09df\u0a33\u0a36\u0a59-\u0a5b\u0a5e\u0b5c-\u0b5d"
    "\u0f43\u0f4d\u0f52\u0f57\u0f5c\u0f69\ufb1d\ufb1f\ufb2a-\ufb36\ufb38-\ufb3c\ufb3e\ufb40-\ufb41"
    "\ufb43-\ufb44\ufb46-\ufb4e"
)
# Arabic and Persian keyboards write one yeh and one kaf in two ways; the alef maksura
# is a yeh in Egypt and in Persian. Tatweel, which stretches a word, is no letter.
_ONE_LETTER = {
    "\u064a": "\u0649\u06cc\ufeef-\ufef0\ufbfc-\ufbff",
    "\u0643": "\u06a9\ufb8e-\ufb91",
}
_TATWEEL = "\u0640"
LONGEST = 1 << 20
_BEYOND = 0x3134B  # the first code point after which Unicode 13.0 has no letters
_LINE_BREAK = ord("\n")
_SEPARATOR_CODE = 1  # less is only 0, for a mark that NFC may compose
_ASCII_SEPARATORS = bytes(c for c in range(128) if not _WORD_CHARACTERS.match(chr(c)))


def normalise(text: str, *, by_line: bool = False) -> str:
    r"""Return the characters that count: NFC, lower case, ``\w`` only, then NFKC; digits stay.

    The result has no separators, so line breaks, spaces and punctuation, which differ
    from one template to the next, play no part; ``by_line``, line breaks stay. A mark
    counts only as part of a letter. Characters behind the first ``LONGEST``, before and
    after normalisation, play no part.
    """
    text = text[:LONGEST]
    if text.isascii():
        gone = _ASCII_SEPARATORS.replace(b"\n", b"") if by_line else _ASCII_SEPARATORS
        return text.lower().encode("ascii").translate(None, gone).decode("ascii")
    lowered = _lowered(text)
    if not lowered.min():
        lowered = _lowered(composed(text))
    letters = lowered.compress(lowered > (_SEPARATOR_CODE if by_line else _LINE_BREAK))
    return _compatible(letters.tobytes().decode("utf-32-le"))


def heavier(text: str, weights: Sequence[int]) -> str:
    """Return the lines of a text that have more than half of the most weight."""
    lines = zip(text.split("\n"), weights, strict=False)
    half = max(weights) / 2
    return "\n".join([line for line, weight in lines if weight > half])


def has_words(text: str) -> bool:
    """Return whether anything of a text is left by :func:`normalise`."""
    return _WORD_CHARACTERS.search(text[:LONGEST]) is not None


def fold(text: str) -> str:
    """Return the text in lower case and NFKC with its separators, so that words can be cut from it.

    It is bounded as in :func:`normalise`.
    """
    text = text[:LONGEST]
    if text.isascii():
        return text.lower()
    folded = _compatible(_UNFOLDABLE.sub(" ", text).lower()).replace(_TATWEEL, "")
    for letter, forms in _ONE_LETTER.items():
        for form in forms[:2]:  # NFKC has replaced the rest
            folded = folded.replace(form, letter)
    return folded


def composed(text: str) -> str:
    """Return the text in NFC, where letters are one character with their marks.

    Runs of marks without end become spaces.
    """
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _UNFOLDABLE.sub(" ", text))


def _compatible(text: str) -> str:
    """Return the first ``LONGEST`` characters of a text in NFKC."""
    # NFKC makes 18 characters of U+FDFA, so it takes long texts in pieces, to stop at
    # the bound.
    piece = 1 << 15
    folded = unicodedata.normalize("NFKC", text[:piece])
    for start in range(piece, len(text), piece):
        if len(folded) >= LONGEST:
            break
        folded += unicodedata.normalize("NFKC", text[start : start + piece])
    return folded[:LONGEST]


def _lowered(text: str) -> Uint32s:
    """Return the entry of each character in :func:`_lower_case`."""
    if "\u03a3" in text:  # the one letter whose lower case depends on its neighbours
        text = _LATER_LETTER.sub(" ", text).lower()
    return _lower_case().take(code_points(text), mode="clip")


@functools.cache
def _lower_case() -> Uint32s:
    """Return the lower case of each word character, by code point, and 1 for each separator.

    A mark that NFC may compose is 0, a line break stays one.
    """
    # A look-up takes half the time of str.lower and re.sub. Only U+0130 has a lower
    # case of two characters, an i and a separator.
    characters = (
        np.arange(_BEYOND, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    )
    lowered = characters.replace("\u0130", "i").lower()
    words = code_points("".join(re.findall(r"\w+", lowered)))
    later = _in_ranges(_LATER)
    table = np.full(_BEYOND + 1, _SEPARATOR_CODE, dtype="<u4")
    table[words] = words
    table[later] = _SEPARATOR_CODE
    table[:-1] = table[code_points(lowered)]
    table[later] = _SEPARATOR_CODE  # the lower case of some is a letter of 13.0
    for letter, forms in _ONE_LETTER.items():
        table[_in_ranges(forms)] = ord(letter)
    table[ord(_TATWEEL)] = _SEPARATOR_CODE
    for point in np.flatnonzero(_in_ranges(_POINTED)).tolist():
        table[point] = ord(unicodedata.normalize("NFD", chr(point))[0])
    table[_in_ranges(_COMPOSING)] = 0
    table[_LINE_BREAK] = _LINE_BREAK
    return table


def _in_ranges(characters: str) -> npt.NDArray[np.bool_]:
    """Return for each code point up to ``_BEYOND`` whether a character class has it."""
    members = np.zeros(_BEYOND + 1, np.bool_)
    for first, last in re.findall("(.)(?:-(.))?", characters):
        members[ord(first) : ord(last or first) + 1] = True
    return members


def code_points(text: str) -> Uint32s:
    """Return the code points of any text, shape (len(text),)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
