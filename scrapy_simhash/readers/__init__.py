"""A reader makes of a document's bytes the text and the values that are compared.

A content type names its reader here, or in SIMHASH_READERS. What comes from a page is hostile: the
caller bounds its size, a worker process its time and memory, and the readers depth and number.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.loading import load
from scrapy_simhash.readers.data import read_json, read_xml
from scrapy_simhash.readers.text import read_bytes, read_pdf, read_text, text_alone

#: A reader gets the bytes, and the charset that the header declares. It returns a text, or an
#: :class:`.Extraction`; None for a document that says too little to be compared.
Reader = Callable[[bytes, str | None], Extraction | str | None]

#: The name of what the recipe's extractor reads, and of a text that stands for itself.
HTML, ITEM = "html", "item"
#: Readers by their names, those of HTML and of items apart.
READERS: dict[str, Reader] = {
    "text": read_text,
    "json": read_json,
    "xml": read_xml,
    "pdf": read_pdf,
    "bytes": read_bytes,
}
#: Content types that have a reader. One that ends with "+json" or "+xml" is read like these.
TYPES = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), HTML),
    "text/plain": "text",
    **dict.fromkeys(("application/json", "text/json"), "json"),
    **dict.fromkeys(("application/xml", "text/xml"), "xml"),
    "application/pdf": "pdf",
}


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
    reader: Any = READERS.get(name) or load(name)
    if not callable(reader):
        raise ValueError(f"the reader {name!r:.200} is a {type(reader).__name__}, not a callable")
    return reader  # type: ignore[no-any-return]


def checked_readers(readers: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return names of readers by content types, as :func:`kind_of` writes these.

    Raises:
        ValueError: there is no such reader.
    """
    for name in readers.values():
        if name not in (None, HTML):
            load_reader(name)
    return {kind_of(kind): name for kind, name in readers.items()}


def read(name: str, data: bytes, charset: str | None) -> Extraction | None:
    """Read a document of another kind than HTML; None if it says too little to be compared.

    Raises:
        TypeError: a reader of the project's own returned something else.
        Exception: whatever it raises.
    """
    content = load_reader(name)(data, charset)
    if isinstance(content, str):
        return text_alone(content)
    if content is None or isinstance(content, Extraction):
        return content
    raise TypeError(f"the reader {name} returned {type(content).__name__}, not a text")
