"""Pages that were saved: JSON, Parquet, WARC, HTML and text files, and folders of these.

A line of JSON, a row of Parquet, is one object. The first of ``html``, ``html_base64`` (its own
bytes), ``text``, ``raw_content`` and ``markdown`` that has something is its content; ``id``,
``url`` and ``metadata.url`` name it, or else its place.
"""

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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
    whole,
)
from scrapy_simhash.offline.warc import read_records

_LINES, _HTML, _WARC = (".jsonl", ".jl", ".ndjson"), (".html", ".htm", ".xhtml"), (".warc", ".wet")
_KNOWN = (*_LINES, ".json", ".parquet", *_HTML, ".txt", *_WARC)
_CONTENT = ("html", "html_base64", "text", "raw_content", "markdown")
_NAMES = ("id", "url", "metadata")
# Rows of Parquet that are in memory together.
_ROWS = 64


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
    passed: Callable[[int], object] = lambda _: None,
    over: Counter[str] | None = None,
    recipe: Recipe = RECIPES["default"],
) -> Iterator[SavedPage]:
    """Yield the pages of a file, or of all files of a folder in sorted order.

    Args:
        path: a file or a folder.
        passed: called with the number of bytes on the disk that were read since its last call.
        over: counts what is passed over, by what it is.
        recipe: has the readers of a WARC file, from which answers with status 200, resources and
            conversions are taken.

    Raises:
        FileError: there is nothing that can be read. Lines are checked as they are reached.
    """
    path, over = Path(path), Counter[str]() if over is None else over
    for file in page_files(path, over):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        begun = 0
        with opened(file) as (content, raw):
            for page in _read(file, name, content, over, recipe):
                passed(raw.tell() - begun)
                begun = raw.tell()
                yield page
        passed(file.stat().st_size - begun)


def page_files(path: Path, over: Counter[str] | None = None) -> list[Path]:
    """Return the files with pages, sorted: a file itself, or all in a folder; none is an error."""
    if not path.exists():
        raise FileError(f"{path}: there is no such file")
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    inside = [file for file in inside if file.is_file()]
    files = [file for file in inside if unpacked_name(file).endswith(_KNOWN)]
    if not files:
        wanted = f"{', '.join(_KNOWN)}, also with .gz, .xz, .bz2, .zst"
        raise FileError(f"{path}: no file with pages; their names end with {wanted}")
    if over is not None and len(files) < len(inside):
        over["file of another kind"] += len(inside) - len(files)
    return files


def _read(
    path: Path, name: str, file: IO[bytes], over: Counter[str], recipe: Recipe
) -> Iterator[SavedPage]:
    kind = unpacked_name(path)
    if kind.endswith(_WARC):
        for url, body in read_records(path, file, over, recipe):
            yield _saved(url, url, body)
    elif kind.endswith((*_HTML, ".txt")):
        data = whole(file)
        if data is None:
            over[f"file of more than {LARGEST:,} bytes"] += 1
        elif kind.endswith(".txt"):
            yield _saved(name, None, text_body(decode_html(data)))
        else:
            yield _saved(name, None, Body(data))
    else:
        yield from _objects(path, name, kind, file, over)


def _objects(
    path: Path, name: str, kind: str, file: IO[bytes], over: Counter[str]
) -> Iterator[SavedPage]:
    if kind.endswith(".parquet"):
        objects = _parquet_rows(path, file)
    elif kind.endswith(".json"):
        objects = json_array(file, path)
    else:
        objects = json_lines(file, path, over)
    is_empty, without = True, ""
    for where, entry in objects:
        body = _body(entry, where)
        if body is None:
            without = without or ", ".join(list(entry)[:10]) or "nothing"
            over["entry without text"] += 1
            continue
        is_empty = False
        about = entry.get("metadata")
        urls = (entry.get("url"), about.get("url") if isinstance(about, dict) else None)
        url = next((url for url in urls if url and isinstance(url, str)), None)
        # An entry without a name is named by its place.
        given = (entry.get("id"), url, name + where.removeprefix(str(path)))
        yield _saved(next(str(own) for own in given if own not in (None, "")), url, body)
    if is_empty and without:
        wanted = " or ".join(_CONTENT)
        raise FileError(f"{path}: no entry has {wanted}; the first one has {without}")


def _parquet_rows(path: Path, file: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    pa, parquet = pyarrow()
    number = 0
    try:
        table = parquet.ParquetFile(file)
        there = [name for name in (*_NAMES, *_CONTENT) if name in table.schema_arrow.names]
        for batch in table.iter_batches(_ROWS, columns=there or None):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", row
    except pa.ArrowException as error:
        raise FileError(f"{path}: damaged ({str(error).splitlines()[0]})") from None


def _body(entry: dict[str, Any], where: str) -> Body | None:
    there = [name for name in _CONTENT if entry.get(name) is not None]
    if not there:
        return None
    field = next((name for name in there if entry[name]), there[0])
    value = entry[field]
    if not isinstance(value, str):
        raise FileError(f"{where}: {field} must be text, not {type(value).__name__}")
    if field == "html":
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
