"""Where a page leads, and which pictures it shows, without what names only the visit."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from scrapy_simhash.addresses import without_visit
from scrapy_simhash.extraction.page import Page
from scrapy_simhash.extraction.roles import Element

#: Links and images of a page that are looked at.
MOST = 400
_LONGEST = 300  # characters of an address
# These attributes name the file of an image. Before a script has run, the "src" of a lazy one is
# that of all others.
_SOURCES = ("data-src", "data-original", "data-lazy-src", "data-srcset", "src", "srcset")
_PICTURES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
# A session or a token in an address: another one in each visit.
_TOKEN = re.compile(r"[0-9A-Fa-f]{16,}|[0-9A-Za-z_-]{32,}")
# An address in a parameter is that of the page itself, or of the one before.
_ADDRESS_WITHIN = re.compile(r"[?&][^=&]*=[^&]*(?:/|%2F)", re.IGNORECASE)
_PAGER = frozenset(("next", "prev"))


def picture(image: Element) -> str:
    """Return the address of an image, with its query unless the file is named as a picture is.

    A file of another name is a program, such as ``thumb.php?id=7``: its query may be all that
    differs. The query of a picture tells its version or its size.
    """
    address = without_visit(next(filter(None, map(image.get, _SOURCES)), "")[:_LONGEST])
    path = address.partition("?")[0]
    return path if is_picture(path) else address


def is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES)


def pictures(page: Page) -> Iterator[str]:
    """Yield the addresses of images outside menus."""
    for el in islice(page.images, MOST):
        if next(el.iterancestors("nav", "header", "footer"), None) is None:
            yield picture(el)


def targets(page: Page) -> Iterator[str]:
    """Yield where links and a redirection lead, but for other parts of the same list.

    Links that sort a list or turn its pages have its path, and all parameters of the page itself.
    So a path that several targets with other parameters share is left out, and what they all have.
    """
    for meta in page.metas:
        if meta.get("http-equiv", "").lower() == "refresh":
            yield meta.get("content", "")[:_LONGEST]
    queries = defaultdict[str, set[str]](set)
    for el in islice(page.body.iter("a"), MOST):
        # How far a page is down decides how far up its links go.
        href = el.get("href", "")[:_LONGEST].partition("#")[0].strip().lstrip("./")
        target = without_visit(href)
        if target and el.get("rel") not in _PAGER and not _ADDRESS_WITHIN.search(target):
            path, _, query = _TOKEN.sub("*", target).partition("?")
            queries[path].add(query)
    for path, found in queries.items():
        if len(found) == 1:
            yield "?".join((path, *filter(None, found)))
            continue
        pairs = [set(query.split("&")) for query in found]
        common = set.intersection(*pairs)
        yield from ("&".join(sorted(each - common)) for each in pairs)
