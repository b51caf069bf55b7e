"""Relates the addresses of two pages, as far as the rule has a use for it."""

import re
from enum import Enum
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from scrapy_simhash.keys import registered_domain, split_address, without_visit

_PRINT = re.compile(r"(?<![a-z])print(?:able|version)?(?:=1)?(?![a-z])", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_AMP = re.compile(r"(?:/amp/?|\.amp)(?=(?:\.html?)?$)", re.IGNORECASE)
_INDEX = re.compile(r"/(?:index(?:\.[\w-]{1,8}){0,2}|default\.\w{1,5})$", re.IGNORECASE)
_LANGUAGE = re.compile(r"\.[a-z]{2}(?:-[a-z]{2})?(?=\.)", re.IGNORECASE)
_ENDING = re.compile(r"(?<=[^/])\.(?:html?|php|aspx?)$", re.IGNORECASE)
# The folder of a release. A number alone may be that of a record or a year.
_RELEASE = re.compile(
    r"/(?:v?\d{1,2}(?:\.\d{1,4}){1,3}(?:[.-]?[a-z]{1,5}\d{0,3})?|v\d{1,2}|latest|stable"
    r"|dev(?:el)?|main|master|nightly)(?=/)",
    re.IGNORECASE,
)


class Kinship(Enum):
    """The relation of two addresses."""

    ADDRESS = "one host, path and query, but for marks of a visit"
    VIEW = "one host; one path or name and a query, the name in a query, or folders before the path"
    RELEASE = "one host, query and path, but for a folder that names a release"
    DOMAIN = "one registered domain, and none of the others"
    VERSIONS = "two hosts of one registered domain, and one path or file name"
    SITES = "two sites"


#: Addresses of one page.
VIEWS = (Kinship.ADDRESS, Kinship.VIEW)


def kinship(key: str, other: str) -> Kinship:
    """Return how the addresses in two keys are related; what is no address is of any host."""
    (one, path, name, query), (two, other_path, other_name, other_query) = map(_place, (key, other))
    if one and (one, query) == (two, other_query) and _one_ends_the_other(path, other_path):
        return Kinship.ADDRESS if path == other_path else Kinship.VIEW
    if one == two or not (one and two):
        is_named = _names(query, other_path) or _names(other_query, path)
        is_named = is_named or _is_print_view(f"{path}?{query}", f"{other_path}?{other_query}")
        is_view = (query or other_query) and (name == other_name or path == other_path)
        if is_named or (is_view and not _names_another(query, other_query)):
            return Kinship.VIEW
        is_release = one and query == other_query and _released(path) == _released(other_path)
        return Kinship.RELEASE if is_release else Kinship.DOMAIN
    is_named = query == other_query and (name == other_name or path == other_path)
    if registered_domain(one) != registered_domain(two):
        return Kinship.SITES
    return Kinship.VERSIONS if is_named else Kinship.DOMAIN


def _released(path: str) -> str:
    """Return a path without the folder of a release."""
    return _RELEASE.sub("", path, 1)


def _one_ends_the_other(path: str, other: str) -> bool:
    """Return whether two paths are one, but for folders before it: a shop puts categories there."""
    short, long = sorted((path, other), key=len)
    return short == long or (short != "/" and long.endswith(short))


def _names(query: str, path: str) -> bool:
    """Return whether a query has the end of a path: a wiki has /Flour as ?title=Flour, too."""
    if not query:  # as of most addresses
        return False
    whole = unquote(path)
    values = (value for _, value in parse_qsl(query))
    return any(whole.endswith(f"/{value}") and not value.isdecimal() for value in values)


def _is_print_view(one: str, other: str) -> bool:
    """Return whether one of two addresses with the same numbers is for printing."""
    if bool(_PRINT.search(one)) == bool(_PRINT.search(other)):
        return False
    numbers, others = (_NUMBERS.findall(_PRINT.sub("", each)) for each in (one, other))
    return bool(numbers) and numbers == others


def _names_another(query: str, other: str) -> bool:
    """Return whether both have something that the other lacks, or one has a number more."""
    pairs, others = ({*filter(None, each.split("&"))} for each in (query, other))
    more, others_more = pairs - others, others - pairs
    values = (parameter.partition("=")[2] for parameter in more | others_more)
    return bool(more and others_more) or any(map(str.isdecimal, values))


@lru_cache(maxsize=4096)
def _place(key: str) -> tuple[str, str, str, str]:
    """Return host, path, file name and query of the address in a key; what is no address has none.

    Marks of a visit are gone, and from the path "index.html", "amp", the ending of a file and the
    slash. Behind the path stands what the key of anything but a GET begins with. The name is
    without the language that servers put into it ("x.en.html" is "x.html"). A folder has its whole
    path as its name.
    """
    method, _, address = key.rpartition(" ")
    if (parts := split_address(without_visit(address))) is None:
        return "", "", "", ""
    path = _INDEX.sub("/", _AMP.sub("", parts.path))
    name = _LANGUAGE.sub("", path.rpartition("/")[2]) or path
    path = _ENDING.sub("", path.rstrip("/")) or "/"
    return parts.hostname or "", f"{path} {method}".rstrip(), name, parts.query
