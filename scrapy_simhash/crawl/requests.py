"""Requests: the entries of their meta that are the filter's, the keys and types of their pages."""

from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, XmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.keys import aliases, page_key, plain_key

# Entries of meta that tell of one attempt: a request that is made again has all its
# retries.
_OF_ONE_ATTEMPT = ("simhash", "retry_times", "redirect_times", "download_latency")
#: Entries of meta by which a spider tells the filter what to do with a page.
ORDERS = ("simhash_key", "simhash_action")
#: The meta of a request in the queue, or from it, has this entry. Code that asks the
#: engine for a download, as in the middle of a callback, passes the queue by.
QUEUED = "simhash_queued"
#: A request that goes before a page, because the page declares its address canonical,
#: has the key of that address here.
PREFERRED = "simhash_preferred"
#: The request of a page that has waited has the page's key here.
WAITED = "simhash_waited"
#: The request of a copy in a queue in Redis has the page's key, and the entry and the
#: key of its original here.
COPY = "simhash_copy"
#: A request that was put back into the queue, because its page may be a copy, has its
#: distance behind the others here.
HELD_BACK = "simhash_held_back"

# The headers that the request of a declared address takes over from the page's request.
_ACCEPTED = (b"Accept", b"Accept-Language", b"Accept-Encoding", b"User-Agent")
# Entries of meta that it takes over, too: where the crawl has got to, by which way a
# page is fetched, and how long and large it may be. "_auth_proxy" is Scrapy's own mark
# that the header for the proxy is the proxy's.
_TAKEN_OVER = (
    "depth",
    "rule",
    "link_text",
    "proxy",
    "_auth_proxy",
    "bindaddress",
    "download_timeout",
    "download_maxsize",
    "download_warnsize",
)
#: The priority of requests that must come soon, or last, changes by more than projects
#: change any.
PRIORITY_STEP = 1_000_000


def is_start(request: Request) -> bool:
    """Return whether a request begins a crawl: no page has led to it."""
    return not request.meta.get("depth")


def is_plain(request: Request) -> bool:
    """Return whether a request gets a page by its address alone, for a callback of a spider."""
    return (
        request.method == "GET"
        and not request.body
        and request.callback is not NO_CALLBACK
        and not request.meta.get("dont_simhash")
    )


def request_key(request: Request, url: str) -> str:
    """Return the key of the page that a request gets at an address, where redirects may lead."""
    own_key = request.meta.get("simhash_key")
    return (
        plain_key(own_key) if own_key else page_key(url, request.method, request.body)
    )


def request_aliases(request: Request, url: str) -> tuple[str, ...]:
    """Return other keys of the page that a request gets at an address; none if it has its own."""
    if request.method != "GET" or request.meta.get("simhash_key"):
        return ()
    return aliases(url, request.meta.get("redirect_urls") or ())


def content_type(response: Response) -> str:
    """Return the content type of a response, which is HTML where Scrapy takes it for that."""
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if isinstance(response, HtmlResponse):
        return f"text/html;{content_type.partition(';')[2]}"
    return content_type or (
        "application/xml" if isinstance(response, XmlResponse) else ""
    )


def requests_on_the_way(crawler: Crawler) -> set[Request]:
    """Return the requests that are downloaded, or whose responses the spider has."""
    engine = crawler.engine
    assert engine is not None
    scraped = engine.scraper.slot.active if engine.scraper.slot else set()
    return engine.downloader.active | scraped


def once_more(request: Request) -> Request:
    """Return a request that passes the dupefilter, and may be retried as if it were the first."""
    meta = {
        name: value
        for name, value in request.meta.items()
        if name not in _OF_ONE_ATTEMPT
    }
    return request.replace(meta=meta, dont_filter=True)


def is_on_plain_route(response: Response) -> bool:
    """Return whether Scrapy itself has fetched a page, so that its route can be taken again.

    A browser, or a service that renders pages, has another route.
    """
    is_download = response.protocol is not None or "cached" in response.flags
    return type(response) is HtmlResponse and is_download


def bare_request(url: str, request: Request, key: str) -> Request:
    """Return the request of an address that a page names.

    It takes the way of the page's request: proxy, address of this machine, slot and
    limits. Whoever makes pages of a site can write any address into them, so the
    request has nothing else that is meant for that page alone: no cookies, no body, no
    headers but those that say what is accepted, and no meta of other components.
    """
    meta = {name: request.meta[name] for name in _TAKEN_OVER if name in request.meta}
    slot = request.meta.get("download_slot")
    # Scrapy has a slot for each host, and names it.
    if slot not in (None, urlsplit(request.url).hostname):
        meta["download_slot"] = slot
    bare = Request(
        url,
        callback=request.callback,
        headers=request.headers,
        cb_kwargs=request.cb_kwargs,
        meta={**meta, PREFERRED: key, "dont_merge_cookies": True},
        priority=request.priority + PRIORITY_STEP,
    )
    take_identity_off(bare)
    return bare


def take_identity_off(request: Request) -> None:
    """Delete the headers that say who asks for a page; the proxy is told for itself."""
    for name in [*request.headers]:
        # It goes to the proxy alone, which Scrapy sees to.
        is_for_proxy = name == b"Proxy-Authorization" and request.meta.get("proxy")
        if name not in _ACCEPTED and not is_for_proxy:
            del request.headers[name]
