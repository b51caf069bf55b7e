"""The memory of crawled pages, for one event loop: a document in, its verdict out.

::

    async with Dedup("redis://localhost") as dedup:
        async with dedup.page(Document(url, body, content_type)) as verdict:
            if verdict.kind != "duplicate":
                ...  # at the end of the block, the page was delivered

A page goes through two awaits: its analysis in a worker process, and its claim in the
index. A page that became an original is in progress until it is delivered or failed, so
that no page is dropped in favour of one that was never delivered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal, TypeVar

from scrapy_simhash.better import Canonicals
from scrapy_simhash.core.analysis import PageAnalysis, body_of, text_body
from scrapy_simhash.core.breaker import Breaker, IndexThread
from scrapy_simhash.core.upkeep import Upkeep
from scrapy_simhash.core.verdict import Document, Verdict, spec_of, verdict_of
from scrapy_simhash.core.workers import Workers
from scrapy_simhash.extraction.selectors import checked_selectors
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.index.values import DEFAULT_LEASE, Arrival, IndexSpec, Run
from scrapy_simhash.keys import Scope, base_address, page_key, page_scope
from scrapy_simhash.printable import indented, logger_of
from scrapy_simhash.readers import checked_readers

logger = logger_of(__name__)

T = TypeVar("T")
#: The run that a crawl goes on with: its number, the last one, or none.
Resumed = int | Literal["last"] | None


class Dedup:
    """Tells pages that repeat one another, across all crawlers of an index.

    All calls come from one event loop. Leaving it fails what is still in progress.

    Args:
        url: the URL of the index; see :func:`.open_index`.
        recipe: the recipe from page to fingerprint, or its name.
        spider: the name by which crawlers share runs.
        scope: pages are compared within all sites (``global``), one registered domain
            or one host.
        lease: seconds that a page in progress belongs to its crawler without a sign of
            life.
        processes: worker processes; with 0 a thread does their work, where no page can
            be stopped.
        timeout: seconds that a worker process may take for a page.
        max_size: bytes of the largest page that is compared.
        excerpt_length: characters of the main text that a verdict has with it.
        start_without: whether a remote store may be away at the start.
        runs: it takes part in a run of its spider; without, every page counts as seen
            in this one.
        resumed: the unfinished run that it goes on with.
        keep_runs: a page is forgotten when the last ``keep_runs`` finished runs have
            not seen it.

    Raises:
        ValueError: the URL or the recipe is not known.
        StoreError: the index cannot be used.

    Attributes:
        run: the run as it began; None without one.
        upkeep: knows the pages in progress, and tells the index how they fared. The
            memory shares its methods ``hold``, ``delivered``, ``failed`` and
            ``follow``.
        breaker: the index, which goes on while its store is away.
        unmatched: counts pages on which a selector of the recipe matches nothing, by
            stats.
    """

    def __init__(
        self,
        url: str = "memory://",
        *,
        recipe: Recipe | str = "default",
        spider: str = "",
        scope: Scope = "global",
        lease: float = DEFAULT_LEASE,
        processes: int = 2,
        timeout: float = 10.0,
        max_size: int = 4 << 20,
        excerpt_length: int = 0,
        start_without: bool = True,
        runs: bool = False,
        resumed: Resumed = None,
        keep_runs: int = 3,
    ) -> None:
        self.run: Run | None = None
        self._recipe = recipe = _checked_recipe(recipe)
        self.unmatched = Counter[str]()
        self._scope: Scope = scope
        spec = spec_of(recipe, lease=lease, spider=spider, scoped=scope != "global")
        # True once a failure of the extractor was logged in full.
        self._has_failed = False
        open_store = partial(open_index, url, spec)
        if runs:
            open_store = partial(self._opened, url, spec, resumed)
        self.breaker = Breaker(
            open_store,
            spec,
            # A file that cannot be opened now cannot be opened later either.
            start_without=start_without and store_of(url).remote,
        )
        self._workers = Workers(
            recipe,
            processes=processes,
            timeout=timeout,
            excerpt_length=excerpt_length,
            largest=max_size,
        )
        self._lease = lease
        self._index = IndexThread(self.breaker, self._workers.answers)
        self.upkeep = Upkeep(self.breaker, self._index, lease, keep_runs if runs else 0)
        self.hold = self.upkeep.hold
        self.delivered = self.upkeep.delivered
        self.failed = self.upkeep.failed
        self.follow = self.upkeep.follow
        self._canonicals = Canonicals()

    def _opened(self, url: str, spec: IndexSpec, resumed: Resumed) -> Index:
        index = open_index(url, spec)
        try:
            self.run = index.begin_run(resumed)
        except BaseException:
            index.close()
            raise
        return index

    async def __aenter__(self) -> Dedup:
        # The imports of a worker take seconds, in which a page would be in progress,
        # and lost if the crawler were killed.
        await self._workers.analyse(text_body("A page."))
        self.upkeep.begin()
        return self

    async def __aexit__(self, error: object, *_: object) -> None:
        await self.upkeep.settle()
        await self.end_run(finished=error is None)
        await self.close()

    async def ask(self, call: Callable[[Index], T]) -> T | None:
        """Give the index to ``call``, and return its result; None if the store is away."""
        return await asyncio.wrap_future(self._index.run(self.breaker.read, call))

    async def end_run(self, *, finished: bool) -> None:
        """End the run, after which no page may come; only a finished run misses pages."""
        if self.run is not None:
            # Pages that the store does not have would be missing.
            finished = finished and not self.breaker.let_through
            await self.ask(lambda store: store.end_run(finished=finished))

    async def close(self) -> None:
        """End the workers, and close the index, once all pages are settled."""
        await self._workers.close()
        await asyncio.get_running_loop().run_in_executor(None, self._index.close)

    @asynccontextmanager
    async def page(
        self, document: Document, *, wait: bool = True
    ) -> AsyncIterator[Verdict]:
        """Yield the verdict on a document: delivered at the end of the block, failed if it raises.

        See :meth:`check`.
        """
        checked = await self.check(document, wait=wait)
        with settling(checked, self.delivered, self.failed) as verdict:
            yield verdict

    async def check(
        self,
        document: Document,
        *,
        wait: bool = True,
        original: str | None = None,
    ) -> Verdict:
        """Return the verdict on a document.

        A unique one, and a revisit, is in progress from now on: the caller says
        ``delivered`` or ``failed`` for its key.

        Args:
            document: of any content type; one without a reader is skipped.
            wait: a copy of a page in progress waits for how that page fares, for two
                leases at most, because the lease of a crawler that died has to run out;
                then it is skipped, and so let through. Without it, the verdict is
                provisional, and the caller may :meth:`follow` it.
            original: the key of a page for which it does not wait, such as the page
                that an item comes from.
        """
        key = document.key or page_key(document.url)
        analysis = await self._analyse(document, key)
        if analysis.fingerprint is None:
            return Verdict("skipped", key, analysis.reason, excerpt=analysis.excerpt)
        arrival = Arrival(
            key,
            analysis.fingerprint,
            page_scope(document.url, self._scope),
            analysis.facts,
            aliases=document.aliases,
        )
        loop = asyncio.get_running_loop()
        deadline = loop.time() + 2 * self._lease
        while True:
            verdict = await self._claim(arrival, analysis, document.url)
            if not wait or not verdict.provisional or verdict.original == original:
                return verdict
            answer = asyncio.Queue[bool]()
            self.follow(verdict, answer.put_nowait)
            try:
                if await asyncio.wait_for(answer.get(), deadline - loop.time()):
                    return verdict
            except asyncio.TimeoutError:
                return replace(verdict, kind="skipped", reason="timeout", matches=())

    async def _claim(
        self,
        arrival: Arrival,
        analysis: PageAnalysis,
        url: str,
    ) -> Verdict:
        """Return the verdict, which may be provisional."""
        claim = await self._index.claim(arrival)
        if claim is None:
            return Verdict(
                "skipped",
                arrival.key,
                "unavailable",
                arrival.fingerprint,
                excerpt=analysis.excerpt,
            )
        verdict = verdict_of(arrival, claim, analysis.excerpt)
        declared = analysis.canonical
        if declared or verdict.original:
            better = self._canonicals.better(
                arrival.key, verdict.original, url, declared
            )
            verdict = replace(verdict, better=better)
        if verdict.owned:
            self.upkeep.hold(verdict.key)
        return verdict

    async def _analyse(self, document: Document, key: str) -> PageAnalysis:
        body = body_of(document.data, document.content_type, self._recipe)
        if body is None:
            return PageAnalysis(None, reason="other_type")
        body = body._replace(url=base_address(document.url, body.data))
        analysis = await self._workers.analyse(body, page_scope(document.url, "domain"))
        self.unmatched.update(f"unmatched/{name}" for name in analysis.unmatched)
        if analysis.error:
            said = analysis.error.strip().rpartition("\n")[2]
            logger.warning("%s is let through unchecked: %s", key, said)
        if analysis.reason == "extractor_error" and not self._has_failed:
            self._has_failed = True  # a traceback a page would fill the disk
            logger.error(
                f"The first failure of the extractor:\n{indented(analysis.error)}"
            )
        return analysis

    @property
    def counts(self) -> dict[str, int]:
        """Counts of events besides verdicts, by the names of the stats."""
        return {
            "damaged": self.breaker.damaged,
            "outage": self.breaker.let_through,
            "expired": self.upkeep.expired,
            "claim_seconds": round(self._index.seconds),
            **self.unmatched,
        }


def _checked_recipe(recipe: Recipe | str) -> Recipe:
    """Return a recipe whose readers and selectors can be used."""
    if isinstance(recipe, str):
        recipe = named_recipe(recipe)
    return replace(
        recipe,
        readers=checked_readers(recipe.readers),
        content=checked_selectors(recipe.content),
        ignore=checked_selectors(recipe.ignore),
    )


@contextmanager
def settling(
    verdict: Verdict,
    delivered: Callable[[str], None],
    failed: Callable[[str], None],
) -> Iterator[Verdict]:
    """Yield a verdict; at the end of the block, tell how a page that it owns has fared."""
    try:
        yield verdict
    except BaseException:
        if verdict.owned:
            failed(verdict.key)
        raise
    if verdict.owned:
        delivered(verdict.key)
