"""The program of a worker process, which turns pages into analyses beside the crawl.

It is started as a program of its own, not by multiprocessing: a crawl started from a script
without a ``__main__`` guard, as Scrapy's documentation has it, must not start again in the child.

Parent and child send lines of JSON through the child's standard input and output::

    order    {"recipe", "identity", "timeout", "excerpt_length"}; {} answers it
    page     {"size", "charset", "reader"}, and after this line the bytes of a body
    answer   the fields of a PageAnalysis, with bytes in hexadecimal

The child ends when its input does.
"""

import contextlib
import gc
import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint

# Bytes of address space that a child may take beyond what it starts with, if a quarter of the
# machine's memory is not less. A page that wants more fails.
MOST_MEMORY = 512 << 20


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, default=bytes.hex).encode() + b"\n"


def pack_order(recipe: Recipe, timeout: float, excerpt_length: int) -> bytes:
    """Return what a child gets first: a recipe, seconds a page, characters of an excerpt."""
    limits = {"timeout": timeout, "excerpt_length": excerpt_length}
    return _line({"recipe": asdict(recipe), "identity": recipe.identity, **limits})


def unpack_recipe(order: dict[str, Any]) -> Recipe:
    """Return the recipe of an order, all of whose values are plain.

    Raises:
        ValueError: it has another identity here, so its fingerprints would be others.
    """
    values = order["recipe"]
    recipe = Recipe(**{**values, "spec": FeatureSpec(**values["spec"])})
    if recipe.identity != order["identity"]:
        raise ValueError(f"the worker has {recipe.identity}, the crawl {order['identity']}")
    return recipe


def pack_page(body: Body) -> bytes:
    header = {**body._asdict(), "data": None, "size": len(body.data)}
    return _line(header) + body.data


def unpack_answer(line: bytes) -> PageAnalysis:
    """Return the analysis in a line.

    Raises:
        ValueError: the child ended before it had written the line.
    """
    answer = json.loads(line)
    answer["facts"] = bytes.fromhex(answer["facts"])
    if fingerprint := answer["fingerprint"]:
        blocks = bytes.fromhex(fingerprint["blocks"])
        answer["fingerprint"] = Fingerprint(**{**fingerprint, "blocks": blocks})
    return PageAnalysis(**answer)


def main() -> None:
    """Answer pages from standard input until it ends."""
    pages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever an extractor prints must not get between the answers.
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a parent may have had it ignored
    if not (line := pages.readline()):
        return
    order = json.loads(line)
    recipe = unpack_recipe(order)
    _limit_memory()
    # Modules stay, so collections need not look at them.
    gc.freeze()
    # The parent may be gone, or does not wait for this child any more.
    with contextlib.suppress(BrokenPipeError), answers:
        answers.write(_line({}))
        answers.flush()
        for line in pages:
            header = json.loads(line)
            header["data"] = pages.read(header.pop("size"))
            # Without a handler, SIGALRM ends the process even inside an endless loop of C code. A
            # thread that watches would cost as much as decoding a page.
            signal.setitimer(signal.ITIMER_REAL, order["timeout"])
            analysis = analyse_body(Body(**header), recipe, order["excerpt_length"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            answers.write(_line(asdict(analysis)))
            answers.flush()


def _limit_memory() -> None:
    # Other systems than Linux do not tell, and most of them do not keep the limit either.
    with contextlib.suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        memory = os.sysconf("SC_PHYS_PAGES") * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (taken + min(memory // 4, MOST_MEMORY), hard))
