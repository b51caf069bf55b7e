"""Which check notices which fault that is put into the index.

    python -m benchmarks.mutants [--only promises] [--seconds 30] [--mutants ...]

Each *mutant* breaks one promise of the index in every process of a check. A check that
passes with a mutant cannot see that fault. The checks are ``benchmarks.faults`` with a
Redis (promises), the tests of histories, races and stores in ``tests/index`` with
SQLite (model), and ``benchmarks.kills`` (kills). It fails if no check notices some
mutant, or if one fails without any."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from benchmarks.measuring import Table
from scrapy_simhash.index import index, registry
from scrapy_simhash.index.neighbours import Neighbours
from scrapy_simhash.index.redis import client

VARIABLE = "SIMHASH_MUTANT"


def confirm_does_nothing() -> None:
    report = index.Index.report
    index.Index.report = lambda self, news: report(self, news._replace(delivered=()))  # type: ignore[method-assign]


def renewals_are_lost() -> None:
    report = index.Index.report
    index.Index.report = lambda self, news: report(self, news._replace(renewed=None))  # type: ignore[method-assign]


def states_are_not_compared() -> None:
    from scrapy_simhash.index import sqlite_store

    stands = sqlite_store._stands
    sqlite_store._stands = lambda part, near, _: stands(
        part._replace(checks={}), near, {}
    )
    _in_scripts("if part.fate == 0 and not is_as", "if false and not is_as")


def what_is_near_is_overlooked() -> None:
    find = Neighbours.find
    Neighbours.find = lambda self, words, values: [  # type: ignore[method-assign]
        near for near in find(self, words, values) if near[1] == 0
    ]
    _in_scripts("if distance then result", "if distance == 0 then result")


def copies_are_forgotten() -> None:
    fates = index.Index.fates

    def forgetful(self: Any, entries: Any) -> dict[int, bool]:
        return dict.fromkeys(fates(self, entries), True)

    index.Index.fates = forgetful  # type: ignore[method-assign]


def an_index_each() -> None:
    numbers, opened = count(), registry.Scheme.open

    def apart(self: Any, url: str, spec: Any) -> Any:
        own = f"{os.getpid()}-{next(numbers)}"
        return opened(self, _renamed(url, own) if spec else url, spec)

    registry.Scheme.open = apart  # type: ignore[method-assign]


MUTANTS: dict[str, Callable[[], None]] = {
    "confirm does nothing": confirm_does_nothing,
    "renewals are lost": renewals_are_lost,
    "states are not compared": states_are_not_compared,
    "what is near is overlooked": what_is_near_is_overlooked,
    "copies are forgotten": copies_are_forgotten,
    "an index each": an_index_each,
}
MODEL = ("test_histories.py", "test_races.py", "test_stores.py")
CHECKS = {
    "promises": ["-m", "benchmarks.faults", "--only", "redis"],
    "model": [
        *(
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "benchmarks.mutants",
            "-p",
            "no:cacheprovider",
        ),
        *("-k", "sqlite", *(f"tests/index/{name}" for name in MODEL)),
    ],
    "kills": ["-m", "benchmarks.kills", "--seeds", "1"],
}


def _in_scripts(old: str, new: str) -> None:
    for digest, source in client._SCRIPTS.items():
        client._SCRIPTS[digest] = source.replace(old, new)
    assert any(new in source for source in client._SCRIPTS.values()), old


def _renamed(url: str, own: str) -> str:
    if url.startswith("sqlite"):
        return f"{url}.{own}"
    return f"{url}{'&' if '?' in url else '?'}name={own}"


def apply() -> None:
    """Put the fault into this process that the environment names."""
    if name := os.environ.get(VARIABLE):
        from scrapy_simhash.index.redis import redis_store  # noqa: F401 - its scripts

        MUTANTS[name]()


def is_noticed(check: str, mutant: str, seconds: float) -> bool:
    """Return whether a check fails with a mutant, or without any if the name is empty."""
    command = [sys.executable, *CHECKS[check]]
    if check == "promises":
        command += ["--seconds", str(seconds)]
    env = {**os.environ, VARIABLE: mutant}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--mutants", default=",".join(MUTANTS))
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    checks = args.only.split(",")
    table = Table("mutant", *checks)
    is_good = True
    for mutant in ("", *args.mutants.split(",")):
        noticed = [is_noticed(check, mutant, args.seconds) for check in checks]
        table.row(mutant or "none", *("noticed" if one else "not" for one in noticed))
        is_good &= any(noticed) == bool(mutant)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
else:
    apply()
