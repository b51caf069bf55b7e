"""What crawlers tell each other of addresses: every row is told, and once, whatever fails."""

import asyncio
from typing import Any

from scrapy_simhash.crawl.exchange import RowExchange
from scrapy_simhash.url_patterns.rows import Row, Rows, SharedRows
from scrapy_simhash.url_patterns.table import PatternTable
from tests.url_patterns.test_rows import MadeCells

COPY = {"/item?view=*": Row(copies=1)}
HOSTS = ("a.test", "b.test")


async def turns() -> None:
    for _ in range(9):
        await asyncio.sleep(0)


class Cells(MadeCells):
    """An index with cells alone, of which each swap may fail, and which may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.swaps_left = 9999

    async def ask(self, call: Any) -> Any:
        await turns()
        return None if self.is_away else call(self)

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        if not self.swaps_left:
            raise OSError("full")
        self.swaps_left -= 1
        return super().swap(name, old, new)

    def rows(self, *hosts: str) -> list[Rows]:
        shared = SharedRows()
        shared.read(self)
        return [shared.rows(host) for host in hosts]

    def exchange(self) -> tuple[RowExchange, PatternTable]:
        shared = SharedRows()
        table = PatternTable(shared.rows)
        return RowExchange(self, table, shared, is_shared=True), table


def test_rows_that_could_not_be_told_are_told_later_and_no_row_twice():
    index = Cells()
    exchange, table = index.exchange()
    assert exchange.is_away
    for host in HOSTS:
        table.of(host).read({}, COPY)
    index.is_away = True
    asyncio.run(exchange.once())
    assert exchange.is_away
    index.is_away, index.swaps_left = False, 1
    asyncio.run(exchange.once())
    assert exchange.is_away
    assert index.rows(*HOSTS) == [COPY, {}]
    index.swaps_left = 99
    for _ in range(2):
        asyncio.run(exchange.once())
        assert not exchange.is_away
        assert index.rows(*HOSTS) == [COPY, COPY]
    assert [table.of(host).row("/item?view=*").copies for host in HOSTS] == [1, 1]
