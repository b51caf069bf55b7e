"""How the addresses of two pages are related, as far as the rule has a use for it."""

import re
from enum import Enum
from functools import lru_cache
from urllib.parse import urlsplit

from scrapy_simhash.keys import registered_domain

_LANGUAGE = re.compile(r"\.[a-z]{2}(?:-[a-z]{2})?(?=\.)", re.IGNORECASE)


class Kinship(Enum):
    """How two addresses are related."""

    QUERY = "one host; one path or file name and a query, or a query with the other's name in it"
    HOST = "one host"
    VERSIONS = "two hosts of one registered domain, and one path or file name"
    DOMAIN = "two hosts of one registered domain"
    NONE = "two sites"


ONE_HOST = (Kinship.QUERY, Kinship.HOST)


def kinship(key: str, other: str) -> Kinship:
    """Return how the addresses in two keys are related; keys that are no addresses are of one host.

    Args:
        key: as :func:`scrapy_simhash.keys.page_key` makes it, or any text.
        other: in the same way.
    """
    (one, name, query), (two, other_name, other_query) = _place(key), _place(other)
    if one == two or not (one and two):
        # A wiki has a page as /Flour and as ?title=Flour.
        named = f"={name}&" in f"{other_query}&" or f"={other_name}&" in f"{query}&"
        is_view = (query or other_query) and (name == other_name or named)
        return Kinship.QUERY if is_view else Kinship.HOST
    if registered_domain(one) == registered_domain(two):
        return Kinship.VERSIONS if (name, query) == (other_name, other_query) else Kinship.DOMAIN
    return Kinship.NONE


@lru_cache(maxsize=4096)
def _place(key: str) -> tuple[str, str, str]:
    """Return host, file name and query of the address in a key; one that is no address has none.

    The name is without the language that servers put into it ("x.en.html" is "x.html"). A folder's
    index has the whole path as its name.
    """
    address = key.rpartition(" ")[2]  # the key of anything but a GET begins with the method
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, such as http://[
        return "", "", ""
    file = _LANGUAGE.sub("", parts.path.rpartition("/")[2])
    is_index = file.partition(".")[0] in ("", "index")
    return parts.hostname or "", parts.path if is_index else file, parts.query
