"""The form of a text that features are taken from, the same under every Python version."""

import functools
import re
import unicodedata

import numpy as np
import numpy.typing as npt

# Python 3.10 knows Unicode 13.0. The letters and digits that Unicode 14 to 18 added are separators
# here, or a page that has one would get another fingerprint under a newer Python. The ranges also
# cover gaps that 13.0 leaves unassigned; the last one leaves room for what is to come.
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
# NFKC takes time quadratic in a run of combining marks (8 s for 100,000), so fold() cuts long ones.
_UNFOLDABLE = re.compile(rf"[{_LATER}]|[^\w\s]{{64,}}")
_LATER_LETTER = re.compile(f"[{_LATER}]")
_WORD_CHARACTERS = re.compile(rf"[^\W{_LATER}]+")
# NFKC makes 18 characters of U+FDFA, and fingerprinting takes 40 bytes for each.
LONGEST = 1 << 20
_BEYOND = 0x3134B  # the first code point after which Unicode 13.0 has no letters
_LINE_BREAK = ord("\n")
_ASCII_SEPARATORS = bytes(c for c in range(128) if not _WORD_CHARACTERS.match(chr(c)))


def normalise(text: str, *, by_line: bool = False) -> str:
    r"""Return the characters that count: lower case, ``\w`` only, then NFKC; digits stay.

    What is left has no separators, so line breaks, spaces and punctuation, which differ from one
    template to the next, play no part; ``by_line``, line breaks stay. Of a text of more than
    ``LONGEST`` characters, before or after normalisation, the rest plays no part either.
    """
    text = text[:LONGEST]
    if text.isascii():
        gone = _ASCII_SEPARATORS.replace(b"\n", b"") if by_line else _ASCII_SEPARATORS
        return text.lower().encode("ascii").translate(None, gone).decode("ascii")
    if "\u03a3" in text:  # the one letter whose lower case depends on its neighbours
        text = _LATER_LETTER.sub(" ", text).lower()
    lowered = _lower_case().take(code_points(text), mode="clip")
    kept = lowered.compress(lowered > (0 if by_line else _LINE_BREAK))
    return unicodedata.normalize("NFKC", kept.tobytes().decode("utf-32-le"))[:LONGEST]


def has_words(text: str) -> bool:
    """Return whether anything of a text is left by :func:`normalise`."""
    return _WORD_CHARACTERS.search(text[:LONGEST]) is not None


def fold(text: str) -> str:
    """Return the text in lower case and NFKC with its separators: what words are taken from.

    It is bounded as in :func:`normalise`.
    """
    text = text[:LONGEST]
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", _UNFOLDABLE.sub(" ", text).lower())[:LONGEST]


@functools.cache
def _lower_case() -> npt.NDArray[np.uint32]:
    """Return the lower case of each word character, by code point, and 0 for each separator.

    A line break stays one.
    """
    # A look-up takes half the time of str.lower and re.sub. The only lower case of two characters,
    # that of U+0130, is an i and a separator.
    known = np.arange(_BEYOND, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    lowered = known.replace("\u0130", "i").lower()
    words = code_points("".join(re.findall(r"\w+", lowered)))
    later = np.zeros(_BEYOND + 1, np.bool_)
    for first, last in re.findall("(.)(?:-(.))?", _LATER):
        later[ord(first) : ord(last or first) + 1] = True
    table = np.zeros(_BEYOND + 1, dtype="<u4")
    table[words] = words
    table[later] = 0
    table[:-1] = table[code_points(lowered)]
    table[later] = 0  # the lower case of some is a letter of 13.0
    table[_LINE_BREAK] = _LINE_BREAK
    return table


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the code points of any text, shape (len(text),)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
