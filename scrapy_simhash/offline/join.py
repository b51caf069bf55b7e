"""The filter over fingerprints in Parquet, as a join: the verdict of a crawl in their order.

A crawl compares a page with the originals that share a bucket with it, at most the
newest ones of each, and judges the nearest. Whether a page is an original depends on
the pages before it, which no join knows. So the join pairs pages, and rules on the
pairs; then they are decided one after the other, in their order.

Most buckets are so small that a crawl reads all of each, and their pages are paired by
the engine. Of a large bucket a crawl reads the newest originals, which are known as
soon as the pages before are decided. So these few are compared then.

The SQL is the same for DuckDB, on one machine, and Spark, on many. Both have the view
``prints``, with the columns of prints and ``id``, their place.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import groupby, starmap
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import BUCKET_LIMIT, IndexSpec
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.prints import ROWS, batches_of, column_names, pyarrow
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

# A page's place is its file's place times this, and its row.
_MOST_ROWS = 1 << 40
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
    select * exclude (id, file_name, row_index) from prints
    where f0 is not null and id not in (select page from copies) order by id
"""
# Pages that share a small bucket are paired with all earlier ones, because a crawl
# reads all of it.
_IN_SMALL_BUCKETS = f"""
    select distinct y.id p, x.id q from members x join members y
    on x.bucket = y.bucket and x.scope = y.scope and x.id < y.id where x.size <= {RULINGS}
"""


class DuckDB:
    """Joins on one machine, also with less memory than the corpus has.

    Args:
        files: of prints, in their order.
        folder: where tables go that do not fit into memory.
    """

    def __init__(self, files: Sequence[Path], folder: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise FileError(
                "the join needs DuckDB: pip install 'scrapy-simhash[corpus]'"
            ) from None
        self._error = duckdb.Error
        settings: Any = {
            "temp_directory": str(folder),
            "preserve_insertion_order": "false",
        }
        self._database = duckdb.connect(config=settings)
        names = [str(file) for file in files]
        read = self._database.read_parquet(names, filename=True, file_row_number=True)
        place = "filename file_name, file_row_number row_index"
        read.project(f"* exclude (filename, file_row_number), {place}").create_view(
            "read"
        )
        _number_pages(self, names)

    def close(self) -> None:
        self._database.close()

    def _execute(self, sql: str) -> Any:
        # A connection has one open result, and the join reads two.
        try:
            return self._database.cursor().execute(sql)
        except self._error as error:
            raise FileError(f"DuckDB: {str(error).splitlines()[0]}") from None

    def view(self, name: str, sql: str) -> None:
        """Give a name to a query."""
        self._execute(f"create view {name} as {sql}")

    def keep(self, name: str, sql: str) -> None:
        """Make a table of the result of a query."""
        self._execute(f"create table {name} as {sql}")

    def put(self, name: str, table: Any) -> None:
        """Name an Arrow table."""
        self._database.from_arrow(table).create(name)

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        result = self._execute(sql)
        while rows := result.fetchmany(ROWS):
            yield from rows

    def write(self, path: str, sql: str, metadata: Mapping[str, str]) -> None:
        """Write the result of a query as Parquet."""
        pairs = ", ".join(
            f"{_quoted(name)}: {_quoted(metadata[name])}" for name in metadata
        )
        options = f"format parquet, compression zstd, use_tmp_file false, kv_metadata {{{pairs}}}"
        self._execute(f"copy ({sql}) to {_quoted(path)} ({options})")


class Spark:
    """Joins on many machines; the near pairs and the pages of large buckets go to the driver.

    Args:
        session: of Spark 4.
        path: a folder of prints, as Spark names it; they come in the order of their
            files' names.
    """

    def __init__(self, session: Any, path: str) -> None:
        self._session = session
        read = session.read.parquet(path).select(
            "*", "_metadata.file_name", "_metadata.row_index"
        )
        read.createOrReplaceTempView("read")
        names = self.rows("select distinct file_name from read")
        _number_pages(self, sorted(name for (name,) in names))

    def view(self, name: str, sql: str) -> None:
        self._session.sql(sql).createOrReplaceTempView(name)

    def keep(self, name: str, sql: str) -> None:
        self._session.sql(sql).localCheckpoint().createOrReplaceTempView(name)

    def put(self, name: str, table: Any) -> None:
        self._session.createDataFrame(table).createOrReplaceTempView(name)

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        rows: Iterator[tuple[Any, ...]] = self._session.sql(sql).toLocalIterator()
        return rows


def _quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _number_pages(engine: DuckDB | Spark, files: Sequence[str]) -> None:
    """Make the view ``prints`` of what an engine has read, with the place of each page."""
    pa = pyarrow()
    numbered = pa.table({"name": files, "n": range(len(files))})
    engine.put("files", numbered)
    place = f"n * {_MOST_ROWS} + row_index"
    engine.view(
        "prints", f"select r.*, {place} id from read r join files on file_name = name"
    )


class _Pair(NamedTuple):
    """A page, and an earlier one within reach that has a small bucket of it; a row of a query."""

    id: int
    earlier: int
    distance: int
    key: str
    facts: bytes
    original: str
    facts_of_original: bytes


class _Crowded(NamedTuple):
    """A page of large buckets, which have a scope and a number."""

    id: int
    key: str
    facts: bytes
    fingerprint: int
    buckets: Sequence[tuple[str, int]]


class _Copy(NamedTuple):
    """A page that repeats an earlier one."""

    page: int
    earlier: int
    distance: int
    reason: str


# Originals by their distance from a page, and their place.
_Near = dict[tuple[int, int], Page]


def find_copies(engine: DuckDB | Spark, spec: IndexSpec) -> int:
    """Find the pages that a crawl of all prints, in their order, would drop; return their number.

    The engine has the tables of :data:`VERDICTS` then.
    """
    words, blocks = column_names(spec)
    columns = ", ".join(["id", "key", "scope", "facts", *words, *blocks])
    engine.keep("pages", f"select {columns} from prints where f0 is not null")
    engine.keep("members", _members(blocks))
    pairs = starmap(_Pair, engine.rows(_pairs(words, spec.reach)))
    crowd = map(_crowded, engine.rows(_crowd(words)))
    copies = _table_of(_Decisions(spec).copies(pairs, crowd))
    engine.put("copies", copies)
    return int(copies.num_rows)


def _table_of(copies: Iterable[_Copy]) -> Any:
    """Return an Arrow table."""
    pa = pyarrow()
    types = (pa.int64(), pa.int64(), pa.int32(), pa.string())
    schema = pa.schema(zip(_Copy._fields, types, strict=True))
    rows = map(_Copy._asdict, copies)
    return pa.Table.from_batches(batches_of(rows, schema), schema)


def _crowded(row: tuple[Any, ...]) -> _Crowded:
    number, key, facts, scope, buckets, *words = row
    fingerprint = int.from_bytes(struct.pack(f">{len(words)}q", *words), "big")
    places = [(scope, bucket) for bucket in buckets]
    return _Crowded(number, key, facts, fingerprint, places)


class _Decisions:
    """Decides on pages in their order."""

    def __init__(self, spec: IndexSpec) -> None:
        self._rule = Rule(spec.distance)
        self._reach = spec.reach
        self._copies: set[int] = set()
        # The newest originals of each large bucket.
        newest = partial(deque[_Crowded], maxlen=BUCKET_LIMIT)
        self._newest: defaultdict[tuple[str, int], deque[_Crowded]] = defaultdict(
            newest
        )

    def copies(
        self, pairs: Iterable[_Pair], crowd: Iterable[_Crowded]
    ) -> Iterator[_Copy]:
        """Yield each page that repeats an original before it, with the nearest one that it repeats.

        Args:
            pairs: the pairs of small buckets, ordered by their pages.
            crowd: the pages of large buckets, ordered.
        """
        rows: Iterator[_Pair | _Crowded] = merge(pairs, crowd, key=attrgetter("id"))
        for number, group in groupby(rows, attrgetter("id")):
            near: _Near = {}
            crowded = None
            for row in group:
                page = Page(row.key, bytes(row.facts))  # Spark has bytearrays
                if isinstance(row, _Crowded):
                    crowded = row
                    near |= self._near_in_crowd(row)
                elif row.earlier not in self._copies:
                    near[row.distance, row.earlier] = Page(
                        row.original, bytes(row.facts_of_original)
                    )
            if copy := self._first_copy(number, page, near):
                self._copies.add(number)
                yield copy
            elif crowded:
                for bucket in crowded.buckets:
                    self._newest[bucket].append(crowded)

    def _near_in_crowd(self, page: _Crowded) -> _Near:
        """Return the newest originals of a page's large buckets that are within reach."""
        near: _Near = {}
        newest = {
            each.id: each for bucket in page.buckets for each in self._newest[bucket]
        }
        for original in newest.values():
            distance = hamming_distance(page.fingerprint, original.fingerprint)
            if distance <= self._reach:
                near[distance, original.id] = Page(original.key, bytes(original.facts))
        return near

    def _first_copy(
        self,
        number: int,
        page: Page,
        near: _Near,
    ) -> _Copy | None:
        """Return the nearest original that a page repeats."""
        for distance, earlier in sorted(near)[:RULINGS]:
            original = near[distance, earlier]
            if page.key == original.key:
                return _Copy(number, earlier, distance, "key")
            ruling = self._rule(page, original, distance)
            if ruling.is_copy:
                return _Copy(number, earlier, distance, ruling.reason)
        return None


def spark_verdicts(session: Any, prints: str, recipe: Recipe) -> Any:
    """Return a Spark DataFrame of the verdict on each page, with the columns of ``dedupe``.

    Args:
        session: of Spark 4.
        prints: a folder that ``scrapy simhash fingerprint`` wrote, as Spark names it.
        recipe: that made the fingerprints.
    """
    find_copies(Spark(session, prints), spec_of(recipe))
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
    """Return a query for the pairs of small buckets that are near, ordered by their pages."""
    # Exclusive or in the words that all dialects have.
    distance = " + ".join(
        f"cast(bit_count((x.{w} | y.{w}) - (x.{w} & y.{w})) as int)" for w in words
    )
    return (
        f"select * from (select p, q, {distance} distance, y.key, y.facts, x.key, x.facts "
        f"from ({_IN_SMALL_BUCKETS}) c join pages x on c.q = x.id join pages y on c.p = y.id) n "
        f"where distance <= {reach} order by p"
    )


def _crowd(words: list[str]) -> str:
    """Return a query for the pages of large buckets, ordered."""
    large = f"select id, bucket from members where size > {RULINGS}"
    buckets = f"select id, array_agg(bucket) buckets from ({large}) group by id"
    columns = ", ".join(["p.key", "p.facts", "p.scope", "m.buckets", *words])
    return f"select m.id, {columns} from ({buckets}) m join pages p on m.id = p.id order by m.id"
