"""The pool: each page gets its own answer, none stops it for good, equal ones go through once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.core import pool as pool_module
from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body, text_body
from scrapy_simhash.core.pool import WorkerPool, analyse_all
from scrapy_simhash.core.worker import LENGTHS, pack_order, unpack_recipe
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.readers import ITEM
from tests.pages import article, edited, html

RECIPE = named_recipe("default")
PROCESS = "scrapy_simhash.core.process"
PAGE = Body(b"a page")


def hostile(text: str) -> str:
    """An extractor that does what the page says."""
    if "hang" in text:
        time.sleep(60)
    if "raise" in text:
        raise RuntimeError("as the page said")
    if "print" in text:
        print("in between")
    if "exit" in text:
        os._exit(3)
    if "gorge" in text:
        bytearray(64 << 30)
    if "process" in text:
        return f"{os.getpid()} {article(1)}"
    return article(1)


HOSTILE = replace(RECIPE, extractor="tests.core.test_pool.hostile")


def with_pool(
    work: Callable[[WorkerPool], Awaitable[Any]],
    *,
    recipe: Recipe = HOSTILE,
    processes: int = 1,
    timeout: float = 2,
    **given: Any,
) -> Any:
    """Return what ``work`` makes of a pool, on a loop of its own."""

    async def run() -> Any:
        pool = WorkerPool(recipe, processes=processes, timeout=timeout, **given)
        try:
            return await work(pool)
        finally:
            await pool.close()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


async def outcomes(pool: WorkerPool, *bodies: bytes) -> list[str]:
    """Return what becomes of bodies that are asked for at once: "ok", or what failed."""
    # Equal bodies would not come to the worker process twice.
    pages = [Body(body + b" %d" % number) for number, body in enumerate(bodies)]
    answers = await asyncio.gather(*map(pool.analyse, pages))
    return [answer.error or "ok" for answer in answers]


def child(pool: WorkerPool) -> int:
    """Return the process id of the one worker process."""
    (worker,) = pool._workers
    return worker._child.pid


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_each_page_gets_its_own_answer(processes: int) -> None:
    recipe = replace(RECIPE, seed="secret")
    bodies = [Body(html(article(seed)), "utf-8") for seed in range(9)]
    bodies += [text_body(article(20)), text_body("half a pair \ud83d"), Body(b"", None)]

    async def work(pool: WorkerPool) -> list[PageAnalysis]:
        return await asyncio.gather(*map(pool.analyse, bodies))

    found = with_pool(work, recipe=recipe, processes=processes, excerpt_length=50)
    assert found == [analyse_body(body, recipe, excerpt_length=50) for body in bodies]
    assert [f.fingerprint and f.fingerprint.blocks for f in found] == [
        f.fingerprint and f.fingerprint.blocks
        for f in (analyse_body(body, recipe) for body in bodies)
    ]


class OtherTransport:
    """A transport that is not of asyncio's class, as that of uvloop."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class OtherLoop(asyncio.SelectorEventLoop):
    async def create_unix_connection(self, make: Any, *args: Any, **kwargs: Any) -> Any:
        def made() -> Any:
            protocol = make()
            connected = protocol.connection_made
            protocol.connection_made = lambda transport: connected(OtherTransport(transport))
            return protocol

        return await super().create_unix_connection(made, *args, **kwargs)


def test_pages_are_answered_on_an_event_loop_that_is_not_from_asyncio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio, "new_event_loop", OtherLoop)

    async def work(pool: WorkerPool) -> list[str]:
        return await asyncio.wait_for(outcomes(pool, b"a page"), 30)

    assert with_pool(work) == ["ok"]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (b"hang", "no answer within 2 seconds"),
        (b"raise", "as the page said"),
        (b"exit", "ended with status 3"),
        (b"gorge", "MemoryError"),
        (b"print", "ok"),
    ],
)
def test_page_that_fails_costs_no_other_its_answer(page: bytes, says: str) -> None:
    """Neither those before it, nor those that its process had been given ahead, nor the next."""

    async def work(pool: WorkerPool) -> tuple[list[str], list[str]]:
        first = await outcomes(pool, b"a page", page, b"a page", b"a page")
        return first, await outcomes(pool, b"another page")

    first, then = with_pool(work)
    assert says in first.pop(1)
    assert first == ["ok", "ok", "ok"]
    assert then == ["ok"]


def test_extractor_that_fails_is_reported_without_a_worker_process_too() -> None:
    async def work(pool: WorkerPool) -> list[str]:
        return await outcomes(pool, b"a page", b"raise")

    good, bad = with_pool(work, processes=0)
    assert good == "ok"
    assert "as the page said" in bad


@pytest.mark.parametrize("page", [b"a page", b"a page" * 100_000])
def test_child_that_is_stopped_in_its_tracks_is_given_up(
    monkeypatch: pytest.MonkeyPatch, page: bytes
) -> None:
    """Whether it reads no more or answers no more."""

    async def work(pool: WorkerPool) -> list[str]:
        await pool.analyse(PAGE)
        monkeypatch.setattr(PROCESS + ".GRACE", 0.0)
        os.kill(child(pool), signal.SIGSTOP)
        given_up = await outcomes(pool, page)
        monkeypatch.undo()  # the next child needs its time to start
        return [*given_up, *await outcomes(pool, b"the next page")]

    assert with_pool(work) == ["no answer within 2 seconds", "ok"]


def test_child_that_is_killed_is_replaced() -> None:
    async def work(pool: WorkerPool) -> list[str]:
        await pool.analyse(PAGE)
        os.kill(child(pool), signal.SIGKILL)
        return [*await outcomes(pool, b"a page"), *await outcomes(pool, b"the next page")]

    found = with_pool(work)
    # It may be found dead before the page is sent.
    assert found in (["the worker process ended with status -9", "ok"], ["ok", "ok"])


def test_child_is_renewed_after_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though more pages wait all the time."""
    monkeypatch.setattr(PROCESS + ".PAGES_PER_PROCESS", 3)

    async def work(pool: WorkerPool) -> list[PageAnalysis]:
        return await asyncio.gather(*(pool.analyse(Body(b"process %d" % n)) for n in range(9)))

    children = Counter(
        analysis.excerpt.split()[0] for analysis in with_pool(work, excerpt_length=10)
    )
    assert list(children.values()) == [3, 3, 3]


@pytest.mark.parametrize(
    ("program", "says"), [("/nowhere/python", "can be started"), ("/bin/false", "status 1")]
)
def test_child_that_cannot_be_started_fails_its_pages_only(program: str, says: str) -> None:
    async def work(pool: WorkerPool) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.executable", program)
            for found in await outcomes(pool, b"a page", b"a page" * 100_000, b"a third"):
                assert says in found
        assert await outcomes(pool, b"a page") == ["ok"]

    with_pool(work)


def test_path_object_on_the_search_path_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path.cwd()])
    assert with_pool(lambda pool: outcomes(pool, b"a page")) == ["ok"]


def test_module_in_the_folder_of_a_crawl_hides_none_of_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token.py").touch()
    monkeypatch.setattr(sys, "path", [*filter(None, sys.path), str(Path.cwd())])
    monkeypatch.chdir(tmp_path)
    assert with_pool(lambda pool: outcomes(pool, b"a page")) == ["ok"]


def test_processes_start_when_they_are_needed_and_end_with_the_pool() -> None:
    async def work(pool: WorkerPool) -> list[int]:
        assert pool._workers == []
        await pool.analyse(PAGE)
        assert len(pool._workers) == 1
        await outcomes(pool, *[b"a page"] * 20)
        return [worker._child.pid for worker in pool._workers]

    pids = with_pool(work, processes=2)
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_numpy_starts_no_threads_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    async def work(pool: WorkerPool) -> list[Path]:
        await pool.analyse(PAGE)
        return list(Path(f"/proc/{child(pool)}/task").iterdir())

    assert len(with_pool(work)) == 1


def test_page_that_nobody_waits_for_any_more_does_no_harm() -> None:
    """Whether its process has it already or not."""

    async def work(pool: WorkerPool) -> list[str]:
        given_up = [asyncio.ensure_future(pool.analyse(Body(b"%d" % n))) for n in range(6)]
        await asyncio.sleep(0)
        for task in given_up:
            task.cancel()
        found = await outcomes(pool, b"a page", b"a page")
        assert all(task.cancelled() for task in given_up)
        return found

    assert with_pool(work) == ["ok", "ok"]


@pytest.mark.parametrize("page", [b"a page", b"hang"])
def test_pool_that_is_closed_gives_up_what_waits(page: bytes) -> None:
    async def work(pool: WorkerPool) -> list[object]:
        tasks = [asyncio.ensure_future(pool.analyse(Body(page + b"%d" % n))) for n in range(6)]
        await asyncio.sleep(0.05)
        await pool.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for found in with_pool(work):
        assert isinstance(found, asyncio.CancelledError) or found.error


@pytest.mark.parametrize("processes", [0, 1])
def test_equal_bodies_are_analysed_once(processes: int) -> None:
    body = Body(html(article(1)))

    async def work(pool: WorkerPool) -> None:
        first = await pool.analyse(body)
        assert await pool.analyse(Body(html(edited(article(1), 2)))) != first
        assert pool.repeats == 0
        assert await pool.analyse(body) == first
        assert pool.repeats == 1

    with_pool(work, recipe=RECIPE, processes=processes)


def test_equal_bytes_of_another_charset_or_kind_are_other_pages() -> None:
    letters = bytes(range(0xE0, 0x100))
    data = b"<p>" + b" ".join(letters[at : at + 9] for at in range(20)) * 4

    async def work(pool: WorkerPool) -> list[PageAnalysis]:
        kinds = Body(data, "cp1251"), Body(data, "cp1253"), Body(b"<p>" * 20, reader=ITEM)
        found = [await pool.analyse(body) for body in (*kinds, Body(b"<p>" * 20))]
        assert pool.repeats == 0
        return found

    one, other, text, page = with_pool(work, recipe=RECIPE, processes=0)
    assert one != other
    assert text != page


def test_analyses_are_remembered_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "REMEMBERED_BYTES", 2 * 1500)

    async def work(pool: WorkerPool) -> int:
        for seed in (0, 1, 2, 2, 1, 0, 1):
            await pool.analyse(Body(html(article(seed))))
        return pool.repeats

    # The first was forgotten for the third, and comes in place of the third.
    assert with_pool(work, recipe=RECIPE, processes=0, excerpt_length=100) == 3


@pytest.mark.parametrize("processes", [0, 1])
def test_bodies_are_analysed_in_their_order_without_an_event_loop(processes: int) -> None:
    bodies = [Body(html(article(seed))) for seed in range(40)]
    bodies[3], bodies[5] = Body(b"raise"), Body(b"x" * 100_000)
    wanted = [analyse_body(body, HOSTILE) if body.data != b"raise" else None for body in bodies]
    pages = enumerate(bodies)
    answers = list(analyse_all(pages, HOSTILE, processes=processes, timeout=5, largest=50_000))
    assert [number for number, _ in answers] == list(range(40))
    found = [analysis for _, analysis in answers]
    assert found[3].reason == "extractor_error"
    assert found[5].reason == "too_large"
    for number in (3, 5):
        del found[number - (number == 5)], wanted[number - (number == 5)]
    assert found == wanted


def test_caller_may_stop_in_the_middle_of_many_bodies() -> None:
    pages = ((n, Body(b"%d" % n)) for n in range(100))
    found = analyse_all(pages, HOSTILE, processes=1, timeout=5)
    assert next(found)[1].fingerprint is not None
    found.close()  # type: ignore[attr-defined]


def test_page_that_hangs_has_a_reason_without_an_event_loop() -> None:
    bodies = [Body(b"hang"), PAGE]
    found = list(analyse_all(enumerate(bodies), HOSTILE, processes=1, timeout=1))
    assert [analysis.reason for _, analysis in found] == ["timeout", None]


def test_interrupt_as_a_page_is_done_is_passed_on_when_the_processes_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def analyse(self: WorkerPool, body: Body) -> PageAnalysis:
        asyncio.get_running_loop().call_soon(interrupt)
        return PageAnalysis(None)

    async def close(self: WorkerPool) -> None:
        closed.append(self)

    monkeypatch.setattr(WorkerPool, "analyse", analyse)
    monkeypatch.setattr(WorkerPool, "close", close)
    with pytest.raises(KeyboardInterrupt):
        list(analyse_all([(0, PAGE)], RECIPE, processes=1, timeout=1))
    assert len(closed) == 1


def digits(feature: str, bits: int) -> bytes:
    """A hash of a project's own."""
    return (hash_seed * len(feature) * 0x9E3779B97F4A7C15 % 2**bits).to_bytes(bits // 8, "big")


hash_seed = 7


@pytest.mark.parametrize("bits", [64, 128])
def test_worker_fingerprints_by_the_whole_recipe_whatever_its_name(bits: int) -> None:
    own = Recipe(
        "default", FeatureSpec("words", 2), bits, 9, hash="tests.core.test_pool.digits", sign=">="
    )
    body = Body(html(article(1)))

    async def work(pool: WorkerPool) -> PageAnalysis:
        return await pool.analyse(body)

    assert with_pool(work, recipe=own) == analyse_body(body, own)


def test_worker_with_another_version_of_the_recipe_answers_nothing() -> None:
    order = json.loads(pack_order(RECIPE, 1.0, 0)[LENGTHS.size :])
    assert unpack_recipe(order) == RECIPE
    order["identity"] = order["identity"].replace("main/", "main/0")
    with pytest.raises(ValueError, match="the worker has simhash/1 "):
        unpack_recipe(order)


def test_identity_has_the_version_of_an_extractor_of_ones_own(monkeypatch: Any) -> None:
    before = HOSTILE.identity
    monkeypatch.setattr(hostile, "version", 2, raising=False)
    assert HOSTILE.identity == before.replace("hostile ", "hostile/2 ")
