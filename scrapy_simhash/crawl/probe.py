"""Each host is asked once for an address that cannot exist: SIMHASH_PROBE.

A host that answers such a request with a page and status 200 serves soft 404s, and its answer tells
which pages are some. Without it, fifty of them have to come before they are taken for a wall.
"""

import asyncio
import logging
from collections import Counter
from secrets import token_hex
from urllib.parse import urlsplit

from cachetools import LRUCache
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_simhash.core.dedup import Dedup
from scrapy_simhash.core.verdict import Document
from scrapy_simhash.crawl.summary import content_type
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance
from scrapy_simhash.report.dedup_log import host_of

logger = logging.getLogger(__name__)

# Seconds for which the first pages of a host wait for its answer.
PATIENCE = 10.0
# Hosts that are remembered.
_MOST = 10_000

Answer = asyncio.Task[Fingerprint | None]


class Probe:
    """Asks hosts, and tells which of their pages are soft 404s.

    Args:
        distance: bits up to which a page is like the answer of its host.
        counts: the stats of the filter, by name.
    """

    def __init__(self, crawler: Crawler, dedup: Dedup, distance: int, counts: Counter[str]) -> None:
        self._crawler, self._dedup = crawler, dedup
        self._distance, self._counts = distance, counts
        self._answers: LRUCache[str, Answer] = LRUCache(_MOST)
        self._told: LRUCache[str, None] = LRUCache(_MOST)

    def ask(self, request: Request) -> None:
        """Ask the host of a request that is about to be sent, unless it was asked before."""
        host = host_of(request.url)
        if host in self._answers or not request.url.startswith(("http://", "https://")):
            return
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._answers[host] = task
        self._counts["probes"] += 1

    async def wait(self, url: str) -> None:
        """Wait for what the host of a page says, if it was asked."""
        if (answer := self._answers.get(host_of(url))) is not None and not answer.done():
            await asyncio.wait((answer,), timeout=PATIENCE)

    def finds(self, url: str, fingerprint: Fingerprint | None) -> bool:
        """Return whether a page is a soft 404; the front page of a host is none."""
        answer = self._answers.get(host := host_of(url))
        if answer is None or not answer.done() or urlsplit(url).path in ("", "/"):
            return False
        missing = None if answer.cancelled() else answer.result()
        if missing is None or fingerprint is None:
            return False
        if hamming_distance(missing.value, fingerprint.value) > self._distance:
            return False
        self._counts["soft_404"] += 1
        if host not in self._told:
            self._told[host] = None
            logger.warning(
                "%s answers an address that cannot exist with a page like %s: such pages have "
                "soft_404 in their meta",
                host,
                url,
                extra={"spider": self._crawler.spider},
            )
        return True

    def close(self) -> None:
        """Wait for no answer any more."""
        for answer in self._answers.values():
            answer.cancel()

    async def _answer(self, request: Request) -> Fingerprint | None:
        """Return the fingerprint of a host's soft 404; None if it has none, or does not tell."""
        parts = urlsplit(request.url)
        url = f"{parts.scheme}://{parts.netloc}/{token_hex(12)}"
        probe = Request(url, callback=NO_CALLBACK, meta={"dont_retry": True})
        try:
            response = await self._download(probe)
            if response.status != 200:
                return None
            document = Document(response.url, response.body, content_type(response))
            return await self._dedup.fingerprint(document)
        except Exception as error:  # noqa: BLE001 - also what other middlewares raise
            logger.debug("%s gave no answer to %s: %r", parts.netloc, url, error)
            return None

    async def _download(self, request: Request) -> Response:
        engine = self._crawler.engine
        assert engine is not None
        if hasattr(engine, "download_async"):
            return await engine.download_async(request)
        return await maybe_deferred_to_future(engine.download(request))  # Scrapy 2.13
