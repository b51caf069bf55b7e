"""Data without a text: JSON, XML and feeds are compared by all of their values.

A record differs from the next one in a value or two, and much data says the same of many things.
So two documents repeat each other only if they have the same names and values, however they are
written. A document with hardly any text passes, because an answer without results, say, is the same
to many requests.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml import etree

from scrapy_simhash.extraction.charset import decode_html
from scrapy_simhash.extraction.extractor import Extraction
from scrapy_simhash.readers.text import in_letters, read_text

# Values that are looked at; if a document has more, its bytes count, too.
_MOST = 50_000
_LEAST = 300  # characters of text
_MOST_TEXT = 1_000_000  # characters that are fingerprinted
_LONG, _MANY = 4096, 400  # bytes between two "<", and "=" in them

Values = Iterator[tuple[str, str]]


def read_json(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of a JSON document; anything else, as lines of JSON, is read as text."""
    try:
        # Numbers as they are written: some are too long, or not exact.
        root = json.loads(decode_html(data, charset), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return read_text(data, charset)
    return _of_values(_in_json(root), data)


def read_xml(data: bytes, charset: str | None) -> Extraction | None:
    """Return the values of an XML document or feed; entities stay as they are written."""
    # The parser takes quadratic time for the attributes of one element.
    if any(part.count(b"=") > _MANY for part in data.split(b"<") if len(part) > _LONG):
        return read_text(data, charset)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        return read_text(data, charset)
    return _of_values(_in_xml(root), data)


def _of_values(values: Values, data: bytes) -> Extraction | None:
    found = list(islice(values, _MOST))
    text = "\n".join(value for _, value in found if value)[:_MOST_TEXT]
    if len(text) < _LEAST:
        return None
    all_of_it = "\0".join(part for pair in found for part in pair).encode("utf-8", "surrogatepass")
    if len(found) == _MOST:
        all_of_it = data
    return Extraction(text, thin=True, shown=text, labels=(in_letters(all_of_it),), content=text)


def _in_json(root: Any) -> Values:
    """Yield names and values in the order of the document, objects in that of their names."""
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            yield f"{name}{{", ""
            waiting.append(("}", ""))
            waiting += [(own, value[own]) for own in sorted(value, reverse=True)]
        elif isinstance(value, list):
            yield f"{name}[", ""
            waiting.append(("]", ""))
            waiting += [("", each) for each in reversed(value)]
        else:
            yield name, value if isinstance(value, str) else str(value)


def _in_xml(root: Any) -> Values:
    for el in root.iter():
        if not isinstance(el.tag, str):  # comments, instructions and entities
            yield "", el.text or ""
            continue
        yield el.tag, " ".join((el.text or "").split())
        yield from ((f"@{name}", value) for name, value in sorted(el.attrib.items()))
        if el.tail and (tail := " ".join(el.tail.split())):
            yield "", tail
