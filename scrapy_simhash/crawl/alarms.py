"""While a crawl runs, its log names a page that hides many addresses.

A page that a script fills in, a notice of consent or a wall for robots has the same
text at every address. The filter cannot know what it does not see, so people look at
such a page first.
"""

import shlex
from collections import Counter
from dataclasses import dataclass, field

from cachetools import LRUCache

from scrapy_simhash.printable import logger_of
from scrapy_simhash.report.signatures import MANY, most_hidden, signature_of

logger = logger_of(__name__)

#: Pages that the log of a crawl, and its summary, name at most.
MOST_TOLD = 3


@dataclass(slots=True)
class Hiding:
    """A page that others repeat, and the addresses at which they do."""

    original: str
    pages: int = 0
    examples: list[str] = field(default_factory=list)
    is_told: bool = False
    signatures: Counter[int] = field(default_factory=Counter)
    _seen: set[int] = field(default_factory=set)

    def add(self, url: str) -> None:
        name = hash(url)
        if name in self._seen:
            return
        self.pages += 1
        if len(self.examples) < 3:
            self.examples.append(url[:300])
        if len(self._seen) < 50:
            self._seen.add(name)
            self.signatures[hash(signature_of(url))] += 1


class Alarms:
    """Notes which pages hide many addresses, and warns of the first of them."""

    def __init__(self, spider: str) -> None:
        self._spider = spider
        self._hiding: LRUCache[str, Hiding] = LRUCache(5_000)
        self._warnings = 0

    def hidden(self, original: str, url: str, pages_of_crawl: int) -> None:
        """Note a copy of an original, and warn once if that hides many addresses."""
        hiding = self._hiding.setdefault(original, Hiding(original))
        hiding.add(url)
        is_suspicious = max(
            hiding.signatures.values()
        ) >= MANY or hiding.pages >= most_hidden(pages_of_crawl)
        if hiding.is_told or not is_suspicious:
            return
        hiding.is_told = True
        self._warnings += 1
        if self._warnings > MOST_TOLD:
            return
        logger.warning(
            "Near-duplicates of %s: %d pages are taken for copies of %s, such as %s. "
            "Look at two of them: scrapy simhash compare %s %s. "
            "If they are pages of their own, keep them: %s",
            self._spider,
            hiding.pages,
            original,
            ", ".join(hiding.examples),
            shlex.quote(original),
            shlex.quote(hiding.examples[-1]),
            signature_of(url).action,
        )

    def worst(self) -> list[Hiding]:
        """Return the pages that hide most, if that is suspicious, the worst first."""
        suspicious = (hiding for hiding in self._hiding.values() if hiding.is_told)
        return sorted(suspicious, key=lambda hiding: -hiding.pages)[:MOST_TOLD]
