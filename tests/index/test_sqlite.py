"""What only a file can go through: foreign, damaged, full, locked, read-only."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import (
    Arrival,
    Index,
    Outcome,
    StoreDamaged,
    StoreMismatch,
    StoreUnavailable,
    index_from_url,
    local_store,
    sqlite,
    sqlite_file,
)


def opened(path: Path) -> Index:
    return index_from_url(f"sqlite:///{path}", recipe="test", bits=64, distance=3)


def fill(index: Index, count: int) -> None:
    numbers = random.Random(0)
    for i in range(count):
        index.claim(str(i), Fingerprint(numbers.getrandbits(64), 64))
    index.confirm(str(i) for i in range(count))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def index(path: Path) -> Iterator[Index]:
    with contextlib.closing(opened(path)) as index:
        yield index


def refused(path: Path, error: type[Exception]) -> str:
    """Open the file; return the error's message, which is one line and names the file."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error) as raised:
        opened(path)
    message = str(raised.value)
    assert "\n" not in message
    assert str(path) in message
    assert before == (path.read_bytes() if path.is_file() else None)
    return message


def test_a_relative_url_is_relative_to_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index_from_url("sqlite:///a%20b.sqlite", recipe="test", bits=64, distance=3).close()
    assert (tmp_path / "a b.sqlite").exists()


def test_a_text_file_is_left_alone(path):
    path.write_text("a list of things to do\n" * 100)
    assert "not a database" in refused(path, StoreDamaged)


def test_another_programs_database_is_left_alone(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entries (a)")
    assert "another program" in refused(path, StoreDamaged)


def test_an_empty_file_becomes_an_index(path):
    path.touch()
    with contextlib.closing(opened(path)) as index:
        assert len(index) == 0


def test_another_format_is_refused(path):
    opened(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {sqlite_file.FORMAT + 1}")
    assert f"format {sqlite_file.FORMAT + 1}" in refused(path, StoreMismatch)


def test_a_header_without_a_layout_is_damaged(path):
    opened(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM header WHERE name = 'layout'")
        connection.commit()
    assert "header" in refused(path, StoreDamaged)


def test_a_fingerprint_of_another_width_is_damage(path):
    with contextlib.closing(opened(path)) as index:
        fill(index, 3)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE entries SET value = x'00' WHERE position = 2")
        connection.commit()
    assert "64 bits" in refused(path, StoreDamaged)


def test_overwritten_pages_are_damage(path):
    with contextlib.closing(opened(path)) as index:
        fill(index, 2000)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    assert "damaged" in refused(path, StoreDamaged)


def test_a_body_with_a_damaged_fingerprint_is_not_known(path):
    with contextlib.closing(opened(path)) as index:
        index.note_bodies({b"12345678": Fingerprint(1, 64), b"87654321": Fingerprint(2, 64)})
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE bodies SET value = x'00' WHERE number = 1")
            connection.commit()
        assert index.find_bodies([b"12345678", b"87654321"]) == [None, Fingerprint(2, 64)]


def test_a_missing_folder_is_named(tmp_path):
    message = refused(tmp_path / "no" / "index.sqlite", StoreUnavailable)
    assert f"{tmp_path / 'no'} is no folder" in message


def test_a_folder_instead_of_a_file_is_unavailable(tmp_path):
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder", StoreUnavailable)


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
    ((pages,),) = index._run("PRAGMA page_count")
    index._run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match="full") as error:
        index.claim("more", Fingerprint(0x123456789ABCDEF0, 64), request="x" * 50_000)
    assert str(path) in str(error.value)
    assert list(index) == before
    with pytest.raises(StoreUnavailable, match="full"):
        # The first of them would be an original.
        index.claim_all(
            [
                Arrival("again", Fingerprint(0xF0F0F0F0F0F0F0F0, 64)),
                Arrival("more", Fingerprint(0x123456789ABCDEF0, 64), request="x" * 50_000),
            ]
        )
    assert list(index) == before
    index._run("PRAGMA max_page_count = 100000")
    assert index.claim("again", Fingerprint(0xF0F0F0F0F0F0F0F0, 64)).outcome is Outcome.ORIGINAL
    assert index.claim("twin", Fingerprint(0xF0F0F0F0F0F0F0F0, 64)).outcome is Outcome.DUPLICATE


def test_while_locked_duplicates_are_still_found_and_new_pages_wait(path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT", 0.05)
    with (
        contextlib.closing(opened(path)) as index,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        fill(index, 1)
        (entry,) = index
        other.execute("BEGIN IMMEDIATE")
        assert index.claim("twin", entry.fingerprint).outcome is Outcome.DUPLICATE
        with pytest.raises(StoreUnavailable, match="locked"):
            index.claim("new", Fingerprint(0, 64))
        other.execute("ROLLBACK")
        assert index.claim("new", Fingerprint(0, 64)).outcome is Outcome.ORIGINAL


def test_an_interrupted_transaction_is_undone(index):
    index.claim("a", Fingerprint(0, 64), request="A")
    with pytest.raises(ZeroDivisionError):
        index.confirm("a" if divisor else 1 / divisor for divisor in (1, 0))
    assert index.query(Fingerprint(0, 64))[0].provisional


def test_a_page_that_waits_and_then_repeats_a_confirmed_one_in_one_batch_waits_no_more(index):
    kept, open_one = 0x123456789ABCDEF0, 0xF0F0F0F0F0F0F0F0
    index.claim("kept", Fingerprint(kept, 64))
    index.confirm(["kept"])
    index.claim("open", Fingerprint(open_one, 64), request="O")
    waits, repeats, new = index.claim_all(
        [
            Arrival("page", Fingerprint(open_one, 64), request="P"),
            Arrival("page", Fingerprint(kept, 64), request="P"),
            Arrival("new", Fingerprint(0, 64)),
        ]
    )
    assert (waits.waiting, repeats.waiting, new.outcome) == (True, False, Outcome.ORIGINAL)
    assert index.release(["open"]) == []


def test_an_entry_of_its_own_is_in_ram_once(index):
    fill(index, 3)
    index.query(Fingerprint(0, 64))
    assert len(index._neighbours("")) == 3


def test_a_long_log_is_followed_in_batches(path, monkeypatch):
    monkeypatch.setattr(local_store, "_BATCH", 7)
    with contextlib.closing(opened(path)) as one, contextlib.closing(opened(path)) as other:
        fill(one, 50)
        assert [entry.key for entry in other] == [str(i) for i in range(50)]
        for entry in one:
            assert other.query(entry.fingerprint)[0].key == entry.key


def test_a_confirmed_entry_costs_little_on_disk(path):
    with contextlib.closing(opened(path)) as index:
        for i in range(5000):
            index.claim(str(i), Fingerprint(i * 0x9E3779B97F4A7C15 % 2**64, 64), request="x" * 200)
            index.confirm([str(i - 50)])
    # The key, 4 digits, among them.
    assert path.stat().st_size / 5000 < 50
