"""The worker process: the same answers as here, and no page that can stop it for good."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scrapy_simhash.recipe import named_recipe
from scrapy_simhash.worker import PageFailed, PageTimeout, WorkerProcess, analyse_body
from tests.pages import article, html

RECIPE = named_recipe("default")
URL = "http://a.example/"


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
    return article(1)


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    worker = WorkerProcess(replace(RECIPE, extractor="tests.test_worker.hostile"), timeout=2)
    yield worker
    worker.close()


def test_answers_are_those_of_this_process() -> None:
    worker = WorkerProcess(replace(RECIPE, seed="secret"), timeout=10)
    recipe = replace(RECIPE, seed="secret")
    for seed in range(3):
        body = html(article(seed))
        here, there = analyse_body(body, None, URL, recipe), worker.analyse(body, None, URL)
        assert there == here
        assert there.fingerprint is not None
        assert here.fingerprint is not None
        assert (there.fingerprint.margins == here.fingerprint.margins).all()
    assert worker.analyse(b"", "utf-8", URL).reason == "empty"
    links = b"".join(b"<li><a href=/%d>Number %d</a></li>" % (n, n) for n in range(40))
    assert worker.analyse(links, None, URL) == analyse_body(links, None, URL, recipe)
    assert worker.analyse(links, None, URL).exact
    worker.close()


def test_page_that_hangs_is_ended_and_the_next_is_answered(worker: WorkerProcess) -> None:
    assert worker.analyse(b"a page", None, URL).fingerprint is not None
    with pytest.raises(PageTimeout, match="2 seconds"):
        worker.analyse(b"hang", None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None


def test_extractor_that_raises_is_reported_and_the_next_page_is_answered(
    worker: WorkerProcess,
) -> None:
    with pytest.raises(PageFailed, match="as the page said"):
        worker.analyse(b"raise", None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None


def test_extractor_that_prints_does_not_disturb(worker: WorkerProcess) -> None:
    assert worker.analyse(b"print", None, URL).fingerprint is not None


def test_child_that_dies_is_replaced(worker: WorkerProcess) -> None:
    with pytest.raises(PageFailed, match="status 3"):
        worker.analyse(b"exit", None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None
    assert worker._child is not None
    worker._child.send_signal(signal.SIGKILL)
    with pytest.raises(PageFailed, match="status -9"):
        worker.analyse(b"a page", None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None


def test_child_that_is_stopped_in_its_tracks_is_given_up(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it reads no more or answers no more."""
    monkeypatch.setattr("scrapy_simhash.worker.GRACE", 0.0)
    for page in (b"a page", b"a page" * 100_000):
        assert worker.analyse(b"a page", None, URL).fingerprint is not None
        assert worker._child is not None
        worker._child.send_signal(signal.SIGSTOP)
        with pytest.raises(PageTimeout, match="2 seconds"):
            worker.analyse(page, None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None


def test_child_is_renewed_after_many_pages(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.worker.PAGES_PER_PROCESS", 2)
    children = set()
    for _ in range(5):
        worker.analyse(b"a page", None, URL)
        assert worker._child is not None
        children.add(worker._child.pid)
    assert len(children) == 3
