"""The pages that another distance would have kept and dropped, as far as a crawl's log knows."""

from collections.abc import Iterator, Sequence

from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.report.log_table import LogTable
from scrapy_simhash.report.words import count, percent

# Reasons to keep a page for which the distance decided, or the share of it that short texts have.
_BY_DISTANCE = ("short", "far")


def lines_for(table: LogTable, crawl: str, k: int) -> Iterator[str]:
    """Yield lines on the drops of a crawl with another k, and on what its log does not know."""
    old_k = max(table.counts(crawl, "k"), default=0)
    drops = [drop.line for drop in table.drops(crawl, 0)]
    near = table.kept_near(crawl)
    farther = [line for line in drops if (line.distance or 0) > k]
    nearer = [line for line in near if k > old_k and line.reason in _BY_DISTANCE]
    share = percent(len(farther), len(drops))
    yield f"{crawl}: with SIMHASH_DISTANCE = {k} in place of {old_k}"
    yield f"{count(len(farther))} of {count(len(drops), 'drop')} would be kept ({share})"
    yield from _listed(farther)
    yield f"{count(len(nearer))} of {count(len(near), 'kept page')} near another may be dropped"
    yield from _listed(nearer)
    if k > old_k:
        yield f"The log does not know which pages are between {old_k} and {k} bits apart"
    yield (
        "The log does not know what a page that is kept would hide in its turn, and which drops "
        'are near a second original: crawl with SIMHASH_ACTION = "flag" to be sure'
    )


def _listed(lines: Sequence[LogLine]) -> Iterator[str]:
    farthest = sorted(lines, key=lambda line: -(line.distance or 0))[:20]
    for line in farthest:
        yield f"  {line.distance:>3} bits  {line.url}"
        yield f"      from  {line.original or line.near}"
    if more := len(lines) - len(farthest):
        yield f"  and {count(more)} more"
