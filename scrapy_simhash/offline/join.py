"""The filter over fingerprints in Parquet, as a join: the verdict of a crawl in their order.

A crawl compares a page with the originals that share a bucket with it, at most the newest ones of
each, and judges the nearest. Whether a page is an original depends on the pages before it, which no
join knows. So the join pairs pages first, and decides in their order, while the engine rules on the
pairs that come into question.

Most buckets are so small that a crawl reads all of each, and their pages are paired once. Of large
buckets it reads the newest originals. So the join guesses which pages are copies, pairs the pages
of large buckets with the originals of that guess, and decides; what comes out is the next guess,
until it is the same again. Each round is right about one page more at least, and only the verdicts
of a crawl that takes one page after the other stay as they are. From the second round on, only
pages are paired again that share a large bucket with an earlier page about which the last guess was
wrong. Pages that hang on no large bucket take part in no round.

The SQL is the same for DuckDB, on one machine, and Spark, on many. Both have the view ``prints``,
with the columns of prints and ``id``, their place, and the function ``ruling`` of
:func:`ruling_at`.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import BUCKET_LIMIT, IndexSpec
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.prints import column_names, pyarrow
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

# Rows of a file at most, as a power of two: a page's place is its file's place and its row.
_FILE_ROWS = 40
_Numbers = npt.NDArray[np.integer[Any]]
#: The verdict on each page, after :func:`find_copies`.
VERDICTS = """
    select p.key, p.url, c.id is null kept, case when c.id is not null then 'duplicate'
        when p.f0 is null then 'skipped' else 'unique' end verdict, o.key original,
        cast(k.d as int) distance, coalesce(k.reason, p.reason) reason
    from prints p left join copies c on c.id = p.id
    left join known k on k.p = c.id and k.q = c.original
    left join prints o on o.id = c.original order by p.id
"""
#: The prints of the pages that were kept, and compared, in their order.
KEPT = """
    select * exclude (id) from prints
    where f0 is not null and id not in (select id from copies) order by id
"""
# Pages that share a small bucket are paired with all earlier ones, because a crawl reads all of it.
_IN_SMALL_BUCKETS = f"""
    select distinct y.id p, x.id q from members x join members y
    on x.block = y.block and x.scope = y.scope and x.v = y.v and x.id < y.id
    where x.size <= {RULINGS}
"""
_IN_LARGE_BUCKETS = f"select block, scope, v, id from members where size > {RULINGS}"
# Pairs of pages that hang on no large bucket.
_NEAR_AND_SETTLED = """
    select p, q, d, 0 is_large from always a
    where not exists (select 1 from open o where o.id = a.p)
"""
_ALWAYS_OPEN = """
    select p, q, d from always a join open o on a.p = o.id
    where not exists (select 1 from settled s where s.id = a.q)
"""
# Only the first page of each large bucket is an original.
_FIRST_GUESS = """
    select id, id original from (select id, row_number() over (partition by block, scope, v
        order by id) place from large) m
    group by id having min(place) > 1
"""
# The number of originals that come before a page in its bucket.
_RANKED = """
    select m.*, c.id is null is_original, cast(coalesce(
        sum(case when c.id is null then 1 else 0 end) over (partition by m.block, m.scope, m.v
        order by m.id rows between unbounded preceding and 1 preceding), 0) as bigint) r
    from beside m left join copies c on m.id = c.id
"""
# A crawl reads the newest originals of a large bucket, whose ranks are in the page's stretch of
# ranks, or in the stretch before.
_STRETCH = f"cast(floor(r / {BUCKET_LIMIT}) as bigint)"
_AMONG_THE_NEWEST = f"""
    select distinct y.id p, x.id q
    from (select m.*, {_STRETCH} part from ranked m join again a on m.id = a.id) y
    join (select *, {_STRETCH} part from ranked where is_original
        union all select *, {_STRETCH} + 1 part from ranked where is_original) x
    on x.block = y.block and x.v = y.v and x.scope = y.scope and x.part = y.part
    and x.id < y.id and y.r - x.r <= {BUCKET_LIMIT}
"""
_NEAREST = f"""
    select p, q, d from (select p, q, d, row_number() over (partition by p order by d, q) nth
        from found) n where nth <= {RULINGS}
    union all select p, q, d from nearest n where not exists
        (select 1 from again a where a.id = n.p)
"""
_NEAR = """
    select p, q, d, max(is_large) is_large
    from (select *, 0 is_large from always union all select *, 1 is_large from nearest) a
    group by p, q, d
"""
# Pages behind one in a bucket about which the guess has changed, and all that shares their buckets.
_AGAIN = """
    select distinct m.id from large m join (select block, scope, v, min(m.id) first
        from large m join changed c on m.id = c.id group by block, scope, v) t
    on m.block = t.block and m.scope = t.scope and m.v = t.v and m.id > t.first
"""
_BESIDE_AGAIN = """
    select m.* from large m join (select distinct block, scope, v
        from large m join again a on m.id = a.id) t
    on m.block = t.block and m.scope = t.scope and m.v = t.v
"""
_NO, _YES, _UNKNOWN = range(3)
_NO_PAIRS = "select id p, id q, cast(0 as int) d from pages where false"
_RULINGS = """
    select a.p, a.q, a.d, a.n, ruling(a.d, x.key, x.facts, y.key, y.facts) reason
    from asked a join pages x on a.p = x.id join pages y on a.q = y.id
"""
_JUDGED = f"""
    select n.p, n.q, n.d, n.is_large, case when k.reason is null then {_UNKNOWN}
        when k.reason = '' then {_NO} else {_YES} end ruling
    from near n left join known k on k.p = n.p and k.q = n.q order by n.p, n.d, n.q
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
        return self._run(self.database.sql, sql).to_arrow_reader()


class Spark:
    """Joins on many machines.

    Each worker has this package installed. The near pairs and the rulings pass through the driver,
    with some 100 bytes a pair.

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


def find_copies(engine: DuckDB | Spark, spec: IndexSpec) -> int:
    """Find the pages that a crawl of all prints, in their order, would drop; return their number.

    The engine has the tables of :data:`VERDICTS` then.
    """
    words, blocks = column_names(spec)
    columns = ", ".join(["id", "key", "scope", "facts", *words, *blocks])
    engine.keep("pages", f"select {columns} from prints where f0 is not null")
    engine.keep("members", _members(blocks))
    engine.keep("always", _near(_IN_SMALL_BUCKETS, "pages", words, spec.reach))
    engine.keep("large", _IN_LARGE_BUCKETS)
    engine.keep("crowd", "select * from pages where id in (select id from large)")
    engine.keep("known", f"select p, q, '' reason from ({_NO_PAIRS}) n")
    known: list[Any] = []
    engine.put("open", _table_of(id=_open(engine)))
    engine.keep("near", _NEAR_AND_SETTLED)
    settled = _decided(engine, known)
    engine.put("settled", _table_of(id=settled[0]))
    engine.keep("always", _ALWAYS_OPEN)
    engine.keep("copies", _FIRST_GUESS)
    engine.keep("nearest", _NO_PAIRS)
    engine.keep("again", "select distinct id from large")
    engine.keep("beside", "select * from large")
    guess = _column(engine, "select id from copies")
    while True:
        engine.keep("ranked", _RANKED)
        engine.keep("found", _near(_AMONG_THE_NEWEST, "crowd", words, spec.reach))
        engine.keep("nearest", _NEAREST)
        engine.keep("near", _NEAR)
        copies, originals = np.concatenate((settled, _decided(engine, known)), axis=1)
        engine.put("copies", _table_of(id=copies, original=originals))
        engine.put("changed", _table_of(id=np.setxor1d(copies, guess)))
        engine.keep("again", _AGAIN)
        if not _column(engine, "select id from again limit 1").size:
            return len(copies)
        engine.keep("beside", _BESIDE_AGAIN)
        guess = copies


def _open(engine: DuckDB | Spark) -> _Numbers:
    """Return the pages of large buckets, and all later ones whose outcome may hang on theirs."""
    p = _column(engine, "select p from always order by p, q")
    q = _column(engine, "select q from always order by p, q")
    pages = _column(engine, "select distinct id from large")
    size = -1
    while len(pages) > size:
        size = len(pages)
        pages = np.union1d(pages, p[np.isin(q, pages)])
    return pages


def _decided(engine: DuckDB | Spark, known: list[Any]) -> _Numbers:
    """Return the pages that repeat an original before them, and those originals.

    The engine rules on the pairs of the table "near" until the outcome for each page is known. The
    rulings are added to those that are known, which are Arrow tables.
    """
    pa, _ = pyarrow()
    pairs = _Pairs(engine.rows(_JUDGED).read_all())
    # At once, because the pages of large buckets are near many others.
    asked = pairs.unknown(pairs.is_large.nonzero()[0])
    while True:
        engine.put("asked", pairs.table_of(asked))
        answers = engine.rows(_RULINGS).read_all()
        known.append(answers)
        is_copy = np.array(answers["reason"]) != ""
        pairs.rulings[answers["n"]] = np.where(is_copy, _YES, _NO)
        possible = np.array(pairs.possible())
        asked = pairs.unknown(possible)
        if not asked.size:
            engine.put("known", pa.concat_tables(known))
            return np.array((pairs.p[possible], pairs.q[possible]))


class _Pairs:
    """Near pairs, ordered by their pages, the nearest first.

    Attributes:
        p, q, d: the pages, the earlier pages, and their distances.
        is_large: whether the pages share a large bucket.
        rulings: _YES, _NO or _UNKNOWN.
    """

    def __init__(self, table: Any) -> None:
        self.p, self.q, self.d, self.is_large, rulings = map(np.array, table.columns)
        self.rulings: _Numbers = rulings.copy()
        # Numbers in the order of the pages. Python reads one number after the other from a view.
        _, numbers = np.unique(np.concatenate((self.p, self.q)), return_inverse=True)
        self._pages = numbers[: len(self.p)].data
        self._earlier = numbers[len(self.p) :].data
        self._rulings = self.rulings.data

    def unknown(self, pairs: _Numbers) -> _Numbers:
        unknown: _Numbers = pairs[self.rulings[pairs] == _UNKNOWN]
        return unknown

    def table_of(self, pairs: _Numbers) -> Any:
        return _table_of(p=self.p[pairs], q=self.q[pairs], d=self.d[pairs], n=pairs)

    def possible(self) -> "array[int]":
        """Let each page, in their order, repeat the nearest of the originals before it.

        Return, by their numbers, the pairs that may say what a page repeats: one with the ruling
        that it does, or all on which this depends. A page that has any counts as a copy.
        """
        is_copy = bytearray(2 * len(self.p))
        possible = array("q")
        first = 0
        for page, pairs in groupby(self._pages):
            end = first + len([*pairs])
            some = self._possible_of(range(first, end), is_copy)
            is_copy[page] = bool(some)
            possible.extend(some)
            first = end
        return possible

    def _possible_of(self, pairs: range, is_copy: bytearray) -> list[int]:
        """Return which pairs of a page may make it a copy, given which pages before it are copies.

        A page that does not repeat its nearest original is judged beside all others.
        """
        possible = []
        rank = 0
        for pair in pairs:
            if is_copy[self._earlier[pair]]:
                continue
            rank += 1
            if self._rulings[pair] != _NO:
                possible.append(pair)
                if rank == 1 or self._rulings[pair] == _YES:
                    break
            if rank == RULINGS:
                break
        return possible


def _column(engine: DuckDB | Spark, sql: str) -> _Numbers:
    numbers: _Numbers = engine.rows(sql).read_all().column(0).to_numpy()
    return numbers


def _table_of(**columns: Any) -> Any:
    pa, _ = pyarrow()
    return pa.table(columns)


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
    return " union all ".join(
        f"select {number} block, m.scope, s.v, m.id, s.size from pages m join "
        f"(select scope, {block} v, count(*) size from pages group by scope, {block} "
        f"having count(*) > 1) s on m.scope = s.scope and m.{block} = s.v"
        for number, block in enumerate(blocks)
    )


def _near(pairs: str, pages: str, words: list[str], reach: int) -> str:
    """Return a query for the pairs of a query that are near, with their distance."""
    # Exclusive or in the words that all dialects have.
    distance = " + ".join(
        f"cast(bit_count((x.{w} | y.{w}) - (x.{w} & y.{w})) as int)" for w in words
    )
    return (
        f"select p, q, {distance} d from ({pairs}) c "
        f"join {pages} x on c.q = x.id join {pages} y on c.p = y.id where {distance} <= {reach}"
    )
