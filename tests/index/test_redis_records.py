"""The pages that hold the records in Redis."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index import StoreDamaged
from scrapy_simhash.index.redis_records import (
    RECORDS,
    Record,
    compress_records,
    pack_delete,
    pack_record,
    place_of,
    read_records,
)

# What is appended to a page, in order: position, check, and the record or None for a delete. Few
# places, so that they repeat.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3) | st.integers(0, 2**32 - 1),
        st.sampled_from([b"same", b"PDZ\0"]) | st.binary(min_size=4, max_size=4),
        st.none()
        | st.builds(
            Record,
            st.text(max_size=30) | st.just("two\nlines"),
            st.text(max_size=5),
            st.integers(0, 2**32 - 1),
        ),
    ),
    max_size=12,
)


def packed(events: list[tuple[int, bytes, Record | None]]) -> list[bytes]:
    return [
        pack_record(position, check, record) if record else pack_delete(position, check)
        for position, check, record in events
    ]


def expected(events: list[tuple[int, bytes, Record | None]]) -> dict[bytes, Record | None]:
    found: dict[bytes, Record | None] = {}
    for position, check, record in events:
        place = place_of(position, check)
        found[place] = record if found.get(place, record) else None
    return found


@given(EVENTS)
def test_a_record_page_tells_the_last_record_of_each_entry_and_deletes_are_final(events):
    page, told = b"".join(packed(events)), expected(events)
    assert read_records(page, "page") == told
    for place in told:
        assert read_records(page, "page", [place]) == {place: told[place]}


@given(EVENTS, st.lists(st.integers(0, 12), max_size=3))
def test_compressing_at_any_time_changes_nothing_that_a_page_tells(events, times):
    page = b""
    for number, part in enumerate(packed(events)):
        page += part
        if number in times:
            page = compress_records(page, "page")
    told = expected(events)
    assert read_records(page, "page") == told
    for place in told:
        assert read_records(page, "page", [place]) == {place: told[place]}


@given(EVENTS.filter(bool), st.booleans(), st.data())
def test_a_page_that_was_cut_off_is_damaged_or_ends_with_a_whole_record(events, compress, data):
    parts = packed(events)
    page = b"".join(parts)
    ends = {0}
    for part in parts:
        ends.add(max(ends) + len(part))
    if compress and (short := compress_records(page, "page"))[:1] == b"Z":
        page, ends = short, {0, len(short)}
    end = data.draw(st.integers(0, len(page)))
    if end in ends:
        read_records(page[:end], "page")
    else:
        with pytest.raises(StoreDamaged, match="page is damaged"):
            read_records(page[:end], "page")


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda rest: b"Z\0\0\0\x20" + rest))
def test_rubbish_is_no_record_page_or_tells_something(page):
    try:
        read_records(page, "page")
    except StoreDamaged as error:
        assert "page" in str(error)  # noqa: PT017 - either will do


def test_a_small_page_does_not_unpack_to_a_large_one():
    with pytest.raises(StoreDamaged, match="too long"):
        read_records(_compressed(b"a" * 2**20 * 65), "page")


def test_compressed_records_of_another_number_are_damaged():
    with pytest.raises(StoreDamaged, match="2 compressed records"):
        read_records(_compressed(b"PP\0\1" + bytes(8) + b"\n\nkey\n", 2), "page")


def _compressed(columns: bytes, count: int = 0) -> bytes:
    packed_columns = zlib.compress(columns)
    sizes = len(packed_columns).to_bytes(4, "big") + count.to_bytes(4, "big")
    return b"Z" + sizes + bytes(2 * count) + packed_columns


def test_the_records_of_addresses_take_less_than_half_when_compressed():
    page = b"".join(
        pack_record(i, random.Random(i).randbytes(8), Record(f"https://a.com/{i}/b.html", "", i))
        for i in range(RECORDS)
    )
    assert len(compress_records(page, "page")) < len(page) / 2
