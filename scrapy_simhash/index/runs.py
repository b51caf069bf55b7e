"""The runs of a local index, and the crawlers that take part in them."""

from collections.abc import Iterable

from scrapy_simhash.index.contract import StoreDamaged
from scrapy_simhash.index.liveness import is_dead
from scrapy_simhash.index.sqlite_file import SqliteFile
from scrapy_simhash.index.values import Run


class Runs:
    """Runs in a SQLite file, or in RAM. Every method but :meth:`all` runs in a transaction.

    Args:
        crawler: the name of this crawler.
        lease: seconds for which a crawler lives that does nothing.
    """

    def __init__(self, file: SqliteFile, crawler: str, lease: float) -> None:
        self._file = file
        self._crawler = crawler
        self._lease = lease

    def all(self) -> list[Run]:
        sql = "SELECT number, spider, begun, ended, finished, pages FROM runs ORDER BY number"
        try:
            return [
                Run(int(n), str(spider), float(begun), ended, bool(finished), int(pages))
                for n, spider, begun, ended, finished, pages in self._file.run(sql)
            ]
        except (TypeError, ValueError) as error:
            raise StoreDamaged(f"{self._file.name} is damaged: its runs: {error}") from error

    def begin(self, spider: str, resumed: int | None, now: float) -> Run:
        own = [run for run in self.all() if run.spider == spider]
        joined = [run for run in own if run.number == resumed and not run.finished]
        joined += [run for run in own[-1:] if run.ended is None and self._others(run.number, now)]
        if joined:
            run = joined[0]._replace(ended=None)
            self._file.run("UPDATE runs SET ended = NULL WHERE number = ?", (run.number,))
        else:
            sql = "INSERT INTO runs (spider, begun, finished, pages) VALUES (?, ?, 0, 0)"
            self._file.run(sql, (spider, now))
            run = self.all()[-1]
        sql = "INSERT OR REPLACE INTO crawlers VALUES (?, ?, ?)"
        self._file.run(sql, (self._crawler, run.number, now + self._lease))
        return run

    def end(self, number: int, now: float, *, finished: bool) -> None:
        """Leave a run, which ends if no other crawler of it lives."""
        self._file.run("DELETE FROM crawlers WHERE owner = ?", (self._crawler,))
        if not self._others(number, now):
            self._file.run("DELETE FROM crawlers WHERE run = ?", (number,))
            sql = "UPDATE runs SET ended = ?, finished = ? WHERE number = ?"
            self._file.run(sql, (now, finished, number))

    def renew(self, now: float) -> None:
        sql = "UPDATE crawlers SET expires = ? WHERE owner = ?"
        self._file.run(sql, (now + self._lease, self._crawler))

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget those of some runs that have no entries."""
        sql = "DELETE FROM runs WHERE number = ? AND pages <= 0"
        self._file.run_many(sql, [(number,) for number in numbers])

    def living(self, number: int, now: float) -> set[str]:
        sql = "SELECT owner FROM crawlers WHERE run = ? AND expires > ?"
        owners = {str(owner) for (owner,) in self._file.run(sql, (number, now))}
        return {owner for owner in owners if not is_dead(owner)}

    def _others(self, number: int, now: float) -> bool:
        return bool(self.living(number, now) - {self._crawler})
