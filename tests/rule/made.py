"""Facts that are made: what all pages of a site have, and what a page has of its own."""

from typing import Any

from scrapy_simhash.rule.facts import SKETCHES, Facts
from scrapy_simhash.rule.sketch import digest, hashes_of, sketch

_SENTENCES = tuple(f"a sentence that all pages of the site have {n}" for n in range(12))
#: What all pages of a site have.
SHARED = {
    "numbers": ("1", "2"),
    "sentences": _SENTENCES,
    "rest": tuple(f"entry {n}" for n in range(12)),
}
MENU = tuple(f"another entry {n}" for n in range(12))


def page(*names: int, size: int = 5000, menu: tuple[str, ...] = (), **own: Any) -> Facts:
    """Return a page by title and ``h1``, with what it has of its own beside what all have."""
    title, heading = names or (1, 1)
    units = {sort: [*SHARED.get(sort, ()), *own.pop(sort, ())] for sort in SKETCHES}
    if menu:
        units["rest"] = [*menu]
    hashes = {sort: hashes_of(each, 7) for sort, each in units.items()}
    values = [*hashes["numbers"], *hashes["words"]]
    said = digest([*values, *hashes["sentences"]], 3)
    fixed: dict[str, Any] = dict.fromkeys(("canonical", "thin", "alone"), 0)
    fixed |= {
        "said": said,
        "values": digest(values, 2),
        "state": said,
        "headings": 100 * title + heading,
    }
    return Facts(
        title=title,
        heading=heading,
        text_bytes=size,
        **{sort: sketch(hashes[sort], width) for sort, width in SKETCHES.items()},
        **fixed | own,
    )
