"""The databases in which fingerprints are joined: DuckDB on one machine, Spark on many."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.join import FILE_ROWS, VERDICTS, find_copies, ruling_at


class DuckDB:
    """One machine, also with less memory than the corpus has; see :class:`.Engine`.

    Args:
        files: of prints, in their order.
        k: the distance of their recipe.
        folder: where tables go that do not fit into memory.
    """

    def __init__(self, files: Sequence[Path], k: int, folder: Path) -> None:
        try:
            import duckdb
            import pyarrow as pa
        except ImportError:
            raise FileError("the join needs DuckDB: pip install 'scrapy-simhash[corpus]'") from None
        self._error = duckdb.Error
        settings: Any = {"temp_directory": str(folder), "preserve_insertion_order": "false"}
        self.database = duckdb.connect(str(folder / "join"), config=settings)
        types: Any = ["integer", "varchar", "blob", "varchar", "blob"]
        self.database.create_function("ruling", ruling_at(k), types, "varchar")
        names = [str(file) for file in files]
        self.put("files", pa.table([names, range(len(names))], ["name", "n"]))
        read = self.database.read_parquet(names, filename=True, file_row_number=True)
        read.create_view("read")
        self._run(
            self.database.execute,
            f"create view prints as select read.* exclude (filename, file_row_number), "
            f"(n << {FILE_ROWS}) + file_row_number id from read join files on filename = name",
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
        return self._run(self.database.sql, sql).to_arrow_reader()


class Spark:
    """Many machines; see :class:`.Engine`.

    Each worker has this package. The near pairs and the verdicts pass through the driver, with some
    50 bytes a pair.

    Args:
        session: of Spark 4.
        path: a folder of prints, as Spark names it; they come in the order of their files' names.
        k: the distance of their recipe.
    """

    def __init__(self, session: Any, path: str, k: int) -> None:
        self._session = session
        session.udf.register("ruling", ruling_at(k), "string")
        read = session.read.parquet(path).select("*", "_metadata.file_name", "_metadata.row_index")
        read.createOrReplaceTempView("read")
        names = sorted(
            row[0] for row in session.sql("select distinct file_name from read").collect()
        )
        files = session.createDataFrame(list(enumerate(names)), "n bigint, name string")
        files.createOrReplaceTempView("files")
        prints = session.sql(
            f"select *, shiftleft(n, {FILE_ROWS}) + row_index id "
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


def spark_verdicts(session: Any, prints: str, recipe: Recipe) -> Any:
    """Return a Spark DataFrame of the verdict on each page, with the columns of ``dedupe``.

    Args:
        session: of Spark 4; its workers have this package.
        prints: a folder that ``scrapy simhash fingerprint`` wrote, as Spark names it.
        recipe: that made the fingerprints.
    """
    find_copies(Spark(session, prints, recipe.distance), spec_of(recipe))
    return session.sql(VERDICTS)
