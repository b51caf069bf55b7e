"""Requests as JSON: the index keeps that of a page in progress, so that others can repeat it.

A stored request is data from outside, because whoever can write into the store can change it.
Its parts are listed, because nobody can list all names of secrets. Nothing in it can make a
crawler call or open anything but a web page and a public callback of its own spider.
"""

import inspect
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection
from types import FunctionType, MethodType
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.spiders import CrawlSpider

from scrapy_simhash.keys import aliases, page_key, plain_key

_SCHEMES = ("http", "https")
_AS_THEY_ARE = ("url", "method", "encoding", "priority", "flags", "cb_kwargs")
# Headers that are stored. The cookies middleware adds its own again.
_HEADERS = frozenset(
    "accept accept-language content-type referer user-agent x-requested-with".split()
)
# Entries of meta that are stored though their values may be more than a number.
_META = frozenset(("cookiejar", "download_slot", "handle_httpstatus_list", "link_text"))
#: Entries of meta that tell of one attempt: a request that is made again has all its retries.
OF_ONE_ATTEMPT = ("simhash", "retry_times", "redirect_times", "download_latency")
#: Entries of meta by which a spider tells the filter what to do with a page.
ORDERS = ("simhash_key", "simhash_action")
#: In the meta of a request that was adopted: the key of its page in the index.
ADOPTED = "simhash_adopted"
#: In the meta of a request that lies in the queue or comes from it. Code that asks the engine for a
#: download by itself, as in the middle of a callback, passes the queue by.
QUEUED = "simhash_queued"
#: In the meta of a request that goes before a page, because the page declares its address
#: canonical: the key of that address.
PREFERRED = "simhash_preferred"
#: In the meta of the request of a page that has waited for such an address: the page's key.
WAITED = "simhash_waited"
# The callback and errback of a CrawlSpider's rules, which calls no other of its private methods.
_RULE_METHODS = ("_callback", "_errback")


def is_start(request: Request) -> bool:
    """Return whether a request begins a crawl: no page has led to it."""
    return not request.meta.get("depth")


def request_key(request: Request, url: str) -> str:
    """Return the key of the page that a request gets at an address, where redirects may lead."""
    own_key = request.meta.get("simhash_key")
    return plain_key(own_key) if own_key else page_key(url, request.method, request.body)


def request_aliases(request: Request, url: str) -> tuple[str, ...]:
    """Return other keys of the page that a request gets at an address; none if it has its own."""
    if request.method != "GET" or request.meta.get("simhash_key"):
        return ()
    return aliases(url, request.meta.get("redirect_urls") or ())


def request_to_json(
    request: Request, spider: Spider, names: Collection[str] = frozenset()
) -> str | None:
    """Return the text of a request, or None if another crawler cannot make it again.

    It cannot when the address is no web page's or has a password, the callback or errback is no
    public method of the spider's class, or flags or cb_kwargs do not survive JSON. Headers and
    entries of meta are left out unless they are listed, or in ``names``, or the entry is a number.
    """
    try:
        address = urlsplit(request.url)
        if address.scheme not in _SCHEMES or "@" in address.netloc:
            return None
        callback = _method_name(request.callback, spider)
        errback = _method_name(request.errback, spider)
    except ValueError:
        return None
    if not (_survives(request.flags) and _survives(request.cb_kwargs)):
        return None
    kept = {name: getattr(request, name) for name in _AS_THEY_ARE} | {
        "callback": callback,
        "errback": errback,
        "headers": [
            [name.decode("latin-1"), [value.decode("latin-1") for value in values]]
            for name, values in request.headers.items()
            if _is_header(name, names)
        ],
        "body": b64encode(request.body).decode("ascii"),
        "meta": {
            name: value
            for name, value in request.meta.items()
            if _is_meta(name, value, names) and _survives(value)
        },
    }
    # ASCII, because a store may not take lone surrogates, which JSON does.
    return json.dumps(kept, separators=(",", ":"))


def request_from_json(text: str, spider: Spider, names: Collection[str] = frozenset()) -> Request:
    """Make a request again; it passes the dupefilter, which has seen its URL before.

    Raises:
        ValueError: the text is not of :func:`request_to_json`, or names a method that may not be
            called.
    """
    try:
        kept: dict[str, Any] = json.loads(text)
        if urlsplit(kept["url"]).scheme not in _SCHEMES:
            raise ValueError("its address is not that of a web page")
        headers = {
            name.encode("latin-1"): [value.encode("latin-1") for value in values]
            for name, values in kept["headers"]
            if _is_header(name.encode("latin-1"), names)
        }
        request = Request(
            **{name: kept[name] for name in _AS_THEY_ARE},
            callback=_method(kept["callback"], spider),
            errback=_method(kept["errback"], spider),
            headers=headers,
            body=b64decode(kept["body"]),
            meta={
                name: value for name, value in kept["meta"].items() if _is_meta(name, value, names)
            },
            dont_filter=True,
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"the stored request cannot be made again: {error!r}") from None
    return request


def _is_header(name: bytes, names: Collection[str]) -> bool:
    header = name.decode("latin-1").lower()
    return header in _HEADERS or header in (other.lower() for other in names)


def _is_meta(name: object, value: object, names: Collection[str]) -> bool:
    if not isinstance(name, str) or name in OF_ONE_ATTEMPT:
        return False
    # A spider sets these of the filter's own entries.
    if name.startswith("simhash"):
        return name in ORDERS
    is_number = value is None or isinstance(value, (int, float))
    return is_number or name in _META or name in names


def _method_name(function: Callable[..., Any] | None, spider: Spider) -> str | None:
    """Return the name of a method, which :func:`_method` finds again."""
    if function is None:
        return None
    name = getattr(function, "__name__", None)
    if _method(name, spider) != function:
        raise ValueError(f"{function!r} is no callback of the spider")
    return str(name)


def _method(name: object, spider: Spider) -> Callable[..., Any] | None:
    """Return a public method that the spider's class defines.

    Raises:
        ValueError: there is no such method, or it is not for answers.
    """
    if name is None:
        return None
    if isinstance(name, str):
        function = inspect.getattr_static(type(spider), name, None)
        is_method = (
            isinstance(function, FunctionType)
            and function.__name__ == name
            # A function that was made outside of a class was not made to be a callback.
            and function.__qualname__ != name
        )
        is_for_answers = name == "parse" or not (name.startswith("_") or hasattr(Spider, name))
        is_of_rules = name in _RULE_METHODS and isinstance(spider, CrawlSpider)
        if is_method and (is_for_answers or is_of_rules):
            assert isinstance(function, FunctionType)
            return MethodType(function, spider)
    raise ValueError(f"{name!r} is no callback of the spider")


def _survives(value: object) -> bool:
    if value is None or isinstance(value, (str, int, float, bool)):
        return True
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
