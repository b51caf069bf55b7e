"""Totals by name in bounded memory."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.totals import Totals

NAMED = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=200)


@given(NAMED)
def test_few_names_are_summed_exactly(numbers: list[tuple[int, int]]) -> None:
    table: Totals[int] = Totals(2, names=100)
    sums: Counter[int] = Counter()
    for name, number in numbers:
        table.add(name, 1, number)
        sums[name] += number
    assert {name: row[1] for name, row in table.largest(100)} == dict(sums)
    ordered = [row[1] for _, row in table.largest(100, by=1)]
    assert ordered == sorted(ordered, reverse=True)


@given(NAMED, st.integers(0, 5))
def test_nothing_is_lost_of_the_sums_of_many_names(
    numbers: list[tuple[int, int]], count: int
) -> None:
    sums: Totals[int] = Totals(2, names=4)
    for name, number in numbers:
        sums.add(name, 1, number)
        assert len(sums._rows) <= 8
    shown = sums.largest(count)
    _, rest = sums.rest(count)
    for place, whole in enumerate((len(numbers), sum(number for _, number in numbers))):
        assert sum(row[place] for _, row in shown) + rest[place] == whole


def test_large_names_outlast_any_number_of_small_ones() -> None:
    sums: Totals[str] = Totals(1, names=10)
    for number in range(1000):
        sums.add("large", 1)
        sums.add(f"small {number}", 1)
    assert sums.largest(1) == [("large", [1000])]
    number, _ = sums.rest(1)
    assert number == 1000
