"""The pages that an operator names: by address, host or time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError

# The method and digest before the URL, in the key of a page that was not asked for with GET.
_METHOD = re.compile("[A-Z]+ [0-9a-f]{16} ")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def keys_of(page: str) -> list[str]:
    """Return the keys that may be meant: the given text, and the canonical form of an address."""
    from scrapy_simhash.keys import page_key

    if "://" not in page or _METHOD.match(page):
        return [page]
    try:
        return list(dict.fromkeys((page, page_key(page))))
    except ValueError:
        return [page]


def is_get(key: str) -> bool:
    """Return whether a key is not that of a page that was asked for with another method."""
    return not _METHOD.match(key)


def of_hosts(hosts: list[str] | None) -> Callable[[str], bool]:
    """Return a function that says whether a key is an address of one of these hosts."""
    wanted = {host.lower() for host in hosts or ()}
    for host in wanted:
        if not host or set(host) & set("/ @"):
            raise UsageError(f"--host {host}: it must be a host, like www.example.com")

    def is_of(key: str) -> bool:
        if hosts is None:
            return True
        try:
            parts = urlsplit(_METHOD.sub("", key))
            return parts.netloc.rpartition("@")[2].lower() in wanted or parts.hostname in wanted
        except ValueError:
            return False

    return is_of


def given_moment(text: str) -> float:
    """Return the time that is meant by a date, a time, or a span back from now; dates are in UTC.

    Raises:
        UsageError: the text is neither of them.
    """
    ago = re.fullmatch(r"(\d{1,6})([dhm])", text)
    if ago:
        past = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.now(timezone.utc).timestamp() - past.total_seconds()
    try:
        given = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (given if given.tzinfo else given.replace(tzinfo=timezone.utc)).timestamp()
    except ValueError:
        raise UsageError(
            f"--before {text}: it must be like 2026-01-31, 2026-01-31T12:00, 30d or 12h"
        ) from None
