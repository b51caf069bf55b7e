"""What is compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """What is compared.

    Attributes:
        url: where it was found in the end; its host tells which pages are of one site.
        data: the decompressed body of a response, or its text.
        content_type: the header, which may declare a charset. It says what reads the data. A str
            of plain text stands for itself, as that of an item does. What nothing reads is skipped.
        key: names it in the index, as text that every store takes; its canonical URL if empty.
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
