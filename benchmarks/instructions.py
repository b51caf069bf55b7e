"""Counts the instructions that a page costs, here and in another checkout.

``python -m benchmarks.instructions --against COMMIT`` (or the folder of a checkout)
prints for each kind of pages, and for the index in memory, the millions of instructions
of one page on both sides. On a machine that others share, CPU time swings by a tenth
and more; instructions do not. Callgrind counts them in warm passes: imports and the
first pass are left out. Needs valgrind and ../shared/data; takes some five minutes.
"""

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Sets of labelled pages, one for each kind.
KINDS = (
    "articles-html",
    "blog-html",
    "docs-html",
    "shops-html",
    "records-html",
    "types-html",
    "index",
)
PAGES, PASSES = 5, 1
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def sample_of(kind: str) -> list[list[str]]:
    """Return the addresses and the HTML of some pages of a kind."""
    from benchmarks.documents import lines_of

    set_name = "records-html" if kind == "index" else kind
    lines = [line for line in lines_of(set_name) if "html" in line]
    sample = islice(lines[:: len(lines) // PAGES], PAGES)
    return [
        [line.get("url") or f"http://a.test/{line['id']}", line["html"]]
        for line in sample
    ]


def pass_over(kind: str, pages: list[list[str]]) -> Callable[[], object]:
    """Return what handles each page of a kind once.

    Another checkout runs this, so it imports little that is not public.
    """
    from scrapy_simhash import Document, SyncDedup
    from scrapy_simhash.core.analysis import Body, analyse_body
    from scrapy_simhash.fingerprint.recipe import named_recipe

    if kind == "index":

        def check() -> None:
            with SyncDedup("memory://", processes=0) as dedup:
                for url, html in pages:
                    dedup.check(Document(url, html, "text/html"), wait=False)

        return check
    recipe = named_recipe("default")
    bodies = [Body(html.encode("utf-8", "replace"), "utf-8") for _, html in pages]
    return lambda: [analyse_body(body, recipe) for body in bodies]


def count(kinds: list[str]) -> None:
    """Handle pages under Callgrind, which writes a file of counts for nothing and for each kind."""
    samples = json.load(sys.stdin)
    passes = [lambda: None, *(pass_over(kind, samples[kind]) for kind in kinds)]
    for warm in passes:
        warm()
    for warm in passes:
        # Else the collector looks at all that has been imported, now and then.
        gc.freeze()
        tell_callgrind("instrumentation", "on")
        for _ in range(PASSES):
            warm()
        tell_callgrind("dump", "counts")
        tell_callgrind("instrumentation", "off")


def tell_callgrind(*order: str) -> None:
    command = ["vgdb", f"--pid={os.getpid()}", *order]
    subprocess.run(command, check=True, capture_output=True)


def counts_of(checkout: Path, kinds: list[str], samples: str) -> dict[str, float]:
    """Return for each kind the millions of instructions that a page takes in a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no"]
        command += [
            f"--callgrind-out-file={folder}/counts",
            sys.executable,
            "-W",
            "ignore",
        ]
        command += [__file__, "--count", *kinds]
        environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            input=samples,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{checkout} could not be measured:\n{done.stderr[-2000:]}")
        files = [
            Path(folder, f"counts.{number}") for number in range(1, len(kinds) + 2)
        ]
        nothing, *totals = [
            int(_TOTAL.findall(file.read_text("utf-8"))[-1]) for file in files
        ]
        pages = PAGES * PASSES
        return {
            k: (t - nothing) / 1e6 / pages for k, t in zip(kinds, totals, strict=True)
        }


def checked_out(name: str, folder: str) -> Path:
    """Return the checkout of this name, or write the files of a commit into a folder."""
    if Path(name, "scrapy_simhash").is_dir():
        return Path(name).resolve()
    archive = subprocess.run(
        ["git", "archive", name], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        sys.exit(f"{name} is neither a checkout nor a commit")
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    return Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--against", default="HEAD", help="a commit, or the folder of a checkout"
    )
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}")
    options = parser.parse_args()
    kinds = options.kinds or [*KINDS]
    if options.count:
        count(kinds)
        return
    from benchmarks.measuring import Table

    samples = json.dumps({kind: sample_of(kind) for kind in kinds})
    with tempfile.TemporaryDirectory() as folder:
        there = counts_of(checked_out(options.against, folder), kinds, samples)
    here = counts_of(ROOT, kinds, samples)
    table = Table("millions of instructions a page", options.against, "here", "ratio")
    for kind in kinds:
        table.row(kind, there[kind], here[kind], round(here[kind] / there[kind], 3))


if __name__ == "__main__":
    main()
