"""The filter over saved pages, one after the other: which stay, and which are copies of which."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.verdict import Verdict, verdict_of
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.values import Arrival
from scrapy_simhash.keys import Scope, page_scope
from scrapy_simhash.offline.saved_pages import SavedPage

# Pages that claim their places together.
_TOGETHER = 64


def decide(
    analysed: Iterable[tuple[SavedPage, PageAnalysis]], index: Index, scope: Scope
) -> Iterator[tuple[SavedPage, Verdict, bool]]:
    """Yield each page, the verdict on it, in their order, and whether the page stays.

    Originals are confirmed. A page that is not compared stays. Of two near pages with the same key
    the first one stays.
    """
    # The texts that each key had, because a page that has changed is another one here.
    texts: dict[str, bytes] = {}
    rest = iter(analysed)
    while pages := [*islice(rest, _TOGETHER)]:
        arrivals = [
            Arrival(
                page.key, analysis.fingerprint, page_scope(page.url or "", scope), analysis.facts
            )
            for page, analysis in pages
            if analysis.fingerprint is not None
        ]
        verdicts = map(verdict_of, arrivals, index.claim_all(arrivals))
        for page, analysis in pages:
            if analysis.fingerprint is None:
                reason, excerpt = analysis.reason, analysis.excerpt
                yield page, Verdict("skipped", page.key, reason, excerpt=excerpt), True
                continue
            verdict = next(verdicts)
            before = texts.get(page.key, b"")
            is_repeated = verdict.kind == "revisit" and _is_near(
                analysis.fingerprint, before, index
            )
            if not is_repeated:
                texts[page.key] = before + analysis.fingerprint.to_bytes()
            verdict = replace(verdict, excerpt=analysis.excerpt)
            yield page, verdict, verdict.kind != "duplicate" and not is_repeated
        index.confirm([arrival.key for arrival in arrivals])


def _is_near(fingerprint: Fingerprint, texts: bytes, index: Index) -> bool:
    size = fingerprint.bits // 8
    values = (int.from_bytes(texts[at : at + size], "big") for at in range(0, len(texts), size))
    return any(hamming_distance(fingerprint.value, value) <= index.spec.reach for value in values)
