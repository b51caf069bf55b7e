"""An address is taken apart: host, path and parameters, each value with its kind.

In a REPL::

    read_address("http://wiki.test/index.php?title=Talk:Bread&oldid=12").parameters
    # (('oldid', ('12',)), ('title', ('Talk:Bread',)))
    shape("Talk:Bread")  # Shape(kind='word', star='Talk:*')
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from scrapy_simhash.keys import host_of, split_address
from scrapy_simhash.printable import without_userinfo

#: The number of addresses, pages, signatures and places that a crawler remembers, the
#: newest.
REMEMBERED = 50_000
#: Replaces the last segments of a path that is too deep, as a loop of links makes it.
DEEPER = "**"
#: A star replaces any value of a kind. A literal value is escaped, and never equals a
#: star.
STARS = {
    "name": "{name}",
    "word": "*",
    "number": "{number}",
    "date": "{date}",
    "token": "{token}",
}
STAR = "star"
#: Different values up to which a place keeps them, by their kind; other kinds are
#: starred at once. A program has up to 24 operations, which are keywords. A star stars
#: its place.
MANY_VALUES = {"name": 24, "word": 6, "number": 4, STAR: 0}

_HOST = re.compile(r"[\w.:%\[\]-]{1,260}")
_SAFE = ":.,~@!$()'_-"
# The namespaces of a wiki that tell kinds of pages apart have capitals, or another
# script.
_NAMESPACE = re.compile(r"[A-Z%][\w%.-]{0,31}:(?=.)")
_SLASH = re.compile("%2F", re.IGNORECASE)
_PARAMETER_OF_PATH = re.compile("(?<=;)[^;/=]*=[^;/]*")
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,5}$")
_SHAPES = re.compile(
    r"""(?P<date>(?:19|20)\d\d[-.](?:0?[1-9]|1[0-2])(?:[-.][0-3]?\d(?:[T_].{1,20})?)?
        |[0-3]?\d[-.](?:0?[1-9]|1[0-2])[-.](?:19|20)\d\d)
    |(?P<number>[-+]?\d[\d.,]{0,30})
    |(?P<name>(?-i:[a-z]{1,20}(?:_[a-z]{1,20})?))
    |(?P<token>(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,}
        |[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
        |(?=\D*\d\D*\d)(?=[^a-zA-Z]*[a-zA-Z])[A-Za-z0-9]{22,})""",
    re.VERBOSE | re.IGNORECASE,
)


class Shape(NamedTuple):
    """The form of one value.

    Attributes:
        kind: one of ``STARS``, or ``STAR`` for a star. A ``name`` is a word
            of lower-case letters, which may be a keyword such as ``login``.
        star: replaces every value of this form, with a prefix such as ``Talk:`` and a
            suffix such as ``.html``.
    """

    kind: str
    star: str


class Address(NamedTuple):
    """The parts of an address.

    Attributes:
        host: in lower case, with the port if the address names one.
        path: the segments, escaped; a path that ends in a slash has an empty last one.
        parameters: names and values, sorted; each pair once, because a pair that is
            repeated names no other page. A value is cut at its slashes like a path.
    """

    host: str
    path: tuple[str, ...]
    parameters: tuple[tuple[str, tuple[str, ...]], ...]


@lru_cache(maxsize=4096)
def read_address(url: str) -> Address | None:
    """Take an http address apart; None if nothing can be learned from it, as from a long one.

    Parameters are separated by ``&`` or ``;``, and may follow a segment of the path as
    ``;name=value``. The addresses in an address have no passwords, as signatures are
    shared.
    """
    url = without_userinfo(url)
    parts = split_address(url) if len(url) <= 2000 else None
    if parts is None or not _HOST.fullmatch(host := host_of(url)):
        return None
    path = parts.path.removeprefix("/")
    query = parts.query
    if "%3B" in query:
        # Keys are canonical URLs, in which a separator ";" is escaped.
        query = query.replace("%3B", ";").replace("%3D", "=")
    if ";" in path:
        query = "&".join([query, *_PARAMETER_OF_PATH.findall(path)])
        path = re.sub(";[^/]*", "", path)
    parameters = _parameters(query)
    if len(parameters) > 12:
        return None
    return Address(host, _segments(path, 12), tuple(sorted(parameters)))


def read_signature(text: str) -> Address:
    """Take the text of a signature apart, which :meth:`.Places.signature` made."""
    place, _, query = text.partition("?")
    host, _, path = place.partition("/")  # the host may be missing
    parameters = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        parameters.append((name, tuple(value.split("/"))))
    return Address(host, tuple(path.split("/")), tuple(parameters))


def _parameters(query: str) -> set[tuple[str, tuple[str, ...]]]:
    """Return names and values."""
    parameters = set()
    for pair in query.replace(";", "&").split("&"):
        name, _, value = pair.partition("=")
        if name or value:
            values = _segments(_SLASH.sub("/", value), 3)
            parameters.add((plain(name), values))
    return parameters


def _segments(text: str, most: int) -> tuple[str, ...]:
    segments = text.split("/", most)
    deeper = (DEEPER,) if len(segments) > most else ()
    return (*map(plain, segments[:most]), *deeper)


@lru_cache(maxsize=16_384)
def plain(value: str) -> str:
    """Return a name or value in the one form that it has in signatures, escaped."""
    # A value is taken as bytes, because it need not be UTF-8. A lone surrogate has no
    # bytes.
    return quote(
        unquote_to_bytes(value.replace("+", " ").encode("utf-8", "replace")), safe=_SAFE
    )


@lru_cache(maxsize=16_384)
def shape(value: str) -> Shape:
    """Return the shape of one value of an address or of a signature."""
    prefix = match.group() if (match := _NAMESPACE.match(value)) else ""
    rest = value[len(prefix) :]
    suffix = match.group() if (match := _SUFFIX.search(rest)) else ""
    stem = rest.removesuffix(suffix)
    if stem in STARS.values() or value == DEEPER:
        return Shape(STAR, value)
    match = _SHAPES.fullmatch(stem)
    kind = (match and match.lastgroup) or "word"
    if len(value) > 96:  # no title in an address is longer
        kind = "token"
    elif kind == "name" and stem != value:
        kind = "word"  # the name of a file or a page is no keyword
    return Shape(kind, f"{prefix}{STARS[kind]}{suffix}")
