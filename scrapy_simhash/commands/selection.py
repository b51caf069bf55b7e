"""The pages that an operator names, by address or host."""

from __future__ import annotations

import re
from collections.abc import Callable

from scrapy.exceptions import UsageError

from scrapy_simhash.keys import page_key
from scrapy_simhash.report.dedup_log import host_of

# The method and digest before the URL, in the key of a page that was not asked for with GET.
_METHOD = re.compile("[A-Z]+ [0-9a-f]{16} ")


def keys_of(page: str) -> set[str]:
    """Return the keys that may be meant: the given text, and the canonical form of an address."""
    if "://" not in page or _METHOD.match(page):
        return {page}
    try:
        return {page, page_key(page)}
    except ValueError:
        return {page}


def is_get(key: str) -> bool:
    """Return whether a key is not that of a page that was asked for with another method."""
    return not _METHOD.match(key)


def of_hosts(hosts: list[str] | None) -> Callable[[str], bool]:
    """Return a function that says whether a key is an address of one of these hosts."""
    wanted = {host.lower() for host in hosts or ()}
    for host in wanted:
        if not host or set(host) & set("/ @"):
            raise UsageError(f"--host {host}: it must be a host, like www.example.com")
    return lambda key: hosts is None or host_of(_METHOD.sub("", key)) in wanted
