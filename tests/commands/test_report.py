"""`scrapy simhash report`: what it writes, prints and refuses."""

import re
import shlex
from html import unescape
from pathlib import Path

import pytest

from scrapy_simhash.report.dedup_log import to_json
from tests.commands.running import printed, simhash
from tests.report.lines import CRAWL, copy, line, write


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of a page and three copies, in the current folder."""
    monkeypatch.chdir(tmp_path)
    copies = [copy(f"http://b.example/{n}", "http://a.example/", n) for n in range(3)]
    return write(tmp_path / "dedup.jsonl", [line(), *copies])


def test_the_report_is_written_where_it_says(log, capsys):
    report = log.with_name("simhash-report.html")
    says = f"4 judged, 3 near-duplicates (75.0%): {report.as_uri()}\n"
    assert printed(capsys, "report", log) == says
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert simhash("report", "-o", "other.html", settings={"SIMHASH_LOG": str(log)}) == 0
    assert log.with_name("other.html").exists()


def test_the_lines_to_copy_are_commands_that_run(log):
    page, original = "http://b.example/item/1", "http://b.example/item/2"
    write(log, [line(url=original), copy(page, original, doubtful=True)])
    assert simhash("report", log) == 0
    html = log.with_name("simhash-report.html").read_text("utf-8")
    commands = re.findall(r"<code>scrapy simhash (.*?)</code>", html)
    assert {command.partition(" ")[0] for command in commands} >= {"explain", "requeue"}
    for command in commands:
        assert simhash(*shlex.split(unescape(command))) in (0, 1), command


def test_the_report_of_an_index_is_of_the_log_beside_its_file_and_the_full_one(log, capsys):
    log.rename("simhash.dedup.jsonl")
    for name in ("simhash.sqlite", "."):  # by its file, or by the folder of a job
        assert printed(capsys, "report", "--index", name).startswith("4 judged")
    write(log.with_name("simhash.dedup.jsonl.1"), [line()] * 10)
    assert printed(capsys, "report", "--index", ".").startswith("14 judged")


def test_logs_are_joined_and_each_counts_once(log, capsys):
    other = write(log.with_name("other.jsonl"), [line()] * 100)
    assert printed(capsys, "report", log, other, log).startswith("104 judged")


def test_of_two_crawls_the_last_one_is_shown_or_the_one_that_is_named(log, capsys):
    with log.open("a") as file:
        file.write(to_json(line(crawl="later", time=2e9)) + "\n")
    assert printed(capsys, "report", log).startswith("1 judged")
    html = log.with_name("simhash-report.html").read_text("utf-8")
    assert f"scrapy simhash report {log} --crawl &#39;{CRAWL}&#39;" in html
    assert "b.example" not in html
    assert printed(capsys, "report", log, "--crawl", CRAWL).startswith("4 judged")
    assert simhash("report", log, "--crawl", "none") == 2
    assert f"it has {CRAWL!r}; 'later'" in capsys.readouterr().err
