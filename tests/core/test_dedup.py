"""A document in, its verdict out, without Scrapy; and no page is lost whose delivery fails."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest

from scrapy_simhash import Dedup, Document, SyncDedup, Verdict
from scrapy_simhash.core.breaker import Breaker
from scrapy_simhash.index import open_existing
from tests.pages import DEFAULT, article, edited, html


@pytest.fixture
def dedup() -> Iterator[SyncDedup]:
    with SyncDedup(processes=0) as dedup:
        yield dedup


def text(key: str, words: str) -> Document:
    return Document(key, words, "text/plain", key)


def with_dedup(work: Callable[[Dedup], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with Dedup(processes=0, **options) as dedup:
            return await work(dedup)

    return asyncio.run(run())


def test_second_copy_is_a_duplicate_of_the_first(dedup):
    first = article(1)
    with dedup.page(text("a", first)) as verdict:
        assert verdict.kind == "unique"
    verdict = dedup.check(text("b", edited(first, 3)))
    assert (verdict.kind, verdict.original, verdict.reason) == ("duplicate", "a", "like-headings")
    assert 0 < verdict.distance <= DEFAULT.distance
    assert dedup.check(text("a", first)).kind == "revisit"
    assert dedup.check(text("c", article(3))).kind == "unique"


def test_pages_beyond_the_distance_count_on_two_sites_and_are_not_named_elsewhere(dedup):
    words, title = article(1), article(1, 10)
    # Notices among the text, as on a mirror: what the first page says is all there.
    page, other = (html(shown, title=title) for shown in (words, f"{words} {article(9, 180)}"))
    dedup.check(Document("http://a.example/1", page))
    far = dedup.check(Document("http://b.example/1", other), wait=False)
    assert (far.kind, far.original) == ("duplicate", "http://a.example/1")
    assert DEFAULT.distance < (far.distance or 0) <= DEFAULT.reach
    here = dedup.check(Document("http://a.example/2", other), wait=False)
    assert (here.kind, here.near) == ("unique", ())


def test_content_type_tells_what_is_compared_and_its_charset(dedup):
    page = f"<title>Überschrift</title><p>{'Größe und Länge, öfter. ' * 30}".encode("latin-1")
    one = dedup.check(Document("http://a.example/", page, "Text/HTML; Charset=latin-1"))
    other = Document("http://b.example/", page.decode("latin-1"), "application/xhtml+xml")
    assert one.kind == "unique"
    assert dedup.check(other, wait=False).distance == 0
    image = dedup.check(Document("http://a.example/i", b"\x89PNG", "image/png"))
    assert (image.kind, image.reason) == ("skipped", "other_type")


def test_pages_that_a_damaged_store_does_not_have_are_counted(tmp_path):
    async def work(dedup: Dedup) -> int:
        for number in range(5):
            if number == 2:
                for file in tmp_path.iterdir():
                    file.write_bytes(b"\xff" * file.stat().st_size)
            async with dedup.page(text(f"k{number}", article(number))) as verdict:
                assert verdict.kind == "unique"
        return dedup.breaker.let_through

    assert with_dedup(work, url=f"sqlite:///{tmp_path}/index") == 3


def test_a_page_is_let_through_with_a_message_if_the_index_fails(dedup, monkeypatch, caplog):
    monkeypatch.setattr(Breaker, "claim_all", Mock(side_effect=RuntimeError("a fault")))
    verdict = dedup.check(text("a", article(1)))
    assert (verdict.kind, verdict.key, verdict.reason) == ("skipped", "a", "unavailable")
    assert verdict.fingerprint is not None
    [record] = caplog.records
    assert record.getMessage() == "The index fails on 1 pages; let through unchecked"


@pytest.mark.parametrize("scope", ["global", "domain", "host"])
def test_an_index_is_told_whether_its_pages_have_scopes_by_which_a_cluster_spreads_them(scope):
    assert Dedup(scope=scope, processes=0).breaker.spec.scoped is (scope != "global")


async def handle(dedup: Dedup, document: Document, fails: bool = False) -> Verdict:
    async with dedup.page(document) as verdict:
        await asyncio.sleep(0.05)
        if fails and verdict.owned:
            raise RuntimeError("the handler fails")
        return verdict


def test_copy_waits_for_its_original_and_takes_its_place_if_that_fails():
    async def work(dedup: Dedup) -> list[Any]:
        failing = handle(dedup, text("a", article(1)), fails=True)
        copies = (handle(dedup, text(key, article(1))) for key in "bc")
        return await asyncio.gather(failing, *copies, return_exceptions=True)

    failed, *copies = with_dedup(work)
    assert isinstance(failed, RuntimeError)
    assert sorted(verdict.kind for verdict in copies) == ["duplicate", "unique"]


@pytest.mark.parametrize(("original", "outcome"), [("", "timeout"), ("a", "like-headings")])
def test_a_copy_waits_for_two_leases_and_not_for_the_page_that_it_comes_from(original, outcome):
    async def work(dedup: Dedup) -> tuple[str | None, float]:
        await dedup.check(text("a", article(1)))
        begun = time.monotonic()
        verdict = await dedup.check(text("b", article(1)), original=original)
        return verdict.reason, time.monotonic() - begun

    reason, seconds = with_dedup(work, lease=0.5)
    assert reason == outcome
    assert seconds >= 2 * 0.5 or outcome != "timeout"


def test_threads_share_one_synchronous_face(dedup):
    def crawl(key: str) -> str:
        with dedup.page(text(key, article(1))) as verdict:
            return str(verdict.kind)

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(crawl, "abcdefgh")) == ["duplicate"] * 7 + ["unique"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_without_await_is_finished_unless_its_block_raises(tmp_path, fails):
    url = f"sqlite:///{tmp_path}/runs.sqlite"
    with contextlib.suppress(RuntimeError), SyncDedup(url, processes=0, runs=True) as dedup:
        with dedup.page(text("a", article(1))):
            pass
        if fails:
            raise RuntimeError("the script fails")
    with contextlib.closing(open_existing(url)) as index:
        assert [run.finished for run in index.runs()] == [not fails]
