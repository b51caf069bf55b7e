"""The program of a worker process, which turns pages into analyses beside the crawl.

It is started as a program, not by multiprocessing: a crawl started from a script
without a ``__main__`` guard, as Scrapy's documentation has it, must not start again in
the child.

Parent and child send messages of plain values, whose types a page cannot choose,
through the child's standard input and output, an answer after its length in four
bytes::

    order    a recipe, its identity, seconds for a page, characters of an excerpt; None
    answers it page     the fields of a Body
    answer   the fields of a PageAnalysis

The child ends when its input does.
"""

import contextlib
import gc
import marshal
import os
import resource
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint


def order_of(
    recipe: Recipe,
    timeout: float,
    excerpt_length: int,
) -> tuple[Any, ...]:
    """Return the first message to a child."""
    return asdict(recipe), recipe.identity, timeout, excerpt_length


def recipe_of(values: dict[str, Any], identity: str) -> Recipe:
    """Return the recipe of an order.

    Raises:
        ValueError: it has another identity here, so its fingerprints would be others.
    """
    recipe = Recipe(**{**values, "spec": FeatureSpec(**values["spec"])})
    if recipe.identity != identity:
        raise ValueError(f"the worker has {recipe.identity}, the crawl {identity}")
    return recipe


def analysis_of(values: dict[str, Any]) -> PageAnalysis:
    """Return the analysis of an answer."""
    if values["fingerprint"] is not None:
        values["fingerprint"] = Fingerprint(**values["fingerprint"])
    return PageAnalysis(**values)


def _received(pages: BinaryIO) -> Any:
    return marshal.load(pages)  # noqa: S302 - the crawl that started this process has sent it


def _send(answers: BinaryIO, values: Any) -> None:
    data = marshal.dumps(values)
    answers.write(len(data).to_bytes(4, "big") + data)
    answers.flush()


def main() -> None:
    """Answer pages from standard input until it ends."""
    pages = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever an extractor prints must not get between the answers.
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a parent may have had it ignored
    # The parent may be gone, or does not wait for this child any more.
    with (
        contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError),
        answers,
    ):
        _answer_pages(pages, answers, *_received(pages))


def _answer_pages(
    pages: BinaryIO,
    answers: BinaryIO,
    recipe_values: dict[str, Any],
    identity: str,
    timeout: float,
    excerpt_length: int,
) -> None:
    recipe = recipe_of(recipe_values, identity)
    _limit_memory()
    # Modules stay, so collections need not look at them.
    gc.freeze()
    _send(answers, None)
    while True:
        page = _received(pages)
        # Without a handler, SIGALRM ends the process even inside an endless loop of C
        # code. A thread that watches would cost as much as decoding a page.
        signal.setitimer(signal.ITIMER_REAL, timeout)
        analysis = analyse_body(Body(*page), recipe, excerpt_length)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, asdict(analysis))


def _limit_memory() -> None:
    """Let a page fail that takes a quarter of the machine's memory, or 512 MB, beyond the start."""
    # Other systems than Linux do not tell, and most of them do not keep the limit
    # either.
    with contextlib.suppress(OSError, ValueError):
        page_size = resource.getpagesize()
        pages, _, _ = Path("/proc/self/statm").read_text().partition(" ")
        memory = os.sysconf("SC_PHYS_PAGES") * page_size
        most = int(pages) * page_size + min(memory // 4, 512 << 20)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
