"""The statements of *From the classics* find the pairs that differ in less than four bits."""

import re
from itertools import combinations
from pathlib import Path
from random import Random

import duckdb
import pytest

from scrapy_simhash.fingerprint.simhash import hamming_distance

DOCS = Path(__file__).parents[2] / "docs"
POSTGRESQL, DUCKDB, ORACLE = re.findall(
    r"^```sql\n(.*?)^```$", (DOCS / "classics.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
OF_POSTGRESQL = "(a.simhash # b.simhash)::bit(64)"
SERIES = "SELECT LEVEL - 1 AS n FROM dual CONNECT BY LEVEL <= 64"


@pytest.mark.parametrize(
    "statement",
    [
        DUCKDB,
        POSTGRESQL.replace(OF_POSTGRESQL, "xor(a.simhash, b.simhash)::BIT"),
        ORACLE.replace(SERIES, "SELECT unnest(range(64)) AS n"),
    ],
    ids=["DuckDB", "PostgreSQL", "Oracle"],
)
def test_a_statement_finds_the_pairs(statement):
    """DuckDB runs them all, where the functions of Oracle are made from its own.

    Oracle's numbers are wider than 64 bits; those of the others are signed, as Java writes them.
    """
    draw, old = Random(5), dict[str, int]()
    for number in range(60):
        value = draw.getrandbits(64)
        old[f"http://old.example/{number:03}"] = value
        for bit in draw.sample(range(64), number % 8):
            value ^= 1 << bit
        old[f"http://old.example/{number:03}/near"] = value
    pairs = {
        pair
        for pair in combinations(sorted(old), 2)
        if hamming_distance(old[pair[0]], old[pair[1]]) < 4
    }
    assert len(pairs) >= 30
    is_oracle = "POWER" in statement
    signed = {url: value - (value >> 63 << 64) for url, value in old.items()}
    with duckdb.connect() as store:
        store.execute("CREATE MACRO bitand(a, b) AS a::HUGEINT & b::HUGEINT")
        store.execute("CREATE MACRO power(a, b) AS 1::HUGEINT << b")
        store.execute(f"CREATE TABLE pages (url TEXT, simhash {'HUGE' * is_oracle or 'BIG'}INT)")
        rows = old if is_oracle else signed
        store.executemany("INSERT INTO pages VALUES (?, ?)", [*rows.items()])
        assert {*store.execute(statement).fetchall()} == pairs


def test_the_statements_of_other_databases_differ_from_duckdbs_in_their_own_words():
    assert OF_POSTGRESQL in POSTGRESQL
    assert SERIES in ORACLE
