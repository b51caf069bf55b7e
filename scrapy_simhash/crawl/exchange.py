"""Crawlers tell each other, through their index, where addresses have led.

No request waits for the exchange, and while the index is away nothing is spared.
"""

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.upkeep import Rounds
from scrapy_simhash.index.index import Index
from scrapy_simhash.printable import logger_of
from scrapy_simhash.url_patterns.rows import Rows, SharedRows
from scrapy_simhash.url_patterns.table import PatternTable

logger = logger_of(__name__)

EXCHANGE_SECONDS = 5.0


class RowExchange:
    """Sends the rows that were learned here, and takes over the rows of other crawlers.

    Args:
        dedup: has the index.
        is_shared: whether the index outlives the crawl, so that others may have it.

    Attributes:
        table: the rows of this crawler.
        is_away: True until the first rows come, and while the index cannot be asked.
        begin: exchanges rows now and then.
        end: exchanges no more; an exchange that has begun is finished.
    """

    def __init__(self, dedup: Dedup, *, is_shared: bool) -> None:
        self.is_away = is_shared
        self._dedup = dedup
        # The rows of all crawlers.
        self._shared = SharedRows()
        self.table = PatternTable(self._shared.rows)
        self._is_shared = is_shared
        self._failure = ""
        rounds = Rounds(self.once, EXCHANGE_SECONDS)
        self.begin = rounds.begin
        self.end = rounds.end

    async def once(self) -> None:
        """Exchange rows, if there are others to exchange them with."""
        if not self._is_shared:
            return
        unsent = {
            host: rows
            for host, table in self.table
            if self._shared.takes(host) and (rows := table.take())
        }
        answer = await self._dedup.ask(lambda index: self._talk(index, unsent))
        changed, failure = answer or (set(), "the index is away")
        for host, table in self.table:
            if host in changed or host in unsent:
                table.read(self._shared.rows(host), unsent.get(host))
        self.is_away = bool(failure)
        if failure and failure != self._failure:
            logger.warning(
                "Address patterns are not shared with other crawlers: %s", failure
            )
        self._failure = failure

    def _talk(self, index: Index, unsent: dict[str, Rows]) -> tuple[set[str], str]:
        """Send rows until something fails; return the hosts that have changed, and what failed."""
        changed = set[str]()
        try:
            changed |= self._shared.read(index)
            for host in [*unsent]:
                if self._shared.add(index, host, unsent[host]):
                    changed.add(host)
                    del unsent[host]
        except Exception as error:  # noqa: BLE001 - sparing is no reason to do without the index
            return changed, str(error) or repr(error)
        return changed, ""
