"""An address is taken apart: host, path and parameters, each value with its kind.

In a REPL::

    read_address("http://wiki.test/index.php?title=Talk:Bread&oldid=12").parameters
    # (('oldid', ('12',)), ('title', ('Talk:Bread',)))
    shape("Talk:Bread")  # Shape(kind='word', star='Talk:*')
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

import xxhash

LONGEST_ADDRESS = 2000  # characters; nothing is learned from a longer one
LONGEST_VALUE = 96  # characters, such as those of a title in an address
MOST_SEGMENTS = 10
MOST_PARAMETERS = 24
#: Stands for the segments of a path that is too deep, such as those of a loop of links.
DEEPER = "**"
#: A star stands for any value of a kind. A literal value is escaped, and is never one of these.
STARS = {
    "name": "{name}",
    "word": "*",
    "number": "{number}",
    "date": "{date}",
    "token": "{token}",
    "url": "{url}",
}
#: Different values up to which a place keeps them, by their kind; other kinds are starred at once.
#: A program has up to 24 operations, which are keywords.
MANY_VALUES = {"name": 24, "word": 6, "number": 4}

_HOST = re.compile(r"[\w.:%\[\]-]{1,260}")
_SAFE = ":.,~@!$()'_-"
_UNSAFE = re.compile(r"[^A-Za-z0-9:.,~@!$()'_-]")
# The namespaces of a wiki that tell kinds of pages apart have capitals, or another script.
_PREFIX = re.compile(r"[A-Z%][\w%.-]{0,31}:(?=.)")
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,5}$")
_KINDS = re.compile(
    r"""(?P<date>(?:19|20)\d\d[-.](?:0?[1-9]|1[0-2])(?:[-.][0-3]?\d(?:[T_].{1,20})?)?
        |[0-3]?\d[-.](?:0?[1-9]|1[0-2])[-.](?:19|20)\d\d)
    |(?P<number>[-+]?\d[\d.,]{0,30})
    |(?P<name>(?-i:[a-z]{1,20}(?:_[a-z]{1,20})?))
    |(?P<token>(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,}
        |[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
        |(?=\D*\d\D*\d)(?=[^a-zA-Z]*[a-zA-Z])[A-Za-z0-9]{22,})""",
    re.VERBOSE | re.IGNORECASE,
)
STAR = "star"


class Shape(NamedTuple):
    """The form of one value.

    Attributes:
        kind: one of ``STARS``, or ``STAR`` for what stands for values already. A ``name`` is a word
            of lower-case letters, which may be a keyword such as ``login``.
        star: the text that stands for every value of this form: a prefix such as ``Talk:`` and a
            suffix such as ``.html`` are parts of it.
    """

    kind: str
    star: str


class Address(NamedTuple):
    """The parts of an address.

    Attributes:
        host: in lower case, with the port if the address names one.
        path: the segments, escaped; a path that ends in a slash has an empty last one.
        parameters: names and values, sorted; a value is cut at its slashes like a path.
    """

    host: str
    path: tuple[str, ...]
    parameters: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.parameters}


@lru_cache(maxsize=4096)
def read_address(url: str) -> Address | None:
    """Take an http address apart; None if nothing can be learned from it.

    Parameters are separated by ``&`` or ``;``, and may follow a segment of the path as
    ``;name=value``.
    """
    if len(url) > LONGEST_ADDRESS:
        return None
    scheme, _, rest = url.partition("#")[0].partition("://")
    if scheme.lower() not in ("http", "https"):
        return None
    rest, _, query = rest.partition("?")
    host, _, path = rest.partition("/")
    if not (host := _host(host)):
        return None
    if not query and ";" not in path:
        return Address(host, _segments(path), ())
    if "%3B" in query:
        # In a canonical URL, as keys are, the separators ";" are escaped with what is around them.
        query = query.replace("%3B", ";").replace("%3D", "=")
    if ";" in path:
        path, query = _parameters_of_path(path, query)
    pieces = query.replace(";", "&").split("&")
    if len(pieces) > MOST_PARAMETERS:
        return None
    parameters = []
    for piece in pieces:
        name, _, value = piece.partition("=")
        if name and name != "amp":
            parameters.append((plain(name), _value(value)))
    parameters.sort()
    return Address(host, _segments(path), tuple(parameters))


@lru_cache(maxsize=1024)
def _host(text: str) -> str:
    """Return the host in what stands before the path, or nothing where that is no host."""
    host = text.rpartition("@")[2].lower()
    return host if _HOST.fullmatch(host) else ""


def digest(url: str) -> int:
    """Return 64 bits of a whole address, the same for all ways of writing it.

    The parts of an :class:`Address` lack addresses in values, and the ends of deep paths. Canonical
    URLs take five times as long.
    """
    place, _, query = url.partition("#")[0].partition("?")
    host, _, path = place.partition("://")[2].partition("/")
    pieces = sorted(map(plain, query.split("&")))
    parts = (host.rpartition("@")[2].lower(), plain(path), *pieces)
    return xxhash.xxh64_intdigest("\n".join(parts).encode("utf-8", "replace"))


def read_signature(text: str) -> Address:
    """Take the text of a signature apart, which :meth:`.Places.signature` made."""
    place, _, query = text.partition("?")
    host, _, path = place.partition("/")  # the host may be missing
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    parameters = tuple((name, tuple(value.split("/"))) for name, _, value in pairs)
    return Address(host, tuple(path.split("/")), parameters)


def _parameters_of_path(path: str, query: str) -> tuple[str, str]:
    segments = [segment.split(";") for segment in path.split("/")]
    found = [piece for pieces in segments for piece in pieces[1:] if "=" in piece]
    plain_path = "/".join(pieces[0] for pieces in segments)
    return plain_path, "&".join([*found, query] if query else found)


def _segments(path: str) -> tuple[str, ...]:
    segments = path.split("/", MOST_SEGMENTS)
    if len(segments) <= MOST_SEGMENTS:
        return tuple(map(plain, segments))
    return (*map(plain, segments[:-1]), DEEPER)


def _value(value: str) -> tuple[str, ...]:
    if "/" not in value and "%2" not in value:
        return (plain(value),)
    if "://" in unquote(value):
        return (STARS["url"],)
    return _segments(value.replace("%2F", "/").replace("%2f", "/"))


@lru_cache(maxsize=16_384)
def plain(value: str) -> str:
    """Return a name or value in the one form that it has in signatures, escaped."""
    if not _UNSAFE.search(value):
        return value
    # A value is taken as bytes, because it need not be UTF-8. A lone surrogate has no bytes.
    return quote(unquote_to_bytes(value.replace("+", " ").encode("utf-8", "replace")), safe=_SAFE)


@lru_cache(maxsize=16_384)
def shape(value: str) -> Shape:
    """Return the shape of one value, as it stands in an address or in a signature."""
    prefix = found.group() if (found := _PREFIX.match(value)) else ""
    rest = value[len(prefix) :]
    suffix = found.group() if (found := _SUFFIX.search(rest)) else ""
    stem = rest.removesuffix(suffix)
    if stem in STARS.values() or value == DEEPER:
        return Shape(STAR, value)
    if len(value) > LONGEST_VALUE:
        kind = "token"
    else:
        kind = (found.lastgroup if (found := _KINDS.fullmatch(stem)) else None) or "word"
        if kind == "name" and (prefix or suffix):
            kind = "word"  # the name of a file or a page is no keyword
    return Shape(kind, f"{prefix}{STARS[kind]}{suffix}")
