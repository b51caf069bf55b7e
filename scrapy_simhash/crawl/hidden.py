"""The addresses that only dropped pages link to: a crawl does not learn of them."""

import re
from collections import Counter
from html import unescape
from itertools import islice
from urllib.parse import urljoin

from scrapy.http import HtmlResponse, Response
from scrapy.utils.response import get_base_url
from w3lib.url import safe_url_string

from scrapy_simhash.report.dedup_log import host_of

_LINK = re.compile(
    r"""<a\s(?:[^<>]{0,500}?\s)?href\s{0,9}=\s{0,9}["']?([^"'<>\s]{1,2000})""", re.IGNORECASE
)
# A request leaves such an address as it is.
_PLAIN = re.compile(r"https?://[\w.:-]+/[\w./?=&;,:@~!$*+-]*", re.ASCII)
# Characters of a page that are looked through, and links of a page that are noted.
_TEXT, _LINKS = 1_000_000, 1000
# Addresses that are remembered at most.
_MOST = 100_000
# Bits of the map of what was asked for: of a million addresses, 3 in 200 look as if they had been.
_BITS = 1 << 26


class Hidden:
    """Knows what was asked for, and what only dropped pages link to, in bounded memory.

    An address is hidden if it stands on the host of the dropped page and the crawl does not ask for
    it. ``counts`` are the stats of the filter, by name.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._asked = bytearray(_BITS // 8)
        self._hidden: set[int] = set()

    def asked(self, url: str) -> None:
        number = hash(_address(url))
        self._asked[number % _BITS >> 3] |= 1 << (number & 7)
        if number in self._hidden:
            self._hidden.remove(number)
            self._counts["hidden"] -= 1

    def dropped(self, response: Response) -> list[str]:
        """Note the links of a page that is dropped; return those that hide behind no other one."""
        news = []
        for url in links_of(response):
            number = hash(url)
            is_asked = self._asked[number % _BITS >> 3] >> (number & 7) & 1
            if not is_asked and number not in self._hidden and len(self._hidden) < _MOST:
                self._hidden.add(number)
                self._counts["hidden"] += 1
                news.append(url)
        return news


def _address(url: str) -> str:
    """Return an address without its fragment, and with the slash that may be left out."""
    url = url.partition("#")[0]
    return url if url.count("/") > 2 else f"{url}/"


def links_of(response: Response) -> dict[str, None]:
    """Return the addresses on its own host that a page links to, in their order."""
    if not isinstance(response, HtmlResponse):
        return {}
    base, host = get_base_url(response), host_of(response.url)
    found: dict[str, None] = {}
    for link in islice(_LINK.finditer(response.text[:_TEXT]), _LINKS):
        try:
            url = _address(urljoin(base, unescape(link[1])))
            if url.startswith("http") and host_of(url) == host:
                found[url if _PLAIN.fullmatch(url) else safe_url_string(url)] = None
        except ValueError:  # no address
            continue
    return found
