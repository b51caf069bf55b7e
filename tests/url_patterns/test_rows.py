"""The counts of several crawlers add up in the cells of their index."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index.store import StoreDamaged, StoreUnavailable
from scrapy_simhash.url_patterns import rows as module
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
    assert reader.read(cells) == {*reader} == {"a.test", "b.test"}
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
