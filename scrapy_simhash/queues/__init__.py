"""The queues of scrapy-redis, but for one thing: they lose no request when a crawler is killed.

Those of scrapy-redis forget a request as soon as they have given it out. These note in the same
step who has it, until its callback and its items are done. The others put back into the queue what
a dead crawler had.

Without the add-on, which puts them in the place of scrapy-redis's own, the settings name one::

    SCHEDULER_QUEUE_CLASS = "scrapy_simhash.queues.PriorityQueue"
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from importlib.resources import files
from typing import Any, ClassVar

from redis import RedisError
from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy_redis import queue as scrapy_redis

from scrapy_simhash.settings import FilterSettings

logger = logging.getLogger(__name__)


class _NotedQueue(scrapy_redis.Base):  # type: ignore[misc]
    """Notes who has which request, in a hash beside the queue for each crawler.

    Equal requests that a crawler has at the same time count as one.

    Args:
        server: scrapy-redis's connection.
        spider: whose requests these are.
        key: of the queue.
        serializer: of the requests.
    """

    #: Commands that take the next request, and put one where the next is taken.
    TAKE: ClassVar[str]
    PUT_BACK: ClassVar[str]

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        super().__init__(server, spider, key, serializer)
        self._lease = FilterSettings.from_settings(spider.crawler.settings).lease
        self._crawler = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        # Sorted set: crawler -> when its lease runs out.
        self._crawlers = f"{self.key}:crawlers"
        self._taken: dict[Request, bytes] = {}
        self._take = server.register_script(_script("take"))
        self._give_back = server.register_script(_script("give_back"))
        self._upkeep: asyncio.Task[None] | None = None
        # The clock of Redis counts: those of crawlers may be far apart.
        seconds, microseconds = server.time()
        self._ahead: float = seconds + microseconds / 1e6 - time.time()
        connect = spider.crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    def pop(self, timeout: int = 0) -> Request | None:
        """Return the next request, which stays noted, or None.

        Args:
            timeout: seconds to wait for one, as far as scrapy-redis's own queue does.
        """
        request = self._pop()
        if request is None and timeout > 0 and self._wait(timeout):
            request = self._pop()
        return request

    def _wait(self, timeout: int) -> bool:
        """Return whether there is a request, after a while if it takes that."""
        return False

    def _pop(self) -> Request | None:
        done = self._done()
        data = self._take(
            keys=[self.key, self._taken_by(self._crawler), self._crawlers],
            args=[
                *(self.TAKE, self._crawler, self._time() + self._lease),
                *map(self._taken.__getitem__, done),
            ],
        )
        for ended in done:
            del self._taken[ended]
        if data is None:
            return None
        try:
            request: Request = self._decode_request(data)
        except Exception:
            # It would come back for ever.
            self.server.hdel(self._taken_by(self._crawler), data)
            raise
        self._taken[request] = data
        return request

    def clear(self) -> None:
        """Delete the queue, and what is noted of the crawlers."""
        crawlers = self.server.zrange(self._crawlers, 0, -1)
        taken = [self._taken_by(crawler.decode()) for crawler in crawlers]
        self.server.delete(self.key, self._crawlers, *taken)

    def _time(self) -> float:
        return time.time() + self._ahead

    def _taken_by(self, crawler: str) -> str:
        return f"{self.key}:taken:{crawler}"

    def _done(self) -> list[Request]:
        """Return the requests that need not be noted any more."""
        slot = self.spider.crawler.engine._slot
        in_progress = slot.inprogress if slot else ()
        return [request for request in self._taken if request not in in_progress]

    def _recover(self, *, own: bool) -> tuple[int, bool]:
        """Put back what dead crawlers had; return how much, and whether others have something.

        Args:
            own: also what this crawler has.
        """
        count, busy, now = 0, False, self._time()
        for name, expires in self.server.zrange(self._crawlers, 0, -1, withscores=True):
            crawler = name.decode()
            mine = crawler == self._crawler
            if (mine and own) or (not mine and expires <= now):
                count += self._give_back(
                    keys=[self.key, self._taken_by(crawler), self._crawlers],
                    args=[self.PUT_BACK, crawler, expires if mine else now],
                )
            elif not mine:
                busy = busy or bool(self.server.hlen(self._taken_by(crawler)))
        if count:
            logger.info("%d requests that had not arrived are in the queue again", count)
        return count, busy

    async def _spider_opened(self, spider: Spider) -> None:
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up())

    async def _keep_up(self) -> None:
        while True:
            try:
                self._renew()
                self._recover(own=False)
            except RedisError as error:
                logger.warning("The lease on requests in progress cannot be renewed: %s", error)
            await asyncio.sleep(self._lease / 3)

    def _renew(self) -> None:
        # Only while something is noted.
        self.server.zadd(self._crawlers, {self._crawler: self._time() + self._lease}, xx=True)

    def _spider_idle(self, spider: Spider) -> None:
        try:
            # Nothing is in progress: what this crawler still has was taken, but never came.
            count, busy = self._recover(own=True)
        except RedisError as error:
            logger.error("It cannot be told what other crawlers have in progress: %s", error)
            return
        # If one of the others dies, somebody must be there.
        if count or busy:
            raise DontCloseSpider

    def _spider_closed(self, spider: Spider) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
        try:
            if done := [self._taken.pop(request) for request in self._done()]:
                self.server.hdel(self._taken_by(self._crawler), *done)
            self._recover(own=True)
        except RedisError as error:
            logger.error("Requests in progress cannot be put back into the queue: %s", error)


class PriorityQueue(_NotedQueue, scrapy_redis.PriorityQueue):  # type: ignore[misc]
    """A queue by priority, as scrapy-redis's own."""

    TAKE, PUT_BACK = "ZPOPMIN", "ZADD"


class _ListQueue(_NotedQueue):
    #: Of the list, where the next request is.
    SIDE: ClassVar[str]

    def _wait(self, timeout: int) -> bool:
        # A script cannot wait. What is moved to where it is stays there.
        return self.server.blmove(self.key, self.key, timeout, self.SIDE, self.SIDE) is not None


class FifoQueue(_ListQueue, scrapy_redis.FifoQueue):  # type: ignore[misc]
    """First in, first out, as scrapy-redis's own."""

    TAKE, PUT_BACK, SIDE = "RPOP", "RPUSH", "RIGHT"


class LifoQueue(_ListQueue, scrapy_redis.LifoQueue):  # type: ignore[misc]
    """Last in, first out, as scrapy-redis's own."""

    TAKE, PUT_BACK, SIDE = "LPOP", "LPUSH", "LEFT"


def _script(name: str) -> str:
    return files(__name__).joinpath(f"{name}.lua").read_text("utf-8")
