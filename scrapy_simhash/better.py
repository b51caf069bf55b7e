"""Tells the better of two addresses of one page, and why it is better.

Nutch has score, time, https and length in its ``DeduplicationJob.compareOrder``. Here,
what the pages and the addresses say of themselves comes first. In a REPL::

    better("https://shop.test/7", "https://shop.test/7?ref=mail")  # 'parameters'
    better("https://shop.test/7?ref=mail", "https://shop.test/7")  # ''
"""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urljoin

from cachetools import LRUCache

from scrapy_simhash.keys import page_key, registered_domain, split_address

_MARKER = re.compile(
    r"(?:^|[/?&;=._-])(?:print(?:able|er|view|version)?|amp|mobile|\w{0,20}sess(?:ion)?_?id)"
    r"(?=$|[/?&;=._-])|/index\.\w{1,5}(?=$|[?;])",
    re.IGNORECASE,
)
_MOBILE_HOST = re.compile(r"(?:m|amp|mobile|wap|touch)\.", re.IGNORECASE)


def better(one: str, other: str, canonical: str = "", other_canonical: str = "") -> str:
    """Return the reason why one address of a page is better than the other one; empty if it is not.

    Two addresses are never better than each other. None is better where one is no http
    address, or where they are of two registered domains, because a copy elsewhere is
    another publisher's.

    The reasons, in the order in which they count:

    - ``canonical``: the other page declares this address canonical, and this page does
      not declare the other's.
    - ``marker``: the other address names a print view, a telephone, a session or an
      index file.
    - ``parameters``: this address is without some of the other's parameters, and has
      no others.
    - ``https``: this address is encrypted.
    - ``path``: this address has the shorter path.

    Args:
        one: a URL, or the key of a page; any text.
        other: likewise.
        canonical: the key of the address that the page at ``one`` declares canonical;
            empty if it declares none, or if nobody knows.
        other_canonical: likewise of the page at ``other``.
    """
    mine, theirs = split_address(one), split_address(other)
    if mine is None or theirs is None or one == other:
        return ""
    if len({registered_domain(parts.hostname or "") for parts in (mine, theirs)}) > 1:
        return ""
    is_declared, other_is_declared = other_canonical == one, canonical == other
    if is_declared != other_is_declared:
        return "canonical" if is_declared else ""
    faults = _faults(theirs)
    for reason, fault in _faults(mine).items():
        if fault < faults[reason]:
            return reason
        if faults[reason] < fault:
            break
    return ""


@lru_cache(maxsize=1024)
def _faults(parts: SplitResult) -> dict[str, Any]:
    """Return what speaks against an address, by the reason that another one is better."""
    address = f"{parts.path}?{parts.query}" if parts.query else parts.path
    markers = len(_MARKER.findall(address)) + bool(_MOBILE_HOST.match(parts.netloc))
    pairs = frozenset(filter(None, parts.query.split("&")))
    is_plain = parts.scheme == "http"
    return {
        "marker": markers,
        "parameters": pairs,
        "https": is_plain,
        "path": len(parts.path),
    }


class Canonicals:
    """Remembers which addresses originals declare canonical, where those are other ones."""

    def __init__(self) -> None:
        # By keys of originals: where each is, and what it declares. The key of that is
        # made when a copy comes, because most pages have none.
        self._declared: LRUCache[str, tuple[str, str]] = LRUCache(10_000)

    def better(self, key: str, original: str | None, url: str, declared: str) -> str:
        """Return why a copy has the better address; empty if it has not, or is no copy.

        Args:
            key: of the page.
            original: the key of the page that it repeats, if it repeats one.
            url: where the page is.
            declared: the address that it declares canonical, as it stands there; or
                nothing.
        """
        if original is not None:
            theirs = self._declared.get(original, ("", ""))
            return better(
                key, original, _canonical_key(url, declared), _canonical_key(*theirs)
            )
        if declared not in ("", url, key):
            self._declared[key] = url, declared
        return ""


def _canonical_key(url: str, canonical: str) -> str:
    try:
        return page_key(urljoin(url, canonical)) if canonical else ""
    except ValueError:  # such as http://[
        return ""
