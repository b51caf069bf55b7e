"""The address that a page declares canonical (RFC 6596)."""

import re
from html import unescape
from itertools import islice

_HEAD = 200_000  # characters; a declaration further down is not in the head of a page
_MOST_LINKS = 200
_LONGEST = 2000  # characters of an address
_LINK = re.compile(r"<link\s([^<>]{1,2500})>", re.IGNORECASE)
_RELATION = re.compile(r"""\brel\s{0,9}=\s{0,9}["']?\s{0,9}canonical\b""", re.IGNORECASE)
_HREF = re.compile(r"""\bhref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def canonical_address(html: str | bytes) -> str:
    """Return the address in the first ``<link rel="canonical">`` of a page, which may be relative.

    It is empty where there is none, or a longer one than 2,000 characters. Bytes are taken as
    UTF-8.
    """
    head = html[:_HEAD]
    text = head.decode("utf-8", "replace") if isinstance(head, bytes) else head
    for link in islice(_LINK.finditer(text), _MOST_LINKS):
        attributes = link[1]
        if not _RELATION.search(attributes) or _is_in_comment(text, link.start()):
            continue
        if href := _HREF.search(attributes):
            address = unescape(href[1] or href[2] or href[3] or "").strip()
            return address if len(address) <= _LONGEST else ""
    return ""


def _is_in_comment(text: str, at: int) -> bool:
    return text.rfind("<!--", 0, at) > text.rfind("-->", 0, at)
