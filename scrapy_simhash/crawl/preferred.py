"""A page waits while the address that it declares canonical is fetched: SIMHASH_PREFER.

The request of that address goes through Scrapy's queue, as that of a redirect does, so the
dupefilter, robots.txt and delays apply. The page waits with its response, and comes back through
the queue without a download: as a copy if the other page came and is near, else as if nothing had
been.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from cachetools import LRUCache
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.progress import once_more
from scrapy_simhash.crawl.requests import PREFERRED, QUEUED, WAITED
from scrapy_simhash.extraction.declared import canonical_address
from scrapy_simhash.keys import page_key, registered_domain
from scrapy_simhash.url_patterns.address import read_address

if TYPE_CHECKING:
    from collections import Counter

    from scrapy_simhash.crawl.summary import Judged

# Pages that wait, the bytes of one and of all, and the seconds after which a page comes back.
MOST_WAITING = 1000
MOST_BYTES = 64 << 20
PATIENCE = 600.0
# Each page that waits in vain may have cost a download. Pages whose addresses have like forms wait
# no more when so many did in vain, and this share of all of them.
IN_VAIN = 3
SHARE_IN_VAIN = 0.01
# The priority of both requests is raised by more than any project's own priorities.
SOON = 1_000_000
# Keys and forms that are remembered.
_MOST = 100_000
# Entries of meta that belong to one address.
_OF_ADDRESS = ("redirect_urls", "redirect_reasons", "download_slot")


class _Waiting(NamedTuple):
    request: Request
    response: Response
    canonical: str
    since: float


class Preferred:
    """The pages of a crawl that wait for another address.

    Args:
        counts: the stats of the filter, by name.
        queue: puts requests into Scrapy's queue.
    """

    def __init__(self, counts: Counter[str], queue: Callable[[Iterable[Request]], None]) -> None:
        self._counts = counts
        self._queue = queue
        # By their keys, those first that have waited longest; and the bytes of all.
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._bytes = 0
        # Keys of pages that wait, by the key of the page that they wait for.
        self._waiting_for: dict[str, list[str]] = {}
        # Responses on their way back, by the keys of their pages.
        self._back: LRUCache[str, Response] = LRUCache(MOST_BYTES, lambda page: len(page.body))
        # Hashes of the keys of pages that came or failed.
        self._ended: LRUCache[int, None] = LRUCache(_MOST)
        # Pages by the form of their addresses, and those of them that waited in vain.
        self._pages: LRUCache[str, int] = LRUCache(_MOST)
        self._in_vain: LRUCache[str, int] = LRUCache(_MOST)

    def first(self, request: Request, response: Response) -> Request | None:
        """Return the request that goes before a page, which waits; None if the page need not."""
        if WAITED in request.meta or PREFERRED in request.meta:
            return None
        if (url := _canonical_url(request, response)) is None:
            return None
        key, canonical = page_key(response.url), page_key(url)
        if (
            canonical in (key, *_chain(request))
            or hash(canonical) in self._ended
            # Addresses may declare each other canonical.
            or canonical in self._waiting
            or key in self._waiting
            or self._is_vain(key)
        ):
            return None
        # The spider gets the page with this request, and not with that of its way back.
        response.request = request
        self._waiting[key] = _Waiting(request, response, canonical, monotonic())
        self._waiting_for.setdefault(canonical, []).append(key)
        self._bytes += len(response.body)
        self._counts["preferred/waited"] += 1
        while len(self._waiting) > MOST_WAITING or self._bytes > MOST_BYTES:
            self._come_back([next(iter(self._waiting))])
        meta = {name: value for name, value in request.meta.items() if name not in _OF_ADDRESS}
        meta[PREFERRED] = canonical
        other = once_more(request.replace(url=url, meta=meta, errback=None))
        return other.replace(priority=request.priority + SOON, dont_filter=False)

    def before_download(self, request: Request) -> Response | None:
        """Return the response of a page that has waited; None if it has to be downloaded.

        Raises:
            IgnoreRequest: the other address redirects to the page that waits for it.
        """
        if PREFERRED in request.meta and page_key(request.url) in self._waiting:
            raise IgnoreRequest(f"{request.url} waits for an address that redirects to it")
        return self._back.pop(request.meta.get(WAITED, ""), None)

    def judged(self, judged: Judged) -> None:
        form = _form(judged.verdict.key)
        self._pages[form] = self._pages.get(form, 0) + 1
        # Taken off, because other requests may copy the meta.
        if judged.request.meta.pop(WAITED, None) and judged.verdict.kind != "duplicate":
            self._counts["preferred/in_vain"] += 1
            self._in_vain[form] = self._in_vain.get(form, 0) + 1
        self.ended(judged.request, judged.verdict.key)

    def ended(self, request: Request, key: str = "") -> None:
        """Let the pages come back that wait for a request, which has its page or has failed."""
        preferred = request.meta.pop(PREFERRED, "")
        for name in (preferred, key, page_key(request.url), *_chain(request)):
            self._ended[hash(name)] = None
            self._come_back(self._waiting_for.get(name, ()))

    def come_back(self, patience: float = PATIENCE) -> bool:
        """Let pages come back that have waited so many seconds; tell whether there are any."""
        late = monotonic() - patience
        keys = [*takewhile(lambda key: self._waiting[key].since <= late, self._waiting)]
        self._come_back(keys)
        return bool(keys)

    def end(self) -> None:
        """Put the requests of pages that wait into the queue as they came: a later run has them."""
        self._queue([once_more(page.request) for page in self._waiting.values()])
        self._waiting.clear()

    def _come_back(self, keys: Iterable[str]) -> None:
        for key in [*keys]:
            request, response, canonical, _ = self._waiting.pop(key)
            self._waiting_for[canonical].remove(key)
            if not self._waiting_for[canonical]:
                del self._waiting_for[canonical]
            self._bytes -= len(response.body)
            self._back[key] = response
            meta = {**request.meta, WAITED: key}
            priority = request.priority + SOON
            self._queue([request.replace(meta=meta, dont_filter=True, priority=priority)])

    def _is_vain(self, key: str) -> bool:
        form = _form(key)
        return self._in_vain.get(form, 0) > IN_VAIN + SHARE_IN_VAIN * self._pages.get(form, 0)


def _canonical_url(request: Request, response: Response) -> str | None:
    """Return the address that a page declares canonical, if that may be fetched in its place."""
    if (
        not isinstance(response, HtmlResponse)
        or response.status != 200
        or request.method != "GET"
        or request.body
        or request.callback is NO_CALLBACK
        or QUEUED not in request.meta
        or request.meta.get("dont_simhash")
        or request.meta.get("simhash_key")
        or len(response.body) > MOST_BYTES
        or not (declared := canonical_address(response.body))
    ):
        return None
    try:
        url = urldefrag(urljoin(response.url, declared)).url
        parts, own = urlsplit(url), urlsplit(response.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            return None
        domains = {registered_domain(part.hostname or "") for part in (parts, own)}
        return url if parts.port != 0 and len(domains) == 1 else None
    except ValueError:  # such as http://[ or a port that is none
        return None


def _chain(request: Request) -> Iterator[str]:
    return map(page_key, request.meta.get("redirect_urls") or ())


def _form(key: str) -> str:
    """Return what the addresses of one kind of page have in common."""
    if (address := read_address(key)) is None:
        return ""
    folder = address.path[0] if len(address.path) > 1 else ""
    return f"{address.host}/{folder} {sorted(address.names)}"
