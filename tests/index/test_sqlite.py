"""What only a file can go through: foreign, damaged, full, locked, read-only, killed writers."""

import contextlib
import os
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.index import crawler_names, open_existing, open_index, sqlite_store
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreDamaged, StoreError, StoreMismatch, StoreUnavailable
from scrapy_simhash.index.values import Entry
from tests.index.promises.made import DUPLICATE, ORIGINAL, fp, page, spec, values


def opened(path: Path) -> Index:
    return open_index(f"sqlite:///{path}", spec())


def fill(index: Index, count: int) -> None:
    index.put(Entry(str(value), fp(value)) for value in values(count))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def index(path: Path) -> Iterator[Index]:
    with contextlib.closing(opened(path)) as index:
        yield index


def execute(path: Path, statements: str) -> None:
    """Let another program change the file."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript(statements)


def refused(path: Path, error: type[Exception]) -> str:
    """Open the file; return the error's message, which is one line and names the file."""
    before = (path.read_bytes(), path.stat().st_mtime_ns) if path.exists() else None
    with pytest.raises(error) as raised:
        opened(path)
    message = str(raised.value)
    assert "\n" not in message
    assert str(path) in message
    assert before == ((path.read_bytes(), path.stat().st_mtime_ns) if path.exists() else None)
    return message


def test_a_relative_url_is_relative_to_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_index("sqlite:///a%20b.sqlite", spec()).close()
    assert (tmp_path / "a b.sqlite").exists()


def test_a_text_file_is_left_alone_and_a_missing_folder_is_named(path):
    path.write_text("a list of things to do\n" * 100)
    assert "not a database" in refused(path, StoreDamaged)
    missing = path.parent / "no" / "index.sqlite"
    assert f"{missing}: No such file or directory" in refused(missing, StoreUnavailable)


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
SET = "UPDATE header SET value = {1} WHERE name = '{0}'".format
STRANGE = {
    "another program": ["CREATE TABLE entries (a)", "PRAGMA application_id = 7"],
    "format=10": [
        "PRAGMA user_version = 10; DROP TABLE header; CREATE TABLE header (recipe, bits)"
    ],
    "header": [
        *("DELETE FROM header", SET("bits", 65), SET("distance", 1.5), SET("blocks", "x'80'")),
        *(SET("blocks", value) for value in ("'many'", 4.5, 1000000000)),
    ],
    "a view or a trigger": [f"DROP TABLE header; CREATE VIEW header(recipe) AS {ENDLESS}"],
}


@pytest.mark.parametrize("says", STRANGE)
def test_a_file_of_another_program_or_format_and_a_damaged_one_are_left_alone(path, says):
    for statements in STRANGE[says]:
        path.unlink(missing_ok=True)
        if says != "another program":
            opened(path).close()
        execute(path, statements)
        assert says in refused(path, StoreMismatch if "format" in says else StoreDamaged)
        with pytest.raises(StoreError, match=says):
            open_existing(f"sqlite:///{path}")


def test_an_empty_file_becomes_an_index(path):
    path.touch()
    opened(path).close()


def test_overwritten_pages_are_damage(path):
    with contextlib.closing(opened(path)) as index:
        fill(index, 2000)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    with pytest.raises(StoreDamaged), contextlib.closing(opened(path)) as index:
        index.claim(page("a"))


def test_the_files_are_their_owners_alone(path):
    with contextlib.closing(opened(path)) as index:
        fill(index, 3)
        files = list(path.parent.iterdir())
        assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"] * 3


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_cannot_be_written_is_unavailable(what):
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "index.sqlite"
        if what == "file":
            opened(path).close()
            path.chmod(0o444)
        folder.chmod(0o755 if what == "file" and os.geteuid() == 0 else 0o555)
        root = os.geteuid() == 0
        if root:  # whom no permission stops
            os.seteuid(65534)
        try:
            refused(path, StoreUnavailable)
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_a_full_disk_loses_nothing_and_writes_nothing_by_half(index, path):
    fill(index, 50)
    before = list(index)
    run = index._store._file.run
    ((pages,),) = run("PRAGMA page_count")
    run(f"PRAGMA max_page_count = {pages}")
    large = page("more" * 10_000, 0x123456789ABCDEF0, facts=bytes(255))
    with pytest.raises(StoreUnavailable, match="full") as error:
        index.claim(large)
    assert str(path) in str(error.value)
    with pytest.raises(StoreUnavailable, match="full"):
        # The first of them would be an original.
        index.claim_all([page("again", 0xF0F0F0F0F0F0F0F0), large])
    assert list(index) == before
    run("PRAGMA max_page_count = 100000")
    assert index.claim(page("again", 0xF0F0F0F0F0F0F0F0)).outcome == ORIGINAL
    assert index.claim(page("twin", 0xF0F0F0F0F0F0F0F0)).outcome == DUPLICATE


def test_while_another_writes_for_long_the_file_is_unavailable(path, monkeypatch):
    monkeypatch.setattr(sqlite_store, "BUSY_TIMEOUT", 0.05)
    with (
        contextlib.closing(opened(path)) as index,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            index.claim(page("new"))
        other.execute("ROLLBACK")
        assert index.claim(page("new")).outcome == ORIGINAL


def test_a_crawler_is_dead_once_it_is_closed_and_its_run_and_its_page_with_it(path):
    one = opened(path)
    one.claim(page("a"))
    assert one.begin_run().number == 1
    with contextlib.closing(opened(path)) as other:
        (match,) = other.claim(page("copy", 1)).matches
        assert not other.fates([match.entry])
        one.close()
        assert other.fates([match.entry]) == {match.entry: False}
        assert other.begin_run().number == 2


def test_a_crawler_is_known_to_be_dead_if_its_process_on_this_machine_has_ended():
    here = crawler_names.machine()
    # A container of this machine has process numbers of its own.
    names = ["elsewhere:1:abc", "rubbish", f"{socket.gethostname()}pid:[1]:{10**6}:abc"]
    numbers = [10**30, "1" * 5000, "rubbish", os.getppid()]
    names += [f"{here}:{number}:abc" for number in numbers]
    assert not any(map(crawler_names.is_dead, names))
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert all(crawler_names.is_dead(f"{here}:{pid}:abc") for pid in (os.getpid(), ended.pid))


def test_a_forked_process_is_told_to_open_the_index_itself(index):
    index.claim(page("a"))
    child = os.fork()
    if not child:
        code = 1
        try:
            index.claim(page("b"))
        except StoreUnavailable as error:
            code = 0 if "fork" in str(error) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [entry.key for entry in index] == ["a"]
