"""The shape of the house: which room may import from which."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "scrapy_simhash"

# A line for each room: the rooms that it may import from. A door is every module at the root that
# Scrapy knows by its own word for it.
ROOMS = {
    "extraction": set(),
    "fingerprint": set(),
    "readers": {"extraction", "fingerprint"},
    "rule": {"extraction", "fingerprint", "keys"},
    "index": {"fingerprint", "rule"},
    "testing": {"fingerprint", "index", "rule"},
    "url_patterns": {"index", "rule"},
    "report": {"core", "extraction", "rule"},
    "core": {"extraction", "fingerprint", "index", "keys", "readers", "rule"},
    "adapters": {"core", "keys"},
    "offline": {"core", "extraction", "fingerprint", "index", "keys", "readers", "rule"},
    "settings": {"exceptions", "extraction", "fingerprint", "index", "keys", "readers"},
    "crawl": {
        *("core", "exceptions", "index", "keys", "readers", "report", "settings"),
        "url_patterns",
    },
    "doors": {"core", "crawl", "exceptions", "keys", "settings", "signals"},
    "commands": {
        *("core", "extraction", "fingerprint", "index", "keys", "offline", "report", "settings"),
        *("rule", "url_patterns"),
    },
}
DOORS = {"addon", "downloadermiddlewares", "pipelines", "spidermiddlewares"}
SETTINGS = {"settings", "redis_settings"}
SCRAPY = {"doors", "commands", "crawl", "exceptions", "settings"}
FILES = sorted(PACKAGE.rglob("*.py"))


def room(name: str) -> str:
    return "doors" if name in DOORS else "settings" if name in SETTINGS else name


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return room(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))


def rooms_imported(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports(path))
    rooms = {room(rest[0]) for root, *rest in parts if root == "scrapy_simhash" and rest}
    return rooms - {"__version__", room_of(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_from_the_rooms_that_stand_behind_it_only(path: Path) -> None:
    here = room_of(path)
    if here != "__init__":
        assert rooms_imported(path) <= ROOMS.get(here, set())
    roots = {name.partition(".")[0] for name in imports(path)}
    if here not in SCRAPY:
        assert not {"scrapy", "twisted"} & roots
    if here != "testing":
        assert not {"pytest", "hypothesis"} & roots


def test_each_import_that_a_room_may_make_is_made() -> None:
    made: dict[str, set[str]] = {}
    for path in FILES:
        made.setdefault(room_of(path), set()).update(rooms_imported(path))
    assert {name: made[name] for name in ROOMS} == ROOMS


def test_core_needs_neither_scrapy_nor_the_slow_libraries() -> None:
    code = (
        "import sys, scrapy_simhash.core.sync, scrapy_simhash.core.worker; "
        "print([m for m in ('scrapy', 'twisted', 'trafilatura', 'jieba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_each_answer_of_contributing_names_what_stands_where_it_says() -> None:
    root = PACKAGE.parent
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    answers = re.findall(r"^\| \d+ \| .* \| (.*) \|$", text, re.MULTILINE)
    assert len(answers) == 26
    for answer in answers:
        for path, names in re.findall(r"`(scrapy_simhash/[^`]*)`((?:[:,] `\w+`)*)", answer):
            assert (root / path).exists(), path
            for name in re.findall(r"`(\w+)`", names):
                assert re.search(rf"\b{name}\b", (root / path).read_text("utf-8")), (path, name)
