"""The filter over fingerprints in Parquet, as a join: the verdict of a crawl in their order.

A crawl compares a page with the originals that share a bucket with it, at most the newest ones of
each, and judges the nearest. Whether a page is an original depends on the pages before it, which no
join knows. So pairs are looked for in rounds: first all pairs of small buckets, and in large ones
each page with the first of its bucket; then, as long as there are new pairs, each page of a large
bucket with the pages that are originals by now. After the last round the verdicts are those of a
crawl that takes one page after the other.

The SQL is the same for DuckDB and Spark.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from scrapy_simhash.index.decision import RULINGS
from scrapy_simhash.index.values import BUCKET_LIMIT, IndexSpec
from scrapy_simhash.offline.files import FileError
from scrapy_simhash.offline.prints import column_names
from scrapy_simhash.rule.facts import FACTS_SIZE
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page
from scrapy_simhash.rule.state import STATE_SIZE

# All pairs of a bucket of so many pages are compared.
_SMALL = 16
#: The verdict on each page, given the table ``dropped`` that :meth:`Drops.table` returns.
VERDICTS = """
    select p.key, p.url, d.id is null as kept, case when d.id is not null then 'duplicate'
        when p.f0 is null then 'skipped' else 'unique' end verdict, o.key original,
        cast(d.distance as int) distance, coalesce(d.reason, p.reason) reason
    from prints p left join pages g on g.place = p.id left join dropped d on d.id = g.id
    left join pages o on o.id = d.original order by p.id
"""
#: The prints of the pages that were kept, and compared, in their order.
KEPT = """
    select p.* exclude (id) from prints p join pages g on g.place = p.id
    where g.id not in (select id from dropped) order by p.id
"""
#: The columns of a question to the judge, and those of its answer: see :func:`judged`.
ASKED = ("p", "q", "d", "key", "facts", "other", "other_facts")
ANSWERED = ("p", "q", "d", "is_copy", "reason")

_Pairs = npt.NDArray[np.int64]


class Engine(Protocol):
    """A data base with the view ``prints``: the columns of prints, and ``id``, their place."""

    def keep(self, name: str, sql: str) -> None:
        """Make a table of what a query gives."""

    def put(self, name: str, table: Any) -> None:
        """Make a table of an Arrow table."""

    def rows(self, sql: str) -> Iterable[Any]:
        """Yield what a query gives, as Arrow record batches."""

    def judge(self, sql: str, k: int) -> Iterable[Any]:
        """Yield what :func:`judged` makes of the answer to a query, as Arrow record batches."""


def judged(batch: Any, k: int) -> Any:
    """Return a record batch with the rulings on the pairs of another one."""
    import pyarrow as pa

    rule, rulings = Rule(k), []
    rows = zip(*(batch.column(name).to_pylist() for name in ASKED[2:]), strict=True)
    for distance, key, facts, other, other_facts in rows:
        if not {len(facts), len(other_facts)} <= {0, STATE_SIZE, FACTS_SIZE}:
            raise FileError(f"{key}: its facts are of another version; make fingerprints anew")
        if key == other:
            rulings.append((True, "key"))
        else:
            rulings.append(rule(Page(key, facts), Page(other, other_facts), distance))
    parts = zip(*rulings, strict=True) if rulings else ([], [])
    kinds = (pa.bool_(), pa.string())
    answers = (pa.array(part, kind) for part, kind in zip(parts, kinds, strict=True))
    arrays = [*(batch.column(name) for name in ASKED[:3]), *answers]
    return pa.RecordBatch.from_arrays(arrays, list(ANSWERED))


@dataclass
class Drops:
    """The pages that are dropped, by what is known of the pairs so far.

    Attributes:
        certain: near pairs that a crawl compares whatever the originals are: ids, the later page
            first, distance, whether it is a copy, and the number of the reason.
        pairs: these, and those of the last round.
        telling: those of them on which a verdict depends, in the order in which they are judged.
        reasons: by their numbers.
        dropped: for each page that is dropped, the number of the telling pair by which it is.
    """

    certain: _Pairs = field(default_factory=lambda: np.empty((0, 5), np.int64))
    pairs: _Pairs = field(default_factory=lambda: np.empty((0, 5), np.int64))
    telling: _Pairs = field(default_factory=lambda: np.empty((0, 5), np.int64))
    reasons: list[str] = field(default_factory=list)
    dropped: dict[int, int] = field(default_factory=dict)

    def decide(self, batches: Iterable[Any]) -> bool:
        """Decide by the certain pairs and those of a round; return whether that changed a verdict.

        Pairs of earlier rounds are forgotten, because a crawl may not compare them.
        """
        before = self.dropped.keys()
        self.pairs = np.concatenate([self.pairs[:0], self.certain, *self._numbered(batches)])
        self._decide()
        return self.dropped.keys() != before

    def _numbered(self, batches: Iterable[Any]) -> Iterator[_Pairs]:
        """Yield the pairs of record batches, as :attr:`certain` has them."""
        for batch in batches:
            reasons = batch.column("reason").to_pylist()
            self.reasons += {*reasons}.difference(self.reasons)
            number = {reason: n for n, reason in enumerate(self.reasons)}
            parts = [batch.column(name).to_numpy(zero_copy_only=False) for name in ANSWERED[:4]]
            parts.append(np.array([number[reason] for reason in reasons], np.int64))
            yield np.stack([part.astype(np.int64) for part in parts], 1)

    def _decide(self) -> None:
        """Let each page, in their order, repeat the nearest of the originals before it."""
        pairs = self.pairs
        # Other pages count only where there are more pairs than are judged.
        _, place, counts = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
        pairs = pairs[(pairs[:, 3] > 0) | (counts[place] > RULINGS)]
        self.telling = pairs[np.lexsort((pairs[:, 1], pairs[:, 2], pairs[:, 0]))]
        dropped, judged_of, last = dict[int, int](), 0, -1
        for number, (page, other, is_copy) in enumerate(self.telling[:, (0, 1, 3)].tolist()):
            if page != last:
                last, judged_of = page, 0
            if other in dropped or page in dropped or judged_of == RULINGS:
                continue
            judged_of += 1
            if is_copy:
                dropped[page] = number
        self.dropped = dropped

    def table(self) -> Any:
        """Return an Arrow table of the dropped pages: id, original's id, distance, reason."""
        import pyarrow as pa

        pairs = self.telling[np.array([*self.dropped.values()], np.int64)]
        reasons = [self.reasons[n] for n in pairs[:, 4].tolist()]
        columns = [*(pa.array(pairs[:, n]) for n in range(3)), pa.array(reasons, pa.string())]
        return pa.table(columns, ["id", "original", "distance", "reason"])


def find_copies(engine: Engine, spec: IndexSpec, order: str = "") -> Drops:
    """Return the pages that a crawl of all prints, in their order, would drop.

    Args:
        engine: where the prints are.
        spec: how an index for them is opened.
        order: a list of SQL expressions of columns of prints, by which pages come; by default they
            come in the order of the files. Pages for which it is the same do so, too.
    """
    import pyarrow as pa

    words, blocks = column_names(spec)
    place = f"row_number() over (order by {order}, id)" if order else "id"
    shown = ", ".join(["key", "scope", "facts", *words, *blocks])
    engine.keep("pages", f"select {place} id, id place, {shown} from prints where f0 is not null")
    copies, rounds = Drops(), _Rounds(engine, spec)
    for block in blocks:
        rounds.divide(block)
    copies.decide(rounds.judged("near", rounds.small()))
    copies.certain = copies.pairs
    engine.keep("known", "select p, q, d, true is_copy, '' reason from near where false")
    # By guesses, the first round begins with few originals.
    copies.decide(rounds.judged("guesses", rounds.guesses()))
    is_other = True
    while is_other:
        engine.put("copies", pa.table([pa.array([*copies.dropped], pa.int64())], ["id"]))
        is_other = copies.decide(rounds.judged_large())
    return copies


class _Rounds:
    def __init__(self, engine: Engine, spec: IndexSpec) -> None:
        self._engine, self._spec = engine, spec
        self._words, self._blocks = column_names(spec)
        # Exclusive or in the words that all dialects have.
        bits = (f"cast(bit_count((x.{w} | y.{w}) - (x.{w} & y.{w})) as int)" for w in self._words)
        self._distance = " + ".join(bits)

    def divide(self, block: str) -> None:
        """Keep what shares a bucket: pairs of small ones, and the pages of large ones."""
        words = ", ".join(f"m.{word}" for word in self._words)
        self._engine.keep(
            f"shared_{block}",
            f"select m.id, m.scope, m.{block} v, n, {words} from pages m join "
            f"(select scope, {block}, count(*) n from pages group by scope, {block} "
            f"having count(*) > 1) s on m.scope = s.scope and m.{block} = s.{block}",
        )
        small = f"(select * from shared_{block} where n <= {_SMALL})"
        self._engine.keep(
            f"pairs_{block}",
            f"select y.id p, x.id q, {self._distance} d from {small} x join {small} y "
            f"on x.v = y.v and x.scope = y.scope and x.id < y.id where {self._within}",
        )

    @property
    def _within(self) -> str:
        return f"{self._distance} <= {self._spec.reach}"

    @property
    def _members(self) -> str:
        """The pages of large buckets."""
        large = (
            f"select {n} block, * from shared_{block} where n > {_SMALL}"
            for n, block in enumerate(self._blocks)
        )
        return f"({' union all '.join(large)})"

    def small(self) -> str:
        """Return a query for the near pairs that a crawl compares, whatever the originals are."""
        self._engine.keep("members", f"select * from {self._members} m")
        pairs = " union ".join(f"select p, q, d from pairs_{block}" for block in self._blocks)
        return f"{pairs} union {self._with_the_first(f'n <= {BUCKET_LIMIT}')}"

    def guesses(self) -> str:
        """Return a query for near pairs of which a crawl may not compare all."""
        return self._with_the_first(f"n > {BUCKET_LIMIT}")

    def _with_the_first(self, chosen: str) -> str:
        """Return a query for the near pairs of a page and the first one of its bucket."""
        first = "select block, scope, v, min(id) id from members group by block, scope, v"
        return (
            f"select distinct y.id p, x.id q, {self._distance} d from ({first}) f "
            "join members x on x.id = f.id and x.block = f.block "
            "join members y on y.block = f.block and y.v = f.v and y.scope = f.scope "
            f"and f.id < y.id where y.{chosen} and {self._within}"
        )

    def large(self) -> str:
        """Return a query for the near pairs of a page and an original in a large bucket."""
        # How many originals come before a page in its bucket.
        rank = (
            "sum(case when c.id is null then 1 else 0 end) over (partition by m.block, m.scope, "
            "m.v order by m.id rows between unbounded preceding and 1 preceding)"
        )
        self._engine.keep(
            "ranked",
            f"select m.*, c.id is null as is_original, cast(coalesce({rank}, 0) as bigint) r "
            "from members m left join copies c on m.id = c.id",
        )
        # Originals that count stand in the page's own stretch of ranks, or in the one before.
        stretch = f"cast(floor(r / {BUCKET_LIMIT}) as bigint)"
        originals = " union all ".join(
            f"select *, {stretch} + {n} part from ranked where is_original" for n in range(2)
        )
        near = (
            f"select distinct y.id p, x.id q, {self._distance} d "
            f"from (select *, {stretch} part from ranked) y join ({originals}) x "
            "on x.block = y.block and x.v = y.v and x.scope = y.scope and x.part = y.part "
            f"and x.id < y.id and y.r - x.r <= {BUCKET_LIMIT} where {self._within}"
        )
        nearest = "row_number() over (partition by p order by d, q)"
        return (
            f"select p, q, d from (select p, q, d, {nearest} nth from ({near}) near) n "
            # Some of the nearest may be no originals, as a later round finds.
            f"where nth <= {2 * RULINGS} "
            "and not exists (select 1 from near k where k.p = n.p and k.q = n.q)"
        )

    def judged_large(self) -> Iterable[Any]:
        """Judge the pairs of :meth:`large`, each in the first round that has it."""
        import pyarrow as pa

        self._engine.keep("more", self.large())
        is_known = "k.p = m.p and k.q = m.q"
        new = f"select * from more m where not exists (select 1 from known k where {is_known})"
        if rulings := [*self.judged("new", new)]:
            self._engine.put("rulings", pa.Table.from_batches(rulings))
            self._engine.keep("known", "select * from known union all select * from rulings")
        return self._engine.rows(f"select k.* from known k join more m on {is_known}")

    def judged(self, name: str, sql: str) -> Iterable[Any]:
        """Judge the pairs of a query, which become a table."""
        self._engine.keep(name, sql)
        asked = (
            f"select n.p, n.q, n.d, x.key, x.facts, y.key other, y.facts other_facts from {name} n "
            "join pages x on n.p = x.id join pages y on n.q = y.id"
        )
        return self._engine.judge(asked, self._spec.distance)
