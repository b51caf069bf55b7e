"""The key that names a page in the index, and the scope in which pages are compared."""

import functools
import hashlib
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


def plain_key(value: object) -> str:
    """Return a key of the user's as text that every store takes: with no lone surrogates."""
    return _short(str(value).encode("utf-8", "backslashreplace").decode())


def page_key(url: str, method: str = "GET", body: bytes = b"") -> str:
    """Return the key of a page: its canonical URL.

    For anything but GET the method and a digest of the request body stand before it, since the
    same URL then answers with different pages.
    """
    canonical = canonicalize_url(url)
    if method == "GET":
        return _short(canonical)
    digest = hashlib.blake2b(body, digest_size=8).hexdigest()
    return _short(f"{method} {digest} {canonical}")


def aliases(url: str, redirect_urls: Iterable[str] = ()) -> tuple[str, ...]:
    """Return other keys by which a page may be known: of its redirects, its scheme, its ``www``.

    Args:
        url: where the page was found in the end.
        redirect_urls: the addresses that led there, the first one first.
    """
    parts = urlsplit(url)
    own = page_key(url)
    scheme = {"http": "https", "https": "http"}.get(parts.scheme, parts.scheme)
    host = parts.netloc.removeprefix("www.")
    hosts = (parts.netloc, host if host != parts.netloc else f"www.{host}")
    forms = [
        parts._replace(scheme=s, netloc=h).geturl() for h in hosts for s in (parts.scheme, scheme)
    ]
    keys = dict.fromkeys(map(page_key, (*redirect_urls, *forms)))
    keys.pop(own, None)
    return tuple(keys)[:MOST_ALIASES]


def key_of(name: str) -> str:
    """Return the key of a page by its address, or by another name that the user gives it.

    Raises:
        ValueError: it should be an address, and is none, such as ``http://[``.
    """
    key = plain_key(name)
    return page_key(key) if "://" in key else key


def _short(key: str) -> str:
    """Return a key; of a long one, such as a ``data:`` URL, the beginning and a digest."""
    if len(key) <= LONGEST:
        return key
    return f"{key[:LONGEST]}… {hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"


def page_scope(url: str, scope: Scope) -> str:
    """Return the name under which a page is compared: nothing, its domain or its host."""
    if scope == "global":
        return ""
    host = (urlsplit(url).hostname or "").rstrip(".")
    return host if scope == "host" else registered_domain(host)


@functools.lru_cache(maxsize=4096)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host: ``example.co.uk`` of ``www.example.co.uk``.

    An IP address and a host without a dot stand for themselves. Under a suffix that is not on the
    list, as in an intranet, the last two names count, as the list itself has it.
    """
    found = _suffixes()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    return host if found.ipv4 or found.ipv6 else ".".join(host.split(".")[-2:])


@functools.cache
def _suffixes() -> tldextract.TLDExtract:
    # The list that comes with the package: fetching the current one would block the crawl, and
    # two workers with different lists would put one page into two scopes.
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
