"""What tells two pages apart whose texts do not.

Marks are compared exactly: a recipe mixes them into the fingerprint, so that pages with
different marks are far from each other.
"""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote, urlsplit

from scrapy_simhash.fingerprint.normalisation import normalise

#: What a recipe can be asked to tell pages apart by.
MARKS = ("numbers", "title")

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TAG = re.compile(r"<[^>]*>")
# Each of these looks no further than the next tag of its kind: what is never closed, a hundred
# thousand times, would else be read to the end of the page as often.
_TITLE = re.compile(r"<title[^<>]*>((?:(?!<title).)*?)</title", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"<h1[^<>]*>((?:(?!<h1).)*?)</h1", re.DOTALL | re.IGNORECASE)
# Between a page's own title and the name of its site.
_SEPARATOR = re.compile(r"\s[-\u2013\u2014|\u00b7:\u00bb]\s|[|_\u00bb]|\u2014\u2014")
# Data that a script turns into the page: what it shows is not in its text.
_DATA = re.compile(
    r"<script[^<>]*type\s*=\s*[\"']?application/(?:ld\+)?json[^<>]*>((?:(?!<script).)*?)</script"
    r"|<script[^<>]*>([^<]*(?:__NEXT_DATA__|__NUXT__|_STATE__|window\.__)[^<]*)",
    re.DOTALL | re.IGNORECASE,
)
# A hash, a session or a request's id.
_ID = re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{16,}\b", re.IGNORECASE)


def numbers(text: str) -> str:
    """Return the different numbers of a text, in no order of the text's."""
    return " ".join(sorted(set(_NUMBER.findall(text))))


def title(html: str) -> str:
    """Return what a page calls itself, without the name of its site.

    The first ``<h1>`` that has a text; else the longest part of the ``<title>``.
    """
    if words := _heading(html):
        return words
    found = _TITLE.search(html)
    parts = _SEPARATOR.split(_text(found.group(1))) if found else []
    return max(map(normalise, parts), key=len, default="")


def steady_text(text: str, url: str | None) -> str:
    """Return a text without what an error page or a wall puts in anew: its address, and ids."""
    if url is not None:
        parts = urlsplit(url)
        for path in (unquote(parts.path), parts.path):
            # With its slash: a name alone may be what the page is about.
            if len(path) > 1:
                text = text.replace(path, " ")
    return _ID.sub(" ", text)


def hidden_content(html: str) -> str:
    """Return what a page has beside its text: its title and embedded data.

    Pages drawn by a script may all show the same words. Where the page itself
    shows a heading, the title has little to add but the name of the site, or of a release.
    """
    found = None if _heading(html) else _TITLE.search(html)
    data = ["".join(groups) for groups in _DATA.findall(html)]
    return "\0".join([found.group(1) if found else "", *data])


def _heading(html: str) -> str:
    return next(filter(None, map(normalise, map(_text, _HEADING.findall(html)))), "")


def _text(markup: str) -> str:
    return unescape(_TAG.sub(" ", markup))
