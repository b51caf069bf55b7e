"""Pages that were saved: JSON, Parquet, WARC, HTML and text files, and folders of these.

A line of JSON, a row of Parquet, is one object, such as an item of a Scrapy feed. The project's
settings name its fields, see :class:`Fields`; without them, or where these are empty, the first of
``html``, ``html_base64`` (its own bytes), ``text``, ``raw_content`` and ``markdown`` that has
something is the content. ``id``, ``url`` and ``metadata.url`` name the page, or else its place.
"""

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from scrapy_simhash.core.analysis import Body, text_body
from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.fingerprint.recipe import RECIPES, Recipe
from scrapy_simhash.keys import page_key, plain_key
from scrapy_simhash.offline.files import (
    LARGEST,
    FileError,
    json_array,
    json_lines,
    opened,
    pyarrow,
    unpacked_name,
)
from scrapy_simhash.offline.warc import read_records

_LINES, _HTML, _WARC = (".jsonl", ".jl", ".ndjson"), (".html", ".htm", ".xhtml"), (".warc", ".wet")
_READABLE = (*_LINES, ".json", ".parquet", *_HTML, ".txt", *_WARC)
_CONTENT = ("html", "html_base64", "text", "raw_content", "markdown")
# Rows of Parquet that are in memory together.
_ROWS = 64


class Fields(NamedTuple):
    """The fields of an item that have its text, its HTML and its key."""

    text: str | None = None
    html: str | None = None
    key: str | None = "url"

    @property
    def content(self) -> tuple[str, ...]:
        return (*filter(None, (self.text, self.html)), *_CONTENT)


ANY_FIELDS = Fields()


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One page or text.

    Attributes:
        name: what its line or file calls it.
        key: what names it in an index: its canonical address, or else its name.
    """

    name: str
    key: str
    body: Body
    url: str | None = None


def read_pages(
    path: str | Path,
    report: Callable[[int], object] = lambda _: None,
    passed_over: Counter[str] | None = None,
    recipe: Recipe = RECIPES["default"],
    fields: Fields = ANY_FIELDS,
) -> Iterator[SavedPage]:
    """Yield the pages of a file, or of all files of a folder in sorted order.

    Args:
        path: a file or a folder.
        report: called with the number of bytes on the disk that were read since its last call.
        passed_over: counts what is passed over, by what it is.
        recipe: has the readers of a WARC file, from which answers with status 200, resources and
            conversions are taken.
        fields: of the objects in JSON and Parquet.

    Raises:
        FileError: there is nothing that can be read. Lines are checked as they are reached.
    """
    path, passed_over = Path(path), Counter[str]() if passed_over is None else passed_over
    for file in page_files(path, passed_over):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        begun = 0
        with opened(file) as (content, raw):
            for page in _read(file, name, content, passed_over, recipe, fields):
                report(raw.tell() - begun)
                begun = raw.tell()
                yield page
        report(file.stat().st_size - begun)


def page_files(path: Path, passed_over: Counter[str] | None = None) -> list[Path]:
    """Return the files with pages, sorted: a file itself, or all in a folder.

    Raises:
        FileError: there are none.
    """
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    inside = [file for file in inside if file.is_file()]
    files = [file for file in inside if unpacked_name(file).endswith(_READABLE)]
    if not files:
        suffixes = f"{', '.join(_READABLE)}, also with .gz, .xz, .bz2, .zst"
        raise FileError(f"{path}: no file with pages; their names end with {suffixes}")
    if passed_over is not None and len(files) < len(inside):
        passed_over["file of another kind"] += len(inside) - len(files)
    return files


def _read(
    path: Path,
    name: str,
    file: IO[bytes],
    passed_over: Counter[str],
    recipe: Recipe,
    fields: Fields,
) -> Iterator[SavedPage]:
    kind = unpacked_name(path)
    if kind.endswith(_WARC):
        for url, body in read_records(path, file, passed_over, recipe):
            yield _saved(url, url, body)
    elif kind.endswith((*_HTML, ".txt")):
        data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            passed_over[f"file of more than {LARGEST:,} bytes"] += 1
        elif kind.endswith(".txt"):
            yield _saved(name, None, text_body(decode_html(data)))
        else:
            yield _saved(name, None, Body(data))
    elif kind.endswith(".parquet"):
        yield from _items(path, name, _parquet_rows(path, file, fields), passed_over, fields)
    elif kind.endswith(".json"):
        yield from _items(path, name, json_array(file, path), passed_over, fields)
    else:
        objects = json_lines(file, path, passed_over)
        yield from _items(path, name, objects, passed_over, fields)


def _items(
    path: Path,
    file_name: str,
    items: Iterator[tuple[str, dict[str, Any]]],
    passed_over: Counter[str],
    fields: Fields,
) -> Iterator[SavedPage]:
    is_empty, first = True, ""
    for where, item in items:
        body = _body(item, where, fields)
        if body is None:
            first = first or ", ".join(list(item)[:10]) or "nothing"
            passed_over["entry without text"] += 1
            continue
        is_empty = False
        metadata = item.get("metadata")
        urls = (item.get("url"), metadata.get("url") if isinstance(metadata, dict) else None)
        url = next((url for url in urls if url and isinstance(url, str)), None)
        # The key field of the project names an item whatever its address is.
        key = item.get(fields.key) if fields.key not in (None, "url") else None
        names = (key, item.get("id"), url, file_name + where.removeprefix(str(path)))
        name = next(str(name) for name in names if name not in (None, ""))
        yield _saved(name, None if key else url, body)
    if is_empty and first:
        raise FileError(
            f"{path}: no entry has {' or '.join(fields.content)}; the first one has {first}; name "
            "the field of the text with -s SIMHASH_ITEM_TEXT_FIELD=NAME"
        )


def _parquet_rows(
    path: Path, file: IO[bytes], fields: Fields
) -> Iterator[tuple[str, dict[str, Any]]]:
    pa, parquet = pyarrow()
    number = 0
    try:
        table = parquet.ParquetFile(file)
        names = {"id", "url", "metadata", fields.key, *fields.content}
        columns = [name for name in table.schema_arrow.names if name in names]
        for batch in table.iter_batches(_ROWS, columns=columns or None):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", row
    except (pa.ArrowException, RecursionError) as error:
        raise FileError(f"{path}: damaged ({str(error).splitlines()[0]})") from None


def _body(item: dict[str, Any], where: str, fields: Fields) -> Body | None:
    present = [name for name in fields.content if item.get(name) is not None]
    if not present:
        return None
    field = next((name for name in present if item[name]), present[0])
    value = item[field]
    if not isinstance(value, str):
        raise FileError(f"{where}: {field} must be text, not {type(value).__name__}")
    if field in (fields.html, "html") and field != fields.text:
        return Body(value.encode("utf-8", "replace"), "utf-8")
    if field != "html_base64":
        return text_body(value)
    try:
        return Body(b64decode(value, validate=True))
    except ValueError:
        raise FileError(f"{where}: html_base64 is not base64") from None


def _saved(name: str, url: str | None, body: Body) -> SavedPage:
    """Return a page; what is no address is a mere name, because nobody can mend an archive."""
    address = url or name
    try:
        if "://" in address:
            return SavedPage(name, page_key(address), body, address)
    except ValueError:
        pass
    return SavedPage(name, plain_key(name), body)
