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
from scrapy_simhash.core.pool import PAUSE, STRIKES, WorkerPool
from scrapy_simhash.core.sync import analyse_all
from scrapy_simhash.core.worker import LENGTHS, pack_order, unpack_recipe
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.readers import ITEM
from tests.pages import article, edited, html

RECIPE = named_recipe("default")
PAGE = Body(b"a page")
EVIL = "evil.example"


def hostile(text: str) -> str:
    """An extractor that does what the page says."""
    if "hang" in text:
        time.sleep(60)
    if "sigstop" in text:
        os.kill(os.getpid(), signal.SIGSTOP)
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


async def outcomes(pool: WorkerPool, *bodies: bytes, site: str = "") -> list[str]:
    """Return what becomes of bodies that are asked for at once: "ok", or what failed."""
    # Equal bodies would not come to the worker process twice.
    pages = [Body(body + b" %d" % number) for number, body in enumerate(bodies)]
    answers = await asyncio.gather(*(pool.analyse(page, site) for page in pages))
    return [answer.error or answer.reason or "ok" for answer in answers]


async def child(pool: WorkerPool, page: bytes = b"process") -> int:
    """Return the process id of the worker that gets a page."""
    return int((await pool.analyse(Body(page))).excerpt.split()[0])


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_each_page_gets_its_own_answer(processes: int) -> None:
    recipe = replace(RECIPE, seed="secret")
    bodies = [Body(html(article(seed)), "utf-8") for seed in range(9)]
    bodies += [text_body(article(20)), text_body("half a pair \ud83d"), Body(b"", None)]

    async def work(pool: WorkerPool) -> list[PageAnalysis]:
        return await asyncio.gather(*map(pool.analyse, bodies))

    answers = with_pool(work, recipe=recipe, processes=processes, excerpt_length=50)
    assert answers == [analyse_body(body, recipe, excerpt_length=50) for body in bodies]
    assert [answer.fingerprint and answer.fingerprint.blocks for answer in answers] == [
        analysis.fingerprint and analysis.fingerprint.blocks
        for analysis in (analyse_body(body, recipe) for body in bodies)
    ]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (b"hang", "no answer within 2 seconds"),
        (b"sigstop", "no answer within 2 seconds"),
        (b"raise", "as the page said"),
        (b"exit", "ended with status 3"),
        (b"gorge", "MemoryError"),
        (b"print", "ok"),
    ],
)
def test_page_that_fails_costs_no_other_its_answer(page: bytes, says: str) -> None:
    async def work(pool: WorkerPool) -> list[str]:
        first = await outcomes(pool, b"a page", page, b"a page", b"a page" * 100_000)
        return [*first, *await outcomes(pool, b"another page")]

    answers = with_pool(work)
    assert says in answers.pop(1)
    assert answers == ["ok"] * 4


def test_extractor_that_fails_is_reported_without_a_worker_process_too() -> None:
    good, bad = with_pool(lambda pool: outcomes(pool, b"a page", b"raise"), processes=0)
    assert good == "ok"
    assert "as the page said" in bad


def test_process_that_is_killed_between_two_pages_is_replaced() -> None:
    async def work(pool: WorkerPool) -> list[str]:
        pid = await child(pool)
        os.kill(pid, signal.SIGKILL)
        while is_running(pid) and b"Z" not in Path(f"/proc/{pid}/stat").read_bytes():
            await asyncio.sleep(0.01)
        return await outcomes(pool, b"a page", b"a page")

    assert with_pool(work, excerpt_length=10) == ["ok", "ok"]


def test_process_is_renewed_after_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "PAGES_PER_PROCESS", 3)

    async def work(pool: WorkerPool) -> list[int]:
        return await asyncio.gather(*(child(pool, b"process %d" % n) for n in range(9)))

    assert [*Counter(with_pool(work, excerpt_length=10)).values()] == [3, 3, 3]


@pytest.mark.parametrize(
    ("program", "says"), [("/nowhere/python", "can be started"), ("/bin/false", "status 1")]
)
def test_process_that_cannot_be_started_fails_its_pages_only(program: str, says: str) -> None:
    async def work(pool: WorkerPool) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.executable", program)
            await pool.warm()
            for answer in await outcomes(pool, b"a page", b"a page" * 100_000, b"a third"):
                assert says in answer
        # The next start may have been tried just before.
        await outcomes(pool, b"a fourth")
        assert await outcomes(pool, b"a page") == ["ok"]

    with_pool(work, processes=2)


def test_modules_and_paths_of_a_crawl_do_no_harm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A module that is named as one of Python's hides none; a path may be no text."""
    (tmp_path / "token.py").touch()
    path = [*filter(None, sys.path), str(Path.cwd()), Path.cwd()]
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.chdir(tmp_path)
    assert with_pool(lambda pool: outcomes(pool, b"a page")) == ["ok"]


def test_processes_start_when_they_are_needed_and_end_with_the_pool() -> None:
    async def work(pool: WorkerPool) -> list[int]:
        await pool.warm()
        pids = {await child(pool, b"process %d" % number) for number in range(9)}
        assert len(pids) == 1
        assert not pool.is_busy
        hanging = asyncio.ensure_future(pool.analyse(Body(b"hang")))
        await asyncio.sleep(0)
        pids.add(await child(pool, b"another process"))
        assert not hanging.done()
        return [*pids]

    pids = with_pool(work, processes=2, timeout=60, excerpt_length=10)
    assert len(pids) == 2
    assert not any(map(is_running, pids))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_numpy_starts_no_threads_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    async def work(pool: WorkerPool) -> list[Path]:
        return list(Path(f"/proc/{await child(pool)}/task").iterdir())

    assert len(with_pool(work, excerpt_length=10)) == 1


def test_page_that_nobody_waits_for_any_more_does_no_harm() -> None:
    """Whether a process has it already or not."""

    async def work(pool: WorkerPool) -> list[str]:
        given_up = [asyncio.ensure_future(pool.analyse(Body(b"%d" % n))) for n in range(6)]
        await asyncio.sleep(0)
        for task in given_up:
            task.cancel()
        answers = await outcomes(pool, b"a page", b"a page")
        assert all(task.cancelled() for task in given_up)
        return answers

    assert with_pool(work) == ["ok", "ok"]


@pytest.mark.parametrize("page", [b"a page", b"hang"])
def test_pool_that_is_closed_gives_up_what_waits(page: bytes) -> None:
    async def work(pool: WorkerPool) -> list[object]:
        await pool.warm()
        tasks = [asyncio.ensure_future(pool.analyse(Body(page + b"%d" % n))) for n in range(6)]
        await asyncio.sleep(0.05)
        await pool.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for answer in with_pool(work):
        assert isinstance(answer, asyncio.CancelledError) or (
            page == b"a page" and not answer.error
        )


# Sites that hold up others.


def test_a_page_waits_for_at_most_one_page_of_a_site_that_hangs() -> None:
    """In each process; and not for those that have not begun."""

    async def work(pool: WorkerPool) -> list[str]:
        ended = list[str]()

        async def analyse(body: bytes, site: str) -> None:
            answer = await pool.analyse(Body(body), site)
            ended.append(f"{site} {answer.reason}")

        hanging = [analyse(b"hang %d" % number, EVIL) for number in range(100)]
        others = [analyse(b"a page %d" % number, f"{number % 3}.example") for number in range(9)]
        await asyncio.gather(*hanging, *others)
        return ended

    ended = with_pool(work, processes=2, timeout=1)
    before = ended[: 1 + max(place for place, end in enumerate(ended) if EVIL not in end)]
    assert before.count(f"{EVIL} timeout") <= 2
    assert ended.count(f"{EVIL} timeout") <= STRIKES + 1
    assert ended.count(f"{EVIL} slow_host") >= 100 - STRIKES - 1


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pool_module, "time", clock)
    return clock


def test_a_site_is_let_through_for_a_while_with_one_warning(clock: Clock, caplog: Any) -> None:
    async def work(pool: WorkerPool) -> None:
        pages = [b"exit"] * STRIKES + [b"a page"] * 2
        *failed, fourth, fifth = await outcomes(pool, *pages, site=EVIL)
        assert all("status 3" in answer for answer in failed)
        assert fourth == fifth == "slow_host"
        assert await outcomes(pool, b"a page", site="other.example") == ["ok"]
        assert await outcomes(pool, b"another page", site=EVIL) == ["slow_host"]
        clock.now += PAUSE + 1
        assert await outcomes(pool, b"another page", site=EVIL) == ["ok"]

    with_pool(work)
    assert len(caplog.records) == 1


def test_pages_that_fail_now_and_then_do_no_harm_to_their_site(clock: Clock) -> None:
    async def work(pool: WorkerPool) -> None:
        for number in range(STRIKES + 1):
            await outcomes(pool, b"exit %d" % number, site=EVIL)
            clock.now += PAUSE + 1
        assert await outcomes(pool, b"a page", site=EVIL) == ["ok"]
        # Pages of no site are not those of one site.
        assert (await outcomes(pool, *[b"exit"] * STRIKES, b"a page"))[-1] == "ok"

    with_pool(work)


# Equal bodies.


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
        answers = [await pool.analyse(body) for body in (*kinds, Body(b"<p>" * 20))]
        assert pool.repeats == 0
        return answers

    cyrillic, greek, text, page = with_pool(work, recipe=RECIPE, processes=0)
    assert cyrillic != greek
    assert text != page


def test_analyses_are_remembered_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "REMEMBERED_BYTES", 2 * 1500)

    async def work(pool: WorkerPool) -> int:
        for seed in (0, 1, 2, 2, 1, 0, 1):
            await pool.analyse(Body(html(article(seed))))
        return pool.repeats

    # The first was forgotten for the third, and comes in place of the third.
    assert with_pool(work, recipe=RECIPE, processes=0, excerpt_length=100) == 3


# Without an event loop.


@pytest.mark.parametrize("processes", [0, 1])
def test_bodies_are_analysed_in_their_order_without_an_event_loop(processes: int) -> None:
    bodies = [Body(html(article(seed))) for seed in range(40)]
    bodies[3], bodies[5] = Body(b"raise"), Body(b"x" * 100_000)
    pages = enumerate(bodies)
    answers = dict(analyse_all(pages, HOSTILE, processes=processes, timeout=5, largest=50_000))
    assert [*answers] == [*range(40)]
    assert answers.pop(3).reason == "extractor_error"
    assert answers.pop(5).reason == "too_large"
    assert answers == {number: analyse_body(bodies[number], HOSTILE) for number in answers}


@pytest.mark.parametrize("processes", [0, 1])
def test_caller_may_stop_in_the_middle_of_many_bodies(processes: int) -> None:
    pages = ((number, Body(b"%d" % number)) for number in range(100))
    answers = analyse_all(pages, HOSTILE, processes=processes, timeout=5)
    assert next(answers)[1].fingerprint is not None
    answers.close()


def test_page_that_hangs_has_a_reason_without_an_event_loop() -> None:
    pages = enumerate([Body(b"hang"), PAGE])
    answers = dict(analyse_all(pages, HOSTILE, processes=1, timeout=1))
    assert [answer.reason for answer in answers.values()] == ["timeout", None]


# The recipe in a worker.


def digits(feature: str, bits: int) -> bytes:
    """A hash of a project's own."""
    return (7 * len(feature) * 0x9E3779B97F4A7C15 % 2**bits).to_bytes(bits // 8, "big")


@pytest.mark.parametrize("bits", [64, 128])
def test_worker_fingerprints_by_the_whole_recipe_whatever_its_name(bits: int) -> None:
    recipe = Recipe(
        "default", FeatureSpec("words", 2), bits, 9, hash="tests.core.test_pool.digits", sign=">="
    )
    body = Body(html(article(1)))

    async def work(pool: WorkerPool) -> PageAnalysis:
        return await pool.analyse(body)

    assert with_pool(work, recipe=recipe) == analyse_body(body, recipe)


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
