"""The shape of the house: what may import what, and what stands in one place only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "scrapy_simhash"

# From the ground up: a module may import those before it, never those after it.
FLOORS = [
    {
        "normalisation",
        "hashing",
        "difference",
        "roles",
        "excerpt",
        "tally",
        "dedup_log",
        "archives",
    },
    {"fingerprint"},
    {"blocks", "segmentation", "prose", "charset", "marks"},
    {"features", "extraction", "likeness"},
    {"recipe", "index"},
    {"keys", "detector", "datasets", "transfer", "sizing"},
    {"evaluation", "kinds", "tuning", "report"},
    {"worker", "index_thread", "exceptions", "signals"},
    {"settings", "requests", "deliveries", "offline", "analysis", "bodies"},
    {"account", "judge", "handovers"},
    {"crawl"},
    {"downloadermiddlewares", "spidermiddlewares", "pipelines", "queues"},
    {"addon", "commands"},
]
FLOOR = {module: number for number, floor in enumerate(FLOORS) for module in floor}
SCRAPY_EDGE = {
    "exceptions",
    "settings",
    "requests",
    "deliveries",
    "handovers",
    "account",
    "crawl",
    "downloadermiddlewares",
    "spidermiddlewares",
    "pipelines",
    "queues",
    "addon",
    "commands",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    here = part(path)
    if here == "__init__":
        return
    for name in imports(path):
        root, *rest = name.split(".")
        if root == "scrapy":
            assert here in SCRAPY_EDGE
        if root == "scrapy_simhash" and rest and rest[0] in FLOOR:
            assert rest[0] == here or FLOOR[rest[0]] < FLOOR[here], f"{here} imports {name}"


def test_detector_needs_neither_scrapy_nor_the_slow_libraries() -> None:
    code = (
        "import sys, scrapy_simhash.detector, scrapy_simhash.worker; "
        "print([m for m in ('scrapy', 'twisted', 'trafilatura', 'jieba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
