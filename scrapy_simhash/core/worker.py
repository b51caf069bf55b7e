"""The program of a worker process, which turns pages into analyses beside the crawl.

It is started as a program of its own, not by multiprocessing: a crawl started from a script
without a ``__main__`` guard, as Scrapy's documentation has it, must not start again in the child.

Parent and child talk in frames over a socket that is the child's standard input and output::

    frame    u32 header length | u32 body length | header, JSON | body
    page     header {"charset", "reader"}; the body of a response, or a text in UTF-8
    answer   header {"reason", "facts" (hexadecimal), "excerpt", "canonical", "error"}; the body
             is empty, or the fingerprint's bytes and then its blocks

The first frame's header carries the whole recipe, its identity and the limits; an empty frame
answers it once the child is ready. The child ends when its input does.
"""

import contextlib
import gc
import json
import os
import resource
import signal
import struct
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint

# Bytes of address space that a child may take beyond what it starts with, if a quarter of the
# machine's memory is not less. A page that wants more fails.
MOST_MEMORY = 512 << 20

LENGTHS = struct.Struct("!II")


def pack_frame(header: dict[str, Any], body: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return b"".join((LENGTHS.pack(len(head), len(body)), head, body))


def pack_order(recipe: Recipe, timeout: float, excerpt_length: int) -> bytes:
    """Return the first frame that a child gets: a recipe, seconds a page, characters of a text."""
    limits = {"timeout": timeout, "excerpt_length": excerpt_length}
    return pack_frame({"recipe": asdict(recipe), "identity": recipe.identity, **limits})


def unpack_recipe(order: dict[str, Any]) -> Recipe:
    """Return the recipe in a first frame, all of whose values are plain.

    Raises:
        ValueError: it has another identity here, so its fingerprints would be others.
    """
    values = order["recipe"]
    recipe = Recipe(**{**values, "spec": FeatureSpec(**values["spec"])})
    if recipe.identity != order["identity"]:
        raise ValueError(f"the worker has {recipe.identity}, the crawl {order['identity']}")
    return recipe


def pack_answer(analysis: PageAnalysis) -> bytes:
    fingerprint = analysis.fingerprint
    body = b"" if fingerprint is None else fingerprint.to_bytes() + fingerprint.blocks
    header = {name: getattr(analysis, name) for name in ("reason", "excerpt", "canonical", "error")}
    return pack_frame(header | {"facts": analysis.facts.hex()}, body)


def unpack_answer(header: dict[str, Any], body: bytes, bits: int) -> PageAnalysis:
    fingerprint = None
    if body:
        value, blocks = body[: bits // 8], body[bits // 8 :]
        fingerprint = Fingerprint(int.from_bytes(value, "big"), bits, blocks)
    facts = bytes.fromhex(header["facts"])
    return PageAnalysis(fingerprint, **{**header, "facts": facts})


def main() -> None:
    """Answer pages from standard input until it ends."""
    pages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever an extractor prints must not get between the frames.
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a parent may have had it ignored
    # The parent is gone, or does not wait for this child any more.
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        order, _ = _read(pages)
        recipe = unpack_recipe(order)
        _limit_memory()
        # Modules stay, so collections need not look at them.
        gc.freeze()
        _write(answers, pack_frame({}))
        while True:
            header, data = _read(pages)
            # Without a handler, SIGALRM ends the process even inside an endless loop of C code. A
            # thread that watches would cost as much as decoding a page.
            signal.setitimer(signal.ITIMER_REAL, order["timeout"])
            analysis = analyse_body(Body(data, **header), recipe, order["excerpt_length"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            _write(answers, pack_answer(analysis))


def _limit_memory() -> None:
    # Other systems than Linux do not tell, and most of them do not keep the limit either.
    with contextlib.suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        memory = os.sysconf("SC_PHYS_PAGES") * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (taken + min(memory // 4, MOST_MEMORY), hard))


def _write(stream: IO[bytes], frame: bytes) -> None:
    stream.write(frame)
    stream.flush()


def _read(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    head, body = LENGTHS.unpack(_read_exactly(stream, LENGTHS.size))
    return json.loads(_read_exactly(stream, head)), _read_exactly(stream, body)


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
