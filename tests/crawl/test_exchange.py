"""What crawlers tell each other of addresses: every row is told, and once, whatever fails."""

import asyncio
from contextlib import closing
from typing import Any

from scrapy_simhash.crawl.exchange import RowExchange
from scrapy_simhash.index import open_index
from scrapy_simhash.url_patterns.rows import Row, Rows, SharedRows
from tests.index.promises.made import spec

COPY = {"/item?view=*": Row(copies=1)}
HOSTS = ("a.test", "b.test")


class Cells:
    """An index of which each swap may fail, and which may be away."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.is_away = False
        self.swaps_left = 99

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    async def ask(self, call: Any) -> Any:
        return None if self.is_away else call(self)

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        if not self.swaps_left:
            raise OSError("full")
        self.swaps_left -= 1
        return bool(self.index.swap(name, old, new))

    def rows(self) -> list[Rows]:
        shared = SharedRows()
        shared.read(self.index)
        return [shared.rows(host) for host in HOSTS]


def test_rows_that_could_not_be_told_are_told_later_and_no_row_twice():
    with closing(open_index("memory://", spec())) as opened:
        index: Any = Cells(opened)
        exchange = RowExchange(index, is_shared=True)
        table = exchange.table
        assert exchange.is_away
        for host in HOSTS:
            table.of(host).read({}, COPY)
        index.is_away = True
        asyncio.run(exchange.once())
        assert exchange.is_away
        index.is_away, index.swaps_left = False, 1
        asyncio.run(exchange.once())
        assert exchange.is_away
        assert index.rows() == [COPY, {}]
        index.swaps_left = 99
        for _ in range(2):
            asyncio.run(exchange.once())
            assert not exchange.is_away
            assert index.rows() == [COPY, COPY]
        assert [table.of(host).row("/item?view=*").copies for host in HOSTS] == [1, 1]
