"""The README names everything there is, and nothing that there is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from scrapy_simhash.commands import SUBCOMMANDS
from scrapy_simhash.detector import SkipReason
from scrapy_simhash.extraction.extractor import EXTRACTORS
from scrapy_simhash.fingerprint.recipe import RECIPES
from scrapy_simhash.index.redis_address import OPTIONS
from scrapy_simhash.settings import DEFAULTS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SOURCES = {path: path.read_text("utf-8") for path in (ROOT / "scrapy_simhash").rglob("*.py")}


def counted() -> set[str]:
    """The stats that the code counts under a literal name."""
    names = {"responses"}
    for source in SOURCES.values():
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) in ("self.count", "self._count", "self._filter.count")
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                names.add(node.args[0].value)
    kinds = {"unique", "duplicate", "revisit", "skipped"}
    return names | kinds | {f"skipped/{reason}" for reason in get_args(SkipReason)}


def test_stats_are_those_of_the_code() -> None:
    assert set(re.findall(r"`simhash/([\w/]+)`", README)) == counted()


def test_settings_are_those_of_the_code() -> None:
    assert set(re.findall(r"SIMHASH_[A-Z_]+", README)) == set(DEFAULTS)


def test_meta_keys_are_those_of_the_code() -> None:
    used = set()
    for source in SOURCES.values():
        used |= set(re.findall(r'request\.meta(?:\[|\.get\()"(\w+)"', source))
        used |= set(re.findall(r'"(\w+)" in request\.meta', source))
    table = README.split("### Request meta")[1].split("###")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == used


@pytest.mark.parametrize("name", [*RECIPES, *EXTRACTORS])
def test_recipes_and_extractors_are_named(name: str) -> None:
    assert f"`{name}`" in README


def test_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile
    for name in re.findall(r"tests[/.]benchmarks[/.](\w+)", README + makefile):
        assert (ROOT / "tests" / "benchmarks" / f"{name}.py").is_file(), name


def test_subcommands_are_those_of_the_code() -> None:
    table = README.split("| `scrapy simhash` |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)", cell)]
    assert sorted(named) == sorted(SUBCOMMANDS)
    assert set(re.findall(r"scrapy simhash ([a-z]+)", README)) <= set(SUBCOMMANDS)


def test_options_of_the_index_url_are_those_of_the_code() -> None:
    table = README.split("| Option |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)=", table, re.MULTILINE)) == {*OPTIONS, "name", "expire"}
