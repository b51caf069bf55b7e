"""SIMHASH_PREFER: pages wait until the address that they declare canonical has come.

The address is asked for first. Its page becomes the original, and the page that
declared it is judged afterwards with the response that was kept.
"""

from collections import Counter
from collections.abc import Iterable
from time import monotonic
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from cachetools import LRUCache
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_simhash.crawl.queue import MOST_BYTES, CrawlQueue
from scrapy_simhash.crawl.requests import (
    COPY,
    PREFERRED,
    PRIORITY_STEP,
    QUEUED,
    bare_request,
    is_on_plain_route,
    is_plain,
    once_more,
)
from scrapy_simhash.crawl.summary import Judged
from scrapy_simhash.extraction.page import declared_address
from scrapy_simhash.keys import page_key, registered_domain
from scrapy_simhash.url_patterns.address import REMEMBERED
from scrapy_simhash.url_patterns.novelty import Seen


class _Page(NamedTuple):
    """A page that waits for the address with the key ``canonical``, since a monotonic time."""

    request: Request
    canonical: str
    since: float


class Preferred:
    """The pages of a crawl that wait for addresses; ``counts`` are the stats of the filter.

    Attributes:
        is_on: False if no page waits, except for one of an earlier run of the job.
    """

    # Seconds after which a page no longer waits for an address.
    patience = 600.0

    def __init__(
        self,
        crawler: Crawler,
        queue: CrawlQueue,
        counts: Counter[str],
        *,
        is_on: bool,
    ) -> None:
        self.is_on = is_on
        self._queue = queue
        self._counts = counts
        # By their keys.
        self._pages: dict[str, _Page] = {}
        # The keys of pages that have waited, until they are judged.
        self._have_waited = set[str]()
        # The keys of addresses that have come or failed.
        self._ended = Seen()
        # How many pages have come, and how many of these have waited in vain, by the
        # form of their addresses.
        self._forms: LRUCache[str, Counter[str]] = LRUCache(REMEMBERED)
        crawler.signals.connect(self._request_dropped, signal=signals.request_dropped)

    def request_before(self, request: Request, response: Response) -> Request | None:
        """Return the request that goes before a page, which waits; None if it need not wait."""
        if {PREFERRED, COPY} & request.meta.keys():
            return None
        url = _canonical_url(request, response)
        if url is None:
            return None
        key = page_key(response.url)
        canonical = page_key(url)
        form = self._form(key)
        # Pages may declare each other canonical, and a page may come twice. Each page
        # that waits in vain may have cost a download, so three may, and 1% of all.
        if (
            canonical in (key, *_chain(request))
            or canonical in self._ended
            or key in self._have_waited
            or key in self._pages
            or canonical in self._pages
            or form["in_vain"] > 3 + form["pages"] / 100
        ):
            return None
        self._pages[key] = _Page(request, canonical, monotonic())
        self._queue.keep(key, request, response)
        self._counts["preferred/waited"] += 1
        return bare_request(url, request, canonical)

    def _form(self, key: str) -> Counter[str]:
        """Return the counts of pages whose addresses have host and first folder as a key has."""
        name = "/".join(key.split("/")[:-1][:4])
        return self._forms.setdefault(name, Counter())

    def before_download(self, request: Request) -> None:
        """Stop a request that goes before a page, and gets that very page.

        Raises:
            IgnoreRequest: the address that a page waits for redirects to that page.
        """
        if page_key(request.url) in self._pages:
            raise IgnoreRequest(
                f"{request.url} waits for an address that redirects to it"
            )

    def has_waited(self, key: str) -> None:
        """Note a page that has waited in another crawler, or in an earlier run of the job."""
        if self.is_on:
            self._have_waited.add(key)

    def judged(self, judged: Judged) -> None:
        """Note that a page has come, and whether it has waited in vain."""
        key = judged.verdict.key
        form = self._form(key)
        form["pages"] += 1
        if key in self._have_waited and judged.verdict.kind != "duplicate":
            self._counts["preferred/in_vain"] += 1
            form["in_vain"] += 1
        self._have_waited.discard(key)
        self.address_ended(judged.request, key)

    def address_ended(self, request: Request, key: str = "") -> None:
        """Let the pages go on that wait for a request, which has its page or has failed."""
        preferred = request.meta.pop(PREFERRED, "")
        names = {preferred, key, page_key(request.url), *_chain(request)}
        self._ended.note(names)
        self._let_go_on(
            key for key, page in self._pages.items() if page.canonical in names
        )

    def _request_dropped(self, request: Request) -> None:
        """Let pages go on whose address redirects to one that was asked for before."""
        if {PREFERRED, "redirect_urls"} <= request.meta.keys():
            self.address_ended(request)

    def give_up(self, patience: float) -> bool:
        """Let pages go on that have waited for ``patience`` seconds; return whether any did."""
        late = monotonic() - patience
        keys = [key for key, page in self._pages.items() if page.since <= late]
        self._let_go_on(keys)
        return bool(keys)

    def end(self) -> None:
        """Put the requests of pages that wait into the queue: a later run of the job has them."""
        self._queue.put(*(once_more(page.request) for page in self._pages.values()))

    def _let_go_on(self, keys: Iterable[str]) -> None:
        for key in [*keys]:
            request = self._pages.pop(key).request
            self._have_waited.add(key)
            soon = request.replace(priority=request.priority + PRIORITY_STEP)
            self._queue.put_waited(key, soon)


def _canonical_url(request: Request, response: Response) -> str | None:
    """Return the address that a page declares canonical, if that may be fetched in its place."""
    may_come_again = is_on_plain_route(response) and len(response.body) <= MOST_BYTES
    is_of_spider = is_plain(request) and QUEUED in request.meta
    if not (may_come_again and is_of_spider and response.status == 200):
        return None
    # A page with a key of the user's has the same at any address.
    if request.meta.get("simhash_key"):
        return None
    try:
        url = urldefrag(urljoin(response.url, declared_address(response.body))).url
        return url if _may_be_fetched(url, response.url) else None
    except ValueError:  # such as http://[ or http://a:b
        return None


def _may_be_fetched(url: str, page_url: str) -> bool:
    """Return whether an address is one of the web, on the site of the page that declares it.

    Raises:
        ValueError: the address is malformed.
    """
    address = urlsplit(url)
    page = urlsplit(page_url)
    schemes = ("https",) if page.scheme == "https" else ("http", "https")
    if address.scheme not in schemes or not address.hostname:
        return False
    if "@" in address.netloc or address.port == 0:
        return False
    return registered_domain(address.hostname) == registered_domain(page.hostname or "")


def _chain(request: Request) -> Iterable[str]:
    """Return the keys of the addresses that have redirected to a request."""
    return map(page_key, request.meta.get("redirect_urls") or ())
