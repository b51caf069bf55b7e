"""The dedup log: what is written is read again, whatever happens in between."""

import errno
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.core.verdict import Verdict
from scrapy_simhash.index.values import Match
from scrapy_simhash.printable import excerpt
from scrapy_simhash.report.dedup_log import (
    DedupLog,
    LogLine,
    aside,
    line_of,
    read_lines,
    read_log,
    to_json,
)
from tests.report.lines import line

ROOT = Path(__file__).parents[2]


def written(path: Path, *lines: LogLine) -> None:
    log = DedupLog(path)
    for each in lines:
        log.write(each)


def urls_in(path: Path) -> list[str]:
    return [each.url for each in read_log([path])]


@given(url=st.text(), text=st.text(), time=st.floats(0, 1e6))
def test_line_is_read_as_it_was_written(tmp_path_factory, url, text, time):
    path = tmp_path_factory.mktemp("log") / "log"
    lines = [line(url=url, text=text, time=time), line(text="\ud800 alone \u2028 \x85")]
    written(path, *lines)
    assert list(read_log([path])) == lines


def test_every_line_is_an_object_with_all_fields_in_readable_letters(tmp_path):
    """As a feed of Scrapy's in JSON Lines has it."""
    written(tmp_path / "log", line(text="中文"), line(verdict="duplicate", original="http://a/"))
    assert "中文" in (tmp_path / "log").read_text("utf-8")
    rows = [json.loads(row) for row in (tmp_path / "log").read_text("utf-8").splitlines()]
    assert [list(row) for row in rows] == 2 * [
        "time what url key host verdict reason action original near distance k bytes text run "
        "change moved_from better details doubtful crawl signature".split()
    ]


def test_a_page_of_an_earlier_run_is_compared_with_what_that_saw():
    near, before = Match(1, "near", 7, 0.0, False), Match(2, "key", 9, 0.0, False)
    new = line_of("page", "http://a/", Verdict("unique", "key", near=(near,)))
    known = line_of("page", "http://a/", Verdict("unique", "key", near=(near,), before=before))
    assert [(each.near, each.distance) for each in (new, known)] == [("near", 7), (None, 9)]


def test_half_a_line_of_a_killed_process_spoils_no_other(tmp_path):
    path = tmp_path / "log"
    written(path, line(url="http://a/1"), line(url="http://a/2"))
    path.write_bytes(path.read_bytes()[:-40])
    assert urls_in(path) == ["http://a/1"]
    written(path, line(url="http://a/3"))
    assert urls_in(path) == ["http://a/1", "http://a/3"]
    assert list(read_lines([path])).count(None) == 1


WRITER = """
import sys
from pathlib import Path
from tests.report.lines import line
from scrapy_simhash.report.dedup_log import DedupLog
log = DedupLog(Path(sys.argv[1]))
for number in range(40):
    log.write(line(url=f"http://{sys.argv[2]}/{number}"))
"""


def test_processes_may_share_a_log_that_is_moved_aside_meanwhile(tmp_path):
    """No line is torn or lost, as under logrotate."""
    path, moved = tmp_path / "log", tmp_path / "log.1"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, name], cwd=ROOT) for name in "abc"
    ]
    while not path.exists():
        assert writers[0].poll() in (None, 0)
        time.sleep(0.01)
    path.rename(moved)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    urls = [each.url for each in read_log(file for file in (moved, path) if file.exists())]
    expected = [f"http://{name}/{number}" for name in "abc" for number in range(40)]
    # Those of each writer are in their order.
    assert sorted(urls, key=lambda url: url[7]) == expected


def test_a_full_disk_is_one_warning_and_tears_no_line(tmp_path, monkeypatch, caplog):
    path = tmp_path / "new" / "log"
    log = DedupLog(path)
    log.write(line(url="http://a/1"))
    before = path.read_bytes()
    write = os.write

    def full(file: int, data: Any) -> int:
        if len(data) > 50:
            return write(file, data[:50])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for number in (2, 3):
            log.write(line(url=f"http://a/{number}"))
        assert path.read_bytes() == before
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "No space left on device" in record.getMessage()
    log.write(line(url="http://a/4"))
    assert urls_in(path) == ["http://a/1", "http://a/4"]


def test_a_log_that_nobody_asked_for_is_bounded_and_keeps_the_last_lines(tmp_path):
    path = tmp_path / "log"
    log = DedupLog(path, most=5_000)
    other = DedupLog(path, most=5_000)
    urls = [f"http://a/{number}" for number in range(100)]
    for url in urls:
        writer = log if url.endswith(("1", "2")) else other
        writer.write(line(url=url))
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 12_000
    kept = [url for file in (aside(path), path) if file.exists() for url in urls_in(file)]
    assert len(kept) > 5
    assert kept == urls[-len(kept) :]


def test_a_line_that_cannot_be_read_is_passed_over(tmp_path):
    good = to_json(line())
    wrong: dict[str, tuple[Any, ...]] = {
        "time": (None, "now", 1e300, float("nan")),
        "bytes": (True, -1, 10**400),
        "verdict": ("maybe",),
        "what": ("thing",),
        "text": (["a"],),
    }
    bad = [json.dumps(json.loads(good) | {name: value}) for name in wrong for value in wrong[name]]
    bad += ["{", "3", "[]", "\x00", "[" * 100_000, "x" * 40_000_000]
    path, seen = tmp_path / "log", list[int]()
    path.write_text("\n".join([*bad, good]), "utf-8")
    *passed_over, read = read_lines([path], seen.append)
    assert read == line()
    assert {*passed_over} == {None}
    assert len(passed_over) >= len(bad)  # a line that is too long comes in pieces
    assert sum(seen) == path.stat().st_size


@given(st.text(), st.integers(0, 200))
def test_excerpt_is_one_short_line_and_an_excerpt_of_itself(text, length):
    taken = excerpt(text * 20, length)
    assert len(taken) <= length
    assert "\n" not in taken
    assert excerpt(taken, length) == taken
