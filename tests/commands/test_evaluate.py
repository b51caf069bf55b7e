"""`scrapy simhash evaluate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import ROOT, scrapy, simhash
from tests.pages import article, edited


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two near-duplicates, a pair that is wrongly labelled as such, and a text like no other."""
    folder = tmp_path / "set"
    folder.mkdir()
    texts = {"a": article(1), "b": edited(article(1), 2), "c": article(3), "d": article(4)}
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    (folder / "pairs.tsv").write_text(
        "a\tb\tlabel\na\tb\tduplicate/copy\nc\td\tduplicate/none\na\tc\tnegative/other\n"
    )
    return folder


def evaluate(*arguments: object, settings: dict[str, Any] | None = None) -> int:
    return simhash("evaluate", *arguments, settings=settings)


def test_recipes_stand_side_by_side(dataset: Path, capsys: Any) -> None:
    recipes = ("--recipe", "default", "--recipe", "classic", "--recipe", "default")
    assert evaluate(dataset, *recipes) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.split("\n\n")[0].splitlines()]
    assert rows[0][:7] == "set recipe k pages skipped precision recall".split()
    assert [row[:3] for row in rows[1:]] == [["set", "default", "48"], ["set", "classic", "3"]]
    assert rows[1][3:8] == ["4", "0", "1.0000", "0.5000", "1"]
    assert "copy" in printed.out
    assert printed.err == ""


def test_several_sets_are_measured_in_turn(dataset: Path, capsys: Any) -> None:
    other = dataset.with_name("other")
    other.mkdir()
    for name in ("docs.jsonl", "pairs.tsv"):
        (other / name).write_bytes((dataset / name).read_bytes())
    assert evaluate(other, dataset) == 0
    rows = capsys.readouterr().out.split("\n\n")[0].splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [["other", "default"], ["set", "default"]]


def test_settings_of_the_project_say_what_is_measured(dataset: Path, capsys: Any) -> None:
    settings = {"SIMHASH_RECIPE": "compact", "SIMHASH_DISTANCE": 20}
    assert evaluate(dataset, "--json", settings=settings) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["name"], result["distance"]) == ("compact", 20)
    assert evaluate(dataset, "--json", "-s", "SIMHASH_DISTANCE=21", settings=settings) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["name"], result["distance"]) == ("compact", 21)
    assert evaluate(dataset, "--json", "-s", "SIMHASH_RECIPE=classic") == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["name"] == "classic"


def test_skipped_pages_are_in_the_json(dataset: Path, capsys: Any) -> None:
    with (dataset / "docs.jsonl").open("a") as file:
        file.write('\n{"id": "e", "text": "short"}')
    assert evaluate(dataset, "--json") == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["skipped"] == {"too_short": 1}


def test_wrong_pairs_are_printed_when_asked_for(dataset: Path, capsys: Any) -> None:
    assert evaluate(dataset, "--recipe", "classic") == 0
    assert "missed pairs" not in capsys.readouterr().out
    assert evaluate(dataset, "--recipe", "classic", "--show", 5) == 0
    out = capsys.readouterr().out
    assert "missed pairs" in out


BAD: dict[str, tuple[list[object], str]] = {
    "no such folder": (
        ["/no/where"],
        "/no/where: no set of labelled pages",
    ),
    "no such recipe": (["SET", "--recipe", "best"], "unknown recipe 'best'"),
    "distance too large": (
        ["SET", "-s", "SIMHASH_RECIPE=classic", "-s", "SIMHASH_DISTANCE=65"],
        "between 0 and 16",
    ),
    "no such extractor": (["SET", "-s", "SIMHASH_EXTRACTOR=a.b"], "no extractor 'a.b'"),
    "no such option": (["SET", "--bogus"], "unrecognized arguments: --bogus"),
    "bad setting": (["SET", "-s", "SIMHASH_RECIPE=x"], "SIMHASH_RECIPE: unknown recipe 'x'"),
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input_is_one_line_and_status_2(dataset: Path, capsys: Any, arguments: str) -> None:
    given, complaint = BAD[arguments]
    assert evaluate(*(dataset if value == "SET" else value for value in given)) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.err.startswith("scrapy simhash evaluate: error: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize("arguments", [["--show", "x"]])
def test_bad_number_is_refused(dataset: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        evaluate(dataset, *arguments)
    assert end.value.code == 2


def test_installed_command_is_found_with_and_without_a_project(dataset: Path) -> None:
    for folder in (dataset.parent, ROOT / "example_project"):
        done = scrapy("simhash", "evaluate", dataset, "--json", folder=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["results"][0]["name"] == "default"


SLOW = """
import pathlib, time

def extract(html):
    pathlib.Path("begun").touch()
    time.sleep(0.1)
    return html
"""


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    folder = tmp_path / "set"
    folder.mkdir()
    lines = [json.dumps({"id": str(n), "html": article(n)}) for n in range(2000)]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    (folder / "pairs.tsv").write_text("a\tb\tlabel\n")
    arguments = "evaluate set -s SIMHASH_EXTRACTOR=slow.extract --json".split()
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "simhash", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        while not (tmp_path / "begun").exists():
            assert child.poll() is None
            time.sleep(0.05)
        # What a terminal does: the signal goes to the whole group.
        os.killpg(child.pid, signal.SIGINT)
        # Returns once no process holds the pipes any more.
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    assert err == "scrapy simhash evaluate: interrupted\n"
