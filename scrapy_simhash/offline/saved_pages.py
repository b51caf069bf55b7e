"""Pages that were saved, in JSON, WARC, HTML and text files, and the filter over them.

An entry of JSON is one object, such as an item of a Scrapy feed. The first of its
fields that has something is the content: those that the project's settings name,
``html``, ``html_base64`` (its own bytes) and ``text``. ``id`` or ``url`` names the
page, or else its place.
"""

from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

from scrapy_simhash.core.analysis import Body, PageAnalysis, text_body
from scrapy_simhash.core.verdict import Verdict, verdict_of
from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.fingerprint.recipe import RECIPES, Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.values import Arrival
from scrapy_simhash.keys import Scope, base_address, page_key, page_scope, plain_key
from scrapy_simhash.offline.files import (
    JSON_SUFFIXES,
    LARGEST_PAGE,
    FileError,
    json_objects,
    opened,
    unpacked_name,
)
from scrapy_simhash.offline.warc import read_records

_HTML = (".html", ".htm", ".xhtml")
_WARC = (".warc", ".wet")
_READABLE = (*JSON_SUFFIXES, *_HTML, ".txt", *_WARC)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page or text.

    Attributes:
        name: the name that its entry or file gives it.
        key: its name in an index: the canonical address, or else the name.
    """

    name: str
    key: str
    body: Body
    url: str | None = None


Analysed: TypeAlias = tuple[SavedPage, PageAnalysis]
#: A page, the verdict on it, and whether the page stays.
Decided: TypeAlias = tuple[SavedPage, Verdict, bool]


@dataclass
class PageReader:
    """Reads the pages of files and folders.

    Attributes:
        recipe: has the readers of a WARC file, from which answers with status 200,
            resources and conversions are taken.
        text_field, html_field, key_field: of an entry that has its text, its HTML or
            its key.
        report: is called with the number of bytes that were read on the disk.
        passed_over: counts the entries and records that are passed over, by their kind.
    """

    recipe: Recipe = RECIPES["default"]
    text_field: str | None = None
    html_field: str | None = None
    key_field: str = "url"
    report: Callable[[int], object] = lambda _: None
    passed_over: Counter[str] = field(default_factory=Counter)

    def read(self, path: Path) -> Iterator[SavedPage]:
        """Yield the pages of a file, or of all files of a folder in sorted order.

        A page without an address is named by its path: two folders may each have an
        index.html.

        Raises:
            FileError: something cannot be read. Entries are checked as they are
                reached.
        """
        for file in page_files(path):
            kind = unpacked_name(file)
            with opened(file, self.report) as content:
                if kind.endswith(_WARC):
                    records = read_records(file, content, self.passed_over, self.recipe)
                    yield from (_saved(url, url, body) for url, body in records)
                elif kind.endswith(JSON_SUFFIXES):
                    yield from self._items(file, content)
                elif len(data := content.read(LARGEST_PAGE + 1)) > LARGEST_PAGE:
                    self.passed_over[f"file of more than {LARGEST_PAGE:,} bytes"] += 1
                else:
                    is_text = kind.endswith(".txt")
                    body = text_body(decode_html(data)) if is_text else Body(data)
                    yield _saved(file.as_posix(), None, body)

    def _items(self, path: Path, file: IO[bytes]) -> Iterator[SavedPage]:
        count = 0
        names_of_first = ""
        for number, item in enumerate(json_objects(file, path), 1):
            place = f"{path.as_posix()}, entry {number}"
            try:
                body = self._body(item)
            except ValueError as error:
                raise FileError(
                    f"{place}: html_base64 is not base64 ({error})"
                ) from None
            if body is not None:
                count += 1
                yield self._page(item, place, body)
            else:
                names_of_first = (
                    names_of_first or ", ".join(list(item)[:10]) or "nothing"
                )
                self.passed_over["entry without text"] += 1
        if names_of_first and not count:
            raise FileError(
                f"{path}: no entry has html, html_base64 or text; the first one has "
                f"{names_of_first}; name the field of the text with "
                "-s SIMHASH_ITEM_TEXT_FIELD=NAME"
            )

    def _body(self, item: dict[str, Any]) -> Body | None:
        names = filter(
            None, (self.text_field, self.html_field, "html", "html_base64", "text")
        )
        texts = {name: item[name] for name in names if isinstance(item.get(name), str)}
        if not texts:
            return None
        # The first that has something, or else the first.
        name, text = max(texts.items(), key=lambda pair: pair[1] != "")
        if name == "html_base64":
            return Body(b64decode(text))
        if name in (self.text_field, "text"):
            return text_body(text)
        return Body(text.encode("utf-8", "replace"), "utf-8")

    def _page(
        self,
        item: dict[str, Any],
        place: str,
        body: Body,
    ) -> SavedPage:
        url = item.get("url")
        if not isinstance(url, str):
            url = None
        # The key field of the project names an item whatever its address is.
        key = None if self.key_field == "url" else item.get(self.key_field)
        names = (key, item.get("id"), url, place)
        name = next(str(name) for name in names if name not in (None, ""))
        return _saved(name, None if key else url, body)


def page_files(path: Path) -> list[Path]:
    """Return the files with pages, sorted: a file itself, or all in a folder.

    Raises:
        FileError: there are none.
    """
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [f for f in inside if unpacked_name(f).endswith(_READABLE) and f.is_file()]
    if not files:
        suffixes = f"{', '.join(_READABLE)}, also with .gz, .xz, .bz2"
        raise FileError(f"{path}: no file with pages; their names end with {suffixes}")
    return files


def _saved(
    name: str,
    url: str | None,
    body: Body,
) -> SavedPage:
    """Return a page; a malformed address is a name, because an archive cannot be mended."""
    address = url or name
    with suppress(ValueError):
        if "://" in address:
            body = body._replace(url=base_address(address, body.data))
            return SavedPage(name, page_key(address), body, address)
    return SavedPage(name, plain_key(name), body)


def decide(
    analysed: Iterator[Analysed],
    index: Index,
    scope: Scope,
) -> Iterator[Decided]:
    """Yield each page, the verdict on it, in their order, and whether the page stays.

    Originals are confirmed. A page that is not compared stays. Of two near pages with
    the same key the first one stays; if they are not near, the page has changed, and
    both stay.
    """
    kept: defaultdict[str, list[int]] = defaultdict(list)  # values by key
    while pages := [*islice(analysed, 64)]:
        arrivals = [
            Arrival(
                page.key,
                analysis.fingerprint,
                page_scope(page.url or "", scope),
                analysis.facts,
            )
            for page, analysis in pages
            if analysis.fingerprint is not None
        ]
        verdicts = map(verdict_of, arrivals, index.claim_all(arrivals))
        for page, analysis in pages:
            verdict = Verdict("skipped", page.key, analysis.reason)
            is_repeated = False
            if analysis.fingerprint is not None:
                verdict = next(verdicts)
                is_repeated = verdict.kind == "revisit" and any(
                    hamming_distance(analysis.fingerprint.value, value)
                    <= index.spec.reach
                    for value in kept[page.key]
                )
                if not is_repeated:
                    kept[page.key].append(analysis.fingerprint.value)
            verdict = replace(verdict, excerpt=analysis.excerpt)
            yield page, verdict, not is_repeated and verdict.kind != "duplicate"
        index.confirm(page.key for page, analysis in pages if analysis.fingerprint)
