"""Reads what a page declares for programs: canonical address, JSON-LD and microdata."""

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Any

_HEAD = 200_000  # bytes; a declaration further down is not in the head of a page
_MOST_LINKS = 200
_LONGEST = 2000  # characters of an address
_LONGEST_LINK = 2500  # bytes between "<link" and its end
_NAME = b"canonical"
_LINK = re.compile(rb"<link\s([^<>]{1,%d})>" % _LONGEST_LINK, re.IGNORECASE)
_RELATION = re.compile(rb"""\brel\s{0,9}=\s{0,9}["']?\s{0,9}canonical\b""", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_LONGEST_VALUE = 300  # characters
_LONGEST_DATA = 100_000  # characters of a script
_MOST = 400  # scripts, and values of each
_DEEPEST = 6


def canonical_address(html: bytes) -> str:
    """Return the address in the first ``<link rel="canonical">`` (RFC 6596); it may be relative.

    It is empty where there is none, or a longer one than 2,000 characters. The page is in UTF-8.
    """
    # To look for a word takes a tenth of the time of looking at each link, and many pages lack it.
    # Most write it in lower case, so that little has to be made lower: new memory for a whole page
    # takes longer than the search.
    at = html.find(_NAME, 0, _HEAD)
    first = html[: _HEAD if at < 0 else at + len(_NAME)].lower().find(_NAME)
    if first < 0:
        return ""
    links = _LINK.finditer(html, max(0, first - _LONGEST_LINK), _HEAD)
    for link in islice(links, _MOST_LINKS):
        attributes = link[1]
        if not _RELATION.search(attributes) or _is_in_comment(html, link.start()):
            continue
        if href := _HREF.search(attributes):
            found = href[1] or href[2] or href[3] or b""
            address = unescape(found.decode("utf-8", "replace")).strip()
            return address if len(address) <= _LONGEST else ""
    return ""


def _is_in_comment(text: bytes, at: int) -> bool:
    return text.rfind(b"<!--", 0, at) > text.rfind(b"-->", 0, at)


def stated(metas: Iterable[dict[str, str]], scripts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values; a name in JSON-LD is that of the nearest object around a value.

    Args:
        metas: the attributes of the elements ``meta``.
        scripts: the elements ``script``.
    """
    for meta in metas:
        if name := meta.get("itemprop", "")[:_LONGEST_VALUE]:
            yield name, meta.get("content", "")[:_LONGEST_VALUE]
    for script in islice(scripts, _MOST):
        if script.get("type", "") == "application/ld+json" and script.text:
            yield from _values(script.text)


def _values(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > _LONGEST_DATA:
        return
    try:
        waiting: list[tuple[str, Any, int]] = [("", json.loads(text, strict=False), 0)]
    except (ValueError, RecursionError):
        return
    found = 0
    while waiting and found < _MOST:
        name, value, depth = waiting.pop()
        if isinstance(value, dict):
            inner = [*value.items()]
        elif isinstance(value, list):
            inner = [(name, each) for each in value]
        else:
            found += 1
            # No parser decodes what stands in a script, and some sites write it anew each time.
            yield name[:_LONGEST_VALUE], unescape(str(value)[:_LONGEST_VALUE])
            continue
        if depth < _DEEPEST:
            waiting += [(name, value, depth + 1) for name, value in inner[:_MOST]]
