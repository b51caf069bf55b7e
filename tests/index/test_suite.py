"""A store of another distribution proves itself by the suite that the package brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STORE = """
from pathlib import Path
from scrapy_simhash.index import registry
from scrapy_simhash.index.local import LocalIndex, open_local

class Mine(LocalIndex):
    {verb}

def open_mine(url, asked):
    index = open_local(url.replace("mine://", "sqlite:///"), asked)
    index.__class__ = Mine
    return index

STORE = registry.Store(f"{{__name__}}:open_mine", remote=False)
"""
TESTS = """
import itertools
import pytest
from scrapy_simhash.testing import IndexContract

class TestMine(IndexContract):
    @pytest.fixture
    def new_url(self, tmp_path):
        numbers = itertools.count()
        return lambda: f"mine://{tmp_path}/{next(numbers)}"
"""


def prove(folder: Path, verb: str, some: str = "test") -> str:
    """Return what the suite says of a store that has a verb of its own."""
    info = folder / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[scrapy_simhash.stores]\nmine = mine:STORE")
    (folder / "mine.py").write_text(STORE.format(verb=verb))
    (folder / "test_mine.py").write_text(TESTS)
    asked = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_mine.py",
        "-k",
        some,
    ]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(asked, capture_output=True, text=True, cwd=folder, env=env, check=False)
    return done.stdout


def test_a_store_that_keeps_the_contract_passes_all_of_it(tmp_path: Path) -> None:
    told = prove(tmp_path, "pass")
    assert " passed" in told
    assert not any(word in told for word in ("failed", "skipped", "error"))


@pytest.mark.parametrize(
    ("verb", "broken"),
    [
        ("def release(self, keys): pass", "test_a_released_original_is_gone"),
        ("def gone(self, keys): return 0", "test_entries_of_keys_are_found_and_gone_in_any_scope"),
        ("def orphans(self): return []", "test_an_adopted_page_that_fails_is_gone"),
    ],
)
def test_a_store_that_breaks_a_promise_fails_and_is_told_which(
    tmp_path: Path, verb: str, broken: str
) -> None:
    told = prove(tmp_path, verb, broken)
    assert f"TestMine::{broken}" in told
    assert "assert " in told
