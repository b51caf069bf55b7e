"""Data without a text: JSON, XML and feeds are compared by all of their values.

A record differs from the next one in a value or two, and much data says the same of many things.
So two documents repeat each other only if they have the same names and values, however they are
written. A document with hardly any text passes, because an answer without results, say, is the same
to many requests.
"""

import json
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any
from xml.parsers import expat

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.readers.text import MOST_TEXT, in_letters, read_text

# Values that are looked at; if a document has more, its bytes count, too.
_MOST = 50_000
_LEAST = 300  # characters of text
_CHUNK = 1 << 16  # characters that are parsed before the values are counted

Values = list[tuple[str, str]]


def read_json(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of a JSON document; anything else, as lines of JSON, is read as text."""
    try:
        # Numbers as they are written: some are too long, or not exact.
        root = json.loads(decode_html(data, charset), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return read_text(data, charset)
    values = [*islice(_in_json(root), _MOST)]
    return _of_values(values, data, is_whole=len(values) < _MOST)


def read_xml(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of an XML document or feed; entities stay as they are written."""
    text = decode_html(data, charset)
    values: Values = []
    try:
        is_whole = _read_values(text, values)
    except expat.ExpatError:
        if not values:
            return read_text(data, charset)
        values, is_whole = [("", text)], False
    return _of_values(values, data, is_whole=is_whole)


def _of_values(values: Values, data: bytes, *, is_whole: bool) -> Extraction | None:
    text = "\n".join(value for _, value in values if value)[:MOST_TEXT]
    if len(text) < _LEAST:
        return None
    content = "\0".join(part for pair in values for part in pair).encode("utf-8", "surrogatepass")
    label = in_letters(content if is_whole else data)
    return Extraction(text, thin=True, shown=text, labels=(label,), content=text)


def _in_json(root: Any) -> Iterator[tuple[str, str]]:
    """Yield names and values in the order of the document, objects in that of their names."""
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            yield f"{name}{{", ""
            waiting.append(("}", ""))
            waiting += sorted(value.items(), key=itemgetter(0), reverse=True)
        elif isinstance(value, list):
            yield f"{name}[", ""
            waiting.append(("]", ""))
            waiting += [("", each) for each in reversed(value)]
        else:
            yield name, value if isinstance(value, str) else str(value)


def _read_values(text: str, values: Values) -> bool:
    """Add the first names and values of an XML document; return whether these are all.

    Raises:
        ExpatError: it is damaged from there on.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True

    def begin(name: str, attributes: dict[str, str]) -> None:
        values.append((name, ""))
        values.extend((f"@{name}", value) for name, value in sorted(attributes.items()))

    def add(content: str) -> None:
        if content := " ".join(content.split()):
            values.append(("", content))

    def add_entity(markup: str) -> None:
        if markup.startswith("&"):
            add(markup)

    parser.StartElementHandler = begin
    parser.CharacterDataHandler = parser.CommentHandler = add
    # With such a handler, the parser does not expand entities.
    parser.DefaultHandler = add_entity
    for at in range(0, len(text), _CHUNK):
        parser.Parse(text[at : at + _CHUNK].encode("utf-8", "replace"))
        if len(values) >= _MOST:
            del values[_MOST:]
            return False
    parser.Parse(b"", True)
    return True
