"""A reader makes of a document's bytes the text and the values that are compared.

A content type names its reader here, or in SIMHASH_READERS. What comes from a page is
hostile: the caller bounds its size, a worker process its time and memory, and the
readers depth and number.

Data without a text, such as JSON, XML and feeds, is compared by all of its values. A
record differs from the next one in a value or two, and much data says the same of many
things. So two documents repeat each other only if they have the same names and values,
however they are written. A document with hardly any text passes, because an answer
without results, say, is the same to many requests.

PDF files are read by pdfium: ``pip install "scrapy-simhash[pdf]"``.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import shake_128
from importlib.util import find_spec
from itertools import islice
from typing import Any
from xml.parsers import expat

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.loading import load

#: A reader gets the bytes, and the charset that the header declares. It returns a text,
#: or an :class:`.Extraction`; None for a document that says too little to be compared.
Reader = Callable[[bytes, str | None], Extraction | str | None]

MOST_TEXT = 1_000_000  # characters that are fingerprinted
# Bytes of a PDF file that may be packed together: 100 kB may hold five million
# operators.
LARGEST_PDF_STREAM = 4 << 20
# Values whose text is compared.
MOST_VALUES = 50_000
# As pdfium reads it, a stream begins in the next line, whatever follows its keyword.
_PDF_STREAM = re.compile(rb"(?<!end)stream[^\r\n]*(?:\r\n?|\n|\Z)")
# Letters, because a text is compared without its digits.
_DIGITS_AS_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


# Texts, and bytes of which nothing is known.


def text_alone(text: str) -> Extraction:
    """Return a text that is all that its document shows; its first line names it."""
    first_line, _, _ = text[:10_000].strip().partition("\n")
    name = first_line.strip()[:300]
    return Extraction(
        text,
        thin=True,
        shown=text,
        headings=(name,),
        content=text,
    )


def whole_text(text: str) -> Extraction:
    """Return a text that is compared whole, because it is no page."""
    return Extraction(text, content=text, alone=True)


def read_text(data: bytes, charset: str | None) -> Extraction:
    return text_alone(decode_html(data, charset).replace("\r", "\n").replace("\0", " "))


def read_pdf(data: bytes, _: str | None) -> Extraction | None:
    """Return the text of the first 300 pages; a file without text, such as a scan, passes.

    Of a file that has too much for its size, only exact copies are found.
    """
    if _is_swollen(data):
        return read_bytes(data, None)
    text = ""
    for page in islice(_pages_of_pdf(data), 300):
        text = f"{text}\n{page}" if text else page
        if len(text) > MOST_TEXT:
            break
    text = text[:MOST_TEXT].replace("\r", "\n")
    return text_alone(text) if text.strip() else None


def _pages_of_pdf(data: bytes) -> Iterator[str]:
    """Yield the texts of pages until they have 300,000 objects, which stay in memory."""
    import pypdfium2

    objects = 0
    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            for page in document:
                objects += pypdfium2.raw.FPDFPage_CountObjects(page)
                yield page.get_textpage().get_text_bounded()
                page.close()
                if objects > 300_000:
                    return
    except pypdfium2.PdfiumError:
        pass  # damaged, or locked by a password; the pages before the damaged one count


def _is_swollen(data: bytes) -> bool:
    """Return whether the streams of a PDF file, without its pictures, are too large to be read.

    Those that are encrypted, or packed by more than zlib, are bounded by a worker
    process alone.
    """
    total = 0
    for number, match in enumerate(_PDF_STREAM.finditer(data)):
        head = data[max(0, match.start() - 500) : match.start()]
        if b"/Image" not in head[head.rfind(b"obj") + 3 :]:
            size = _inflated_size(data, match.end())
            total += size
            if size > LARGEST_PDF_STREAM or total > 4 * LARGEST_PDF_STREAM:
                return True
        if number == 20_000:
            return True
    return False


def _inflated_size(data: bytes, begin: int) -> int:
    """Return the size of what is packed from some place on; of a large one, more than is read.

    It is never below the packed size: zlib may read much, and yield nothing.
    """
    size = 0
    at = begin
    part = 1 << 12
    unpacking = zlib.decompressobj()
    with suppress(zlib.error):  # it has no stream, or a damaged one
        while at < len(data) and size <= LARGEST_PDF_STREAM and not unpacking.eof:
            size += len(unpacking.decompress(data[at : at + part]))
            at += part
    return max(size, min(at, len(data)) - begin - len(unpacking.unused_data))


def read_bytes(data: bytes, _: str | None) -> Extraction | None:
    """Return a digest, which only exact copies share; it is long enough for a fingerprint."""
    return Extraction(in_letters(data, 128), thin=True) if data else None


def in_letters(data: bytes, size: int = 16) -> str:
    """Return a digest of ``size`` bytes, two letters each."""
    return shake_128(data).hexdigest(size).translate(_DIGITS_AS_LETTERS)


# Data.


def read_json(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of a JSON document; anything else, as lines of JSON, is read as text."""
    try:
        # Numbers as they are written: some are too long, or not exact.
        root = json.loads(decode_html(data, charset), parse_int=str, parse_float=str)
        sorted_by_name = json.dumps(root, sort_keys=True)
    except (ValueError, RecursionError):
        return read_text(data, charset)
    return _of_values(_json_values(root), sorted_by_name.encode())


def _json_values(root: Any) -> Iterator[str]:
    """Yield the values in the order of the document; objects are sorted by name."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            value = [value[name] for name in sorted(value)]
        if isinstance(value, list):
            waiting += reversed(value)
        else:
            yield str(value)


def read_xml(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of an XML document or feed; entities stay as they are written."""
    text = decode_html(data, charset)
    named_values: list[str] = []
    try:
        is_whole = _read_values(text, named_values)
    except expat.ExpatError:
        return _of_values([text], data) if named_values else read_text(data, charset)
    said = "\0".join(named_values).encode("utf-8", "surrogatepass")
    return _of_values(named_values[1::2], said if is_whole else data)


def _read_values(text: str, named_values: list[str]) -> bool:
    """Add the first names of an XML document, each with its value; return whether these are all.

    Raises:
        ExpatError: it is damaged from there on.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True

    def begin(name: str, attributes: dict[str, str]) -> None:
        named_values.extend((name, ""))
        for attribute, value in sorted(attributes.items()):
            named_values.extend((f"@{attribute}", value))

    def add(content: str) -> None:
        if content := " ".join(content.split()):
            named_values.extend(("", content))

    def add_entity(markup: str) -> None:
        if markup.startswith("&"):
            add(markup)

    parser.StartElementHandler = begin
    parser.CharacterDataHandler = parser.CommentHandler = add
    # With such a handler, the parser does not expand entities.
    parser.DefaultHandler = add_entity
    part = 1 << 16  # characters, after which the values are counted
    for at in range(0, len(text), part):
        parser.Parse(text[at : at + part].encode("utf-8", "replace"))
        if len(named_values) >= 2 * MOST_VALUES:
            return False
    parser.Parse(b"", True)
    return True


def _of_values(values: Iterable[str], said: bytes) -> Extraction | None:
    """Return values as a text, with a name of all that a document says; None if it is short."""
    text = "\n".join(filter(None, islice(values, MOST_VALUES)))[:MOST_TEXT]
    if len(text) < 300:
        return None
    return replace(text_alone(text), headings=(in_letters(said),))


# Readers by content types.

#: The name of what the recipe's extractor reads, and of a text that is compared whole.
HTML = "html"
ITEM = "item"
#: Readers by their names, without HTML and items.
READERS: dict[str, Reader] = {
    "text": read_text,
    "json": read_json,
    "xml": read_xml,
    "pdf": read_pdf,
    "bytes": read_bytes,
}
#: Content types that have a reader. One that ends with "+json" or "+xml" is read like
#: these.
TYPES = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), HTML),
    "text/plain": "text",
    **dict.fromkeys(("application/json", "text/json"), "json"),
    **dict.fromkeys(("application/xml", "text/xml"), "xml"),
    "application/pdf": "pdf",
}


# The words of RFC 9110, 8.3.1, which are tokens.
_KIND = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+")


def kind_of(content_type: str) -> str:
    """Return the content type of a header, in lower case and without parameters."""
    return content_type.partition(";")[0].strip().lower()


def reader_of(kind: str, recipe: Recipe) -> str | None:
    """Return the name of a recipe's reader of a content type, or None if it passes.

    ``kind`` is what :func:`kind_of` returns.
    """
    if kind in recipe.readers:
        return recipe.readers[kind]
    type_, _, suffix = kind.rpartition("+")
    name = TYPES.get(kind) or TYPES.get(f"application/{suffix}" if type_ else "")
    return None if name == "pdf" and not find_spec("pypdfium2") else name


def load_reader(name: str) -> Reader:
    """Return a reader by its name or import path.

    Raises:
        ValueError: there is no such reader.
    """
    reader: Reader = READERS.get(name) or load(name)
    if not callable(reader):
        raise ValueError(
            f"the reader {name!r:.200} is a {type(reader).__name__}, not a callable"
        )
    return reader


def checked_readers(readers: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return names of readers by content types, as :func:`kind_of` writes these.

    Raises:
        ValueError: there is no such reader, or a name is no content type.
    """
    kinds = {kind_of(kind): name for kind, name in readers.items()}
    for kind, name in kinds.items():
        if not _KIND.fullmatch(kind):
            raise ValueError(f"{kind!r:.80} is no content type such as text/csv")
        if name not in (None, HTML):
            load_reader(name)
    return kinds
