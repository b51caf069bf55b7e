"""The counts of several crawlers add up in the cells of their index."""

from collections.abc import Iterator
from contextlib import closing
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index import open_index
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.store import StoreDamaged, StoreUnavailable
from scrapy_simhash.url_patterns import rows as module
from scrapy_simhash.url_patterns.rows import FAMILY, MOST_ROWS, Row, SharedRows, merged, to_cell
from tests.index.promises.made import spec


@pytest.fixture
def index() -> Iterator[Index]:
    with closing(open_index("memory://", spec())) as index:
        yield index


ROWS = st.dictionaries(
    st.sampled_from(["/a?b=*", "/c", "/ä?{number}"]),
    st.builds(Row, *[st.integers(-3, 30)] * 7, st.text(max_size=20)),
)


@given(st.lists(ROWS, max_size=6), st.integers(1, 3))
def test_what_several_crawlers_add_at_once_adds_up(batches, crawlers):
    """None of them has read what the others added before."""
    index, readers = open_index("memory://", spec()), [SharedRows() for _ in range(crawlers)]
    for n, rows in enumerate(batches):
        readers[n % crawlers].add(index, "a.test", rows)
    readers[0].read(index)
    assert readers[0].rows("a.test") == reduce(merged, batches, {})
    index.close()


def test_only_hosts_whose_rows_have_changed_are_told(index):
    reader, writer = SharedRows(), SharedRows()
    for host in ("a.test", "b.test"):
        writer.add(index, host, {"/": Row(1)})
    assert reader.read(index) == {*reader} == {"a.test", "b.test"}
    writer.add(index, "b.test", {"/": Row(1)})
    assert reader.read(index) == {"b.test"}


def test_a_cell_that_others_change_all_the_time_counts_as_away(index, monkeypatch):
    monkeypatch.setattr(index, "swap", lambda *_: False)
    with pytest.raises(StoreUnavailable):
        SharedRows().add(index, "a.test", {"/": Row(1)})


@pytest.mark.parametrize(
    "cell", [b"rubbish", b"[]", b'{"/":1}', b'{"/":[1,2,3]}', b'{"/":["x",0,0,0,0,0,0,""]}',
             b'{"/":[1e999,0,0,0,0,0,0,""]}', b"[" * 100_000]
)  # fmt: skip
def test_rubbish_in_a_cell_is_damage_and_what_was_known_stays(cell, index):
    reader = SharedRows()
    reader.add(index, "a.test", {"/": Row(1)})
    assert index.swap(f"{FAMILY}a.test", to_cell({"/": Row(1)}), cell)
    with pytest.raises(StoreDamaged):
        reader.read(index)
    assert [*reader.rows("a.test")] == ["/"]


def test_rows_and_hosts_are_bounded(index, monkeypatch):
    monkeypatch.setattr(module, "MOST_HOSTS", 3)
    writer = SharedRows()
    for n in range(MOST_ROWS + 50):
        writer.add(index, "a.test", {f"/{n}?x=*": Row(distinct=1)})
        writer.add(index, "a.test", {"/kept?x=*": Row(copies=1)})
    assert "/kept?x=*" in writer.rows("a.test")
    assert len(writer.rows("a.test")) <= MOST_ROWS
    for n in range(9):
        writer.add(index, f"{n}.test", {"/": Row(1)})
    assert len(index.cells(FAMILY)) == 3
