"""Relates two pages by their addresses, as far as the rule has a use for it."""

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from scrapy_simhash.keys import registered_domain, split_address, without_visit

_PRINT = re.compile(r"(?<![a-z])print(?:able|version)?(?:=1)?(?![a-z])", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_INDEX = re.compile(r"/(?:index(?:\.[\w-]{1,8}){0,2}|default\.\w{1,5})$", re.IGNORECASE)
# A folder or an ending before another, with a country or without: "/zh-cn/x", ".de.html".
_LANGUAGE = re.compile(r"([/.])([a-z]{2}(?:[-_][a-z]{2})?)(?=\1)", re.IGNORECASE)
_ENDING = re.compile(r"(?<=[^/])\.(?:html?|php|aspx?)$", re.IGNORECASE)
# A parameter in a path: "/list;sort=name", "/list/sort,name".
_PARAMETER = re.compile(
    r"(?:;|/(?=[a-z]{1,20},))([a-z]{1,20})[=,]([^/;=]{1,99})", re.IGNORECASE
)
# The folder of a release, or such a part of a host. A number alone may be that of a
# record.
_RELEASE = re.compile(
    r"(?<![^/.])(?:v?\d{1,2}(?:[.-]\d{1,4}){1,3}(?:[.-]?[a-z]{1,5}\d{0,3})?|v\d{1,2}|latest|stable"
    r"|dev(?:el)?|main|master|nightly)[/.]",
    re.IGNORECASE,
)


class Kinship(Enum):
    """The relation of two pages."""

    ADDRESS = "one host, path and query, except for marks of a visit"
    DECLARED = "one site, and a page declares the address of the other canonical"
    VIEW = "one host; a query, a print view, the name in a query, folders; one canonical address"
    DOMAIN = "one registered domain, and none of the others"
    BRANCH = "one site, query and path or file name, except for the host or the name of a release"
    TRANSLATION = "one site, query and path, except for languages such as zh-cn"
    SITES = "two sites"
    TEXT = "a text that is no page"


#: Pages that are one page by their addresses.
VIEWS = (Kinship.ADDRESS, Kinship.DECLARED, Kinship.VIEW)
#: One page in two releases, on two hosts or in two languages.
EDITIONS = (Kinship.BRANCH, Kinship.TRANSLATION)


class Place(NamedTuple):
    """The parts of an address.

    Attributes:
        host: empty in what is no address, as all the others are.
        path: without "index.html", the ending of a file, the slash and the marks of a
            visit; behind it stands what the key of anything but a GET begins with.
        name: of the file, without the language that servers put into it ("x.en.html" is
            "x.html"); a folder has its whole path as its name.
        query: with the parameters that stand in the path.
    """

    host: str
    path: str
    name: str
    query: str


def kinship(key: str, other: str) -> Kinship:
    """Return how the addresses in two keys are related; what is no address is of any host."""
    a = _place(key)
    b = _place(other)
    if not (a.host and b.host):
        return Kinship.DOMAIN
    if a.host == b.host:
        if a.query == b.query and a.path == b.path:
            return Kinship.ADDRESS
        if _is_view(a, b):
            return Kinship.VIEW
    elif registered_domain(a.host) != registered_domain(b.host):
        return Kinship.SITES
    if a.query != b.query:
        return Kinship.DOMAIN
    is_one_file = a.host != b.host and (a.name == b.name or a.path == b.path)
    if is_one_file or _released(a) == _released(b):
        return Kinship.BRANCH
    return Kinship.TRANSLATION if _is_translation(a, b) else Kinship.DOMAIN


def _is_translation(a: Place, b: Place) -> bool:
    """Return whether two paths differ in one language alone, which a country stands beside.

    Two letters may be a state, and one language in two countries has two prices. The
    last folder of a path is a name, such as "wi-fi".
    """
    # The ending was cut off, and a language may stand before it.
    paths = f"{a.path}.", f"{b.path}."
    if len({_LANGUAGE.sub("", path) for path in paths}) > 1:
        return False
    named, foreign = ({name for _, name in _LANGUAGE.findall(path)} for path in paths)
    only_a, only_b = named - foreign, foreign - named
    if max(len(only_a), len(only_b)) != 1:
        return False
    has_country = any(len(name) > len("en") for name in only_a | only_b)
    return has_country and _codes(only_a).isdisjoint(_codes(only_b))


def _codes(languages: Iterable[str]) -> set[str]:
    """Return the codes of languages and countries in names such as "zh-cn"."""
    return {code for name in languages for code in re.split("[-_]", name)}


def _is_view(a: Place, b: Place) -> bool:
    """Return whether two addresses of a host are of two views of one page."""
    if a.path == b.path and not _names_another(a.query, b.query):
        return True
    if a.query == b.query and (a.path.endswith(b.path) or b.path.endswith(a.path)):
        return True  # a shop puts categories before a path
    if _names(a.query, b.path) or _names(b.query, a.path):
        return True
    return _is_print_view(f"{a.path}?{a.query}", f"{b.path}?{b.query}")


def _released(place: Place) -> str:
    """Return host and path without the release."""
    host = _RELEASE.sub("", place.host, 1)
    return f"{host} {_RELEASE.sub('', place.path, 1)}"


def _names(query: str, path: str) -> bool:
    """Return whether a query has the end of a path: a wiki has /Flour as ?title=Flour, too."""
    whole = unquote(path)
    return any(
        whole.endswith(f"/{value}") and not value.isdecimal()
        for _, value in parse_qsl(query)
    )


def _is_print_view(one: str, other: str) -> bool:
    """Return whether one of two addresses with the same numbers is for printing."""
    if bool(_PRINT.search(one)) == bool(_PRINT.search(other)):
        return False
    numbers, others = (_NUMBERS.findall(_PRINT.sub("", each)) for each in (one, other))
    return bool(numbers) and numbers == others


def _names_another(query: str, other: str) -> bool:
    """Return whether both have something that the other lacks, or one has a number more."""
    a = {*parse_qsl(query, keep_blank_values=True)}
    b = {*parse_qsl(other, keep_blank_values=True)}
    is_part = a <= b or b <= a
    return not is_part or any(value.isdecimal() for _, value in a ^ b)


@lru_cache(maxsize=4096)
def _place(key: str) -> Place:
    method, _, address = key.rpartition(" ")
    if (parts := split_address(without_visit(address))) is None:
        return Place("", "", "", "")
    path = _INDEX.sub("/", parts.path)
    name = _LANGUAGE.sub("", path.rpartition("/")[2]) or path
    path = _ENDING.sub("", path.rstrip("/")) or "/"
    within = [f"{name}={value}" for name, value in _PARAMETER.findall(path)]
    path = f"{_PARAMETER.sub('', path) or '/'} {method}".rstrip()
    query = "&".join(filter(None, [parts.query, *within]))
    return Place(parts.hostname or "", path, name, query)
