"""The document: the filter compares it with those before it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A page or a text that is compared with those before it.

    Attributes:
        url: where it was found in the end; its host tells which pages are of one site.
        data: the decompressed body of a response, or its text.
        content_type: the header, which may declare a charset and names the reader. A str of plain
            text stands for itself, as that of an item does. A type without a reader is skipped.
        key: names it in the index; if empty, its canonical URL does.
        scope: documents of different scopes never match; None for the rule of the :class:`Dedup`.
        request: text by which its crawler, or another of the same spider, makes the request again
            if this one dies; None if nobody can repeat it.
        aliases: other keys of it, by which an earlier run may have known it.
    """

    url: str
    data: bytes | str
    content_type: str = "text/html"
    key: str = ""
    scope: str | None = None
    request: str | None = None
    aliases: tuple[str, ...] = ()
