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
from scrapy_redis import queue as its

from scrapy_simhash.crawl.crawl_filter import CrawlFilter, need_asyncio
from scrapy_simhash.crawl.handovers import MAX_DEATHS
from scrapy_simhash.settings import lease_from_settings

logger = logging.getLogger(__name__)

# Crawlers that may die with a request before it is crawled alone.
SUSPECT = 2


class _NotedQueue(its.Base):  # type: ignore[misc]
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
        need_asyncio(spider.crawler)
        self._lease = lease_from_settings(spider.crawler.settings)
        self._crawler = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        # In a cluster, the keys of a script are in one slot.
        self._tag = self.key if "{" in self.key else f"{{{self.key}}}"
        # Sorted set: crawler -> when its lease runs out.
        self._crawlers = f"{self._tag}:crawlers"
        # Hashes: request -> how many crawlers died with it; those set aside -> as in a taken one.
        self._deaths, self._set_aside = f"{self._tag}:deaths", f"{self._tag}:set-aside"
        self._taken: dict[Request, bytes] = {}
        self._take = server.register_script(_script("take"))
        self._give_back = server.register_script(_script("give_back"))
        self._upkeep: asyncio.Task[None] | None = None
        self._set_clock()
        self._renewed = time.monotonic()
        self._trusting_from = 0.0
        connect = spider.crawler.signals.connect
        connect(self._spider_opened, signal=signals.spider_opened)
        connect(self._spider_idle, signal=signals.spider_idle)
        connect(self._spider_closed, signal=signals.spider_closed)

    def pop(self, timeout: int = 0) -> Request | None:
        """Return the next request, which stays noted, or None.

        Args:
            timeout: seconds to wait for one, as far as scrapy-redis's own queue does; nothing can
                be renewed meanwhile, so a third of the lease at most.
        """
        request = self._pop()
        if request is None and timeout > 0 and self._wait(min(timeout, self._lease / 3)):
            request = self._pop()
        return request

    def _wait(self, timeout: float) -> bool:
        """Return whether there is a request, after a while if it takes that."""
        return False

    def _pop(self) -> Request | None:
        done = self._done()
        data = self._take(
            keys=[self.key, self._taken_by(self._crawler), self._crawlers, self._deaths],
            args=[
                *(self.TAKE, self.PUT_BACK, self._crawler, self._time() + self._lease, SUSPECT),
                *self._requests(done),
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
        taken = [self._taken_by(_text(crawler)) for crawler in crawlers]
        self.server.delete(self.key, self._crawlers, self._deaths, self._set_aside, *taken)

    def _set_clock(self) -> None:
        # The clock of Redis counts: those of crawlers may be far apart, and are put right at times.
        seconds, microseconds = self.server.time()
        self._ahead: float = seconds + microseconds / 1e6 - time.monotonic()

    def _time(self) -> float:
        return time.monotonic() + self._ahead

    def _taken_by(self, crawler: str) -> str:
        return f"{self._tag}:taken:{crawler}"

    def _done(self) -> list[Request]:
        """Return the requests that need not be noted any more."""
        crawler = self.spider.crawler
        slot = crawler.engine._slot
        in_progress = slot.inprogress if slot else ()
        # What the index brings back would come twice.
        crawl = CrawlFilter.found(crawler)
        held = crawl.held if crawl else ()
        return [r for r in self._taken if r not in in_progress or r in held]

    def _requests(self, done: list[Request]) -> set[bytes]:
        """Return what is noted of these, unless an equal one is in progress."""
        ended = set(done)
        going_on = {data for request, data in self._taken.items() if request not in ended}
        return {self._taken[request] for request in done} - going_on

    def _recover(self, *, own: bool) -> tuple[int, bool]:
        """Put back what dead crawlers had; return how much, and whether others have something.

        Args:
            own: also what this crawler has.
        """
        count, busy, now = 0, False, self._time()
        trusting = time.monotonic() >= self._trusting_from
        for name, expires in self.server.zrange(self._crawlers, 0, -1, withscores=True):
            crawler = _text(name)
            mine = crawler == self._crawler
            if (mine and own) or (not mine and expires <= now and trusting):
                returned, deadly = self._give_back(
                    keys=[
                        *(self.key, self._taken_by(crawler), self._crawlers),
                        *(self._deaths, self._set_aside),
                    ],
                    args=[
                        *(self.PUT_BACK, crawler, expires if mine else now),
                        0 if mine else MAX_DEATHS,
                    ],
                )
                count += returned
                if deadly:
                    logger.warning(
                        "%d requests are in the hash %s and not crawled any more: %d crawlers died "
                        "with each of them",
                        *(deadly, self._set_aside, MAX_DEATHS),
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
                self._set_clock()
                self._renew()
                self._recover(own=False)
            except RedisError as error:
                logger.warning("The lease on requests in progress cannot be renewed: %s", error)
            await asyncio.sleep(self._lease / 3)

    def _renew(self) -> None:
        # Only while something is noted.
        self.server.zadd(self._crawlers, {self._crawler: self._time() + self._lease}, xx=True)
        now = time.monotonic()
        if now - self._renewed > self._lease * 2 / 3:
            # Redis was away, and the others come as late: they are not dead.
            self._trusting_from = now + self._lease / 2
        self._renewed = now

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
            if done := self._requests(self._done()):
                self.server.hdel(self._taken_by(self._crawler), *done)
            self._recover(own=True)
        except RedisError as error:
            logger.error("Requests in progress cannot be put back into the queue: %s", error)


class PriorityQueue(_NotedQueue, its.PriorityQueue):  # type: ignore[misc]
    """A queue by priority, as scrapy-redis's own."""

    TAKE, PUT_BACK = "ZPOPMIN", "ZADD"


class _ListQueue(_NotedQueue):
    #: Of the list, where the next request is.
    SIDE: ClassVar[str]

    def _wait(self, timeout: float) -> bool:
        # A script cannot wait. What is moved to where it is stays there.
        return self.server.blmove(self.key, self.key, timeout, self.SIDE, self.SIDE) is not None


class FifoQueue(_ListQueue, its.FifoQueue):  # type: ignore[misc]
    """First in, first out, as scrapy-redis's own."""

    TAKE, PUT_BACK, SIDE = "RPOP", "RPUSH", "RIGHT"


class LifoQueue(_ListQueue, its.LifoQueue):  # type: ignore[misc]
    """Last in, first out, as scrapy-redis's own."""

    TAKE, PUT_BACK, SIDE = "LPOP", "LPUSH", "LEFT"


def _text(name: bytes | str) -> str:
    # As text with REDIS_DECODE_RESPONSES.
    return name if isinstance(name, str) else name.decode()


def _script(name: str) -> str:
    return files(__name__).joinpath(f"{name}.lua").read_text("utf-8")
