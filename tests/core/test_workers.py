"""Workers: each page gets its own answer, and none stops them for good."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from scrapy_simhash.core import workers as module
from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body, text_body
from scrapy_simhash.core.worker import order_of, recipe_of
from scrapy_simhash.core.workers import SITE_PAUSE, STRIKES, Job, Turns, Worker, Workers
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.analyses import analyse_all
from scrapy_simhash.offline.saved_pages import SavedPage
from tests.pages import DEFAULT, article, html


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


HOSTILE = replace(DEFAULT, extractor=f"{__name__}.hostile")


class Crew(Workers):
    """Workers on an event loop that runs while a test waits for something."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.loop = asyncio.new_event_loop()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def ask(self, *bodies: Body | bytes) -> list[PageAnalysis]:
        """Return the analyses of bodies that are asked for at once."""
        pages = [body if isinstance(body, Body) else Body(body) for body in bodies]
        tasks = [self.loop.create_task(self.analyse(page)) for page in pages]
        return self.run(asyncio.gather(*tasks))

    def pids(self, *bodies: bytes) -> list[int]:
        """Return the ids of the processes that get bodies."""
        return [int(answer.excerpt.split()[0]) for answer in self.ask(*bodies)]

    def begin(self, body: bytes, site: str = "") -> asyncio.Task[PageAnalysis]:
        return self.loop.create_task(self.analyse(Body(body), site))


@contextmanager
def crew(
    recipe: Recipe = HOSTILE, processes: int = 1, timeout: float = 60, excerpt_length: int = 10
) -> Iterator[Crew]:
    workers = Crew(recipe, processes=processes, timeout=timeout, excerpt_length=excerpt_length)
    try:
        yield workers
    finally:
        workers.run(workers.close())
        workers.loop.close()
        for thread in threading.enumerate():
            if thread.name.startswith("simhash-analysis"):
                thread.join(10)
                assert not thread.is_alive()


def digits(feature: str, bits: int) -> bytes:
    """A hash of a project's own."""
    return (7 * len(feature) * 0x9E3779B97F4A7C15 % 2**bits).to_bytes(bits // 8, "big")


UNUSUAL = Recipe("default", FeatureSpec("words", 2), 128, 9, hash=f"{__name__}.digits", sign=">=")


def test_each_page_gets_its_own_answer_by_the_whole_recipe():
    bodies = [Body(html(article(seed)), "utf-8") for seed in range(9)]
    bodies += [
        Body(b"a page" * 100_000),
        text_body(article(20)),
        text_body("half a pair \ud83d"),
        Body(b"", None),
    ]
    with crew(UNUSUAL, processes=2, excerpt_length=50) as workers:
        answers = workers.ask(*bodies)
    assert answers == [analyse_body(body, UNUSUAL, excerpt_length=50) for body in bodies]
    blocks = analyse_body(bodies[0], UNUSUAL).fingerprint.blocks  # type: ignore[union-attr]
    assert answers[0].fingerprint.blocks == blocks  # type: ignore[union-attr]


def test_a_worker_with_another_version_of_the_recipe_answers_nothing():
    values, identity, *_ = order_of(DEFAULT, 1.0, 0)
    assert recipe_of(values, identity) == DEFAULT
    with pytest.raises(ValueError, match="the worker has simhash/1 "):
        recipe_of(values, identity.replace("main/", "main/0"))


def test_the_identity_has_the_version_of_an_extractor_of_a_project(monkeypatch):
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


def test_a_page_that_fails_has_a_reason_and_costs_no_other_its_answer():
    with crew(processes=2, timeout=2) as workers:
        answers = workers.ask(b"a page", *FAILURES, b"print", b"another page")
    first, *failed, printing, last = answers
    assert all(answer.fingerprint for answer in (first, printing, last))
    for answer, (reason, says) in zip(failed, FAILURES.values(), strict=True):
        assert answer.reason == reason
        assert says in answer.error


def test_a_process_is_replaced_if_it_is_killed_between_two_pages_and_after_many_pages(monkeypatch):
    monkeypatch.setattr(Worker, "most_pages", 3)
    with crew() as workers:
        (pid,) = workers.pids(b"process")
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        pids = workers.pids(*(b"process %d" % number for number in range(6)))
    assert pid not in pids
    assert [*Counter(pids).values()] == [3, 3]


@pytest.mark.parametrize(
    ("program", "says"), [("/nowhere/python", "can be started"), ("/bin/false", "status 1")]
)
def test_a_process_that_cannot_be_started_fails_its_pages_only(program, says):
    with crew(processes=2) as workers:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.executable", program)
            for answer in workers.ask(b"a page", b"a page" * 100_000, b"a third"):
                assert says in answer.error
        # The next start may have been tried just before.
        workers.ask(b"a fourth")
        assert workers.ask(b"a fifth")[0].fingerprint


def test_a_page_whose_process_cannot_be_started_goes_to_another_one(monkeypatch):
    def start_one(stream: int) -> Any:
        monkeypatch.setattr(module, "_start_child", Mock(side_effect=OSError("no memory")))
        return start(stream)

    start = module._start_child
    monkeypatch.setattr(module, "_start_child", start_one)
    with crew(processes=2) as workers:
        assert all(answer.fingerprint for answer in workers.ask(b"a page", b"another page"))


def test_modules_and_paths_of_a_crawl_do_no_harm(monkeypatch, tmp_path):
    """A module that is named as one of Python's hides none; a path may be no text."""
    (tmp_path / "token.py").touch()
    monkeypatch.setattr(sys, "path", [*filter(None, sys.path), str(Path.cwd()), Path.cwd()])
    monkeypatch.chdir(tmp_path)
    with crew() as workers:
        assert workers.ask(b"a page")[0].fingerprint


def test_processes_of_one_thread_start_when_they_are_needed_and_end_with_the_workers(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with crew(processes=2) as workers:
        pids = {pid for number in range(9) for pid in workers.pids(b"process %d" % number)}
        assert len(pids) == 1
        assert not workers.answers
        hanging = workers.begin(b"hang")
        workers.run(asyncio.sleep(0))
        pids.update(workers.pids(b"another process"))
        assert len(pids) == 2
        for pid in pids:
            assert len([*Path(f"/proc/{pid}/task").iterdir()]) == 1
    assert hanging.cancelled()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_page_that_nobody_waits_for_any_more_does_no_harm():
    """Whether a process has it already or not."""
    with crew() as workers:
        tasks = [workers.begin(b"%d" % number) for number in range(6)]
        workers.run(asyncio.sleep(0))
        for task in tasks:
            task.cancel()
        assert all(answer.fingerprint for answer in workers.ask(b"a page", b"another page"))


def put(turns: Turns, site: str) -> Job:
    """Have a page of a site wait."""
    job = Job(Body(b""), site, Future(), turns.strikes)  # type: ignore[arg-type]
    turns.put(job)
    return job


def reason(job: Job) -> str | None:
    return job.answer.result().reason if job.answer.done() else None


def test_sites_take_turns_and_those_that_cost_workers_come_last():
    def take(count: int) -> list[str]:
        return [asyncio.run(turns.take()).site for _ in range(count)]

    turns = Turns(4)
    for site in ("evil", "evil", "evil", "good", "good"):
        put(turns, site)
    assert take(2) == ["evil", "good"]
    turns.strike("evil")
    put(turns, "new")
    assert take(4) == ["good", "new", "evil", "evil"]


def test_a_site_is_let_through_for_a_while_with_one_warning(now, caplog):
    turns = Turns(99)
    # Pages that fail now and then do no harm to their site, and those of no site none at all.
    for _ in range(STRIKES + 1):
        turns.strike("evil")
        turns.strike("")
        now[0] += SITE_PAUSE + 1
    waiting, innocent, item = put(turns, "evil"), put(turns, "good"), put(turns, "")
    for _ in range(STRIKES):
        assert reason(waiting) is None
        turns.strike("")
        turns.strike("evil")
    assert reason(waiting) == reason(put(turns, "evil")) == "slow_host"
    assert reason(innocent) == reason(item) == reason(put(turns, "good")) is None
    now[0] += SITE_PAUSE + 1
    assert reason(put(turns, "evil")) is None
    assert len(caplog.records) == 1


def test_a_page_is_let_through_while_many_sites_cost_workers():
    turns = Turns(4)
    innocent = put(turns, "good")
    for number in range(4):
        later = put(turns, "good")
        assert reason(innocent) is None
        turns.strike(f"evil{number}")
    assert reason(innocent) == "timeout"
    assert reason(later) is None


def test_a_page_beside_hanging_ones_of_a_site_has_its_answer():
    ended = list[str]()
    with crew(processes=2, timeout=2) as workers:
        tasks = [workers.begin(b"hang %d" % number, "evil") for number in range(30)]
        tasks.append(workers.begin(b"a page", "good"))
        for task, site in zip(tasks, ["evil"] * 30 + ["good"], strict=True):
            task.add_done_callback(
                lambda done, site=site: ended.append(f"{site} {done.result().reason}")
            )
        workers.run(asyncio.wait(tasks))
    assert ended[: ended.index("good None")].count("evil timeout") <= 2
    assert ended.count("evil timeout") <= STRIKES + 1
    assert ended.count("evil slow_host") >= 30 - STRIKES - 1


@pytest.mark.parametrize("processes", [0, 1])
def test_bodies_are_analysed_in_their_order_without_an_event_loop(processes):
    bodies = [Body(html(article(seed))) for seed in range(40)]
    bodies[3], bodies[5] = Body(b"raise"), Body(b"x" * 100_000)
    pages = [SavedPage(str(number), "", body) for number, body in enumerate(bodies)]
    workers = Workers(HOSTILE, processes=processes, timeout=5, largest=50_000)
    answers = dict(analyse_all(pages, workers))
    assert [*answers] == pages
    assert answers.pop(pages[3]).reason == "extractor_error"
    assert answers.pop(pages[5]).reason == "too_large"
    assert answers == {page: analyse_body(page.body, HOSTILE) for page in answers}


def test_a_caller_may_stop_in_the_middle_of_many_bodies():
    """Few are read before they are needed."""
    pages = (SavedPage("", "", Body(b"%d" % number)) for number in range(100))
    answers = analyse_all(pages, Workers(HOSTILE, processes=1, timeout=5))
    assert next(answers)[1].fingerprint is not None
    answers.close()
    assert len([*pages]) > 50
