"""The filter over saved pages: which pages stay, and which are copies of which."""

from __future__ import annotations

import contextlib
import itertools
import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scrapy_simhash.analysis.page import Body, PageAnalysis, text_body
from scrapy_simhash.analysis.pool import analyse_all
from scrapy_simhash.detector import NearDuplicateDetector
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import Arrival
from scrapy_simhash.keys import Scope, page_scope
from scrapy_simhash.offline.pages import SavedPage

# Pages that claim their places together.
_TOGETHER = 64
_FORMAT = "scrapy-simhash analyses 2"


class StateError(ValueError):
    """A file of analyses does not fit; the message is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a saved page.

    Attributes:
        key: names the page in the index.
        kept: whether the page stays.
        verdict: ``unique``, ``duplicate``, ``revisit`` (the index has it already) or ``skipped``.
        original: for a duplicate, the key of the page that it repeats.
        distance: for a duplicate, in bits.
        reason: for a duplicate, the reason of the rule; for a skipped page, which is kept, why it
            was not compared.
    """

    key: str
    kept: bool
    verdict: str
    original: str | None = None
    distance: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the analysis of a page.

    Attributes:
        processes: worker processes; 0 for a thread, in which no page can be stopped.
        timeout: seconds that a page may take; then it is not compared.
        largest: bytes of a page; larger ones are not compared.
    """

    processes: int
    timeout: float
    largest: int


def analyses(
    pages: Iterable[SavedPage], recipe: Recipe, limits: Limits, state: Path | None
) -> Generator[tuple[SavedPage, PageAnalysis], None, None]:
    """Yield pages with their analyses; those that a file has of an earlier run are not made again.

    Args:
        pages: in the order of the earlier run.
        recipe: of the analyses.
        limits: of those that are made.
        state: the file, made if there is none; None to keep nothing.

    Raises:
        StateError: the file is of other pages, or another recipe.
        OSError: it cannot be read or written.
    """
    rest = iter(pages)
    waiting: deque[SavedPage] = deque()

    def bodies() -> Iterator[Body]:
        for page in rest:
            waiting.append(page)
            is_text = page.body is None
            yield text_body(page.text or "") if is_text else Body(page.body or b"", page.declared)

    with _Kept(state, recipe) as kept:
        for number, (name, analysis) in enumerate(kept.read(), 1):
            page = next(rest, None)
            if page is None or page.name != name:
                raise StateError(f"{state}: page {number} is another one now; delete the file")
            yield page, analysis
        made = analyse_all(
            bodies(),
            recipe,
            processes=limits.processes,
            timeout=limits.timeout,
            largest=limits.largest,
        )
        with contextlib.closing(made):
            for analysis in made:
                page = waiting.popleft()
                kept.write(page.name, analysis)
                yield page, analysis


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
        """Yield names and analyses; half a line, of a process that was killed, is cut away."""
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

    def write(self, name: str, analysis: PageAnalysis) -> None:
        if self._file is None:
            return
        own = analysis.fingerprint
        values = {
            "name": name,
            "fingerprint": None if own is None else str(own),
            "blocks": "" if own is None else b64encode(own.blocks).decode(),
            "facts": b64encode(analysis.facts).decode(),
            "reason": analysis.reason,
        }
        self._file.write(json.dumps(values).encode() + b"\n")


def _parsed(line: bytes, bits: int) -> tuple[str, PageAnalysis]:
    entry = json.loads(line)
    fingerprint = None
    if entry["fingerprint"] is not None:
        value, blocks = int(entry["fingerprint"], 16), b64decode(entry["blocks"], validate=True)
        fingerprint = Fingerprint(value, bits, blocks)
    facts = b64decode(entry["facts"], validate=True)
    return entry["name"], PageAnalysis(fingerprint, facts, entry["reason"])


def decide(
    analysed: Iterable[tuple[SavedPage, PageAnalysis]],
    detector: NearDuplicateDetector,
    scope: Scope,
) -> Iterator[Decision]:
    """Yield the decision on each page, in their order; originals are confirmed.

    A second page of the same key that is near the first is not kept either.

    Raises:
        StoreError: the index fails.
    """
    seen: set[str] = set()
    pages = iter(analysed)
    while some := list(itertools.islice(pages, _TOGETHER)):
        arrivals = [
            Arrival(
                page.key,
                analysis.fingerprint,
                page_scope(page.url or "", scope),
                analysis.facts,
            )
            for page, analysis in some
            if analysis.fingerprint is not None
        ]
        verdicts = iter(detector.judge_all(arrivals))
        new: list[str] = []
        for page, analysis in some:
            key = page.key
            if analysis.fingerprint is None:
                yield Decision(key, True, "skipped", reason=analysis.reason)
                continue
            verdict = next(verdicts)
            kept = verdict.kind != "duplicate"
            decision = Decision(
                key, kept, verdict.kind, verdict.original, verdict.distance, verdict.reason
            )
            if verdict.kind == "revisit" and key in seen:
                decision = Decision(key, False, "duplicate", original=key, distance=0)
            if kept:
                new.append(key)
            seen.add(key)
            yield decision
        detector.index.confirm(new)
