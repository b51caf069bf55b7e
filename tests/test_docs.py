"""README and documentation name everything there is, and nothing that there is not."""

import ast
import json
import re
import shlex
import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pytest
from scrapy import Spider
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

import scrapy_simhash
from benchmarks import comparison, preempt
from scrapy_simhash import exceptions, signals
from scrapy_simhash.commands import SUBCOMMANDS, _load
from scrapy_simhash.core.analysis import SkipReason
from scrapy_simhash.core.verdict import VerdictKind
from scrapy_simhash.crawl.summary import _DONE, _FATES
from scrapy_simhash.extraction.extractor import EXTRACTORS
from scrapy_simhash.fingerprint.recipe import RECIPES
from scrapy_simhash.index.values import Change
from scrapy_simhash.report.dedup_log import LogLine
from scrapy_simhash.rule.kinship import Kinship
from scrapy_simhash.rule.rule import COUNTS, FAR, REASONS, SHORT_TEXT, rule
from scrapy_simhash.settings import DEFAULTS, Spare
from tests import servers
from tests.commands.running import simhash
from tests.rule import made

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
PAGES["contributing"] = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
# The parts of the reference, by their titles.
PARTS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGES["reference"], re.M | re.S))
ALL = "\n".join([README, *PAGES.values()])
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def rows(page: str) -> list[list[str]]:
    """The cells of all table rows of a page, without heads and rulers."""
    found = re.findall(r"^\| (.*) \|$", re.sub(r"^\|.*\|\n\| -.*$", "", page, flags=re.M), re.M)
    return [re.split(r"(?<!\\) \| ", row) for row in found]


def first_cells(text: str) -> list[str]:
    return [row[0].strip("`") for row in rows(text)]


def section(page: str, title: str) -> str:
    return re.split(r"^##? .*$", page.split(f"\n## {title}\n")[1], maxsplit=1, flags=re.M)[0]


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", page, re.M | re.S)
    return [text for name, text in found if name == language]


def without_blocks(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)


def code(files: str) -> str:
    """The source of some files of the package."""
    paths = sorted((ROOT / "scrapy_simhash").glob(files))
    return "\n".join(path.read_text("utf-8") for path in paths)


def names(files: str, pattern: str) -> set[str]:
    """What stands in quotes where the code has a pattern."""
    return {*re.findall(pattern.replace("NAME", r"\"([\w/-]+)\""), code(files))}


def rulings(is_copy: bool) -> set[str]:
    """The reasons with which the rule finds a copy, or another page."""
    copies = names("rule/rul*.py", r"Ruling\(True, NAME")
    return copies if is_copy else {*REASONS} - copies - {FAR}


def counted() -> set[str]:
    """The stats that the code counts."""
    found = names("crawl/*.py", r"counts\[NAME\] \+=") | names("*.py", r"counts\[NAME\] \+=")
    for file, function in (("core/dedup.py", "counts"), ("crawl/sparing.py", "stats")):
        returned = code(file).split(f"def {function}(")[1].split("\n        }")[0]
        found |= {*re.findall(r"\"([\w/]+)\":", returned)}
    found |= {*_DONE.values(), *filter(re.compile("unmatched").match, _FATES)}
    found |= {*get_args(VerdictKind), *get_args(Change)}
    found |= {f"skipped/{reason}" for reason in get_args(SkipReason) if reason != "no_callback"}
    found |= {f"duplicate/{reason}" for reason in rulings(True)}
    return found | {f"near_kept/{reason}" for reason in rulings(False)}


def meta_keys() -> set[str]:
    """The keys of the plugin that the code reads from or writes into a request's meta."""
    source = code("crawl/*.py") + code("*.py")
    key = r"(?:\"(\w+)\"|([A-Z_]+))"
    uses = re.findall(rf"\bmeta\[{key}\]|\bmeta\.\w+\({key}|{key} (?:not )?in \S*\bmeta\b", source)
    constants = dict(re.findall(r"^([A-Z_]+) = \"(\w+)\"$", source, re.M))
    found = {constants.get(name, name) for use in uses for name in use}
    return {name for name in found if "simhash" in name}


def test_settings_and_their_defaults_are_those_of_the_code():
    defaults = {row[0].strip("`"): row[1] for row in rows(PAGES["settings"])}
    assert set(re.findall(r"SIMHASH_[A-Z_]+", ALL)) == set(DEFAULTS)
    for name, default in DEFAULTS.items():
        if default is None:
            assert "`" not in defaults[name], name
        else:
            assert ast.literal_eval(defaults[name].strip("`")) == default, name
    assert {*re.findall(r'^\| `"(\w+)"`', PAGES["sparing"], re.M)} == {*get_args(Spare)}


def test_recipes_and_extractors_are_those_of_the_code():
    tables = section(PAGES["settings"], "Recipes") + section(PAGES["settings"], "Extractors")
    described = {row[0].strip("`"): row[2:3] for row in rows(tables)}
    by_path = {"package.module.function", "package.module.RECIPE"}
    assert described.keys() == {*RECIPES, *EXTRACTORS, *by_path}
    for name, recipe in RECIPES.items():
        assert described[name] == [f"{recipe.bits}, {recipe.distance}"], name


def test_options_of_the_index_url_are_those_of_the_code():
    taken = names("index/redis/location.py", r"options\.get\(NAME, ")
    cells = first_cells(PAGES["sharing"])
    assert {cell.partition("=")[0] for cell in cells if re.match(r"\w+=", cell)} == taken


def test_meta_keys_are_those_of_the_code():
    keys, entries = PARTS["Request meta"].split("dict for each response")
    assert {*first_cells(keys)} == meta_keys()
    written = code("crawl/filter.py").split("def meta_of(")[1].split("return meta")[0]
    assert {*first_cells(entries)} == {*re.findall(r"\"(\w+)\"(?:\]| *:)", written)}


def test_stats_and_reasons_are_those_of_the_code_in_its_words():
    described = {row[0].strip("`").removeprefix("simhash/"): row[1] for row in rows(PARTS["Stats"])}
    assert described.keys() == counted()
    assert set(re.findall(r"`simhash/([\w/-]+)`", ALL)) <= counted()
    assert rulings(True) < set(REASONS)
    for name, words in described.items():
        kind, _, reason = name.partition("/")
        if kind in ("duplicate", "near_kept") and reason:
            assert words.startswith(REASONS[reason]), name


def test_methods_for_other_crawlers_are_those_of_the_code():
    methods = rows(section(PAGES["programs"], "Without Scrapy"))
    for cell, said in methods:
        for name in re.findall(r"(\w+)\(", cell):
            assert hasattr(scrapy_simhash.Dedup(processes=0), name)
            assert hasattr(scrapy_simhash.SyncDedup, name) != said.startswith("of `Dedup`")
    assert methods


def test_fields_of_the_dedup_log_are_those_of_the_code():
    assert first_cells(PARTS["The dedup log"]) == [field.name for field in fields(LogLine)]


def test_signals_and_exceptions_are_those_of_the_code():
    sent = {name for name, value in vars(signals).items() if type(value) is object}
    classes = {name for name, value in vars(exceptions).items() if isinstance(value, type)}
    public = {name for name in classes if not name.startswith("_")}
    raised = {name for name in public if vars(exceptions)[name].__module__ == exceptions.__name__}
    described = re.findall(r"^`(?:scrapy_simhash\.)?(\w+)`$", PARTS["Signals and exceptions"], re.M)
    assert {*described} == sent | raised | {"StoreError"}


def test_commands_and_their_options_are_those_of_the_code():
    cells = [row[0].strip("`").split() for row in rows(PARTS["Commands"])]
    assert {cell[2] for cell in cells if cell[0] == "scrapy"} == set(SUBCOMMANDS)
    assert set(re.findall(r"scrapy simhash ([a-z]+)", ALL)) == set(SUBCOMMANDS)
    for line in re.findall(r"scrapy simhash ([a-z]+ [^`\n]*)", ALL):
        name, *rest = line.split(" #")[0].split()
        flags = [flag for flags in _load(name).OPTIONS for flag in flags.split()]
        known = {*flags, "-h", "--help", "-s"}
        assert {word for word in rest if re.match(r"--?[a-z]", word)} <= known, line


def test_make_targets_benchmarks_and_files_exist_and_each_benchmark_is_named():
    for target in re.findall(r"(?:^|`)make (\w+)", ALL, re.M):
        assert f"\n{target}:" in MAKEFILE
    named = set(re.findall(r"\bbenchmarks[/.](\w+)", ALL + MAKEFILE))
    paths = {path.stem: path.read_text("utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
    assert named <= paths.keys()
    assert {name for name, source in paths.items() if "__main__" in source} <= named
    for path in re.findall(r"(?:example_project|scrapy_simhash|docs)/[\w/-]+\.\w+", ALL):
        assert (ROOT / path).is_file(), path


def test_names_to_import_are_those_of_the_package_and_have_no_deeper_path():
    doors = "downloadermiddlewares|spidermiddlewares|pipelines"
    named = set(re.findall(rf"(?<![\w/])scrapy_simhash\.(?!(?:{doors})\.)([\w.]+)", ALL))
    for imported in re.findall(r"from scrapy_simhash import ([\w, ]+)", ALL):
        named |= set(imported.split(", "))
    assert named <= {*scrapy_simhash.__all__}
    assert not re.search(r"from scrapy_simhash\.", ALL)
    # They are there without the other engines.
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['crawlee', 'httpx'])); "
        "from scrapy_simhash import *"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


KINDS = {
    "are one address": Kinship.ADDRESS,
    "declare that one is the other": Kinship.DECLARED,
    "are two views": Kinship.VIEW,
    "may be two records": Kinship.DOMAIN,
    "have one path in two releases, or on two hosts of a site": Kinship.BRANCH,
    "are one page in two languages": Kinship.TRANSLATION,
    "are on two sites": Kinship.SITES,
    "are texts, such as those of items": Kinship.TEXT,
}


def farthest(kin: Kinship, size: int) -> int:
    """Return how many bits two pages that say the same may be apart."""
    page, k = made.page(size=size), RECIPES["default"].distance
    return max(bits for bits in range(2 * k) if rule(page, page, kin, bits / k).is_copy)


def test_how_it_decides_has_the_limits_of_the_rule():
    assert [*KINDS.values()] == [*Kinship]
    for pair, kin in KINDS.items():
        (row,) = re.findall(rf"^\| {pair} \| (.*) \| (.*) \| (.*) \|$", PAGES["decides"], re.M)
        wanted = {farthest(kin, SHORT_TEXT)}
        if (short := farthest(kin, SHORT_TEXT - 50)) not in wanted:
            wanted |= {short, SHORT_TEXT}
        bits, values, _ = row
        assert {int(number) for number in re.findall(r"\d+", bits)} == wanted, pair
        if "three" in values:
            assert COUNTS == 3


def test_security_tells_how_many_pages_a_site_can_hide():
    (text,) = re.findall(r"`python -m benchmarks.preempt`(.*?)\.\s", PAGES["security"], re.DOTALL)
    told = re.findall(r"(\d+)%(?:\s+of\s+480\s+words\s+replaced)?, (\d+)", text)
    assert len(told) == text.count("%")
    for share, pages in told:
        assert sum(hides for _, hides in preempt.distances(int(share) / 100)) == int(pages)


def test_the_readme_tells_what_the_classic_recipe_finds():
    site = comparison.Newsroom()
    pages = [page for page in site.pages.values() if page.answer.status == 200]
    pages = [page for page in pages if page.answer.content_type.startswith("text/html")]
    measured = comparison.measure(lambda: comparison.this_filter("classic"), pages)
    (row,) = re.findall(r'^\| .*"classic"`.*\| (\d+) \| (\d+) \|$', README, re.M)
    assert tuple(map(int, row)) == measured[:2]
    assert f"It finds {row[0]} of 20 copies" in PAGES["faq"]


def test_llms_txt_names_every_page_once():
    named = re.findall(r"\]\(([\w-]+)\.html\)", (ROOT / "docs" / "llms.txt").read_text("utf-8"))
    assert sorted(named) == sorted(PAGES.keys() - {"index"})


def test_the_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


TRANSLATED = {"docs/start-zh.md": "docs/start.md", "README.zh-CN.md": "README.md"}


@pytest.mark.parametrize("translation", TRANSLATED)
def test_a_translation_has_the_settings_commands_code_and_figures_of_the_english(translation):
    """Who changes a figure, a setting or a command in the one, changes it in the other."""
    own, english = (
        (ROOT / name).read_text("utf-8") for name in (translation, TRANSLATED[translation])
    )
    names = [set(re.findall(r"`([^`\n]+)`", without_blocks(text))) for text in (own, english)]
    assert names[0] == names[1]
    assert own.count("\n## ") == english.count("\n## ")
    for language in ("python", "sh", ""):
        assert blocks(own, language) == blocks(english, language)
    prose = [re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", without_blocks(text)) for text in (own, english)]
    figures = [Counter(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)) for text in prose]
    assert figures[0] == figures[1], "change the figures of the translation, too"


def printed(source: str, names: dict[str, Any]) -> str:
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(source, "docs", "exec"), names)
    return output.getvalue()


def test_python_in_the_documentation_is_python_and_prints_what_it_says():
    for name, page in PAGES.items():
        for block in blocks(page, "python"):
            compile(block, f"docs/{name}.md", "exec")
    shown = [block for block in blocks(PAGES["programs"], "python") if "print(" in block]
    assert shown
    for block in shown:
        expected = re.findall(r"^ *print\(.*\)  # (.*)$", block, re.M)
        assert printed(block, {}).splitlines() == expected


def test_the_notebook_prints_what_it_shows():
    notebook = json.loads((ROOT / "docs" / "simhash.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown = [out["text"] for out in cell["outputs"] if out["output_type"] == "stream"]
            assert printed("".join(cell["source"]), names) == "".join(chain(*shown))
    svg = names["Plot"](names["points"], names["shares"])._repr_svg_()
    assert svg.count("<polyline") == 2


CLASSICS = [
    (command, blocks(part, ""))
    for part in PAGES["classics"].split("\n## ")[1:]
    for command in re.findall(r"^(scrapy simhash compare .*)$", part, re.M)
]


@pytest.mark.parametrize(("command", "shown"), CLASSICS)
def test_the_classics_are_reproduced_as_shown(command, shown, capsys, tmp_path, monkeypatch):
    (tmp_path / "recipes.py").write_text("\n".join(blocks(PAGES["classics"], "python")))
    monkeypatch.syspath_prepend(tmp_path)
    simhash(*shlex.split(command)[2:])
    output = capsys.readouterr().out
    assert shown
    for block in shown:
        assert block.rstrip("\n") in output


def test_the_log_in_the_readme_is_that_of_the_crawl():
    for shown in (block.splitlines() for block in blocks(README, "")[:2]):
        command = [sys.executable, "-m", *shlex.split(shown[0].removeprefix("$ "))]
        result = subprocess.run(
            command, cwd=ROOT / "example_project", capture_output=True, text=True, check=True
        )
        for line in shown[1:]:
            # Which of two copies comes first is chance.
            said = re.sub(r"^(DEBUG|INFO): ", "", line)
            assert said == "..." or " repeats " in said or said in result.stderr, line


def test_the_metrics_are_on_loopback_with_reasons_as_labels_and_estimates_as_gauges():
    (source,) = (text for text in blocks(PAGES["sharing"], "python") if "SimhashMetrics:" in text)
    assert len([line for line in source.splitlines() if line]) <= 16  # with the name of the file
    names: dict[str, Any] = {}
    printed(source, names)
    stats = MemoryStatsCollector(get_crawler(Spider))
    stats.inc_value("simhash/near_kept/other-heading", 3)
    stats.inc_value("simhash/duplicate", 4)
    stats.inc_value("simhash/spared/lost_estimate", 5)
    port = servers.free_port()
    metrics = names["SimhashMetrics"](stats, port)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            shown = answer.read().decode()
    finally:
        names["REGISTRY"].unregister(metrics)
    assert 'scrapy_simhash_total{reason="other-heading",stat="near_kept"} 3.0' in shown
    assert 'scrapy_simhash_total{reason="",stat="duplicate"} 4.0' in shown
    assert "# TYPE scrapy_simhash_spared gauge" in shown
    assert 'scrapy_simhash_spared{reason="lost_estimate",stat="spared"} 5.0' in shown
