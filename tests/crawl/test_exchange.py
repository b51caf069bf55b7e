"""What crawlers tell each other of addresses: every row is told, and once, whatever fails."""

import asyncio
from contextlib import closing
from unittest.mock import DEFAULT, AsyncMock, Mock

from scrapy_simhash.crawl.exchange import RowExchange
from scrapy_simhash.index import open_index
from scrapy_simhash.url_patterns import rows
from scrapy_simhash.url_patterns.rows import Row, Rows, SharedRows
from tests.index.promises.made import spec

COPY = {"/item?view=*": Row(copies=1)}
HOSTS = ("a.test", "b.test")


def test_rows_that_could_not_be_told_are_told_later_and_no_row_twice():
    with closing(open_index("memory://", spec())) as opened:
        index = Mock(wraps=opened)

        def told() -> list[Rows]:
            shared = SharedRows()
            shared.read(index)
            return [shared.rows(host) for host in HOSTS]

        exchange = RowExchange(index, is_shared=True)
        table = exchange.table
        assert exchange.is_away
        for host in HOSTS:
            table.of(host).read({}, COPY | {"/kept?view=*": Row(distinct=1)})
        index.ask = AsyncMock(return_value=None)
        asyncio.run(exchange.once())
        assert exchange.is_away
        index.ask = AsyncMock(side_effect=lambda call: call(index))
        index.swap.side_effect = [DEFAULT, OSError("full")]
        asyncio.run(exchange.once())
        assert exchange.is_away
        assert told() == [COPY, {}]
        index.swap.side_effect = None
        for _ in range(2):
            asyncio.run(exchange.once())
            assert not exchange.is_away
            assert told() == [COPY, COPY]
        assert [table.of(host).row("/item?view=*").copies for host in HOSTS] == [1, 1]


def test_hosts_that_are_too_many_to_share_keep_their_rows(monkeypatch):
    monkeypatch.setattr(rows, "MOST_HOSTS", 1)
    with closing(open_index("memory://", spec())) as index:
        exchange = RowExchange(
            Mock(ask=AsyncMock(side_effect=lambda call: call(index))), is_shared=True
        )
        for _ in range(2):
            for host in HOSTS:
                exchange.table.of(host).add("/item?view=*", Row(copies=1))
            asyncio.run(exchange.once())
        # What is not shared costs no more rounds.
        exchange.table.of(HOSTS[1]).take = Mock()  # type: ignore[method-assign]
        asyncio.run(exchange.once())
    tables = [exchange.table.of(host) for host in HOSTS]
    assert [table.row("/item?view=*").copies for table in tables] == [2, 2]
    assert not tables[1].take.called
