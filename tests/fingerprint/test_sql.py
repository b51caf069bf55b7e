"""The statements of *From the classics* find the pairs that an index finds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import duckdb
import pytest

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index import open_index
from scrapy_simhash.offline.transfer import read_foreign

Pairs = set[tuple[str, ...]]

DOCS = Path(__file__).parents[2] / "docs"
POSTGRESQL, DUCKDB, ORACLE = re.findall(
    r"^```sql\n(.*?)^```$", (DOCS / "classics.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def old() -> dict[str, int]:
    """Fingerprints by address: some, and for each one that has up to seven other bits."""
    draw, made = Random(5), {}
    for number in range(60):
        value = draw.getrandbits(64)
        made[f"http://old.example/{number:03}"] = value
        for bit in draw.sample(range(64), number % 8):
            value ^= 1 << bit
        made[f"http://old.example/{number:03}/near"] = value
    return made


@pytest.fixture(scope="module")
def pairs(old: dict[str, int]) -> Pairs:
    """Those that differ in less than four bits."""
    found = {
        pair
        for pair in combinations(sorted(old), 2)
        if hamming_distance(old[pair[0]], old[pair[1]]) < 4
    }
    assert len(found) >= 30
    return found


def rows(old: dict[str, int]) -> list[tuple[str, int]]:
    """The rows of a table of signed numbers, as Java writes them."""
    return [(url, value - (value >> 63 << 64)) for url, value in old.items()]


def test_an_index_into_which_they_are_imported_finds_the_pairs(
    old: dict[str, int], pairs: Pairs, tmp_path: Path
) -> None:
    recipe = named_recipe("fnv1")
    lines = [f"{url},{number}" for url, number in rows(old)]
    (tmp_path / "old.csv").write_text("\n".join(["url,simhash", *lines]))
    index = open_index("memory://", spec_of(recipe))
    index.put(read_foreign(tmp_path / "old.csv", recipe, 0, "url", "simhash", 10))
    found = {
        tuple(sorted((entry.key, match.key)))
        for entry in index
        for match in index.query(entry.fingerprint)
        if match.key != entry.key and match.distance < 4
    }
    index.close()
    assert found == pairs


def test_duckdb_finds_the_pairs(old: dict[str, int], pairs: Pairs) -> None:
    with duckdb.connect() as store:
        store.execute("CREATE TABLE pages (url TEXT, simhash BIGINT)")
        store.executemany("INSERT INTO pages VALUES (?, ?)", rows(old))
        assert {*store.execute(DUCKDB).fetchall()} == pairs


def test_the_statement_for_oracle_finds_the_pairs_where_oracles_functions_are_made(
    old: dict[str, int], pairs: Pairs
) -> None:
    """DuckDB has no CONNECT BY, and no integers as wide as Oracle's but HUGEINT."""
    series = "SELECT LEVEL - 1 AS n FROM dual CONNECT BY LEVEL <= 64"
    assert series in ORACLE
    with duckdb.connect() as store:
        store.execute("CREATE MACRO bitand(a, b) AS a::HUGEINT & b::HUGEINT")
        store.execute("CREATE MACRO power(a, b) AS 1::HUGEINT << b")
        store.execute("CREATE TABLE pages (url TEXT, simhash HUGEINT)")
        store.executemany("INSERT INTO pages VALUES (?, ?)", [*old.items()])
        statement = ORACLE.replace(series, "SELECT unnest(range(64)) AS n")
        assert {*store.execute(statement).fetchall()} == pairs


def postgresql() -> Path | None:
    """The folder with the programs of PostgreSQL, 14 or newer."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.get_exec_path())]
    return next((folder for folder in found if shutil.which("initdb", path=str(folder))), None)


@pytest.fixture
def server() -> Iterator[list[str | Path]]:
    """A server of PostgreSQL in a folder of its own; the command that asks it."""
    folder = postgresql()
    if folder is None:
        pytest.skip("needs PostgreSQL")
    place = Path(tempfile.mkdtemp())
    # It does not run as root.
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(place, user)
    options = {"user": user, "cwd": place, "stdout": subprocess.DEVNULL}
    data = place / "data"
    subprocess.run([folder / "initdb", "-D", data, "-U", "me", "-N"], check=True, **options)
    command = [folder / "postgres", "-D", data, "-k", place, "-h", "", "-F"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, **options)
    try:
        ready = [folder / "pg_isready", "-h", place, "-t", "1"]
        while subprocess.run(ready, stdout=subprocess.DEVNULL).returncode:
            assert running.poll() is None
        yield [folder / "psql", "-h", place, "-U", "me", "-qtA", "-F,", "-v", "ON_ERROR_STOP=1"]
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(place)


def test_postgresql_finds_the_pairs(
    old: dict[str, int], pairs: Pairs, server: list[str | Path]
) -> None:
    table = "CREATE TABLE pages (url TEXT, simhash BIGINT);\nCOPY pages FROM STDIN;\n"
    lines = "".join(f"{url}\t{number}\n" for url, number in rows(old))
    done = subprocess.run(
        [*server, "postgres"],
        input=f"{table}{lines}\\.\n{POSTGRESQL}",
        capture_output=True,
        text=True,
        check=True,
    )
    assert {tuple(line.split(",")) for line in done.stdout.splitlines()} == pairs
