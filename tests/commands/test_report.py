"""`scrapy simhash report`: what it writes, prints and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.report.dedup_log import to_json
from tests.commands.running import ROOT, scrapy, simhash
from tests.report.lines import CRAWL, copy, line, write


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    kept, original = line(), "http://a.example/"
    copies = [copy(f"http://b.example/{number}", original, number) for number in range(3)]
    return write(tmp_path / "dedup.jsonl", [kept, *copies])


def test_report_is_written_where_it_says(log: Path, capsys: Any) -> None:
    assert simhash("report", log) == 0
    said = capsys.readouterr().out
    assert said.startswith("4 judged, 3 near-duplicates (75.0%): file:///")
    assert Path(said.split("file://")[1].strip()) == log.with_name("simhash-report.html")
    assert log.with_name("simhash-report.html").read_text("utf-8").startswith("<!doctype html>")
    assert simhash("report", log, "-o", "other.html") == 0
    assert log.with_name("other.html").exists()


def test_rotated_files_are_read_and_logs_are_joined(log: Path, capsys: Any) -> None:
    write(log.with_name("dedup.jsonl.1"), [line()] * 10)
    other = write(log.with_name("other.jsonl"), [line()] * 100)
    assert simhash("report", log, other, log) == 0
    assert capsys.readouterr().out.startswith("114 judged")


def test_log_of_the_project_is_read_when_none_is_named(log: Path, capsys: Any) -> None:
    assert simhash("report", settings={"SIMHASH_LOG": str(log)}) == 0
    assert capsys.readouterr().out.startswith("4 judged")


def test_all_drops_are_written_as_csv_or_json(log: Path, capsys: Any) -> None:
    assert simhash("report", log, "-o", "drops.csv") == 0
    assert capsys.readouterr().out.startswith("4 judged, 3 near-duplicates (75.0%): file:///")
    rows = list(csv.DictReader(log.with_name("drops.csv").read_text().splitlines()))
    assert [(row["url"], row["distance"]) for row in rows] == [
        (f"http://b.example/{number}", str(number)) for number in (2, 1, 0)
    ]
    assert simhash("report", log, "-o", "drops.json") == 0
    drops = json.loads(log.with_name("drops.json").read_text())
    assert [row["distance"] for row in drops] == [2, 1, 0]
    log.write_text("")
    assert simhash("report", log, "-o", "none.json") == 0
    assert json.loads(log.with_name("none.json").read_text()) == []


def test_a_crawl_of_the_log_may_be_named(log: Path, capsys: Any) -> None:
    with log.open("a") as file:
        file.write(to_json(line(crawl="later", time=2e9)) + "\n")
    assert simhash("report", log) == 0
    assert capsys.readouterr().out.startswith("1 judged")
    assert simhash("report", log, "--crawl", CRAWL) == 0
    assert capsys.readouterr().out.startswith("4 judged")
    assert simhash("report", log, "--crawl", "none") == 2
    assert f"there are {CRAWL}, later" in capsys.readouterr().err


def test_a_dash_stands_for_standard_output(log: Path, capsys: Any) -> None:
    assert simhash("report", log, "-o", "-") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("<!doctype html>")
    assert printed.out.rstrip().endswith("</html>")
    assert printed.err == "4 judged, 3 near-duplicates (75.0%)\n"
    assert not log.with_name("-").exists()


def test_empty_log_has_a_report_that_says_so(log: Path, capsys: Any) -> None:
    log.write_text("")
    assert simhash("report", log) == 0
    assert capsys.readouterr().out.startswith("0 judged, 0 near-duplicates (0%): ")
    assert "the log is empty" in log.with_name("simhash-report.html").read_text("utf-8")


BAD: dict[str, tuple[list[str], str]] = {
    "no log": ([], "name a dedup log, which a crawl writes with -s SIMHASH_LOG=dedup.jsonl"),
    "no such log": (["nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
    "a folder": (["folder"], "folder: there is no such file"),
    "this folder": (["."], ".: there is no such file"),
    "another file": (["other.jsonl"], "other.jsonl: no line of it is one of a dedup log"),
    "no folder for the report": (
        ["dedup.jsonl", "-o", "no/r.html"],
        "no/r.html: No such",
    ),
    "report over the log": (["dedup.jsonl", "-o", "./dedup.jsonl"], "it is read, and"),
    "report into a folder": (["dedup.jsonl", "-o", "folder"], "folder: Is a directory"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_status_2(log: Path, capsys: Any, name: str) -> None:
    given, complaint = BAD[name]
    log.with_name("folder").mkdir()
    log.with_name("other.jsonl").write_text('{"url": "http://a.example/", "html": "x"}\n')
    assert simhash("report", *given) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("scrapy simhash report: error: ")
    assert printed.err.count("\n") == 1
    assert complaint in printed.err
    assert not log.with_name("simhash-report.html").exists()


def test_ctrl_c_leaves_the_old_report(log: Path, monkeypatch: Any, capsys: Any) -> None:
    report = log.with_name("simhash-report.html")
    report.write_text("old")

    def interrupted(self: Path, data: bytes) -> int:
        self.write_text("half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    assert simhash("report", log) == 130
    assert capsys.readouterr().err == "scrapy simhash report: interrupted\n"
    assert report.read_text() == "old"
    assert sorted(path.name for path in log.parent.iterdir()) == [
        "dedup.jsonl",
        "simhash-report.html",
    ]


def test_a_full_disk_leaves_the_old_report(log: Path, monkeypatch: Any, capsys: Any) -> None:
    def full(self: Path, path: Path) -> None:
        raise OSError(28, "No space left on device")

    report = log.with_name("simhash-report.html")
    report.write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    assert simhash("report", log) == 2
    error = "scrapy simhash report: error: No space left on device\n"
    assert capsys.readouterr().err == error
    assert report.read_text() == "old"


def test_installed_command_works_with_and_without_a_project(log: Path) -> None:
    for folder in (log.parent, ROOT / "example_project"):
        output = log.with_name("report.html")
        done = scrapy("simhash", "report", log, "-o", output, folder=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("4 judged")
        output.unlink()
