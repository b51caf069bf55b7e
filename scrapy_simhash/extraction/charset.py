"""From the bytes of a page to its text, also where nobody says, or somebody says wrongly, how.

Chinese pages of the 2000s often declare no charset or another one. A multibyte charset betrays
itself: read as the wrong one, text turns into rare characters and errors.
"""

import codecs
import re
from collections import Counter
from collections.abc import Set

import numpy as np
import numpy.typing as npt
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
# The most frequent small letters, three of four in running text. Read in another charset, bytes
# are capitals or rare letters.
_CYRILLIC, _ARABIC = "оеаинтсрвлкмдпуі", "اليمنوترهبدعسفكی"
_SMALL = {
    "cp1251": _CYRILLIC,
    "koi8_u": _CYRILLIC,
    "iso8859_5": _CYRILLIC,
    "cp1253": "αοιετσνηυρπκμλςίάόέ",
    "cp1255": "יוהלאמרתשבנ",
    "cp1256": _ARABIC,
    "iso8859_6": _ARABIC,
    "cp874": "านรกอเงมยวลดตทสป",
}
_MOST_WORDS = 0.5
# The letters beyond ASCII of languages in Latin script, by charset; each has one of its languages.
_LATIN = {
    "cp1252": "àâæçèéêëîïôœùûüÿ äöüß áéíñóúüªº àáâãçéêíóôõúªº àèéìòùªº åäöæøé áæéíðóöøúýþ "
    "àçèéíïòóúü éëïèö äöõüšž",
    **dict.fromkeys(
        ("iso8859_2", "cp1250"), "áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž ąćęłńóśźż áéíóöőúüű čćđšž ăâîşţ"
    ),
    "cp1254": "âçğıîöşüû",
}
_SURE, _BETTER = 0.9, 0.1
_FEWEST = 4  # letters that tell it from the default
_IN_WORDS = np.zeros(256, np.bool_)
_IN_WORDS[[*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0x80, 0x100)]] = True
_JOINERS = "\u2018\u2019\u2013\u2014\u2026\xb7\xad"
_MAX_ERRORS = 0.02
_SAMPLE_BYTES = 16_384
_ASCII_RUN = re.compile(rb"(?<=[\x00-\x7f])[\x00-\x7f]{16,}")
# Servers declare it for pages that they know nothing about; browsers read those as this one.
_DEFAULT = "cp1252"
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
        named.remove(header)
    names = [codecs.lookup(name).name for name in named if name is not None]
    # Nearly any bytes are valid UTF-16, and its ASCII has NUL bytes, which this body has not.
    names = [name for name in names if not name.startswith(("utf-16", "utf-32"))]
    for name in names:
        if name in _FREQUENT and _score(sample, name, _FREQUENT[name]) >= _LIKELY:
            return body.decode(name, "replace")
    scores = {codec: _score(sample, codec, chars) for codec, chars in _FREQUENT.items()}
    likely, score = max(scores.items(), key=lambda item: item[1])
    if score >= _LIKELY:
        return body.decode(likely, "replace")
    for name in names:
        if _errors(sample.decode(name, "replace")) <= _MAX_ERRORS:
            return body.decode(name, "replace")
    return body.decode(_guess(body, sample), "replace")


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


def _score(sample: bytes, codec: str, frequent: Set[str]) -> float:
    """The share of frequent characters among the letters beyond ASCII, less that of errors."""
    text = sample.decode(codec, "replace")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    points, numbers = np.unique(points[points > 0x7F], return_counts=True)
    counts = Counter(dict(zip(map(chr, points.tolist()), numbers.tolist(), strict=True)))
    return _frequent_share(counts, frequent)


def _frequent_share(counts: Counter[str], frequent: Set[str]) -> float:
    errors = counts["\ufffd"]
    letters = sum(number for c, number in counts.items() if c.isalpha())
    return (sum(counts[c] for c in frequent) - 2 * errors) / (letters + errors) if letters else 0.0


def _guess(body: bytes, sample: bytes) -> str:
    """Return the charset of one byte a character that gives words of a language, or the default."""
    # In Latin script, bytes beyond ASCII stand alone among ASCII letters.
    words = sum(map(len, _WORD_BEYOND_ASCII.findall(sample)))
    scores: dict[str, float] = {}
    if words < sum(byte >= 0x80 for byte in sample) / 2:
        scores = _latin_scores(body)
        least = max(_SURE, scores[_DEFAULT] + _BETTER)
    else:
        data, least = np.frombuffer(sample, np.uint8), _MOST_WORDS
        beyond = _numbers(data[data >= 0x80])
        for codec, letters in _SMALL.items():
            counts = _characters(beyond, codec)
            # A few characters that were encoded twice are no text.
            if 2 * len(counts.keys() & {*letters}) >= len(letters):
                scores[codec] = _frequent_share(counts, {*letters})
    likely = max(scores, key=scores.__getitem__, default=_DEFAULT)
    return likely if scores.get(likely, 0) >= least else _DEFAULT


def _latin_scores(body: bytes) -> dict[str, float]:
    """For each charset the share of one language's letters in the letters and signs of words."""
    data = np.frombuffer(body, np.uint8)
    in_words, data = _IN_WORDS.take(data), data[1:-1]
    beyond, before, after = data >= 0x80, in_words[:-2], in_words[2:]
    at_letters = _numbers(data[beyond & (before | after)])
    inside = _numbers(data[beyond & before & after])
    usual = _characters(at_letters, _DEFAULT)
    scores = {}
    for codec, languages in _LATIN.items():
        counts = _characters(at_letters, codec)
        alphabets = [{*each, *each.upper()} for each in languages.split()]
        found = [sum(counts[c] for c in each) for each in alphabets]
        others = counts - usual
        telling = sum(others[c] for c in alphabets[found.index(max(found))])
        if codec == _DEFAULT or telling >= _FEWEST:
            signs = _characters(inside, codec).items()
            total = sum(number for c, number in signs if not (c.isalpha() or c in _JOINERS))
            total += sum(n for c, n in counts.items() if c.isalpha() or c == "\ufffd" or c < "\xa0")
            scores[codec] = max(found) / total if total else 1.0
    return scores


def _numbers(data: npt.NDArray[np.uint8]) -> dict[int, int]:
    """Return how often each byte occurs that does."""
    return {byte: number for byte, number in enumerate(np.bincount(data).tolist()) if number}


def _characters(numbers: dict[int, int], codec: str) -> Counter[str]:
    """Return how often a text has each character, by how often it has each byte."""
    counts: Counter[str] = Counter()
    for byte, number in numbers.items():
        counts[bytes((byte,)).decode(codec, "replace")] += number
    return counts
