"""Writes the addresses in a page in one form, however the page links to them."""

import re
from collections.abc import Iterable
from posixpath import normpath
from urllib.parse import unquote, urljoin

from scrapy_simhash.keys import split_address, without_visit

#: Characters of an address that are looked at.
LONGEST_ADDRESS = 300
_HTTP = re.compile(r"(?:https?:)?//", re.IGNORECASE)
#: A text has addresses in these.
_QUOTES = "\"'.,;:!?()[]<>\u2018\u2019\u201c\u201d\u00ab\u00bb"
_OTHER_SCHEME = re.compile(r"[a-z]{2,11}:", re.IGNORECASE)


def absolute(address: str, url: str) -> str:
    """Resolve an address against the URL of its page; a malformed one stays as written."""
    try:
        return urljoin(url, address) if address else ""
    except ValueError:  # such as http://[
        return address


def path_of(url: str) -> str:
    """Return the path of an address as a text shows it; nothing for what is none."""
    parts = split_address(url)
    return unquote(parts.path) if parts else ""


def without_path(lines: list[str], path: str, names: Iterable[str]) -> list[str]:
    """Return lines without the path of their page, which an error repeats.

    The last three names of it or more are as good, as in "No results for
    images/js/menu.js", but not without a letter, as in 2026/11/29. A folder may be all
    that is known of the path, and that is a value. A page that is named by its path,
    such as the history of a file, is no error.
    """
    name = path.rpartition("/")[2]
    # Few pages show the last name of their path.
    if not name or name not in "\n".join(lines) or any(name in each for each in names):
        return lines
    return [_without_path(line, path) if "/" in line else line for line in lines]


def _without_path(line: str, path: str) -> str:
    return " ".join(
        word for word in line.split(" ") if not _is_path(word.strip(_QUOTES), path)
    )


def _is_path(word: str, path: str) -> bool:
    is_end = (
        word.count("/") > 1
        and path.endswith(f"/{word}")
        and word.upper() != word.lower()
    )
    return is_end or word == path


class Folder:
    """The folder of a page, from which its relative addresses start."""

    def __init__(self, url: str) -> None:
        place = url.partition("?")[0]
        self._host, _, path = _HTTP.sub("", place).partition("/")
        folders = [name for name in path.split("/")[:-1] if not name.isdecimal()]
        self._path = f"/{path}".rpartition("/")[0] + "/" if url else ""
        # A path that names a folder twice may be a trap: addresses without steps up
        # lead ever deeper in it.
        self._below = self._path if len({*folders}) == len(folders) else ""
        self._known = dict[str, str]()  # a page links to many addresses twice

    def has(self, path: str) -> bool:
        """Return whether the page of a resolved path stands in the folder itself."""
        return path.rpartition("/")[0] + "/" == self._path

    def resolved(self, address: str) -> str:
        """Return a path on the host of the page, or an address on another host without a scheme.

        Anchors and marks of a visit are left out, and so are steps up and down in the
        path.
        """
        if address not in self._known:
            self._known[address] = self._resolved(address)
        return self._known[address]

    def _resolved(self, address: str) -> str:
        address = address[:LONGEST_ADDRESS].partition("#")[0].strip()
        if scheme := _HTTP.match(address):
            host, _, path = address[scheme.end() :].partition("/")
            if host != self._host:
                return without_visit(f"//{host}/{path}")
            address = f"/{path}"
        elif address[:1] not in ("", "/") and not _OTHER_SCHEME.match(address):
            address = (
                self._path if address.startswith("../") else self._below
            ) + address
        if "./" in address:
            path, mark, query = address.partition("?")
            address = f"{normpath(path)}{mark}{query}"
        return without_visit(address)
