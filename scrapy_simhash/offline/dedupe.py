"""The filter over saved pages: which to keep, and which are copies of which."""

from __future__ import annotations

import itertools
import json
import threading
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from scrapy_simhash.analysis.worker import PageFailed, PageTimeout, WorkerProcess, analyse_body
from scrapy_simhash.detector import NearDuplicateDetector, PageAnalysis, analyse_text
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival
from scrapy_simhash.keys import Scope, page_scope
from scrapy_simhash.offline.pages import SavedPage

# Pages that are analysed ahead of the one that is judged, for each process; pages that claim
# together.
_AHEAD = 16
_TOGETHER = 64
_FORMAT = "scrapy-simhash analyses"


class StateError(ValueError):
    """A file of analyses does not fit; the message is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a saved page.

    Attributes:
        key: what names it in the index.
        kept: whether it is one to keep.
        verdict: ``unique``, ``duplicate``, ``revisit`` (the index has it already) or ``skipped``.
        original: of a duplicate, the key of the page that it repeats.
        distance: of a duplicate, in bits.
        reason: of a skipped page, why it was not compared; it is kept.
    """

    key: str
    kept: bool
    verdict: str
    original: str | None = None
    distance: int | None = None
    reason: str | None = None


class Analyser:
    """Analyses pages in several processes; their order stays.

    Args:
        recipe: from page to fingerprint.
        processes: how many; 0 for a thread of this one, which no page can be stopped in.
        timeout: seconds that a page may take; then it is not compared.
        most: bytes of a page; larger ones are not compared.
    """

    def __init__(self, recipe: Recipe, processes: int, timeout: float, most: int) -> None:
        self._recipe = recipe
        self._processes = processes
        self._window = _AHEAD * max(processes, 1)
        self._timeout = timeout
        self._most = most
        self._threads = ThreadPoolExecutor(max(processes, 1))
        self._workers: list[WorkerProcess] = []
        self._own = threading.local()

    def __enter__(self) -> Analyser:
        return self

    def __exit__(self, *about: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        # A thread that waits for its process waits no longer.
        for worker in self._workers:
            worker.close()

    def run(self, pages: Iterable[SavedPage]) -> Iterator[PageAnalysis]:
        """Yield the analysis of each page."""
        running: deque[Future[PageAnalysis]] = deque()
        for page in pages:
            running.append(self._threads.submit(self._analyse, page))
            if len(running) > self._window:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def _analyse(self, page: SavedPage) -> PageAnalysis:
        if page.body is None:
            return analyse_text(page.text or "", self._recipe)
        if len(page.body) > self._most:
            return PageAnalysis(None, "too_large")
        if not self._processes:
            try:
                return analyse_body(page.body, page.declared, page.url, self._recipe)
            except Exception:  # noqa: BLE001 - anything may come from an extractor
                return PageAnalysis(None, "extractor_error")
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = WorkerProcess(self._recipe, self._timeout)
            self._workers.append(worker)
        try:
            return worker.analyse(page.body, page.declared, page.url)
        except PageTimeout:
            return PageAnalysis(None, "timeout")
        except PageFailed:
            return PageAnalysis(None, "extractor_error")


def analyses(
    pages: Iterable[SavedPage], analyser: Analyser, recipe: Recipe, state: Path | None
) -> Iterator[tuple[SavedPage, PageAnalysis]]:
    """Yield pages with their analyses; those that a file has of an earlier run are not made again.

    Args:
        pages: in the order of the earlier run.
        analyser: makes the others.
        recipe: of the analyses.
        state: the file, made if there is none; None to keep nothing.

    Raises:
        StateError: the file is of other pages, or another recipe.
        OSError: it cannot be read or written.
    """
    rest = iter(pages)
    with _Kept(state, recipe) as kept:
        for number, (name, analysis) in enumerate(kept.read(), 1):
            page = next(rest, None)
            if page is None or page.name != name:
                raise StateError(f"{state}: page {number} is another one now; delete the file")
            yield page, analysis
        waiting: deque[SavedPage] = deque()

        def passing() -> Iterator[SavedPage]:
            for page in rest:
                waiting.append(page)
                yield page

        for made in analyser.run(passing()):
            line = _line(waiting[0].name, made)
            kept.write(line)
            # As the file gives it back, so that an interruption changes nothing.
            yield waiting.popleft(), _parsed(line, recipe.bits)[1]


class _Kept:
    """A file of analyses, or nothing."""

    def __init__(self, path: Path | None, recipe: Recipe) -> None:
        self._path = path
        self._bits = recipe.bits
        about = {"format": _FORMAT, "recipe": recipe.identity, "min_length": recipe.min_length}
        self._header = json.dumps(about).encode() + b"\n"
        self._file: IO[bytes] | None = None

    def __enter__(self) -> _Kept:
        if self._path is not None:
            self._file = self._path.open("a+b")
            self._file.seek(0)
            found = self._file.readline()
            if not found:
                self._file.write(self._header)
            elif found != self._header:
                self._file.close()
                raise StateError(
                    f"{self._path}: not analyses of this recipe; delete it, or name another file"
                )
        return self

    def __exit__(self, *about: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self) -> Iterator[tuple[str, PageAnalysis]]:
        """Yield what there is; what was cut off when a process was killed is cut away."""
        if self._file is None:
            return
        self._file.seek(len(self._header))
        while line := self._file.readline():
            if not line.endswith(b"\n"):
                self._file.truncate(self._file.tell() - len(line))
                return
            try:
                yield _parsed(line, self._bits)
            except (KeyError, TypeError, ValueError):
                raise StateError(f"{self._path}: damaged; delete it") from None

    def write(self, line: str) -> None:
        if self._file is not None:
            self._file.write(line.encode() + b"\n")


def _line(name: str, analysis: PageAnalysis) -> str:
    own = analysis.fingerprint
    margins = None
    if own is not None and own.margins is not None:
        # Only their order and proportion count.
        scaled = own.margins / max(float(own.margins.max()), 1e-9)
        margins = b64encode(scaled.astype("<f2").tobytes()).decode("ascii")
    return json.dumps(
        {
            "name": name,
            "fingerprint": None if own is None else str(own),
            "margins": margins,
            "reason": analysis.reason,
            "exact": analysis.exact,
        }
    )


def _parsed(line: str | bytes, bits: int) -> tuple[str, PageAnalysis]:
    entry = json.loads(line)
    fingerprint = None
    if entry["fingerprint"] is not None:
        margins = None
        if entry["margins"] is not None:
            margins = np.frombuffer(b64decode(entry["margins"]), "<f2").astype(np.float32)
        fingerprint = Fingerprint(int(entry["fingerprint"], 16), bits, margins)
    return entry["name"], PageAnalysis(fingerprint, entry["reason"], entry["exact"])


def decide(
    analysed: Iterable[tuple[SavedPage, PageAnalysis]],
    detector: NearDuplicateDetector,
    scope: Scope,
) -> Iterator[Decision]:
    """Yield what becomes of each page, in their order; originals are confirmed.

    A second page of the same key that is near the first is not kept either.

    Raises:
        StoreError: the index fails.
    """
    seen: set[str] = set()
    pages = iter(analysed)
    while some := list(itertools.islice(pages, _TOGETHER)):
        keys = [page.key for page, _ in some]
        arrivals = [
            Arrival(key, analysis.fingerprint, page_scope(page.url or "", scope))
            for key, (page, analysis) in zip(keys, some, strict=True)
            if analysis.fingerprint is not None
        ]
        verdicts = iter(detector.judge_all(arrivals))
        new: list[str] = []
        for key, (_, analysis) in zip(keys, some, strict=True):
            if analysis.fingerprint is None:
                yield Decision(key, True, "skipped", reason=analysis.reason)
                continue
            verdict = next(verdicts)
            kept = verdict.kind != "duplicate"
            decision = Decision(key, kept, verdict.kind, verdict.original, verdict.distance)
            if verdict.kind == "revisit" and key in seen:
                decision = Decision(key, False, "duplicate", original=key, distance=0)
            if kept:
                new.append(key)
            seen.add(key)
            yield decision
        detector.index.confirm(new)
