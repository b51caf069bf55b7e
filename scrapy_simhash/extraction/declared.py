"""Reads what a page declares for programs: canonical address, JSON-LD and microdata."""

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain, islice
from typing import Any

#: Elements of a sort, and values in a script, that are looked at.
MOST = 400
#: Characters of a value that are looked at.
LONGEST_VALUE = 300
_LONGEST_DATA = 500_000  # characters of a script
_LONGEST_ADDRESS = 2000  # characters; few servers take a longer one
#: A session or a token: another one in each visit.
TOKEN = re.compile(r"[0-9A-Fa-f]{16,}|[0-9A-Za-z_-]{32,}")
# Settings of a program, and what is another value on each visit: a switch, an address,
# a moment.
_NO_VALUE = re.compile(
    r"(?:None|True|False|\w+:|/|.*://|\d{4}-\d\d-\d\dT|1[4-9]\d{8}(?:\d{3})?$)|\s*$"
)
#: Types of JSON-LD that tell where a page stands on its site, not what it says.
_PLACES = (
    "BreadcrumbList",
    "CollectionPage",
    "ListItem",
    "SearchAction",
    "WebPage",
    "WebSite",
)
_OF_PROGRAM = re.compile(r"token|csrf|nonce|build|version|session|stamp", re.IGNORECASE)
# A script that begins with data: window.__INITIAL_STATE__ = {...,
# self.__next_f.push([..., or, as Nuxt has it, window.__NUXT__=(function(a,b){return
# {...
_STATE = re.compile(
    r"\s*(?:(?:var|let|const)\s{1,9})?[\w.$]{1,99}(?:\[['\"]\w{1,99}['\"]\])?\s{0,9}(?:\.push\(|"
    r"=\s{0,9}(?:JSON\.parse\(['\"]|\(function\([\w$, ]{0,9999}\)\s{0,9}\{return)?\s{0,9})(?=[{\[])"
)


def canonical_address(links: Iterable[Any]) -> str:
    """Return the address in the first ``<link rel="canonical">`` (RFC 6596), or nothing.

    It may be relative.

    Args:
        links: the elements ``link``.
    """
    for link in islice(links, MOST):
        address: str = link.get("href", "").strip()
        is_canonical = "canonical" in link.get("rel", "").lower().split()
        if is_canonical and 0 < len(address) < _LONGEST_ADDRESS:
            return address
    return ""


def site_name(metas: Iterable[dict[str, str]]) -> str:
    """Return the name of the site, as a page tells it programs."""
    for meta in metas:
        if (meta.get("property") or meta.get("name")) in (
            "og:site_name",
            "application-name",
        ):
            return meta.get("content", "")[:LONGEST_VALUE]
    return ""


def stated(
    metas: Iterable[dict[str, str]], scripts: Iterable[Any]
) -> Iterator[tuple[str, str]]:
    """Yield names and values; in JSON-LD, the nearest object around a value has its name.

    Args:
        metas: the attributes of the elements ``meta``.
        scripts: the elements ``script``.
    """
    for meta in metas:
        if name := meta.get("itemprop", "")[:LONGEST_VALUE]:
            yield name, meta.get("content", "")[:LONGEST_VALUE]
    for script in islice(scripts, MOST):
        if script.get("type", "") == "application/ld+json" and script.text:
            yield from _json_values(script.text)


def held(scripts: Iterable[Any], elements: Iterable[Any]) -> list[str]:
    """Return what a page holds for its script in other scripts and attributes, a value a line.

    Tokens, moments, addresses and the settings of programs are left out.
    """
    data, values = list[str](), list[tuple[str, str]]()
    for script in islice(scripts, MOST):
        text = script.text or ""
        kind = script.get("type", "")
        if kind.endswith("json") and kind != "application/ld+json":
            data.append(text)
        elif state := _STATE.match(text):
            data.append(text[state.end() :])
    for name, value in chain.from_iterable(el.items() for el in elements):
        if value.startswith(("{", "[")):
            data.append(value)
        elif name.startswith("data-"):
            values.append((name, value[:LONGEST_VALUE]))
    for text in data[:MOST]:
        # Text that is no JSON is one value.
        values += [*_json_values(text)] or [
            ("", " ".join(text[:_LONGEST_DATA].split()))
        ]
    return [
        f"{name} {value}" for name, value in values[:MOST] if _is_value(name, value)
    ]


def _is_value(name: str, value: str) -> bool:
    is_token = len(value) < LONGEST_VALUE and TOKEN.search(value)
    return not (is_token or _NO_VALUE.match(value) or _OF_PROGRAM.search(name))


def _json_values(text: str) -> list[tuple[str, str]]:
    """Return the last names and values in JSON: strings, numbers and switches, also in lists.

    The values of an object come after those of the objects in it.
    """
    found = list[tuple[str, str]]()

    def read(items: list[tuple[str, Any]]) -> None:
        if dict(items).get("@type") in _PLACES:
            return
        for name, value in items:
            if isinstance(value, list):
                read([(name, each) for each in value[:MOST]])
            elif isinstance(value, (str, int, float)):
                # No parser decodes the text of a script, and some sites write it anew
                # each time.
                shown = unescape(str(value)[:LONGEST_VALUE])
                found.append((name[:LONGEST_VALUE], shown))

    decoder = json.JSONDecoder(object_pairs_hook=read, strict=False)
    try:
        read([("", decoder.raw_decode(text[:_LONGEST_DATA].lstrip())[0])])
    except (ValueError, RecursionError):
        return []
    return found[-MOST:]
