"""From the bytes of a page to its text, also where nobody says, or somebody says wrongly, how.

Chinese pages of the 2000s often declare no charset or another one. A multibyte charset betrays
itself: read as the wrong one, text turns into rare characters and errors.
"""

import codecs
import re

import numpy as np
from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding

_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道"
    "行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意"
    "无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道"
    "行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意"
    "無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什"
)
_KANA = frozenset(map(chr, [*range(0x3041, 0x3097), *range(0x30A1, 0x30FB)]))
_HANGUL = frozenset(
    "이다는의에가을를은고하지한기로사도자서어리인대시수나있그일해장아들만정보과원것라전스부상제여주공으구동위성"
    "연게면마조안교비적할용국생문트세드니무모우진경화오때관소신발까와요되않습없년같계실산내당말못"
)
# Frequent characters of running text. They tell codecs apart, because valid bytes overlap.
_FREQUENT = {
    "gb18030": _SIMPLIFIED | _TRADITIONAL,
    "big5hkscs": _TRADITIONAL,
    "cp932": _KANA,
    "euc_jp": _KANA,
    "cp949": _HANGUL,
}
# A third or more of the letters of running text are in these sets, and of misread text a tenth.
_LIKELY = 0.2
_MAX_ERRORS = 0.02
_SAMPLE_BYTES = 16_384
_ASCII_RUN = re.compile(rb"(?<=[\x00-\x7f])[\x00-\x7f]{16,}")
# Servers declare it for pages that they know nothing about; browsers read those as this one.
_DEFAULT = "cp1252"
# Scripts without Latin letters. Which of the Latin charsets it is, no guess tells well.
_SINGLE_BYTE = ["cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874"]
_WORD_BEYOND_ASCII = re.compile(rb"[\xa0-\xff]{3,}")


def decode_html(body: bytes, declared: str | None = None) -> str:
    """Decode the body of a page; what is invalid becomes U+FFFD.

    A byte order mark decides, then whether the body is UTF-8, which other text hardly ever is by
    chance. Only then count what the page looks like, what is declared, and a guess.

    Args:
        body: the decompressed bytes; the caller bounds their number.
        declared: the charset of the Content-Type header, if it names one. Unknown names and
            those that the body contradicts are passed over.
    """
    marked, mark = read_bom(body)
    if marked is not None and mark is not None:
        return body[len(mark) :].decode(marked, "replace")
    header = _decoder(resolve_encoding(declared)) if declared else None
    if header is not None and header.startswith(("utf-16", "utf-32")) and b"\0" in body:
        return body.decode(header, "replace")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_legacy(body, header)
    # ISO-2022-JP is the only charset of the web that hides other text in ASCII bytes.
    if b"\x1b" in body and "\x1b$" in text and text.isascii():
        return body.decode("iso2022_jp_ext", "replace")
    return text


def utf8_html(body: bytes, declared: str | None = None) -> bytes:
    """Return the body of a page in UTF-8, decoded as by :func:`decode_html` if it is in another."""
    if not (body.startswith(codecs.BOM_UTF8) or b"\0" in body or b"\x1b" in body):
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return body
    return decode_html(body, declared).encode("utf-8", "replace")


def _decode_legacy(body: bytes, header: str | None) -> str:
    sample = _ASCII_RUN.sub(b"", body)[:_SAMPLE_BYTES]
    # Cut short, or with a few damaged characters, it is UTF-8 all the same.
    if _errors(sample.decode("utf-8", "replace")) <= _MAX_ERRORS:
        return body.decode("utf-8", "replace")
    named = [header, _decoder(html_body_declared_encoding(body))]
    if header == _DEFAULT:
        named.reverse()
    names = [codecs.lookup(name).name for name in named if name is not None]
    # Nearly any bytes are valid UTF-16, and its ASCII has NUL bytes, which this body has not.
    names = [name for name in names if not name.startswith(("utf-16", "utf-32"))]
    for name in names:
        if name in _FREQUENT and _score(sample, name) >= _LIKELY:
            return body.decode(name, "replace")
    scores = {codec: _score(sample, codec) for codec in _FREQUENT}
    likely, score = max(scores.items(), key=lambda item: item[1])
    if score >= _LIKELY:
        return body.decode(likely, "replace")
    for name in names:
        if _errors(sample.decode(name, "replace")) <= _MAX_ERRORS:
            return body.decode(name, "replace")
    return body.decode(_guess(sample), "replace")


def _decoder(codec: str | None) -> str | None:
    """Return a codec that decodes any bytes; Python's "hex" and "punycode" are codecs, too."""
    try:
        b"\xff".decode(codec or "ascii", "replace")
    except (LookupError, UnicodeError):
        return None
    return None if codec == "punycode" else codec  # Python 3.13 decodes anything by that


def _errors(text: str) -> float:
    """The share of a text's characters beyond ASCII that stand for invalid bytes."""
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\ufffd") / beyond if beyond else 0.0


def _score(sample: bytes, codec: str) -> float:
    """The share of frequent characters among the letters beyond ASCII, less that of errors."""
    text = sample.decode(codec, "replace")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    points, numbers = np.unique(points[points > 0x7F], return_counts=True)
    counts = dict(zip(map(chr, points.tolist()), numbers.tolist(), strict=True))
    errors = counts.get("\ufffd", 0)
    letters = {c: number for c, number in counts.items() if c.isalpha()}
    frequent = sum(letters[c] for c in _FREQUENT[codec].intersection(letters))
    return (frequent - 2 * errors) / (sum(letters.values()) + errors) if letters else 0.0


def _guess(sample: bytes) -> str:
    # In Latin script, bytes beyond ASCII stand alone among ASCII letters.
    words = sum(map(len, _WORD_BEYOND_ASCII.findall(sample)))
    if words < sum(byte >= 0x80 for byte in sample) / 2:
        return _DEFAULT
    # Deferred: few pages come here, and the import takes longer than most pages.
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_SINGLE_BYTE).best()
    return _DEFAULT if best is None else best.encoding
