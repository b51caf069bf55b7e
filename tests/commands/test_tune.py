"""`scrapy simhash tune`: from pages and answers to the settings to paste."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import simhash
from tests.pages import article, edited


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Sixty texts, each with a copy that has changed a little, and one that has changed more."""
    path = tmp_path / "pages.jsonl"
    with path.open("w") as file:
        for seed in range(60):
            text = article(seed)
            for copy, share in enumerate((0.0, 0.005, 0.04)):
                changed = edited(text, seed, share) if share else text
                print(json.dumps({"id": f"{seed}/{copy}", "text": changed}), file=file)
    return path


def tuned(*arguments: object) -> int:
    return simhash("tune", *arguments)


def test_answers_of_a_file_give_the_distance_to_paste(
    pages: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    labels = tmp_path / "answers.tsv"
    answers = [f"{n}/0\t{n}/1\ty\n" for n in range(60)]
    answers += [f"{n}/{copy}\t{n}/2\tn\n" for n in range(60) for copy in (0, 1)]
    labels.write_text("".join(answers) + "gone\t0/1\ty\n")
    tuned(pages, "--labels", labels)
    found = re.search(r"SIMHASH_DISTANCE = (\d+)", capsys.readouterr().out)
    assert found
    assert int(found[1]) < 30


def test_answers_at_the_terminal_are_kept_as_they_are_given(
    pages: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    told = iter(["y", "what", "n", "", "q"])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: next(told))
    labels = tmp_path / "answers.tsv"
    tuned(pages, "--labels", labels)
    assert [row[-1] for row in labels.read_text().splitlines()] == ["y", "n"]
    out = capsys.readouterr().out
    assert "bits apart" in out
    assert "answer more pairs" in out


def test_right_answers_about_identical_copies_give_a_distance(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    path = tmp_path / "pages.jsonl"
    lines = [json.dumps({"id": str(number), "text": article(1)}) for number in range(40)]
    path.write_text("\n".join(lines))
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    tuned(path)
    assert "SIMHASH_DISTANCE = " in capsys.readouterr().out


def test_interrupt_while_asking_reports_what_was_answered(
    pages: Path, monkeypatch: Any, capsys: Any
) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", interrupt)
    tuned(pages)
    assert "answer more pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl"], "no such file"),
        (["PAGES"], "--labels"),
        (["PAGES", "--labels", "/nowhere/at/all.tsv"], "/nowhere/at"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    pages: Path, monkeypatch: Any, capsys: Any, arguments: list[str], says: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert tuned(*(pages if argument == "PAGES" else argument for argument in arguments)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_labels_that_are_neither_y_nor_n_are_refused(
    pages: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    labels = tmp_path / "answers.tsv"
    labels.write_text("0/0\t0/1\ty\n0/0\t0/2\tmaybe\n")
    assert tuned(pages, "--labels", labels) == 2
    assert "line 2: not two pages and y or n" in capsys.readouterr().err
