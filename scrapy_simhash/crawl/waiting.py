"""Pages that wait, each as a request that goes back into the crawl's own queue.

A page waits for one of two things: a copy, until its original is delivered or has failed; and with
SIMHASH_PREFER any page, until the address that it declares canonical has come. Its response is kept
meanwhile, as long as there is room, so that it is not downloaded a second time.

On Scrapy's own queue the request rests in memory until it is known how it goes on. A queue in Redis
outlives this process, so there the request of a copy is in the queue all the time: whoever takes it
out puts it back first, and then holds its slot for a moment.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.progress import once_more
from scrapy_simhash.crawl.requests import COPY, PREFERRED, QUEUED, WAITED
from scrapy_simhash.extraction.declared import canonical_address
from scrapy_simhash.keys import page_key, registered_domain
from scrapy_simhash.redis_settings import uses_scrapy_redis
from scrapy_simhash.url_patterns.address import read_address

if TYPE_CHECKING:
    from collections import Counter

    from scrapy_simhash.core.dedup import Dedup
    from scrapy_simhash.core.verdict import Verdict
    from scrapy_simhash.crawl.summary import Judged
    from scrapy_simhash.settings import FilterSettings

# Bytes of all responses that are kept, and what one takes beside its body.
MOST_BYTES = 64 << 20
_OVERHEAD = 2048
# The seconds after which a page no longer waits for an address, and those for which a request whose
# fate nobody knows holds its slot.
PATIENCE = 600.0
PAUSE = 1.0
# Each page that waits for an address in vain may have cost a download. Pages whose addresses have
# like forms wait no more when so many did in vain, and this share of all of them.
IN_VAIN = 3
SHARE_IN_VAIN = 0.01
# The priority of requests that must come soon is raised by more than any project's own priorities.
SOON = 1_000_000
# Keys and forms that are remembered.
_MOST = 100_000
# What the request of an address that a page names takes over from that page's.
_ACCEPTED = (b"Accept", b"Accept-Language", b"Accept-Encoding", b"User-Agent")
_OF_CRAWL = ("depth", "rule", "link_text")


@dataclass(slots=True, eq=False)
class _Page:
    """A page that waits.

    Attributes:
        canonical: the key of the address that it waits for; empty for a copy.
        delivered: whether the original of a copy was delivered; None if nobody knows yet.
    """

    request: Request
    response: Response | None
    canonical: str
    since: float
    delivered: bool | None = None

    @property
    def size(self) -> int:
        return len(self.response.body) + _OVERHEAD if self.response is not None else 0


class Waiting:
    """The pages of a crawl that wait.

    Args:
        counts: the stats of the filter, by name.
        queue: puts requests into Scrapy's queue.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: FilterSettings,
        dedup: Dedup,
        counts: Counter[str],
        queue: Callable[[Iterable[Request]], None],
    ) -> None:
        self._crawler, self._dedup, self._counts, self._queue = crawler, dedup, counts, queue
        self._prefers = settings.prefer == "canonical"
        # Only an index that others can ask knows the entries of this crawler.
        self._is_shared = uses_scrapy_redis(crawler.settings)
        self._tells_entries = self._is_shared and settings.survives
        # By their keys, those first that have waited longest; and the bytes of all.
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._bytes = 0
        # Keys of pages that wait, by the key of the address that they wait for.
        self._waiting_for: dict[str, list[str]] = {}
        # Responses on their way back, by the keys of their pages.
        self._back: LRUCache[str, Response] = LRUCache(MOST_BYTES, lambda page: len(page.body))
        # Hashes of the keys of pages that came or failed.
        self._ended: LRUCache[int, None] = LRUCache(_MOST)
        # Pages by the form of their addresses, and those of them that waited in vain.
        self._of_form: LRUCache[str, int] = LRUCache(_MOST)
        self._in_vain: LRUCache[str, int] = LRUCache(_MOST)

    # Copies.

    def copy(self, request: Request, response: Response, verdict: Verdict) -> None:
        """Have a copy of a page in progress wait until it is known how that page fares."""
        original = verdict.matches[0]
        key = verdict.key
        if not self._follow(key, original.entry, original.key):
            return
        again = once_more(request)
        # A tab of a browser is closed by now.
        kept = None if "playwright_page" in request.meta else response
        self._hold(key, _Page(again, kept, "", monotonic()))
        # The spider gets the page with this request, and not with that of its way back.
        response.request = request
        if self._is_shared:
            entry = original.entry if self._tells_entries and original.entry > 0 else None
            self._requeue(again, [key, again.priority, entry, original.key])

    def _follow(self, key: str, entry: int, original: str) -> bool:
        return self._dedup.follow_entry(
            entry, original, lambda delivered: self._told(key, delivered)
        )

    def _told(self, key: str, delivered: bool) -> None:
        page = self._pages.get(key)
        if page is None or page.canonical:
            return
        page.delivered = delivered
        if self._is_shared:
            if delivered:
                self._keep(page, None)
        elif delivered:
            self._take(key)
        else:
            self._come_back([key])

    def _requeue(self, request: Request, copy: list[object]) -> None:
        # Behind other pages, because each look at it costs a moment.
        meta = {**request.meta, COPY: copy}
        self._queue([request.replace(meta=meta, dont_filter=True, priority=request.priority - 1)])

    async def _look_at_copy(self, request: Request) -> Response | None:
        key, priority, entry, original = copy = request.meta[COPY]
        page = self._pages.get(key)
        if page is None and entry is not None and self._follow(key, entry, original):
            # It is a copy of another crawler.
            page = _Page(request, None, "", monotonic())
            self._hold(key, page)
        if page is not None and page.delivered is None:
            request.priority = priority
            self._requeue(request, copy)
            await self._pause()
            raise self._ignored(request)
        if page is not None and page.delivered and await self._is_delivered(original):
            self._take(key)
            raise self._ignored(request)
        del request.meta[COPY]
        request.priority = priority
        self._counts["crawled_again"] += 1
        return self._take(key).response if page is not None else None

    async def _is_delivered(self, original: str) -> bool:
        """Return whether the index has the original; a position may be another log's."""
        entries = await self._dedup.ask(lambda store: store.entries_of([original]))
        return any(not entry.provisional for entry in entries or ())

    async def _pause(self) -> None:
        was_idle = self._is_idle()
        await asyncio.sleep(PAUSE)
        if was_idle and self._is_idle():
            self._dedup.fail_all()

    def _is_idle(self) -> bool:
        """Return whether nothing but copies is on its way: what has not ended never will."""
        engine = self._crawler.engine
        assert engine is not None
        slot = engine.scraper.slot
        return (slot is None or slot.is_idle()) and all(
            COPY in request.meta for request in engine.downloader.active
        )

    def _ignored(self, request: Request) -> IgnoreRequest:
        # Its errback was told when the page was dropped.
        request.errback = None
        return IgnoreRequest(f"{request.url} repeats a page, or waits for it")

    # Addresses that pages declare canonical.

    def first(self, request: Request, response: Response) -> Request | None:
        """Return the request that goes before a page, which waits; None if the page need not."""
        if not self._prefers or {WAITED, PREFERRED, COPY} & request.meta.keys():
            return None
        if (url := _canonical_url(request, response)) is None:
            return None
        key, canonical = page_key(response.url), page_key(url)
        if (
            canonical in (key, *_chain(request))
            or hash(canonical) in self._ended
            # Addresses may declare each other canonical.
            or canonical in self._pages
            or key in self._pages
            or self._is_vain(key)
        ):
            return None
        response.request = request
        self._waiting_for.setdefault(canonical, []).append(key)
        self._counts["preferred/waited"] += 1
        self._hold(key, _Page(request, response, canonical, monotonic()))
        return bare_request(url, request, canonical)

    def ended(self, request: Request, key: str = "") -> None:
        """Let the pages come back that wait for a request, which has its page or has failed."""
        if self._prefers:
            preferred = request.meta.pop(PREFERRED, "")
            for name in (preferred, key, page_key(request.url), *_chain(request)):
                self._ended[hash(name)] = None
                self._come_back(self._waiting_for.get(name, ()))

    def request_dropped(self, request: Request) -> None:
        # An address that redirects to one that was asked for already has no page of its own.
        if {PREFERRED, "redirect_urls"} <= request.meta.keys():
            self.ended(request)

    def come_back(self, patience: float | None = None) -> bool:
        """Let pages come back that have waited so long for an address; tell whether any did."""
        late = monotonic() - (PATIENCE if patience is None else patience)
        keys = [
            key
            for keys in self._waiting_for.values()
            for key in keys
            if self._pages[key].since <= late
        ]
        self._come_back(keys)
        return bool(keys)

    def _is_vain(self, key: str) -> bool:
        form = _form(key)
        return self._in_vain.get(form, 0) > IN_VAIN + SHARE_IN_VAIN * self._of_form.get(form, 0)

    # Both.

    async def before_download(self, request: Request) -> Response | None:
        """Return the response of a page that has waited; None if it has to be downloaded.

        Raises:
            IgnoreRequest: the original of a copy was delivered, or nobody knows yet; or the address
                that a page waits for redirects to that page.
        """
        if COPY in request.meta:
            return await self._look_at_copy(request)
        if PREFERRED in request.meta:
            if page_key(request.url) in self._pages:
                raise IgnoreRequest(f"{request.url} waits for an address that redirects to it")
            for name in [*request.headers]:
                if name not in _ACCEPTED:
                    del request.headers[name]
        return self._back.pop(request.meta.get(WAITED, ""), None)

    def judged(self, judged: Judged) -> None:
        """Note that a page has come."""
        # Taken off, because other requests may copy the meta.
        has_waited = judged.request.meta.pop(WAITED, None)
        if self._prefers:
            form = _form(judged.verdict.key)
            self._of_form[form] = self._of_form.get(form, 0) + 1
            if has_waited and judged.verdict.kind != "duplicate":
                self._counts["preferred/in_vain"] += 1
                self._in_vain[form] = self._in_vain.get(form, 0) + 1
        self.ended(judged.request, judged.verdict.key)
        if judged.verdict.provisional and judged.action != "flag":
            self.copy(judged.request, judged.response, judged.verdict)

    def end(self) -> None:
        """Put the requests of pages that wait into the queue: a later run of the job has them."""
        for key in [*self._pages]:
            page = self._take(key)
            # A queue that is shared has the copies.
            if page.canonical or not (self._is_shared or page.delivered):
                self._queue([once_more(page.request)])

    def _hold(self, key: str, page: _Page) -> None:
        if key in self._pages:
            self._take(key)
        self._pages[key] = page
        self._bytes += page.size
        if self._bytes > MOST_BYTES:
            for other, oldest in [*self._pages.items()]:
                if oldest.canonical:
                    self._come_back([other])
                else:
                    self._keep(oldest, None)
                if self._bytes <= MOST_BYTES:
                    break

    def _keep(self, page: _Page, response: Response | None) -> None:
        self._bytes -= page.size
        page.response = response
        self._bytes += page.size

    def _take(self, key: str) -> _Page:
        page = self._pages.pop(key)
        self._bytes -= page.size
        if page.canonical:
            self._waiting_for[page.canonical].remove(key)
            if not self._waiting_for[page.canonical]:
                del self._waiting_for[page.canonical]
        return page

    def _come_back(self, keys: Iterable[str]) -> None:
        for key in [*keys]:
            page = self._take(key)
            if page.response is not None:
                self._back[key] = page.response
            if not page.canonical:
                self._counts["crawled_again"] += 1
            meta = {**page.request.meta, WAITED: key}
            priority = page.request.priority + SOON * bool(page.canonical)
            self._queue([page.request.replace(meta=meta, dont_filter=True, priority=priority)])


def bare_request(url: str, request: Request, key: str) -> Request:
    """Return the request of an address that a page names.

    Whoever makes pages of a site can write any address into them, so the request has nothing that
    is meant for that page alone: no cookies, no body, no headers but those that say what is
    accepted, and no meta of other components.
    """
    headers = {name: request.headers.getlist(name) for name in _ACCEPTED if name in request.headers}
    meta = {name: request.meta[name] for name in _OF_CRAWL if name in request.meta}
    if urlsplit(url).netloc == urlsplit(request.url).netloc and "download_slot" in request.meta:
        meta["download_slot"] = request.meta["download_slot"]
    return Request(
        url,
        callback=request.callback,
        cb_kwargs=request.cb_kwargs,
        headers=headers,
        meta={**meta, PREFERRED: key, "dont_merge_cookies": True},
        priority=request.priority + SOON,
    )


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
        if (own.scheme, parts.scheme) == ("https", "http"):
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
