"""The filter over saved pages, one after the other: which stay, and which are copies of which."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from scrapy_simhash.core.analysis import PageAnalysis
from scrapy_simhash.core.verdict import Verdict, verdict_of
from scrapy_simhash.fingerprint.simhash import hamming_distance
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
    the first one stays; if they are not near, the page has changed, and both stay.
    """
    values: defaultdict[str, list[int]] = defaultdict(list)  # fingerprints that stay, by key
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
                verdict, is_repeated = Verdict("skipped", page.key, analysis.reason), False
            else:
                verdict, value = next(verdicts), analysis.fingerprint.value
                is_repeated = verdict.kind == "revisit" and any(
                    hamming_distance(value, earlier) <= index.spec.reach
                    for earlier in values[page.key]
                )
                if not is_repeated:
                    values[page.key].append(value)
            stays = verdict.kind != "duplicate" and not is_repeated
            yield page, replace(verdict, excerpt=analysis.excerpt), stays
        index.confirm([arrival.key for arrival in arrivals])
