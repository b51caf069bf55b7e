"""The filter over fingerprints in Parquet, as a join: the verdict of a crawl in their order.

A crawl compares a page with the originals that share a bucket with it, at most the newest ones of
each, and judges the nearest. Whether a page is an original depends on the pages before it, which no
join knows. So the join guesses which pages are copies, pairs each page with the originals of that
guess, and decides in the order of the pages; what comes out is the next guess, until it is the same
again. Each round is right about one page more at least, and only the verdicts of a crawl that takes
one page after the other stay as they are. From the second round on, only pages are paired again
that share a bucket with an earlier page about which the last guess was wrong. A page that is a copy
of its nearest original is judged beside no other one.

The SQL is the same for DuckDB, on one machine, and Spark, on many. Both have the view ``prints``,
with the columns of prints and ``id``, their place, and the function ``ruling`` of
:func:`ruling_at`.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

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
_NOTHING_KNOWN = "select id p, id q, cast(0 as int) d, '' reason from pages where false"
# Only the first page of each bucket is an original.
_FIRST_GUESS = """
    select id, id original from (select id, row_number() over (partition by block, scope, v
        order by id) place from members) m
    group by id having min(place) > 1
"""
# Pages behind one in a bucket about which the guess has changed, and all that shares their buckets.
_AGAIN = """
    select distinct m.id from members m join (select block, scope, v, min(m.id) first
        from members m join changed c on m.id = c.id group by block, scope, v) t
    on m.block = t.block and m.scope = t.scope and m.v = t.v and m.id > t.first
"""
_BESIDE_AGAIN = """
    select m.* from members m join (select distinct block, scope, v
        from members m join again a on m.id = a.id) t
    on m.block = t.block and m.scope = t.scope and m.v = t.v
"""
# The number of originals that come before a page in its bucket.
_RANKED = """
    select m.*, c.id is null is_original, cast(coalesce(
        sum(case when c.id is null then 1 else 0 end) over (partition by m.block, m.scope, m.v
        order by m.id rows between unbounded preceding and 1 preceding), 0) as bigint) r
    from beside m left join copies c on m.id = c.id
"""
_NEAR = """
    select p, q, d from near n where not exists (select 1 from again a where a.id = n.p)
    union all select p, q, d from found
"""
# The pairs that are judged: a page with its nearest original, and with the others if it is no copy.
_NEAREST = "select p, q, d from found where nth = 1"
_OTHERS = """
    select p, q, d from found f where nth > 1 and not exists (select 1 from asked a
        join known k on k.p = a.p and k.q = a.q where a.p = f.p and k.reason <> '')
"""
_KNOWN = """
    select * from known union all
    select n.p, n.q, n.d, ruling(n.d, x.key, x.facts, y.key, y.facts) reason from asked n
    join pages x on n.p = x.id join pages y on n.q = y.id
    where not exists (select 1 from known k where k.p = n.p and k.q = n.q)
"""
# A pair that was not judged counts as a copy until the next round judges it: its page had a nearer
# original, which has become a copy itself.
_JUDGED = """
    select n.p, n.q, coalesce(k.reason <> '', true) is_copy
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

    Each worker has this package installed. The near pairs and the verdicts pass through the driver,
    with some 50 bytes a pair.

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

    def rows(self, sql: str) -> Iterable[Any]:
        batches: list[Any] = self._session.sql(sql).toArrow().to_batches()
        return batches


def find_copies(engine: DuckDB | Spark, spec: IndexSpec) -> int:
    """Find the pages that a crawl of all prints, in their order, would drop; return their number.

    The engine has the tables of :data:`VERDICTS` then.
    """
    words, blocks = column_names(spec)
    columns = ", ".join(["id", "key", "scope", "facts", *words, *blocks])
    engine.keep("pages", f"select {columns} from prints where f0 is not null")
    engine.keep("members", _members(words, blocks))
    engine.keep("copies", _FIRST_GUESS)
    engine.keep("known", _NOTHING_KNOWN)
    engine.keep("near", "select p, q, d from known")
    engine.keep("again", "select id from pages")
    engine.keep("beside", "select * from members")
    guess = {copy for rows in engine.rows("select id from copies") for copy in rows[0].to_pylist()}
    while True:
        engine.keep("ranked", _RANKED)
        engine.keep("found", _found(words, spec.reach))
        engine.keep("near", _NEAR)
        for asked in (_NEAREST, _OTHERS):
            engine.keep("asked", asked)
            engine.keep("known", _KNOWN)
        copies = _decide(engine.rows(_JUDGED))
        engine.put("copies", _table_of(id=copies, original=copies.values()))
        changed = copies.keys() ^ guess
        if not changed:
            return len(copies)
        engine.put("changed", _table_of(id=changed))
        engine.keep("again", _AGAIN)
        engine.keep("beside", _BESIDE_AGAIN)
        guess = {*copies}


def _table_of(**columns: Iterable[int]) -> Any:
    pa, _ = pyarrow()
    return pa.table({name: pa.array([*ids], pa.int64()) for name, ids in columns.items()})


def spark_verdicts(session: Any, prints: str, recipe: Recipe) -> Any:
    """Return a Spark DataFrame of the verdict on each page, with the columns of ``dedupe``.

    Args:
        session: of Spark 4; its workers have this package.
        prints: a folder that ``scrapy simhash fingerprint`` wrote, as Spark names it.
        recipe: that made the fingerprints.
    """
    find_copies(Spark(session, prints, recipe.distance), spec_of(recipe))
    return session.sql(VERDICTS)


def _members(words: list[str], blocks: list[str]) -> str:
    """Return a query for the pages of each bucket that has more than one."""
    shown = ", ".join(f"m.{word}" for word in words)
    return " union all ".join(
        f"select {number} block, m.id, m.scope, s.v, {shown} from pages m join "
        f"(select scope, {block} v from pages group by scope, {block} having count(*) > 1) s "
        f"on m.scope = s.scope and m.{block} = s.v"
        for number, block in enumerate(blocks)
    )


def _found(words: list[str], reach: int) -> str:
    """Return a query for the nearest originals of each page that is paired again."""
    # Exclusive or in the words that all dialects have.
    distance = " + ".join(
        f"cast(bit_count((x.{w} | y.{w}) - (x.{w} & y.{w})) as int)" for w in words
    )
    # A crawl reads the originals of the page's stretch of ranks, and of the stretch before.
    stretch = f"cast(floor(r / {BUCKET_LIMIT}) as bigint)"
    originals = " union all ".join(
        f"select *, {stretch} + {n} part from ranked where is_original" for n in range(2)
    )
    near = (
        f"select distinct y.id p, x.id q, {distance} d "
        f"from (select m.*, {stretch} part from ranked m join again a on m.id = a.id) y "
        f"join ({originals}) x "
        "on x.block = y.block and x.v = y.v and x.scope = y.scope and x.part = y.part "
        f"and x.id < y.id and y.r - x.r <= {BUCKET_LIMIT} where {distance} <= {reach}"
    )
    nearest = "row_number() over (partition by p order by d, q)"
    return (
        f"select * from (select p, q, d, {nearest} nth from ({near}) near) n where nth <= {RULINGS}"
    )


def _decide(batches: Iterable[Any]) -> dict[int, int]:
    """Let each page, in their order, repeat the nearest of the originals before it.

    ``batches`` have the page, an earlier page and whether it is a copy of that, ordered by page
    and distance. Each page that is dropped is returned with its original.
    """
    copies: dict[int, int] = {}
    last = -1
    rulings = 0
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        for page, earlier, is_copy in zip(*columns, strict=True):
            if page != last:
                last = page
                rulings = 0
            if earlier in copies or page in copies or rulings == RULINGS:
                continue
            rulings += 1
            if is_copy:
                copies[page] = earlier
    return copies
