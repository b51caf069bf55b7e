"""The worker process: the same answers as here, and no page that can stop it for good."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scrapy_simhash.analysis.worker import (
    Body,
    PageFailed,
    PageTimeout,
    WorkerProcess,
    analyse_body,
)
from scrapy_simhash.fingerprint.recipe import named_recipe
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
    worker = WorkerProcess(
        replace(RECIPE, extractor="tests.analysis.test_worker.hostile"), timeout=2
    )
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
    monkeypatch.setattr("scrapy_simhash.analysis.worker.GRACE", 0.0)
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
    monkeypatch.setattr("scrapy_simhash.analysis.worker.PAGES_PER_PROCESS", 2)
    children = set()
    for _ in range(5):
        worker.analyse(b"a page", None, URL)
        assert worker._child is not None
        children.add(worker._child.pid)
    assert len(children) == 3


def test_pages_ahead_are_answered_in_their_order() -> None:
    pages = [Body(html(article(seed)), None, URL) for seed in range(4)]
    worker = WorkerProcess(RECIPE, timeout=10)
    found = []
    for page in pages:
        if not worker.ready:
            found.append(worker.receive())
        worker.send(page)
    found += [worker.receive() for _ in range(len(pages) - len(found))]
    assert found == [analyse_body(*page, RECIPE) for page in pages]
    worker.close()


@pytest.mark.parametrize(("first", "says"), [(b"hang", "2 seconds"), (b"exit", "status 3")])
def test_page_ahead_of_which_the_child_ends_is_answered_by_the_next(
    worker: WorkerProcess, first: bytes, says: str
) -> None:
    assert worker.analyse(b"a page", None, URL).fingerprint is not None
    worker.send(Body(first, None, URL))
    worker.send(Body(b"a page", None, URL))
    with pytest.raises(PageFailed, match=says):
        worker.receive()
    assert worker.receive().fingerprint is not None
    assert worker.ready


def test_child_with_pages_ahead_is_renewed_too(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.analysis.worker.PAGES_PER_PROCESS", 3)
    children, sent = set(), 0
    for _ in range(9):
        while not worker.ready:
            assert worker.receive().fingerprint is not None
            sent -= 1
        worker.send(Body(b"a page", None, URL))
        sent += 1
        assert worker._child is not None
        children.add(worker._child.pid)
    for _ in range(sent):
        assert worker.receive().fingerprint is not None
    assert len(children) == 3


def test_child_that_cannot_be_started_fails_the_page_only(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        with pytest.raises(PageFailed, match="can be started"):
            worker.analyse(b"a page", None, URL)
        # It ends at once, before it is told anything.
        patch.setattr("sys.executable", "/bin/false")
        for _ in range(3):
            with pytest.raises(PageFailed, match="status 1"):
                worker.analyse(b"a page" * 100_000, None, URL)
    assert worker.analyse(b"a page", None, URL).fingerprint is not None
