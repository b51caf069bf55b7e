"""`scrapy simhash evaluate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import simhash
from tests.pages import article, edited


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two near-duplicates, a pair that is wrongly labelled as such, and a text like no other."""
    folder = tmp_path / "set"
    folder.mkdir()
    texts = {"a": article(1), "b": edited(article(1), 3), "c": article(3), "d": article(4)}
    texts["e"] = "short"
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    (folder / "pairs.tsv").write_text(
        "a\tb\tlabel\na\tb\tduplicate/copy\nc\td\tduplicate/none\na\tc\tnegative/other\n"
    )
    return folder


def test_sets_stand_below_each_other(dataset: Path, capsys: Any) -> None:
    other = dataset.with_name("other")
    other.mkdir()
    for name in ("docs.jsonl", "pairs.tsv"):
        (other / name).write_bytes((dataset / name).read_bytes())
    assert simhash("evaluate", other, dataset) == 0
    printed = capsys.readouterr()
    head, *rows = map(str.split, printed.out.splitlines())
    assert head[:8] == "set recipe k pages skipped precision recall found".split()
    for name, row in zip(("other", "set"), rows, strict=True):
        assert row[:8] == [name, "default", "48", "5", "1", "1.0000", "0.5000", "1"]
    assert printed.err == ""


def test_settings_say_what_is_measured(dataset: Path, capsys: Any) -> None:
    settings = {"SIMHASH_RECIPE": "compact", "SIMHASH_DISTANCE": 20}
    for options, measured in (
        ([], ("compact", 20)),
        (["-s", "SIMHASH_DISTANCE=21"], ("compact", 21)),
        (["--recipe", "classic", "-s", "SIMHASH_DISTANCE=4"], ("classic", 4)),
    ):
        assert simhash("evaluate", dataset, "--json", *options, settings=settings) == 0
        (result,) = json.loads(capsys.readouterr().out)["results"]
        assert (result["name"], result["distance"]) == measured
        assert result["skipped"] == {"too_short": 1}


def test_wrong_pairs_are_named_when_asked_for(dataset: Path, capsys: Any) -> None:
    for options, are_named in (([], False), (["--show", 5], True)):
        assert simhash("evaluate", dataset, *options) == 0
        assert ("missed pairs" in capsys.readouterr().out) == are_named
