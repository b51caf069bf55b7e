"""`scrapy simhash tune`: from pages and answers to the settings to paste."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from scrapy_simhash.commands import tune
from tests.pages import article, edited


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Forty texts, each with a copy that has changed a little, and one that has changed more."""
    path = tmp_path / "pages.jsonl"
    with path.open("w") as file:
        for seed in range(40):
            text = article(seed)
            for copy, share in enumerate((0.0, 0.005, 0.04)):
                changed = edited(text, seed, share) if share else text
                print(json.dumps({"id": f"{seed}/{copy}", "text": changed}), file=file)
    return path


def tuned(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    tune.add_options(parser)
    tune.run(parser.parse_args(arguments), Settings())


def fill(labels: Path, answer: Any) -> None:
    head, *rows = labels.read_text().splitlines()
    cells = [row.split("\t") for row in rows]
    filled = ["\t".join([a, b, d, answer(a, b)]) for a, b, d, _ in cells]
    labels.write_text("\n".join([head, *filled]) + "\n")


def test_labels_file_is_made_filled_in_and_read(
    pages: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    labels, found = tmp_path / "answers.tsv", tmp_path / "found.json"
    tuned(str(pages), "--labels", str(labels), "--each", "40")
    assert "pairs to judge" in capsys.readouterr().out
    fill(labels, lambda a, b: "y" if {a[-1], b[-1]} == {"0", "1"} else "n")
    tuned(str(pages), "--labels", str(labels), "--target", "0.8", "--json", str(found))
    out = capsys.readouterr().out
    suggestion = json.loads(found.read_text())["suggestion"]
    assert suggestion["low"] >= 0.8
    assert suggestion["distance"] < 30
    assert f"SIMHASH_DISTANCE = {suggestion['distance']}" in out


def test_answers_at_the_terminal_are_kept_as_they_are_given(
    pages: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    told = iter(["y", "what", "n", "s", "q"])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: next(told))
    labels = tmp_path / "answers.tsv"
    tuned(str(pages), "--labels", str(labels))
    assert [row[-1] for row in labels.read_text().splitlines()[1:4]] == ["y", "n", "\t"]
    out = capsys.readouterr().out
    assert "bits apart" in out
    assert "answer more pairs" in out


def test_interrupt_while_asking_reports_what_was_answered(
    pages: Path, monkeypatch: Any, capsys: Any
) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", interrupt)
    tuned(str(pages))
    assert "answer more pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl"], "no such file"),
        (["PAGES"], "--labels"),
        (["PAGES", "--each", "0"], "--each"),
        (["PAGES", "--target", "2"], "--target"),
        (["PAGES", "--recipe", "soup"], "soup"),
        (["PAGES", "--labels", "/nowhere/at/all.tsv"], "/nowhere/at"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    pages: Path, monkeypatch: Any, arguments: list[str], says: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UsageError) as caught:
        tuned(*(str(pages) if argument == "PAGES" else argument for argument in arguments))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_that_are_neither_y_nor_n_are_refused(
    pages: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    labels = tmp_path / "answers.tsv"
    labels.write_text("a\tb\tdistance\tanswer\n0/0\t0/1\t3\tmaybe\n")
    with pytest.raises(UsageError, match="line 2: the answer is y or n, not 'maybe'"):
        tuned(str(pages), "--labels", str(labels))
