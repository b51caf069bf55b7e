"""Workers: each page gets its own answer, none stops them for good, equal ones go through once."""

from __future__ import annotations

import asyncio
import inspect
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

from scrapy_simhash.core import workers as module
from scrapy_simhash.core.analysis import Body, analyse_body, text_body
from scrapy_simhash.core.sync import analyse_all
from scrapy_simhash.core.worker import pack_order, unpack_recipe
from scrapy_simhash.core.workers import PAUSE, STRIKES, Job, Turns, Workers
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.readers import ITEM
from tests.pages import article, html

RECIPE = named_recipe("default")


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


HOSTILE = replace(RECIPE, extractor=f"{__name__}.hostile")


def with_workers(
    recipe: Recipe = HOSTILE, processes: int = 1, timeout: float = 2, **options: Any
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run a test on a loop of its own, with workers."""

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        async def run(**fixtures: Any) -> None:
            workers = Workers(recipe, processes=processes, timeout=timeout, **options)
            try:
                await test(workers, **fixtures)
            finally:
                await workers.close()

        def started(**fixtures: Any) -> None:
            asyncio.run(run(**fixtures))

        signature = inspect.signature(test)
        fixtures = [*signature.parameters.values()][1:]
        started.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return started

    return decorate


async def outcomes(workers: Workers, *bodies: bytes) -> list[str]:
    """Return what becomes of bodies that are asked for at once: "ok", or what failed."""
    # Equal bodies would not come to a process twice.
    pages = [Body(body + b" %d" % number) for number, body in enumerate(bodies)]
    answers = await asyncio.gather(*map(workers.analyse, pages))
    return [answer.error or answer.reason or "ok" for answer in answers]


async def child(workers: Workers, page: bytes = b"process") -> int:
    """Return the process id of the worker that gets a page."""
    return int((await workers.analyse(Body(page))).excerpt.split()[0])


def digits(feature: str, bits: int) -> bytes:
    """A hash of a project's own."""
    return (7 * len(feature) * 0x9E3779B97F4A7C15 % 2**bits).to_bytes(bits // 8, "big")


UNUSUAL = Recipe("default", FeatureSpec("words", 2), 128, 9, hash=f"{__name__}.digits", sign=">=")


@with_workers(UNUSUAL, processes=2, excerpt_length=50)
async def test_each_page_gets_its_own_answer_by_the_whole_recipe(workers: Workers) -> None:
    bodies = [Body(html(article(seed)), "utf-8") for seed in range(9)]
    bodies += [text_body(article(20)), text_body("half a pair \ud83d"), Body(b"", None)]
    answers = await asyncio.gather(*map(workers.analyse, bodies))
    assert answers == [analyse_body(body, UNUSUAL, excerpt_length=50) for body in bodies]
    blocks = analyse_body(bodies[0], UNUSUAL).fingerprint.blocks  # type: ignore[union-attr]
    assert answers[0].fingerprint.blocks == blocks


def test_a_worker_with_another_version_of_the_recipe_answers_nothing() -> None:
    order = json.loads(pack_order(RECIPE, 1.0, 0))
    assert unpack_recipe(order) == RECIPE
    order["identity"] = order["identity"].replace("main/", "main/0")
    with pytest.raises(ValueError, match="the worker has simhash/1 "):
        unpack_recipe(order)


def test_the_identity_has_the_version_of_an_extractor_of_a_project(monkeypatch: Any) -> None:
    before = HOSTILE.identity
    monkeypatch.setattr(hostile, "version", 2, raising=False)
    assert HOSTILE.identity == before.replace("hostile ", "hostile/2 ")


FAILURES = {
    b"hang": ("timeout", "no answer within 2 seconds"),
    b"sigstop": ("timeout", "no answer within 2 seconds"),
    b"raise": ("extractor_error", "as the page said"),
    b"exit": ("crash", "ended with status 3"),
    b"gorge": ("memory", "too much memory"),
}


@with_workers(processes=2)
async def test_a_page_that_fails_has_a_reason_and_costs_no_other_its_answer(
    workers: Workers,
) -> None:
    bodies = (b"a page", *FAILURES, b"print", b"a page" * 100_000, b"another page")
    answers = await asyncio.gather(*(workers.analyse(Body(body)) for body in bodies))
    first, *failed, printing, large, last = answers
    assert all(answer.fingerprint for answer in (first, printing, large, last))
    for answer, (reason, says) in zip(failed, FAILURES.values(), strict=True):
        assert answer.reason == reason
        assert says in answer.error


@with_workers(excerpt_length=10)
async def test_a_process_that_is_killed_between_two_pages_is_replaced(workers: Workers) -> None:
    pid = await child(workers)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert await outcomes(workers, b"a page", b"a page") == ["ok", "ok"]


@with_workers(excerpt_length=10)
async def test_a_process_is_renewed_after_many_pages(workers: Workers, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "PAGES_PER_PROCESS", 3)
    pids = await asyncio.gather(*(child(workers, b"process %d" % n) for n in range(6)))
    assert [*Counter(pids).values()] == [3, 3]


@pytest.mark.parametrize(
    ("program", "says"), [("/nowhere/python", "can be started"), ("/bin/false", "status 1")]
)
@with_workers(processes=2)
async def test_a_process_that_cannot_be_started_fails_its_pages_only(
    workers: Workers, program: str, says: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.executable", program)
        for answer in await outcomes(workers, b"a page", b"a page" * 100_000, b"a third"):
            assert says in answer
    # The next start may have been tried just before.
    await outcomes(workers, b"a fourth")
    assert await outcomes(workers, b"a page") == ["ok"]


@with_workers()
async def test_modules_and_paths_of_a_crawl_do_no_harm(
    workers: Workers, monkeypatch: Any, tmp_path: Path
) -> None:
    """A module that is named as one of Python's hides none; a path may be no text."""
    (tmp_path / "token.py").touch()
    monkeypatch.setattr(sys, "path", [*filter(None, sys.path), str(Path.cwd()), Path.cwd()])
    monkeypatch.chdir(tmp_path)
    assert await outcomes(workers, b"a page") == ["ok"]


@with_workers(processes=2, timeout=60, excerpt_length=10)
async def test_processes_of_one_thread_start_when_they_are_needed_and_end_with_the_workers(
    workers: Workers, monkeypatch: Any
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    pids = {await child(workers, b"process %d" % number) for number in range(9)}
    assert len(pids) == 1
    assert not workers.are_busy
    hanging = asyncio.ensure_future(workers.analyse(Body(b"hang")))
    await asyncio.sleep(0)
    pids.add(await child(workers, b"another process"))
    assert len(pids) == 2
    for pid in pids:
        assert len([*Path(f"/proc/{pid}/task").iterdir()]) == 1
    await workers.close()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@with_workers()
async def test_a_page_that_nobody_waits_for_any_more_does_no_harm(workers: Workers) -> None:
    """Whether a process has it already or not."""
    tasks = [asyncio.ensure_future(workers.analyse(Body(b"%d" % n))) for n in range(6)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert await outcomes(workers, b"a page", b"a page") == ["ok", "ok"]


# Sites that hold up others.


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def put(turns: Turns, site: str) -> Job:
    """Have a page of a site wait."""
    job = Job(Body(b""), site, asyncio.get_running_loop().create_future(), turns.strikes)
    turns.put(job)
    return job


def reason(job: Job) -> str | None:
    return job.answer.result().reason if job.answer.done() else None


@with_workers()
async def test_sites_take_turns_and_those_that_cost_workers_come_last(workers: Workers) -> None:
    turns = Turns(4)
    for site in ("evil", "evil", "evil", "good", "good"):
        put(turns, site)
    assert [(await turns.take()).site for _ in range(2)] == ["evil", "good"]
    turns.strike("evil")
    put(turns, "new")
    assert [(await turns.take()).site for _ in range(4)] == ["good", "new", "evil", "evil"]


@with_workers()
async def test_a_site_is_let_through_for_a_while_with_one_warning(
    workers: Workers, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(module, "time", clock := Clock())
    turns = Turns(99)
    # Pages that fail now and then do no harm to their site, and those of no site none at all.
    for _ in range(STRIKES + 1):
        turns.strike("evil")
        turns.strike("")
        clock.now += PAUSE + 1
    waiting, innocent, item = put(turns, "evil"), put(turns, "good"), put(turns, "")
    for _ in range(STRIKES):
        assert reason(waiting) is None
        turns.strike("evil")
    assert reason(waiting) == reason(put(turns, "evil")) == "slow_host"
    assert reason(innocent) == reason(item) == reason(put(turns, "good")) is None
    clock.now += PAUSE + 1
    assert reason(put(turns, "evil")) is None
    assert len(caplog.records) == 1


@with_workers()
async def test_a_page_is_let_through_while_many_sites_cost_workers(workers: Workers) -> None:
    turns = Turns(4)
    innocent = put(turns, "good")
    for number in range(4):
        later = put(turns, "good")
        assert reason(innocent) is None
        turns.strike(f"evil{number}")
    assert reason(innocent) == "timeout"
    assert reason(later) is None


@with_workers(processes=2, timeout=0.5)
async def test_a_page_beside_hanging_ones_of_a_site_has_its_answer(workers: Workers) -> None:
    ended = list[str]()

    async def analyse(body: bytes, site: str) -> None:
        answer = await workers.analyse(Body(body), site)
        ended.append(f"{site} {answer.reason}")

    hanging = [analyse(b"hang %d" % number, "evil") for number in range(30)]
    await asyncio.gather(*hanging, analyse(b"a page", "good"))
    assert ended[: ended.index("good None")].count("evil timeout") <= 2
    assert ended.count("evil timeout") <= STRIKES + 1
    assert ended.count("evil slow_host") >= 30 - STRIKES - 1


# Equal bodies.


@pytest.mark.parametrize("processes", [0, 1])
def test_equal_bodies_are_analysed_once(processes: int) -> None:
    """Bytes of another charset or kind are another page."""
    data = ("<p>" + "Größe und Länge, öfter. " * 9).encode()
    bodies = Body(data, "cp1251"), Body(data, "cp1253"), Body(data, reader=ITEM)

    @with_workers(RECIPE, processes=processes)
    async def run(workers: Workers) -> None:
        for repeats in (0, len(bodies)):
            answers = [await workers.analyse(body) for body in bodies]
            assert answers == [analyse_body(body, RECIPE) for body in bodies]
            assert workers.repeats == repeats

    run()


def test_analyses_are_remembered_up_to_a_size(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "REMEMBERED_BYTES", 2 * 1500)

    @with_workers(RECIPE, processes=0, excerpt_length=100)
    async def run(workers: Workers) -> None:
        for seed in (0, 1, 2, 2, 1, 0, 1):
            await workers.analyse(Body(html(article(seed))))
        # The first was forgotten for the third, and comes in place of the third.
        assert workers.repeats == 3

    run()


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


def test_a_caller_may_stop_in_the_middle_of_many_bodies() -> None:
    pages = ((number, Body(b"%d" % number)) for number in range(100))
    answers = analyse_all(pages, HOSTILE, processes=1, timeout=5)
    assert next(answers)[1].fingerprint is not None
    answers.close()
