"""The counts of several crawlers add up in the cells of their index."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.store import StoreDamaged, StoreUnavailable
from scrapy_simhash.url_patterns import rows as module
from scrapy_simhash.url_patterns.learner import Learner, Visit
from scrapy_simhash.url_patterns.rows import (
    FAMILY,
    MOST_ROWS,
    Row,
    Rows,
    SharedRows,
    from_cell,
    merged,
    to_cell,
)
from scrapy_simhash.url_patterns.table import PatternTable
from tests.url_patterns.test_learner import OLD, learn_old_versions


class MadeCells:
    """Cells in a dict; before each swap others may change them."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.before_swap: Callable[[], object] = lambda: None

    def cells(self, prefix: str) -> dict[str, bytes]:
        return {name: cell for name, cell in self.values.items() if name.startswith(prefix)}

    def swap(self, name: str, old: bytes | None, new: bytes | None) -> bool:
        act, self.before_swap = self.before_swap, lambda: None
        act()
        if self.values.get(name) != old:
            return False
        self.values.pop(name, None)
        if new is not None:
            self.values[name] = new
        return True


ROWS = st.dictionaries(
    st.sampled_from(["/a?b=*", "/c", "/ä?{number}"]),
    st.builds(Row, *[st.integers(-3, 30)] * 7, st.text(max_size=20)),
)


@given(ROWS)
def test_rows_come_back_from_a_cell(rows):
    assert from_cell(to_cell(rows)) == rows


@given(st.lists(ROWS, max_size=6), st.integers(1, 3))
def test_what_several_crawlers_add_at_once_adds_up(batches, crawlers):
    cells, readers = MadeCells(), [SharedRows() for _ in range(crawlers)]
    for n, rows in enumerate(batches):
        # Another crawler comes in between.
        more = {"/other?x=*": Row(1)}
        cells.before_swap = lambda more=more: SharedRows().add(cells, "a.test", more)
        readers[n % crawlers].add(cells, "a.test", rows)
        cells.before_swap = lambda: None
    readers[0].read(cells)
    sums: Rows = {}
    for rows in batches:
        sums = merged(sums, rows)
    assert {s: r for s, r in readers[0].rows("a.test").items() if s != "/other?x=*"} == sums


def test_only_hosts_whose_rows_have_changed_are_told():
    cells, reader, writer = MadeCells(), SharedRows(), SharedRows()
    for host in ("a.test", "b.test"):
        writer.add(cells, host, {"/": Row(1)})
    assert reader.read(cells) == {"a.test", "b.test"}
    writer.add(cells, "b.test", {"/": Row(1)})
    assert reader.read(cells) == {"b.test"}


def test_a_cell_that_others_change_all_the_time_counts_as_away():
    cells = MadeCells()
    cells.swap = lambda *_: False  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        SharedRows().add(cells, "a.test", {"/": Row(1)})


@pytest.mark.parametrize(
    "cell", [b"rubbish", b"[]", b'{"/":1}', b'{"/":[1,2,3]}', b'{"/":["x",0,0,0,0,0,0,""]}',
             b'{"/":[1e999,0,0,0,0,0,0,""]}', b"[" * 100_000]
)  # fmt: skip
def test_rubbish_in_a_cell_is_damage_and_what_was_known_stays(cell):
    cells, reader = MadeCells(), SharedRows()
    reader.add(cells, "a.test", {"/": Row(1)})
    cells.values[FAMILY + "a.test"] = cell
    with pytest.raises(StoreDamaged):
        reader.read(cells)
    assert [*reader.rows("a.test")] == ["/"]


def test_rows_and_hosts_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_HOSTS", 3)
    cells, writer = MadeCells(), SharedRows()
    for n in range(MOST_ROWS + 50):
        writer.add(cells, "a.test", {f"/{n}?x=*": Row(distinct=1)})
        writer.add(cells, "a.test", {"/kept?x=*": Row(copies=1)})
    assert "/kept?x=*" in writer.rows("a.test")
    assert len(writer.rows("a.test")) <= MOST_ROWS
    for n in range(9):
        writer.add(cells, f"{n}.test", {"/": Row(1)})
    assert len(cells.values) == 3


def exchange(learner: Learner, rows_of_all: SharedRows, cells: MadeCells) -> None:
    changed = rows_of_all.read(cells)
    for host, table in learner.table:
        if rows := table.take():
            rows_of_all.add(cells, host, rows)
        if rows or host in changed:
            table.read(rows_of_all.rows(host))


def crawler() -> tuple[Learner, SharedRows]:
    rows_of_all = SharedRows()
    return Learner(PatternTable(rows_of_all.rows)), rows_of_all


def test_crawlers_that_share_an_index_see_the_same_patterns():
    cells, crawlers = MadeCells(), [crawler() for _ in range(3)]
    for n in range(300):
        learner, rows_of_all = crawlers[n % 3]
        forecast = learner.forecast(OLD(n))
        if not forecast.spared:
            learner.record(forecast, Visit(OLD(n), f"http://wiki.test/{n}", size=9))
        if n % 7 == 0:
            exchange(learner, rows_of_all, cells)
    for _ in range(2):
        for each in crawlers:
            exchange(*each, cells)
    urls = [OLD(n) for n in range(1000, 1200)]
    forecasts = [
        [(f.signature, f.bound) for f in map(learner.forecast, urls)] for learner, _ in crawlers
    ]
    assert forecasts[0][0][1] > 0
    assert all(forecast == forecasts[0] for forecast in forecasts)


def test_what_could_not_be_sent_is_sent_later():
    cells, (learner, rows_of_all) = MadeCells(), crawler()
    learn_old_versions(learner, 50)
    table = learner.table.of("wiki.test")
    before = table.rows()
    unsent = table.take()
    assert unsent
    assert table.rows() == before
    table.read({}, unsent)
    assert table.rows() == before
    exchange(learner, rows_of_all, cells)
    shared = rows_of_all.rows("wiki.test")
    assert shared == {s: row for s, row in before.items() if row.copies}
    assert table.take() == {}
