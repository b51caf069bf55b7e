"""The key that names a page in the index, and the scope in which pages are compared."""

import functools
import hashlib
import re
from collections.abc import Iterable
from typing import Literal
from urllib.parse import urlsplit

import tldextract
from w3lib.url import canonicalize_url

Scope = Literal["global", "domain", "host"]
SCOPES: tuple[Scope, ...] = ("global", "domain", "host")

# Characters of a key as it is; indexes read the keys of many pages together.
LONGEST = 4096
MOST_ALIASES = 8
_USERINFO = re.compile("^([^/?#]*//)[^/?#]*@")
_WEB = re.compile(r"(https?)://(www\.)?(?=[^/])(.*)", re.DOTALL)


# One page has its key asked for several times in a moment, and each takes a tenth of a millisecond.
_canonical = functools.lru_cache(maxsize=1024)(canonicalize_url)


def plain_key(value: object) -> str:
    """Return a key of the user's as text that every store takes: with no lone surrogates."""
    return _short(str(value).encode("utf-8", "backslashreplace").decode())


def page_key(url: str, method: str = "GET", body: bytes = b"") -> str:
    """Return the key of a page: its canonical URL.

    For anything but GET the method and a digest of the request body stand before it, since the
    same URL then answers with different pages. What stands before an ``@`` of the host, such as a
    password, is no part of a key.
    """
    canonical = _canonical(url)
    if method == "GET":
        return _short(canonical)
    digest = hashlib.blake2b(body, digest_size=8).hexdigest()
    return _short(f"{method} {digest} {canonical}")


def key_of(name: str) -> str:
    """Return the key of a page by its address, or by another name that the user gives it.

    Raises:
        ValueError: it looks like an address and is malformed, such as ``http://[``.
    """
    key = plain_key(name)
    return page_key(key) if "://" in key else key


def aliases(url: str, redirect_urls: Iterable[str] = ()) -> tuple[str, ...]:
    """Return other keys under which the page of a GET may stand in an index, at most 8.

    They are the keys of the addresses that redirected to it, the first one and the last ones, and
    its own with another scheme, with or without ``www.``. Only an address of the web has such
    variants.

    Raises:
        ValueError: one of them is malformed, such as ``http://[``.
    """
    key, chain = page_key(url), [*map(page_key, redirect_urls)]
    keys = []
    if match := _WEB.fullmatch(key):
        scheme, www, rest = match.groups(default="")
        # A port belongs to a scheme.
        schemes = (scheme,) if ":" in rest.partition("/")[0] else ("https", "http")
        keys = [
            f"{each}://{host}{rest}" for each in schemes for host in (www, "" if www else "www.")
        ]
    unique = dict.fromkeys([*chain[:1], *keys, *reversed(chain)])
    unique.pop(key, None)
    return tuple(unique)[:MOST_ALIASES]


def _short(key: str) -> str:
    """Return a key without userinfo; a long one, such as a ``data:`` URL, is cut."""
    key = _USERINFO.sub(r"\1", key)
    if len(key) <= LONGEST:
        return key
    return f"{key[:LONGEST]}… {hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"


def page_scope(url: str, scope: Scope) -> str:
    """Return the name under which a page is compared: nothing, its domain or its host.

    A text that is not an address has no host.
    """
    if scope == "global":
        return ""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""
    return host if scope == "host" else registered_domain(host)


@functools.lru_cache(maxsize=4096)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host: ``example.co.uk`` of ``www.example.co.uk``.

    An IP address and a host without a dot stand for themselves. Under a suffix that is not on the
    list, as in an intranet, the last two names count, as the list itself has it.
    """
    suffix = _suffixes()(host)
    if suffix.suffix:
        return suffix.top_domain_under_public_suffix or host
    return host if suffix.ipv4 or suffix.ipv6 else ".".join(host.split(".")[-2:])


@functools.cache
def _suffixes() -> tldextract.TLDExtract:
    # The list that comes with the package: fetching the current one would block the crawl, and
    # two workers with different lists would put one page into two scopes.
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
