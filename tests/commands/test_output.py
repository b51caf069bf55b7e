"""`scrapy simhash` itself: its help, its start, and what it shows while it works."""

import io
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from scrapy_simhash.commands import SUBCOMMANDS
from scrapy_simhash.commands.output import aligned, say, whole_file
from tests.commands.running import printed, python, scrapy, simhash


def test_help_teaches_each_subcommand(tmp_path, capsys):
    done = scrapy("simhash", "--help", folder=tmp_path)
    assert done.returncode == 0
    assert all(f"\n    {name}" in done.stdout for name in SUBCOMMANDS)
    for name in SUBCOMMANDS:
        with pytest.raises(SystemExit):
            simhash(name, "--help")
        out = capsys.readouterr().out
        assert out.startswith(f"usage: scrapy simhash {name} ")
        assert f"\n    scrapy simhash {name} " in out
        assert "-s NAME=VALUE" in out
        assert "\nexit status: 0, " in out


@pytest.mark.parametrize("name", ["ADDONS", "DOWNLOADER_MIDDLEWARES"])
def test_the_command_alone_lists_all_and_says_if_a_project_lacks_the_add_on(
    name, tmp_path, capsys, monkeypatch
):
    says = '\nADDONS = {"scrapy_simhash.Addon": 500}\n'
    monkeypatch.chdir(tmp_path)
    out = printed(capsys)
    assert all(f"\n    {name}" in out for name in SUBCOMMANDS)
    assert says not in out
    (tmp_path / "scrapy.cfg").write_text("")
    assert printed(capsys).endswith(says)
    assert says not in printed(capsys, settings={name: {"scrapy_simhash.Addon": 500}})


def test_scrapy_start_up_loads_nothing_heavy():
    code = (
        "import sys, scrapy_simhash.commands; heavy = ('numpy', 'trafilatura', "
        "'scrapy_simhash.offline.saved_pages', 'scrapy_simhash.core.dedup', "
        "'scrapy_simhash.settings', 'tqdm', 'jinja2'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    assert python(code) == "[]\n"


def test_tables_are_aligned_by_columns_of_the_terminal():
    rows = [("", "all"), ("中文", "1"), ("a", "12")]
    assert aligned(rows) == ["      all", "中文  1", "a     12"]


def test_what_steers_a_terminal_or_cannot_be_written_is_escaped(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), "latin-1")
    monkeypatch.setattr("sys.stdout", terminal)
    say("\u4e2d\xe9\ud800", "\x1b[1mbold\x1b[0m \x9b2J a\nb\u2028c")
    said = terminal.buffer.getvalue().decode("latin-1").splitlines()
    assert said == ["\\u4e2d\xe9\\ud800", r"\x1b[1mbold\x1b[0m \x9b2J a\nb\u2028c"]


def test_output_that_nobody_reads_is_no_answer(tmp_path):
    command = [sys.executable, "-m", "scrapy", *"simhash compare --text one two".split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_a_pipe_is_written_to_and_a_link_stays(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    target.write_bytes(b"old")
    link.symlink_to(target)
    # Opened for both, so that neither end waits for the other.
    end = os.open(pipe, os.O_RDWR)
    reader, writer = os.pipe()
    for path in (pipe, link, f"/dev/fd/{writer}"):
        with whole_file(str(path)) as file:
            file.write(b"whole")
    assert [os.read(own, 10) for own in (end, reader)] == [b"whole"] * 2
    assert target.read_bytes() == b"whole"
    for own in (end, reader, writer):
        os.close(own)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link", "target"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_ctrl_c_or_a_full_disk_leaves_the_old_file(error, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with suppress(type(error)), whole_file(str(path)) as file:
        file.write(b"new")
        raise error
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]
