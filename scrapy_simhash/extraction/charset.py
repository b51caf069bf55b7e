"""Decodes the bytes of a page, also where it declares no charset or a wrong one.

Chinese pages of the 2000s often declare no charset or another one. A multibyte charset
betrays itself: read as the wrong one, text turns into rare characters and errors. So
the library chardet looks at every page that is not in UTF-8.
"""

import codecs
import re
from collections.abc import Iterable

import chardet
from chardet.enums import EncodingEra
from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding

_MAX_ERRORS = 0.02
_SAMPLE_BYTES = 8_192
# Markup is ASCII, and says nothing about the charset of the text.
_TAG = re.compile(rb"<[^<>]{1,1000}>|[\x00-\x40\x5b-\x60\x7b-\x7f]{16,}")
# Servers declare it for pages that they know nothing about; browsers read those as this
# one.
_DEFAULT = "cp1252"
_ERAS = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
_CHINESE = "gb18030"
_MULTIBYTE = (
    _CHINESE,
    "big5hkscs",
    "cp932",
    "shift_jis_2004",
    "euc_jis_2004",
    "euc_jp",
    "cp949",
)
# In Latin script, bytes beyond ASCII stand alone among ASCII letters.
_LATIN = ("cp1252", "cp1250", "cp1254", "iso8859-2", "iso8859-9")
_WORD_BEYOND_ASCII = re.compile(rb"[\xa0-\xff]{3,}")


def decode_html(body: bytes, declared: str | None = None) -> str:
    """Decode the body of a page; what is invalid becomes U+FFFD.

    A byte order mark decides, then whether the body is UTF-8, which other text hardly
    ever is by chance. Only then count what the page looks like, what is declared, and a
    guess.

    Args:
        body: the decompressed bytes; the caller bounds their number.
        declared: the charset of the Content-Type header, if it names one. Unknown names
            and those that the body contradicts are passed over.
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
    sample = _TAG.sub(b" ", body)[:_SAMPLE_BYTES]
    likely = _likely(sample)
    page = _decoder(html_body_declared_encoding(body))
    declared = () if likely in _MULTIBYTE else (header, page)[header == _DEFAULT :]
    # Cut short, or with a few damaged characters, it is UTF-8 all the same. Nearly any
    # bytes are valid UTF-16, and its ASCII has NUL bytes, which this lacks.
    names = ["utf-8"]
    names += [name for name in declared if name and not name.startswith("utf")]
    fitting = (name for name in names if _errors(sample, name) <= _MAX_ERRORS)
    return body.decode(next(fitting, likely), "replace")


def _likely(sample: bytes) -> str:
    """Return the charset that a text seems to have."""
    if _errors(sample, _CHINESE) <= _MAX_ERRORS:
        # One broken character is enough for the library to rule a charset out.
        sample = sample.decode(_CHINESE, "ignore").encode(_CHINESE)
    found = _detected(sample)
    if found not in (*_MULTIBYTE, *_LATIN):
        words = sum(map(len, _WORD_BEYOND_ASCII.findall(sample)))
        if 2 * words < sum(byte >= 0x80 for byte in sample):
            return _detected(sample, _LATIN)
    return found


def _detected(sample: bytes, charsets: Iterable[str] | None = None) -> str:
    found = chardet.detect(
        sample, encoding_era=_ERAS, compat_names=False, include_encodings=charsets
    )
    return _decoder(resolve_encoding(found["encoding"] or _DEFAULT)) or _DEFAULT


def _decoder(codec: str | None) -> str | None:
    """Return a codec that decodes any bytes; Python's "hex" and "punycode" are codecs, too."""
    try:
        b"\xff".decode(codec or "ascii", "replace")
    except (LookupError, UnicodeError):
        return None
    # Python 3.13 decodes anything by that
    return None if codec == "punycode" else codec


def _errors(sample: bytes, codec: str) -> float:
    """The share of a text's characters beyond ASCII that stand for invalid bytes."""
    text = sample.decode(codec, "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\ufffd") / beyond if beyond else 0.0
