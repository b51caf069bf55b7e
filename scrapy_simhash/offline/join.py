"""The filter over fingerprints in Parquet, as a join: the verdict of a crawl in their order.

A crawl compares a page with the originals that share a bucket with it, at most the newest ones of
each, and judges the nearest. Whether a page is an original depends on the pages before it, which no
join knows. So the join pairs pages, and rules on the pairs; then they are decided one after the
other, in their order.

Most buckets are so small that a crawl reads all of each, and their pages are paired by the engine.
Of a large bucket a crawl reads the newest originals, which are known as soon as the pages before
are decided. So these few are compared then.

The SQL is the same for DuckDB, on one machine, and Spark, on many. Both have the view ``prints``,
with the columns of prints and ``id``, their place, and the function ``ruling`` of
:func:`ruling_at`.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import BUCKET_LIMIT, IndexSpec
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.prints import ROWS, batches_of, column_names, pyarrow
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

# Rows of a file at most, as a power of two: a page's place is its file's place and its row.
_FILE_ROWS = 40
#: The verdict on each page, after :func:`find_copies`.
VERDICTS = """
    select p.key, p.url, c.page is null kept, case when c.page is not null then 'duplicate'
        when p.f0 is null then 'skipped' else 'unique' end verdict, o.key original,
        c.distance, coalesce(c.reason, p.reason) reason
    from prints p left join copies c on c.page = p.id
    left join prints o on o.id = c.earlier order by p.id
"""
#: The prints of the pages that were kept, and compared, in their order.
KEPT = """
    select * exclude (id) from prints
    where f0 is not null and id not in (select page from copies) order by id
"""
# Pages that share a small bucket are paired with all earlier ones, because a crawl reads all of it.
_IN_SMALL_BUCKETS = f"""
    select distinct y.id p, x.id q from members x join members y
    on x.bucket = y.bucket and x.scope = y.scope and x.id < y.id where x.size <= {RULINGS}
"""


def ruling_at(k: int) -> Callable[[int, str, bytes, str, bytes], str]:
    """Return a function from two pages to the reason why the first repeats the second, or ""."""
    rule = Rule(k)

    def ruling(distance: int, key: str, facts: bytes, original: str, of_original: bytes) -> str:
        if key == original:
            return "key"
        pages = Page(key, bytes(facts)), Page(original, bytes(of_original))
        decided = rule(*pages, distance)
        return decided.reason if decided.is_copy else ""

    return ruling


class DuckDB:
    """Joins on one machine, also with less memory than the corpus has.

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
        self.database = duckdb.connect(config=settings)
        types: Any = ["integer", "varchar", "blob", "varchar", "blob"]
        self.database.create_function("ruling", ruling_at(k), types, "varchar")
        names = [str(file) for file in files]
        self.put("files", pa.table([names, range(len(names))], ["name", "n"]))
        read = self.database.read_parquet(names, filename=True, file_row_number=True)
        read.create_view("read")
        self._run(
            self.database.execute,
            f"create view prints as select read.* exclude (filename, file_row_number), "
            f"(n << {_FILE_ROWS}) + file_row_number id from read join files on filename = name",
        )

    def _run(self, run: Callable[[str], Any], argument: str) -> Any:
        try:
            return run(argument)
        except self._error as error:
            raise FileError(f"DuckDB: {str(error).splitlines()[0]}") from None

    def keep(self, name: str, sql: str) -> None:
        """Make a table of the result of a query."""
        self._run(self.database.execute, f"create or replace table {name} as {sql}")

    def put(self, name: str, table: Any) -> None:
        """Make a table of an Arrow table."""
        self.database.register("arrow", table)
        self.keep(name, "select * from arrow")
        self.database.unregister("arrow")

    def rows(self, sql: str) -> Any:
        """Return the result of a query as a reader of Arrow record batches."""
        # A connection has one open result, and the join reads two.
        return self._run(self.database.cursor().sql, sql).to_arrow_reader(ROWS)


class Spark:
    """Joins on many machines.

    Each worker has this package installed. The near pairs and the rulings pass through the driver,
    with some 100 bytes a pair, and so do the pages of large buckets.

    Args:
        session: of Spark 4.
        path: a folder of prints, as Spark names it; they come in the order of their files' names.
        k: the distance of their recipe.

    Raises:
        FileError: a worker lacks this package.
    """

    def __init__(self, session: Any, path: str, k: int) -> None:
        self._session = session
        session.udf.register("ruling", ruling_at(k), "string")
        try:
            session.sql("select ruling(0, '', x'', '', x'')").collect()
        except Exception as error:
            if "No module named" not in str(error):
                raise
            raise FileError(
                "the workers of Spark need this package: pip install 'scrapy-simhash[corpus]' there"
            ) from None
        read = session.read.parquet(path).select("*", "_metadata.file_name", "_metadata.row_index")
        read.createOrReplaceTempView("read")
        names = sorted(
            row[0] for row in session.sql("select distinct file_name from read").collect()
        )
        files = session.createDataFrame(list(enumerate(names)), "n bigint, name string")
        files.createOrReplaceTempView("files")
        prints = session.sql(
            f"select *, shiftleft(n, {_FILE_ROWS}) + row_index id "
            "from read join files on file_name = name"
        )
        prints.createOrReplaceTempView("prints")

    def keep(self, name: str, sql: str) -> None:
        self._session.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def put(self, name: str, table: Any) -> None:
        self._session.createDataFrame(table).createOrReplaceTempView(name)

    def rows(self, sql: str) -> Any:
        return self._session.sql(sql).toArrow().to_reader()


class _Pair(NamedTuple):
    """A page, an earlier one within reach, and the reason why the page repeats that, or ""."""

    page: int
    earlier: int
    distance: int
    reason: str


class _Crowded(NamedTuple):
    """A page of large buckets, which have a scope and a number."""

    page: int
    key: str
    facts: bytes
    fingerprint: int
    buckets: Sequence[tuple[str, int]]


# Rulings by distance and place of an original; some are made only if they are asked for.
_Near: TypeAlias = dict[tuple[int, int], str | Callable[[], str]]


def find_copies(engine: DuckDB | Spark, spec: IndexSpec) -> int:
    """Find the pages that a crawl of all prints, in their order, would drop; return their number.

    The engine has the tables of :data:`VERDICTS` then.
    """
    pa, _ = pyarrow()
    words, blocks = column_names(spec)
    columns = ", ".join(["id", "key", "scope", "facts", *words, *blocks])
    engine.keep("pages", f"select {columns} from prints where f0 is not null")
    engine.keep("members", _members(blocks))
    engine.keep("pairs", _pairs(words, spec.reach))
    engine.keep("crowd", _crowd(words))
    pairs = map(_Pair._make, _rows(engine, "select * from pairs order by page, distance, earlier"))
    crowd = map(_crowded, _rows(engine, "select * from crowd order by id"))
    types = (pa.int64(), pa.int64(), pa.int32(), pa.string())
    schema = pa.schema([*zip(_Pair._fields, types, strict=True)])
    copies = (copy._asdict() for copy in _Decisions(spec).copies(pairs, crowd))
    table = pa.Table.from_batches(batches_of(copies, schema), schema)
    engine.put("copies", table)
    return int(table.num_rows)


def _rows(engine: DuckDB | Spark, sql: str) -> Iterator[tuple[Any, ...]]:
    for batch in engine.rows(sql):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _crowded(row: tuple[Any, ...]) -> _Crowded:
    page, key, facts, scope, buckets, *words = row
    fingerprint = int.from_bytes(struct.pack(f">{len(words)}q", *words), "big")
    return _Crowded(page, key, facts, fingerprint, [(scope, bucket) for bucket in buckets])


class _Decisions:
    """Decides on pages in their order."""

    def __init__(self, spec: IndexSpec) -> None:
        self._ruling = ruling_at(spec.distance)
        self._reach = spec.reach
        self._copies: set[int] = set()
        # The newest originals of each large bucket.
        newest = partial(deque[_Crowded], maxlen=BUCKET_LIMIT)
        self._newest: defaultdict[tuple[str, int], deque[_Crowded]] = defaultdict(newest)

    def copies(self, pairs: Iterable[_Pair], crowd: Iterable[_Crowded]) -> Iterator[_Pair]:
        """Yield each page that repeats an original before it, with the nearest one that it repeats.

        Args:
            pairs: the pairs of small buckets, ordered by their pages.
            crowd: the pages of large buckets, ordered.
        """
        rows: Iterator[_Pair | _Crowded] = merge(pairs, crowd, key=itemgetter(0))
        for page, group in groupby(rows, itemgetter(0)):
            near: _Near = {}
            crowded = None
            for row in group:  # a page of the crowd comes behind its pairs
                if isinstance(row, _Crowded):
                    crowded = row
                    near = self._compared(row) | near
                elif row.earlier not in self._copies:
                    near[row.distance, row.earlier] = row.reason
            if copy := _first_copy(page, near):
                self._copies.add(page)
                yield copy
            elif crowded:
                for bucket in crowded.buckets:
                    self._newest[bucket].append(crowded)

    def _compared(self, page: _Crowded) -> _Near:
        """Return the newest originals of a page's large buckets, with rulings to be made."""
        originals = {other.page: other for name in page.buckets for other in self._newest[name]}
        near: _Near = {}
        for place, other in originals.items():
            distance = hamming_distance(page.fingerprint, other.fingerprint)
            if distance <= self._reach:
                judged = distance, page.key, page.facts, other.key, other.facts
                near[distance, place] = partial(self._ruling, *judged)
        return near


def _first_copy(page: int, near: _Near) -> _Pair | None:
    """Return the nearest original that a page repeats."""
    for distance, earlier in sorted(near)[:RULINGS]:
        ruling = near[distance, earlier]
        reason = ruling if isinstance(ruling, str) else ruling()
        if reason:
            return _Pair(page, earlier, distance, reason)
    return None


def spark_verdicts(session: Any, prints: str, recipe: Recipe) -> Any:
    """Return a Spark DataFrame of the verdict on each page, with the columns of ``dedupe``.

    Args:
        session: of Spark 4; its workers have this package.
        prints: a folder that ``scrapy simhash fingerprint`` wrote, as Spark names it.
        recipe: that made the fingerprints.
    """
    find_copies(Spark(session, prints, recipe.distance), spec_of(recipe))
    return session.sql(VERDICTS)


def _members(blocks: list[str]) -> str:
    """Return a query for the pages of each bucket that has more than one, and their number."""
    # The number of a block, and a value of 32 bits.
    every = " union all ".join(
        f"select id, scope, {number << 32} + {block} bucket from pages"
        for number, block in enumerate(blocks)
    )
    size = "count(*) over (partition by scope, bucket)"
    return f"select * from (select *, {size} size from ({every}) m) m where size > 1"


def _pairs(words: list[str], reach: int) -> str:
    """Return a query for the pairs of small buckets that are near, with the ruling on each."""
    # Exclusive or in the words that all dialects have.
    distance = " + ".join(
        f"cast(bit_count((x.{w} | y.{w}) - (x.{w} & y.{w})) as int)" for w in words
    )
    near = (
        f"select p page, q earlier, {distance} distance, "
        "y.key, y.facts, x.key original, x.facts of_original "
        f"from ({_IN_SMALL_BUCKETS}) c join pages x on c.q = x.id join pages y on c.p = y.id"
    )
    return (
        "select page, earlier, distance, ruling(distance, key, facts, original, of_original) "
        f"reason from ({near}) n where distance <= {reach}"
    )


def _crowd(words: list[str]) -> str:
    """Return a query for the pages of large buckets."""
    buckets = (
        f"select id, array_agg(bucket) buckets from members where size > {RULINGS} group by id"
    )
    columns = ", ".join(["p.key", "p.facts", "p.scope", "m.buckets", *words])
    return f"select m.id, {columns} from ({buckets}) m join pages p on m.id = p.id"
