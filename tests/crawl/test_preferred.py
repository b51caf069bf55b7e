"""SIMHASH_PREFER: the address that a page declares canonical is delivered, and no page is lost."""

import asyncio
from collections import Counter
from threading import Event
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.http import HtmlResponse

from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.crawl import filter_of
from scrapy_simhash.crawl.preferred import Preferred, _canonical_url
from scrapy_simhash.crawl.requests import bare_request
from scrapy_simhash.crawl.summary import Judged
from tests.crawl.spiders import Following, InTurn, Pages, paths
from tests.pages import article, html

SETTINGS = {"SIMHASH_PREFER": "canonical"}


def page(seed: int, canonical: str = "", links: tuple[str, ...] = ()) -> bytes:
    head = f'<head><link rel="canonical" href="{canonical}">'.encode()
    body = html(article(seed), links=links)
    return body.replace(b"<head>", head, 1) if canonical else body


@pytest.fixture
def prints(site: Any) -> Any:
    """Ten stories, of which a list links the print view before the story, or after it."""
    links: list[str] = []
    for n in range(10):
        links += sorted((f"/print/{n}", f"/story/{n}"), reverse=n % 2 == 0)
        site.pages[f"/print/{n}"] = site.pages[f"/story/{n}"] = page(n, f"/story/{n}")
    site.pages["/"] = page(999, links=tuple(links))
    return site


@pytest.mark.parametrize(("order", "at_once"), [("linked", 8), ("not linked", 1)])
def test_the_canonical_address_is_delivered_and_each_is_fetched_once(crawl, prints, order, at_once):
    if order == "not linked":
        prints.pages["/"] = page(999, links=tuple(f"/print/{n}" for n in range(10)))
    settings = SETTINGS | {"CONCURRENT_REQUESTS": at_once}
    crawled = crawl(Following, settings=settings, site=prints, paths=["/"])
    assert sorted(paths(crawled)) == sorted(["/", *(f"/story/{n}" for n in range(10))])
    assert {*prints.hits.values()} == {1}
    assert crawled.stat("dropped") == 10
    assert crawled.stat("preferred/in_vain") == 0


def test_a_page_is_delivered_by_its_own_request_although_it_has_waited(crawl, site):
    site.pages["/print"] = page(1, "/gone")
    crawled = crawl(Pages, settings=SETTINGS, site=site, paths=["/print"], meta={"mine": 1})
    assert paths(crawled) == ["/print"]
    request = crawled.items[0]["request"]
    assert request.meta["mine"] == request.meta["depth"] == 1
    assert request.priority == 0
    assert not [name for name in request.meta if name in ("simhash_waited", "simhash_preferred")]
    assert site.hits == {"/print": 1, "/gone": 1}


def test_a_declared_address_is_fetched_by_the_way_of_its_page(crawl, site):
    """The site of the proxy also sees what the proxy is told: a name and a password of its own."""
    asked: dict[str, Any] = {}

    def answer(request: Any) -> Any:
        asked[request.path] = {**request.headers}
        return 200, {"Content-Type": "text/html"}, page(1, "http://shop.test:8081/story")

    for port in (80, 8081):
        address = "http://shop.test" + ("" if port == 80 else ":8081")
        for path in ("/print", "/story"):
            site.pages[address + path] = answer
    proxy = site.url.replace("//", "//name:word@")

    class Proxied(Pages):
        async def start(self) -> Any:
            meta = {"depth": 1, "proxy": proxy, "download_timeout": 7, "bindaddress": "127.0.0.1"}
            yield Request("http://shop.test/print", meta=meta, headers={"X-Api-Key": "secret"})

    crawled = crawl(Proxied, settings=SETTINGS, site=site, paths=[])
    assert [item["request"].meta["download_timeout"] for item in crawled.items] == [7]
    assert [*asked] == ["http://shop.test/print", "http://shop.test:8081/story"]
    told = [headers.get("Proxy-Authorization") for headers in asked.values()]
    assert told[0]
    assert told[0] == told[1]
    assert ["X-Api-Key" in headers for headers in asked.values()] == [True, False]


class BrowserResponse(HtmlResponse):
    """The response of a handler that renders pages."""


@pytest.mark.parametrize(
    ("made", "protocol", "scheme", "fetched"),
    [
        (HtmlResponse, "HTTP/1.1", "https", True),
        (HtmlResponse, "HTTP/1.1", "http", False),
        (HtmlResponse, None, "https", False),
        (BrowserResponse, "HTTP/1.1", "https", False),
    ],
)
def test_https_never_becomes_http_and_pages_of_browsers_do_not_wait(
    made, protocol, scheme, fetched
):
    asked = Request("https://shop.example/a", meta={"simhash_queued": True})
    url = f"{scheme}://www.shop.example/b"
    response = made(asked.url, body=page(1, url), request=asked, protocol=protocol)
    assert (_canonical_url(asked, response) == url) is fetched
    asked.meta["simhash_key"] = "a page that the project names"
    assert _canonical_url(asked, response) is None


@pytest.mark.parametrize("goes_on", [False, True])
def test_no_credential_of_a_page_reaches_the_address_that_it_declares(visit, site, goes_on):
    """Nor without the setting, in a job that goes on with a request which was made for it."""
    got: list[Any] = []

    def note(request: Any) -> Any:
        got.append({name.lower() for name in request.headers})
        return 200, {"Content-Type": "text/html"}, page(2)

    site.pages["/other"] = note
    site.pages["/print"] = page(1, f"{site.url}/other")
    secrets = {"headers": {"Authorization": "a", "X-Api-Key": "b"}, "cookies": {"session": "c"}}

    class Known(Pages):
        http_user, http_pass, http_auth_domain = "me", "secret", None

        async def start(self) -> Any:
            if goes_on:
                yield Request(f"{site.url}/other", meta={"simhash_preferred": f"{site.url}/other"})
            else:
                yield Request(f"{site.url}/print", meta={"depth": 1}, **secrets)

    settings = {} if goes_on else SETTINGS
    visit(site, spider=Known, DEFAULT_REQUEST_HEADERS={"X-Default": "secret"}, **settings)
    assert got
    for headers in got:
        assert not headers & {"authorization", "cookie", "x-api-key", "x-default"}


@pytest.mark.parametrize(
    ("slot", "is_taken"), [("mine", True), ("a.example", False), (None, False)]
)
def test_an_address_has_the_slot_of_its_page_unless_scrapy_named_it(slot, is_taken):
    """Scrapy has a slot for each host."""
    page = Request("http://a.example/a", meta={"download_slot": slot} if slot else {})
    request = bare_request("http://b.example/b", page, "key")
    assert ("download_slot" in request.meta) is is_taken


# What else the site has, by what becomes of the address.
OTHERS: dict[str, dict[str, Any]] = {
    "redirects back": {"/other": (301, {"Location": "/print"}, b"")},
    "is refused": {"/robots.txt": b"User-agent: *\nDisallow: /other"},
    "is another page": {"/other": page(2, "/other")},
    "declares the first": {"/other": page(2, "/print")},
    "has failed before": {"/0": page(3, links=("/other",))},
    "is no page": {"/other": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7")},
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_page_is_delivered_if_the_address_that_it_declares_canonical(visit, site, other):
    site.pages = {"/print": page(1, "/other")} | OTHERS[other]
    asked = ["/0", "/print"] if "/0" in site.pages else ["/print"]
    crawled = visit(site, *asked, spider=Following, ROBOTSTXT_OBEY=True, **SETTINGS)
    assert paths(crawled).count("/print") == 1
    assert site.hits["/print"] == 1
    assert site.hits["/other"] <= 1


def test_an_address_elsewhere_or_not_of_the_web_or_of_the_page_itself_is_not_fetched(crawl, site):
    elsewhere = ("http://elsewhere.test/page", "http://name:word@127.0.0.1/page")
    not_of_the_web = ("ftp://127.0.0.1/page", "javascript:alert(1)")
    without_port = ("http://127.0.0.1:99999/", "http://127.0.0.1:0/")
    declared = [*elsewhere, *not_of_the_web, *without_port, "http://[", "", "/8", "/9#top"]
    for n, canonical in enumerate(declared):
        site.pages[f"/{n}"] = page(n, canonical)
    names = [*site.pages]
    crawled = crawl(Pages, settings=SETTINGS, site=site, paths=names)
    assert sorted(paths(crawled)) == names
    assert site.hits == dict.fromkeys(names, 1)
    assert crawled.stat("preferred/waited") == 0


def test_pages_that_declare_each_other_canonical_are_delivered_once(crawl, site):
    names = ("/0", "/1", "/2")
    for n, name in enumerate(names):
        site.pages[name] = page(1, names[n - 1])
    site.pages["/"] = page(2, links=names)
    crawled = crawl(Following, settings=SETTINGS, site=site, paths=["/"])
    assert len(crawled.items) == 2
    assert {*site.hits.values()} == {1}
    # Not all three, because nobody waits for a page that waits, nor for one that was delivered.
    assert crawled.stat("preferred/waited") in (1, 2)


def test_a_page_that_is_asked_for_again_while_it_waits_is_judged_at_once(crawl, site):
    site.pages["/print"] = page(1, "/story")
    site.pages["/story"] = 503, {}, b""
    settings = SETTINGS | {"DOWNLOAD_DELAY": 0.3}
    crawled = crawl(Pages, settings=settings, site=site, paths=["/print", "/print"])
    assert paths(crawled) == ["/print", "/print"]
    assert crawled.stat("preferred/waited") == 1


@pytest.mark.parametrize(("in_vain", "waits"), [(4, True), (5, False)])
def test_pages_wait_while_no_more_than_three_and_one_of_a_hundred_waited_in_vain(in_vain, waits):
    crawler: Any = SimpleNamespace(signals=SimpleNamespace(connect=lambda *_, **__: None))
    queue: Any = SimpleNamespace(keep=lambda *_: None)
    preferred = Preferred(crawler, queue, Counter(), is_on=True)
    for n in range(100):
        request = Request(f"http://a.example/old/{n}", meta={"simhash_queued": True})
        response = HtmlResponse(request.url, body=page(n, "/new"), request=request, protocol="1.1")
        if n < in_vain:
            preferred.has_waited(request.url)
        preferred.judged(Judged(request, response, Verdict("unique", request.url)))
    last = request.replace(url="http://a.example/old/last")
    assert (preferred.request_before(last, response.replace(url=last.url)) is not None) is waits


def test_a_page_that_cannot_wait_any_longer_is_delivered(crawl, site, monkeypatch):
    monkeypatch.setattr(Preferred, "patience", 0.3)
    is_delivered = Event()

    class Telling(Pages):
        def parse(self, response: Any) -> Any:
            is_delivered.set()
            yield from super().parse(response)

    def late(_: Any) -> Any:
        is_delivered.wait(30)
        return 200, {"Content-Type": "text/html"}, page(1)

    site.pages = {"/print": page(1, "/story"), "/story": late}
    crawled = crawl(Telling, settings=SETTINGS, site=site, paths=["/print"])
    assert paths(crawled) == ["/print"]


def test_a_page_goes_on_if_the_queue_does_not_take_the_address_that_it_waits_for(crawl, site):
    class Refusing(Scheduler):
        def enqueue_request(self, request: Request) -> bool:
            return "simhash_preferred" not in request.meta and super().enqueue_request(request)

    site.pages = {"/print": page(1, "/story"), "/story": page(1)}
    settings = SETTINGS | {"SCHEDULER": Refusing}
    assert paths(crawl(Pages, settings=settings, site=site, paths=["/print"])) == ["/print"]
    assert site.hits == {"/print": 1}


class Closed(Scheduler):
    """Notes what it is given when it is closed: another request opens its files again."""

    late: ClassVar[list[str] | None] = None

    def close(self, reason: str) -> Any:
        Closed.late = []
        return super().close(reason)

    def enqueue_request(self, request: Request) -> bool:
        if Closed.late is not None:
            Closed.late.append(request.url)
        return super().enqueue_request(request)


# Scrapy 2.13 leaves a queue open that it finds empty at the start of a job.
@pytest.mark.filterwarnings("ignore:unclosed file .*requests.queue:ResourceWarning")
def test_a_job_that_is_stopped_delivers_the_pages_that_wait_when_it_goes_on(crawl, site, tmp_path):
    site.pages["/print"] = page(1, "/held")
    site.pages["/other"] = page(2)
    site.pages["/held"] = 503, {}, b""

    class Stopped(Pages):
        async def parse(self, response: Any) -> Any:
            while not self.counted("preferred/waited"):
                await asyncio.sleep(0.02)
            self.stopping = asyncio.ensure_future(filter_of(self.crawler)._stop())
            yield {"path": response.url.removeprefix(self.base)}

    settings = SETTINGS | {"JOBDIR": str(tmp_path / "job"), "DOWNLOAD_DELAY": 0.3}
    given = {"site": site, "paths": ["/print", "/other"]}
    first = paths(crawl(Stopped, settings=settings | {"SCHEDULER": Closed}, **given))
    assert Closed.late == []
    second = paths(crawl(Pages, settings=settings, site=site, paths=[]))
    assert sorted(first + second) == ["/other", "/print"]


def test_a_page_goes_on_when_its_address_redirects_to_one_that_was_asked_for(crawl, site):
    """No page waits for that one any more."""
    site.pages = {"/story": page(1), "/old": (301, {"Location": "/story"}, b"")}
    site.pages |= {"/print": page(2, "/old"), "/copy": page(1, "/story"), "/last": page(3)}
    crawled = crawl(InTurn, settings=SETTINGS, site=site, acts=["/story", *list(site.pages)[2:]])
    assert paths(crawled) == ["/story", "/print", "/last"]
    assert crawled.stat("preferred/waited") == 1


def test_no_page_waits_for_an_address_to_which_a_browser_was_redirected(visit, site):
    """The request does not tell of the redirect, only the address of the response does."""

    class Browser:
        def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:
            return response.replace(url=response.url.replace("/old", "/story"))

    site.pages = {"/old": page(1), "/print": page(2, "/story")}
    settings = SETTINGS | {"DOWNLOADER_MIDDLEWARES": {Browser: 900}}
    assert visit(site, *site.pages, **settings).stat("preferred/waited") == 0


def test_a_page_that_has_waited_in_another_crawler_does_not_wait_again(visit, site):
    """Its request comes out of a queue that is shared, or of an earlier run of the job."""
    site.pages = {"/print": page(1, "/story"), "/story": page(2)}
    has_waited = {"simhash_waited": f"{site.url}/print"}
    assert paths(visit(site, "/print", meta=has_waited, **SETTINGS)) == ["/print"]
    assert site.hits == {"/print": 1}
