"""The address of a page: its parts, its key in the index, and the scope in which it is compared."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urljoin, urlsplit

from w3lib.url import canonicalize_url

if TYPE_CHECKING:
    import tldextract

Scope = Literal["global", "domain", "host"]

_KEY_USERINFO = re.compile("^([^/?#]*//)[^/?#]*@")
_WEB = re.compile(r"(https?)://(www\.)?(?=[^/])(.*)", re.DOTALL)
# Parameters that are no part of a page's name. They name the link by which a visitor
# came, the page to which a form leads back, the session of the visit by a long number,
# or the moment, so that no cache answers; or they have no value, because a form also
# sends its empty fields. Others sign a request, or put into a cart or on a list what
# the page shows. AMP is another form of a page. In lower case, because to ignore the
# case takes far longer.
_OF_VISIT = re.compile(
    r"(?:(?:utm|mtm|hsa|vero|oly)_\w{1,20}|(?:pk|piwik|matomo)_(?:campaign|kwd|keyword"
    r"|source|medium|content|[cv]id)|fb_(?:action_\w{1,9}|source|ref)|_hs(?:mi|enc)|__hs\w{2,4}"
    r"|hsctatracking|at_(?:medium|campaign)|[a-z]{1,4}clid|[gw]braid|gad_source|srsltid|mc_[ce]id"
    r"|(?:rdt|s)_cid|s_kwcid|ef_id|_g[al]|spm|igshid|igsh|li_fat_id|epik|mkt_tok|wt[._]mc\w*"
    r"|_openstat|dm_i|elqtrack\w*|cmpid|icid|_?wpnonce|sectok|csrf_?token|itok|x-amz-[\w-]{1,20}"
    r"|add[-_]to[-_](?:wishlist|cart|compare))=.*"
    r"|(?:s|sid|\w{0,20}sess\w{0,20}|oscsid|zenid)=(?=[a-z]*\d)[a-z\d]{16,}"
    r"|(?:sig|signature|token|hmac|nonce)=[\w.~%+/-]{16,}={0,2}"
    r"|cfid=\d+|cftoken=[\w-]+|_=\d+|(?:_?ts?|timestamp|v|ver|expires)=\d{9,}"
    r"|(?:return_?(?:to(?:query)?|url)|redirect_?to|came_?from|back_?url)=.*"
    r"|(?:no_?cache|cache_?bust(?:er)?|cb|ra?nd(?:om)?)=[\d.]{5,}|amp=(?:1|true)|output(?:type)?=amp"
    r"|[^=]{1,99}(?<!\d)="
)
# Paths have sessions, too.
_SESSION = re.compile(
    r";(?:jsessionid|cfid|cftoken)=[\w.!-]*|/\((?:[A-Z]\([^()/]{9,99}\)){1,4}\)(?=/)",
    re.IGNORECASE,
)


# One page has its key asked for several times in a moment, and each takes a tenth of a
# millisecond.
_canonical = functools.lru_cache(maxsize=1024)(canonicalize_url)


def plain_key(value: object) -> str:
    """Return a key of the user's as text that every store takes: with no lone surrogates."""
    return _short_key(str(value).encode("utf-8", "backslashreplace").decode())


def page_key(
    url: str,
    method: str = "GET",
    body: bytes = b"",
) -> str:
    """Return the key of a page: its canonical URL.

    Any method but GET comes first, with a digest of the request body, since the same
    URL then answers with different pages. The key has neither user name nor password.
    """
    key = _canonical(url)
    if method != "GET":
        digest = hashlib.blake2b(body, digest_size=8).hexdigest()
        key = f"{method} {digest} {key}"
    return _short_key(key)


def key_of(name: str) -> str:
    """Return the key of a page by its address, or by another name that the user gives it.

    Raises:
        ValueError: it looks like an address and is malformed, such as ``http://[``.
    """
    key = plain_key(name)
    return page_key(key) if "://" in key else key


def aliases(url: str, redirect_urls: Iterable[str] = ()) -> tuple[str, ...]:
    """Return other keys by which an index may know the page of a GET, at most 8.

    They are the keys of the addresses that redirected to it, the first one and the last
    ones, and its own with another scheme, with or without ``www.``. Only an address of
    the web has such variants.

    Raises:
        ValueError: one of them is malformed, such as ``http://[``.
    """
    key = page_key(url)
    chain = [*map(page_key, redirect_urls)]
    unique = dict.fromkeys([*chain[:1], *_variants(key), *reversed(chain)])
    unique.pop(key, None)
    return tuple(unique)[:8]


def _variants(key: str) -> Iterator[str]:
    """Yield the keys of an address of the web with each scheme, with and without ``www.``."""
    match = _WEB.fullmatch(key)
    if match is None:
        return
    scheme, www, rest = match.groups(default="")
    # A port belongs to a scheme.
    has_port = ":" in rest.partition("/")[0]
    for each in (scheme,) if has_port else ("https", "http"):
        yield f"{each}://{www}{rest}"
        yield f"{each}://{'' if www else 'www.'}{rest}"


def _short_key(key: str) -> str:
    """Return a key without userinfo; a long one, such as a ``data:`` URL, is cut."""
    key = _KEY_USERINFO.sub(r"\1", key)
    longest = 4096  # indexes read the keys of many pages together
    if len(key) <= longest:
        return key
    digest = hashlib.blake2b(key.encode(), digest_size=16)
    return f"{key[:longest]}… {digest.hexdigest()}"


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

    Each tenant of a service such as ``github.io`` has a domain, if the list has the
    service. An IP address and a host without a dot are returned unchanged. Under a
    suffix that is not on the list, as in an intranet, the last two names count, as the
    list itself has it.
    """
    suffix = _suffixes()(host)
    if suffix.suffix:
        return suffix.top_domain_under_public_suffix or host
    is_number = suffix.ipv4 or ":" in host  # of IPv6, whose brackets are gone
    return host if is_number else ".".join(host.split(".")[-2:])


@functools.cache
def _suffixes() -> tldextract.TLDExtract:
    import tldextract  # slow, and a worker process needs it for no page

    # The list that comes with the package: fetching the current one would block the
    # crawl, and two workers with different lists would put one page into two scopes.
    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


def without_visit(address: str) -> str:
    """Return an address without marks of a visit, and with each of its parameters once."""
    # A search in all addresses takes longer, and few have a place for a session.
    if ";" in address or "(" in address:
        address = _SESSION.sub("", address)
    if "?" not in address:
        return address
    place, _, query = address.partition("?")
    parameters = dict.fromkeys(query.split("&"))
    named = "&".join(
        [each for each in parameters if each and not _OF_VISIT.fullmatch(each.lower())]
    )
    return f"{place}?{named}" if named else place


@functools.lru_cache(maxsize=4096)
def split_address(text: str) -> SplitResult | None:
    """Return the parts of an http address; None if a text is no such address."""
    try:
        parts = urlsplit(text)
        return parts if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:  # such as http://[
        return None


def base_address(url: str, data: bytes) -> str:
    """Return the folder of a page's address, against which the addresses in the page are resolved.

    So the relative links of a page are the same at all its addresses in a folder. It is
    the whole path if the page may name that, and empty for anything but an http address.
    """
    parts = split_address(url)
    if parts is None:
        return ""
    end = "/".join(parts.path.split("/")[-3:])
    if end not in ("", "/") and end.encode() in data:
        return parts._replace(query="", fragment="").geturl()
    return urljoin(url, ".")


def host_of(url: str) -> str:
    """Return the host, and any port, of an http address; empty for other addresses."""
    parts = split_address(url)
    return parts.netloc.rpartition("@")[2].lower() if parts else ""
