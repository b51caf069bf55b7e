"""Pages that wait, each as a request that goes back into the crawl's own queue.

A page waits for one of two things: a copy, until its original is delivered or has failed; and with
SIMHASH_PREFER any page, until the address that it declares canonical has come. Its response is kept
meanwhile, as long as there is room, so that it is not downloaded a second time.

On Scrapy's own queue the request rests in memory until its page may go on. A queue in Redis
outlives this process, so there the request of a copy goes back at once. A crawler that takes it out
puts it back before anything else, and asks the index; when it takes it out again, it has the
answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_simhash.crawl.requests import (
    ACCEPTED,
    COPY,
    FAR,
    PREFERRED,
    QUEUED,
    WAITED,
    bare_request,
    is_plain,
    once_more,
)
from scrapy_simhash.extraction.declared import canonical_address
from scrapy_simhash.keys import page_key, registered_domain
from scrapy_simhash.printable import logger_of
from scrapy_simhash.redis_settings import uses_scrapy_redis

if TYPE_CHECKING:
    from collections import Counter

    from scrapy_simhash.core.dedup import Dedup
    from scrapy_simhash.core.verdict import Verdict
    from scrapy_simhash.crawl.summary import Judged
    from scrapy_simhash.settings import FilterSettings

# Bytes of all responses that are kept.
MOST_BYTES = 64 << 20
# Seconds after which a page no longer waits for an address.
PATIENCE = 600.0
# Keys and forms that are remembered.
_MOST = 100_000

logger = logger_of(__name__)


class _Page(NamedTuple):
    """A page that waits for the address with the key ``canonical``, since a monotonic time."""

    request: Request
    canonical: str
    since: float


class Waiting:
    """The pages of a crawl that wait.

    Args:
        counts: the stats of the filter, by name.

    Attributes:
        refused: requests that the queue refuses, and since when. They are lost after a lease.
        is_closed: whether the queue is, which would open its files again for another request.
    """

    def __init__(
        self, crawler: Crawler, settings: FilterSettings, dedup: Dedup, counts: Counter[str]
    ) -> None:
        self.refused: dict[Request, float] = {}
        self.is_closed = False
        self._tried = 0.0
        self._crawler, self._dedup, self._counts = crawler, dedup, counts
        self._lease = settings.lease
        self._prefers = settings.prefer == "canonical"
        self._is_shared = uses_scrapy_redis(crawler.settings)
        # Responses of pages that wait or are on their way back, by key; the oldest give way.
        self._responses: LRUCache[str, Response] = LRUCache(MOST_BYTES, lambda page: len(page.body))
        # True for a delivered original, by the keys of its copy in Redis and its own.
        self._fates: LRUCache[tuple[str, str], bool] = LRUCache(_MOST)
        # Copies that wait in memory, and pages that wait for an address, by key.
        self._copies: dict[str, Request] = {}
        self._pages: dict[str, _Page] = {}
        # Keys of pages, by the key of the address that they wait for.
        self._waiting_for: dict[str, list[str]] = {}
        # Hashes of the keys of pages that came or failed.
        self._ended: LRUCache[int, None] = LRUCache(_MOST)
        # Pages by the form of their addresses, and those of them that waited in vain.
        self._of_form: LRUCache[str, int] = LRUCache(_MOST)
        self._in_vain: LRUCache[str, int] = LRUCache(_MOST)

    # Copies.

    def copy(self, request: Request, response: Response, verdict: Verdict) -> None:
        """Have a copy of a page in progress wait until it is known how that page fares."""
        key, request_again = verdict.key, once_more(request)
        # A tab of a browser is closed by now.
        if "playwright_page" not in request.meta:
            self._keep(key, request, response)
        if self._is_shared:
            self._put_back(request_again, [key, request_again.priority, verdict.original])
        else:
            self._copies[key] = request_again
            self._dedup.follow(verdict, lambda delivered: self._settled(key, delivered))

    def _settled(self, key: str, delivered: bool) -> None:
        request = self._copies.pop(key, None)
        if delivered:
            self._responses.pop(key, None)
        elif request is not None:
            self._counts["crawled_again"] += 1
            self._go_on(key, request)

    def _put_back(self, request: Request, copy: list[object]) -> None:
        # Behind other pages, because each look at it costs a moment.
        meta = {**request.meta, COPY: copy}
        self.queue(request.replace(meta=meta, dont_filter=True, priority=request.priority - 1))

    async def _look_at_copy(self, request: Request) -> Response | None:
        key, priority, original = copy = request.meta[COPY]
        if (delivered := self._fates.pop((key, original), None)) is None:
            # First of all: a crawler that is killed loses what it has taken out.
            self._put_back(request.replace(priority=priority), copy)
        # Its errback was told when the page was dropped.
        errback, request.errback = request.errback, None
        if delivered is None:
            if (fate := await self._was_delivered(original)) is None:
                # It holds its slot for a moment, because the next look would tell no more.
                await self._pause()
            else:
                self._fates[key, original] = fate
            raise IgnoreRequest(f"{request.url} waits for {original}")
        response = self._responses.pop(key, None)
        if delivered:
            raise IgnoreRequest(f"{request.url} repeats {original}, which was delivered")
        del request.meta[COPY]
        request.priority, request.errback = priority, errback
        self._counts["crawled_again"] += 1
        return response

    async def _was_delivered(self, key: str) -> bool | None:
        """Return whether a page was delivered; None while it is in progress.

        A page that nobody knows was not delivered, and no page is while the index is away.
        """
        if self._dedup.in_progress(key):
            return None
        answers = await self._dedup.ask(lambda index: [index.was_delivered(key)])
        return answers[0] if answers else False

    async def _pause(self) -> None:
        was_idle = self._is_idle()
        await asyncio.sleep(1)
        if was_idle and self._is_idle():
            self._dedup.fail_all()

    def _is_idle(self) -> bool:
        """Return whether nothing but copies is on its way: what has not ended never will."""
        engine = self._crawler.engine
        assert engine is not None
        slot = engine.scraper.slot
        on_the_way = {*engine.downloader.active, *(slot.active if slot else ())}
        return all(COPY in request.meta for request in on_the_way)

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
            or {canonical, key} & (self._pages.keys() | self._copies.keys())
            or self._is_vain(key)
        ):
            return None
        self._waiting_for.setdefault(canonical, []).append(key)
        self._counts["preferred/waited"] += 1
        self._pages[key] = _Page(request, canonical, monotonic())
        self._keep(key, request, response)
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
        keys = [key for key, page in self._pages.items() if page.since <= late]
        self._come_back(keys)
        return bool(keys)

    def _is_vain(self, key: str) -> bool:
        """Return whether three pages of this form, and 1% of all, have waited in vain.

        Each of them may have cost a download.
        """
        form = _form(key)
        return self._in_vain.get(form, 0) > 3 + self._of_form.get(form, 0) / 100

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
                if name not in ACCEPTED:
                    del request.headers[name]
        return self._responses.pop(request.meta.get(WAITED, ""), None)

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
        self.queue(*(once_more(page.request) for page in self._pages.values()))

    # The queue.

    def retry(self) -> None:
        """Put requests that the queue has refused into it again, after a pause."""
        if self.refused and monotonic() - self._tried >= min(5.0, self._lease / 3):
            self.queue()

    def queue(self, *requests: Request) -> None:
        """Put requests, and those that were refused before, into the queue."""
        if self.is_closed:
            return
        assert self._crawler.engine is not None
        self._tried = now = monotonic()
        self.refused |= dict.fromkeys(requests, now)
        for request, since in [*self.refused.items()]:
            try:
                self._crawler.engine.crawl(request)
            except Exception as error:  # noqa: BLE001 - a queue elsewhere may be away
                is_lost = now - since > self._lease
                logger.log(
                    logging.WARNING if is_lost or since == now else logging.DEBUG,
                    "%s cannot be put into the queue%s: %r",
                    *(request.url, ", and is lost" if is_lost else "", error),
                )
                if not is_lost:
                    continue
            del self.refused[request]

    def _keep(self, key: str, request: Request, response: Response) -> None:
        # The spider gets the page with this request, and not with that of its way back.
        response.request = request
        if len(response.body) <= MOST_BYTES:
            self._responses[key] = response

    def _come_back(self, keys: Iterable[str]) -> None:
        """Let pages go on that have waited for an address."""
        for key in [*keys]:
            page = self._pages.pop(key)
            self._waiting_for[page.canonical].remove(key)
            if not self._waiting_for[page.canonical]:
                del self._waiting_for[page.canonical]
            self._go_on(key, page.request.replace(priority=page.request.priority + FAR))

    def _go_on(self, key: str, request: Request) -> None:
        self.queue(request.replace(meta={**request.meta, WAITED: key}, dont_filter=True))


def _canonical_url(request: Request, response: Response) -> str | None:
    """Return the address that a page declares canonical, if that may be fetched in its place."""
    if (
        not isinstance(response, HtmlResponse)
        or response.status != 200
        or not is_plain(request)
        or QUEUED not in request.meta
        or request.meta.get("simhash_key")
        or len(response.body) > MOST_BYTES
        or not (declared := canonical_address(response.body))
    ):
        return None
    try:
        url = urldefrag(urljoin(response.url, declared)).url
        parts, page_parts = urlsplit(url), urlsplit(response.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            return None
        if (page_parts.scheme, parts.scheme) == ("https", "http"):
            return None
        domains = {registered_domain(part.hostname or "") for part in (parts, page_parts)}
        return url if parts.port != 0 and len(domains) == 1 else None
    except ValueError:  # such as http://[ or a port that is none
        return None


def _chain(request: Request) -> Iterator[str]:
    return map(page_key, request.meta.get("redirect_urls") or ())


def _form(key: str) -> str:
    """Return what the addresses of one kind of page have in common: host and first folder."""
    return "/".join(key.split("/")[:-1][:4])
