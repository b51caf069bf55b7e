"""The pages that another distance would have kept and dropped, as far as a crawl's log knows."""

from collections.abc import Iterator, Sequence

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.words import count, percent

#: Kept pages for which the distance decided, or the share of it that short texts may have.
_BY_DISTANCE = ("short", "far")
_MOST_PAIRS = 20


def lines_for(table: LogTable, crawl: str, k: int) -> Iterator[str]:
    """Yield lines on the drops of a crawl with another k, and on what its log does not know."""
    was = max(table.counts(crawl, "k"), default=0)
    drops = [drop.line for drop in table.drops(crawl, 0)]
    near = table.kept_near(crawl)
    kept = [line for line in drops if (line.distance or 0) > k]
    yield f"{crawl}: with SIMHASH_DISTANCE = {k} in place of {was}"
    yield f"{count(len(kept))} of {count(len(drops), 'drop')} would be kept ({_share(kept, drops)})"
    yield from _listed(kept, "repeats")
    if k <= was:
        yield f"No kept page would be dropped: {count(len(near))} of them are near another page"
    else:
        may = [line for line in near if line.reason in _BY_DISTANCE]
        yield f"{count(len(may))} of {count(len(near), 'kept page')} near another may be dropped"
        yield from _listed(may, "is near")
        yield f"The log does not know which pages are between {was} and {k} bits apart"
    yield (
        "The log does not know what a page that is kept would hide in its turn, and which drops "
        'are near a second original: crawl with SIMHASH_ACTION = "flag" to be sure'
    )


def _share(part: Sequence[LogLine], whole: Sequence[LogLine]) -> str:
    return percent(len(part), len(whole))


def _listed(lines: Sequence[LogLine], verb: str) -> Iterator[str]:
    for line in sorted(lines, key=lambda line: -(line.distance or 0))[:_MOST_PAIRS]:
        yield f"  {line.distance:>3} bits  {line.url}"
        yield f"            {verb} {line.original or line.near}"
    if len(lines) > _MOST_PAIRS:
        yield f"  and {count(len(lines) - _MOST_PAIRS)} more"
