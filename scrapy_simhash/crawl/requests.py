"""Requests as JSON: what the index keeps of a page so that it can be crawled again."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from scrapy import Request, Spider

from scrapy_simhash.keys import page_key, plain_key


def request_key(request: Request, url: str) -> str:
    """Return the key of the page that a request gets.

    Args:
        request: the request.
        url: the address of the page, if redirects led elsewhere.
    """
    own_key = request.meta.get("simhash_key")
    return plain_key(own_key) if own_key else page_key(url, request.method, request.body)


def request_to_json(request: Request, spider: Spider) -> str | None:
    """Return what is needed to make a request again, or None if it cannot be made again.

    It cannot when its callback or errback is not a method of the spider, or its cb_kwargs do
    not survive JSON. Entries of its meta that do not survive JSON are left out.
    """
    try:
        callback = _method_name(request.callback, spider)
        errback = _method_name(request.errback, spider)
    except ValueError:
        return None
    if not all(_survives(value) for value in request.cb_kwargs.values()):
        return None
    kept = {
        "url": request.url,
        "method": request.method,
        "callback": callback,
        "errback": errback,
        # The cookies middleware adds its own header again.
        "headers": [
            [name.decode("latin-1"), [value.decode("latin-1") for value in values]]
            for name, values in request.headers.items()
            if name != b"Cookie"
        ],
        "body": b64encode(request.body).decode("ascii"),
        "cookies": request.cookies if _survives(request.cookies) else {},
        "encoding": request.encoding,
        "priority": request.priority,
        "flags": [str(flag) for flag in request.flags],
        "cb_kwargs": request.cb_kwargs,
        "meta": {
            name: value
            for name, value in request.meta.items()
            if isinstance(name, str) and name != "simhash" and _survives(value)
        },
    }
    # ASCII, because a store may not take lone surrogates, which JSON does.
    return json.dumps(kept, separators=(",", ":"))


def request_from_json(text: str, spider: Spider) -> Request:
    """Make a request again; it passes the dupefilter, which has seen its URL before.

    Raises:
        ValueError: the text is not of :func:`request_to_json`, or names a method that the
            spider does not have.
    """
    try:
        kept: dict[str, Any] = json.loads(text)
        return Request(
            kept["url"],
            method=kept["method"],
            callback=_method(kept["callback"], spider),
            errback=_method(kept["errback"], spider),
            headers={
                name.encode("latin-1"): [value.encode("latin-1") for value in values]
                for name, values in kept["headers"]
            },
            body=b64decode(kept["body"]),
            cookies=kept["cookies"],
            encoding=kept["encoding"],
            priority=kept["priority"],
            flags=kept["flags"],
            cb_kwargs=kept["cb_kwargs"],
            meta=kept["meta"],
            dont_filter=True,
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"the stored request cannot be made again: {error!r}") from None


def _method_name(function: Callable[..., Any] | None, spider: Spider) -> str | None:
    if function is None:
        return None
    name = getattr(function, "__name__", "")
    method = getattr(spider, name, None)
    if getattr(function, "__self__", None) is not spider or method != function:
        raise ValueError(f"{function!r} is not a method of the spider")
    return str(name)


def _method(name: str | None, spider: Spider) -> Callable[..., Any] | None:
    if name is None:
        return None
    method: Callable[..., Any] = getattr(spider, name)
    return method


def _survives(value: object) -> bool:
    if value is None or isinstance(value, (str, int, float, bool)):
        return True
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
