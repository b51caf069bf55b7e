"""The databases in which fingerprints are joined: DuckDB on one machine, Spark on many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.join import ANSWERED, VERDICTS, find_copies, judged

# Rows of a file at most, as a power of two: a page's place is that of its file, and its own.
_ROWS = 40
# Pairs that a process judges at a time.
_PAIRS = 1 << 14


class DuckDB:
    """One machine, also with less memory than the corpus has; see :class:`.Engine`.

    Args:
        files: of prints, in their order.
        processes: that judge pairs; 0 for none but this one.
        folder: where tables go that do not fit into memory.
        memory: what DuckDB may take, such as "8GB"; four fifths of the machine's by default.
    """

    def __init__(
        self, files: Sequence[Path], processes: int, folder: Path, memory: str | None = None
    ) -> None:
        try:
            import duckdb
            import pyarrow as pa
        except ImportError:
            raise FileError("the join needs DuckDB: pip install 'scrapy-simhash[corpus]'") from None
        self._processes = processes
        self._error = duckdb.Error
        settings: dict[str, Any] = {
            "temp_directory": str(folder),
            "preserve_insertion_order": "false",
        }
        settings |= {"memory_limit": memory} if memory else {}
        names = [str(file) for file in files]
        self.database = self._run(partial(duckdb.connect, config=settings), str(folder / "join"))
        self.put("files", pa.table([names, range(len(names))], ["name", "n"]))
        read = self.database.read_parquet(names, filename=True, file_row_number=True)
        read.create_view("read")
        self._run(
            self.database.execute,
            f"create view prints as select read.* exclude (filename, file_row_number), "
            f"(n << {_ROWS}) + file_row_number id from read join files on filename = name",
        )

    def _run(self, run: Callable[[str], Any], argument: str) -> Any:
        try:
            return run(argument)
        except self._error as error:
            raise FileError(f"DuckDB: {str(error).splitlines()[0]}") from None

    def keep(self, name: str, sql: str) -> None:
        self._run(self.database.execute, f"create or replace table {name} as {sql}")

    def put(self, name: str, table: Any) -> None:
        self.database.register("arrow", table)
        self.keep(name, "select * from arrow")
        self.database.unregister("arrow")

    def rows(self, sql: str) -> Any:
        """Return what a query gives, as a reader of Arrow record batches."""
        return self._run(self.database.sql, sql).to_arrow_reader(_PAIRS)

    def judge(self, sql: str, k: int) -> Iterator[Any]:
        judge, batches = partial(judged, k=k), iter(self.rows(sql))
        first = [*islice(batches, 2)]
        if not self._processes or len(first) < 2:
            yield from map(judge, chain(first, batches))
            return
        with ProcessPoolExecutor(self._processes, get_context("spawn")) as pool:
            waiting = chain(first, batches)
            while few := [*islice(waiting, 4 * self._processes)]:
                yield from pool.map(judge, few)


class Spark:
    """Many machines; see :class:`.Engine`.

    Each worker has this package. The near pairs and the verdicts pass through the driver, with some
    50 bytes a pair.

    Args:
        session: of Spark 4.
        path: a folder of prints, as Spark names it; they come in the order of their files' names.
    """

    def __init__(self, session: Any, path: str) -> None:
        self._session = session
        read = session.read.parquet(path).select("*", "_metadata.file_name", "_metadata.row_index")
        read.createOrReplaceTempView("read")
        names = sorted(
            row[0] for row in session.sql("select distinct file_name from read").collect()
        )
        files = session.createDataFrame(list(enumerate(names)), "n bigint, name string")
        files.createOrReplaceTempView("files")
        prints = session.sql(
            f"select *, shiftleft(n, {_ROWS}) + row_index id "
            "from read join files on file_name = name"
        )
        prints.createOrReplaceTempView("prints")

    def keep(self, name: str, sql: str) -> None:
        self._session.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def put(self, name: str, table: Any) -> None:
        self._session.createDataFrame(table).createOrReplaceTempView(name)

    def rows(self, sql: str) -> Iterable[Any]:
        batches: list[Any] = self._session.sql(sql).toArrow().to_batches()
        return batches

    def judge(self, sql: str, k: int) -> Iterable[Any]:
        def judge(batches: Iterable[Any]) -> Iterator[Any]:
            return (judged(batch, k) for batch in batches)

        kinds = ("bigint", "bigint", "int", "boolean", "string")
        schema = ", ".join(map(" ".join, zip(ANSWERED, kinds, strict=True)))
        batches: list[Any] = self._session.sql(sql).mapInArrow(judge, schema).toArrow().to_batches()
        return batches


def spark_verdicts(session: Any, prints: str, recipe: Recipe) -> Any:
    """Return a Spark DataFrame of the verdict on each page, with the columns of ``dedupe``.

    Args:
        session: of Spark 4; its workers have this package.
        prints: a folder that ``scrapy simhash fingerprint`` wrote, as Spark names it.
        recipe: that made the fingerprints.
    """
    engine = Spark(session, prints)
    find_copies(engine, spec_of(recipe))
    return session.sql(VERDICTS)
