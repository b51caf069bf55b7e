"""A reader makes of a document's bytes the text and the values that are compared.

A content type names its reader here, or in SIMHASH_READERS. What comes from a page is hostile: the
caller bounds its size, a worker process its time and memory, and the readers depth and number.
"""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.loading import load

#: A reader gets the bytes, and the charset that the header declares. It returns a text, or an
#: :class:`.Extraction`; None for a document that says too little to be compared.
Reader = Callable[[bytes, str | None], Extraction | str | None]

#: The name of what the recipe's extractor reads, and of a text that stands for itself.
HTML, ITEM = "html", "item"
#: Readers by their names, those of HTML and of items apart.
READERS = {
    "text": "scrapy_simhash.readers.text:read_text",
    "json": "scrapy_simhash.readers.data:read_json",
    "xml": "scrapy_simhash.readers.data:read_xml",
    "pdf": "scrapy_simhash.readers.pdf:read_pdf",
    "bytes": "scrapy_simhash.readers.text:read_bytes",
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
    suffix = kind.rpartition("+")[2]
    name = TYPES.get(kind) or (suffix if "+" in kind and suffix in ("json", "xml") else None)
    return None if name == "pdf" and not has_pdf() else name


def has_pdf() -> bool:
    from importlib.util import find_spec

    return find_spec("pypdfium2") is not None


def load_reader(name: str) -> Reader:
    """Return a reader by its name or import path.

    Raises:
        ValueError: there is no such reader.
    """
    found: Any = resolve_name(READERS[name]) if name in READERS else load(name)
    if not callable(found):
        raise ValueError(f"the reader {name!r:.200} is a {type(found).__name__}, not a callable")
    return found  # type: ignore[no-any-return]


def own_readers(given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return readers by content types, as :func:`kind_of` writes these.

    Raises:
        ValueError: there is no such reader.
    """
    for name in given.values():
        if name not in (None, HTML):
            load_reader(name)
    return {kind_of(kind): name for kind, name in given.items()}


def read(name: str, data: bytes, charset: str | None) -> Extraction | None:
    """Read a document of another kind than HTML; None if it says too little to be compared.

    Raises:
        TypeError: a reader of the project's own returned something else.
        Exception: whatever it raises.
    """
    from scrapy_simhash.readers.text import text_alone

    found = load_reader(name)(data, charset)
    if isinstance(found, str):
        return text_alone(found)
    if found is None or isinstance(found, Extraction):
        return found
    raise TypeError(f"the reader {name} returned {type(found).__name__}, not a text")
