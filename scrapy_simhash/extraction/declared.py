"""Reads what a page declares for programs: canonical address, JSON-LD and microdata."""

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Any

_HEAD = 200_000  # bytes; a declaration further down is not in the head of a page
_LONGEST_LINK = 2000  # bytes between "<link" and its end
_NAME = b"canonical"
_LINK = re.compile(rb"<link\s([^<>]{1,%d})>" % _LONGEST_LINK, re.IGNORECASE)
_RELATION = re.compile(rb"""\brel\s{0,9}=\s{0,9}["']?\s{0,9}canonical\b""", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
#: Elements of a sort, and values in a script, that are looked at.
MOST = 400
#: Characters of a value that are looked at.
LONGEST_VALUE = 300
_LONGEST_DATA = 100_000  # characters of a script


def canonical_address(html: bytes) -> str:
    """Return the address in the first ``<link rel="canonical">`` (RFC 6596); it may be relative.

    It is empty where there is none, or only in an element of more than 2,000 bytes. The page is in
    UTF-8.
    """
    # To look for a word takes a tenth of the time of looking at each link, and many pages lack it.
    # Most write it in lower case, so that little has to be made lower: new memory for a whole page
    # takes longer than the search.
    at = html.find(_NAME, 0, _HEAD)
    first = html[: _HEAD if at < 0 else at + len(_NAME)].lower().find(_NAME)
    if first < 0:
        return ""
    links = _LINK.finditer(html, max(0, first - _LONGEST_LINK), _HEAD)
    for link in islice(links, MOST):
        attributes = link[1]
        if not _RELATION.search(attributes) or _is_in_comment(html, link.start()):
            continue
        if href := _HREF.search(attributes):
            found = href[1] or href[2] or href[3] or b""
            return unescape(found.decode("utf-8", "replace")).strip()
    return ""


def _is_in_comment(text: bytes, at: int) -> bool:
    return text.rfind(b"<!--", 0, at) > text.rfind(b"-->", 0, at)


def site_name(metas: Iterable[dict[str, str]]) -> str:
    """Return the name of the site, as a page tells it programs."""
    for meta in metas:
        if (meta.get("property") or meta.get("name")) in ("og:site_name", "application-name"):
            return meta.get("content", "")[:LONGEST_VALUE]
    return ""


def stated(metas: Iterable[dict[str, str]], scripts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values; a name in JSON-LD is that of the nearest object around a value.

    Args:
        metas: the attributes of the elements ``meta``.
        scripts: the elements ``script``.
    """
    for meta in metas:
        if name := meta.get("itemprop", "")[:LONGEST_VALUE]:
            yield name, meta.get("content", "")[:LONGEST_VALUE]
    for script in islice(scripts, MOST):
        if script.get("type", "") == "application/ld+json" and script.text:
            yield from _values(script.text)


def _values(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > _LONGEST_DATA:
        return
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text, strict=False))]
    except (ValueError, RecursionError):
        return
    found = 0
    while waiting and found < MOST:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += islice(value.items(), MOST)
        elif isinstance(value, list):
            waiting += [(name, each) for each in value[:MOST]]
        else:
            found += 1
            # No parser decodes what stands in a script, and some sites write it anew each time.
            yield name[:LONGEST_VALUE], unescape(str(value)[:LONGEST_VALUE])
