"""Layouts: every pair within the guaranteed distance meets in a probed bucket."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint.blocks import Layout, plan_layout
from scrapy_simhash.fingerprint.simhash import BITS, Fingerprint


def matrix(values: list[int], bits: int) -> np.ndarray:
    packed = b"".join(value.to_bytes(bits // 8, "big") for value in values)
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(len(values), -1)


def meet(layout: Layout, probing: Fingerprint, stored: int) -> bool:
    blocks, addresses = layout.probe(probing)
    (exact,) = layout.addresses(matrix([stored], layout.bits))
    return bool((exact[blocks] == addresses).any())


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    bits = draw(st.sampled_from(BITS))
    width = draw(st.integers(1, 20))
    blocks = draw(st.integers(1, min(20, bits - width + 1)))
    most = min(blocks << width, 600)
    every_flip = min(blocks * (1 + width), most)
    probes = draw(st.one_of(st.just(blocks), st.just(every_flip), st.integers(blocks, most)))
    return Layout(bits, blocks, width, probes, draw(st.integers(0, bits - 1)))


@st.composite
def fingerprints(draw: st.DrawFn, bits: int) -> Fingerprint:
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    value = draw(st.integers(0, 2**bits - 1))
    if draw(st.booleans()):
        return Fingerprint(value, bits)
    return Fingerprint(value, bits, seed.exponential(size=bits).astype(np.float32))


@given(layouts())
def test_a_layout_is_read_back_as_it_was_written(layout):
    assert Layout.parse(str(layout)) == layout


@pytest.mark.parametrize("text", ["", "bits=64", "bits=64 blocks=4 width=16 probes=4 distance=x"])
def test_what_is_no_layout_is_refused(text):
    with pytest.raises(ValueError, match="not a layout"):
        Layout.parse(text)


@given(layouts(), st.data())
@settings(max_examples=200)
def test_every_pair_within_the_guaranteed_distance_is_found(layout, data):
    reach = min(layout.guaranteed_distance, layout.bits)
    one = data.draw(fingerprints(layout.bits))
    positions = random.Random(data.draw(st.integers(0, 2**32)))
    for distance in {reach, positions.randint(0, reach)}:
        # Spread over the blocks, which is the worst that can happen, or anyhow.
        starts = layout.starts
        worst = [(start + i) % layout.bits for i in range(layout.width) for start in starts]
        for chosen in (
            list(dict.fromkeys(worst))[:distance],
            positions.sample(range(layout.bits), distance),
        ):
            other = one.value
            for position in chosen:
                other ^= 1 << layout.bits - 1 - position
            assert meet(layout, one, other)


@given(layouts(), st.data())
@settings(max_examples=100)
def test_the_guarantee_is_not_given_for_less_than_can_be_found(layout, data):
    """Some pair one bit beyond it is missed: there the margins mislead all further probes."""
    assume(layout.guaranteed_distance < 12)
    needed = layout.radius + 1
    counts = {}
    for start in layout.starts:
        for position in range(start, start + layout.width):
            counts[position] = counts.get(position, 0) + 1
    # The greedy cover itself: the last positions of each block that is not yet hit enough.
    hit: set[int] = set()
    for start in layout.starts:
        block = list(range(start + layout.width - 1, start - 1, -1))
        while sum(p in hit for p in block) < needed:
            hit.add(next(p for p in block if p not in hit))
    assert len(hit) == layout.guaranteed_distance + 1
    margins = np.ones(layout.bits, np.float32)
    margins[list(hit)] = 1000
    value = data.draw(st.integers(0, 2**layout.bits - 1))
    other = value
    for position in hit:
        other ^= 1 << layout.bits - 1 - position
    cheap = sum(2 ** (layout.width - needed) for _ in layout.starts)
    assume(layout.probes <= cheap)
    assert not meet(layout, Fingerprint(value, layout.bits, margins), other)


@pytest.mark.parametrize(
    ("layout", "guaranteed"),
    [
        (Layout(64, 4, 16, 4, 3), 3),
        (Layout(64, 4, 16, 68, 7), 7),
        (Layout(64, 4, 16, 67, 7), 3),
        (Layout(64, 8, 16, 8, 3), 2),  # overlapping: no more than three are disjoint
        (Layout(64, 2, 40 - 8, 2, 1), 1),
        (Layout(64, 1, 4, 16, 3), 64),
    ],
)
def test_known_guarantees(layout, guaranteed):
    assert layout.guaranteed_distance == guaranteed


@given(layouts(), st.data())
@settings(max_examples=50)
def test_addresses_are_the_blocks_bits(layout, data):
    value = data.draw(st.integers(0, 2**layout.bits - 1))
    written = f"{value:0{layout.bits}b}"
    (exact,) = layout.addresses(matrix([value], layout.bits))
    expected = [int(written[start : start + layout.width], 2) for start in layout.starts]
    assert exact.tolist() == expected
    blocks, addresses = layout.probe(Fingerprint(value, layout.bits))
    assert blocks[: layout.blocks].tolist() == list(range(layout.blocks))
    assert addresses[: layout.blocks].tolist() == expected


@given(st.data())
@settings(max_examples=50)
def test_the_probes_are_those_with_the_smallest_sums_of_margins(data):
    width, blocks = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 6))
    layout = Layout(64, blocks, width, data.draw(st.integers(blocks, blocks << width)), 3)
    assume(layout.radius == 0)
    seed = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    margins = seed.exponential(size=64).astype(np.float32)
    one = Fingerprint(0, 64, margins)
    sums = sorted(
        (
            sum(margins[start + i] for i in range(width) if pattern >> width - 1 - i & 1),
            block,
            pattern,
        )
        for block, start in enumerate(layout.starts)
        for pattern in range(1 << width)
    )
    found, addresses = layout.probe(one)
    assert len(found) == layout.probes
    probed = set(zip(found.tolist(), addresses.tolist(), strict=True))
    assert len(probed) == layout.probes
    assert probed == {(block, pattern) for _, block, pattern in sums[: layout.probes]}


def test_without_margins_fewer_flips_come_first():
    layout = Layout(64, 2, 6, 2 * (1 + 6) + 5, 3)
    _, addresses = layout.probe(Fingerprint(0, 64))
    flips = sorted(int(address).bit_count() for address in addresses)
    assert flips == [0] * 2 + [1] * 12 + [2] * 5


@pytest.mark.parametrize("pages", [1, 1000, 10**6, 10**7])
def test_the_classic_is_four_blocks_of_16(pages):
    layout = plan_layout(64, 3, pages)
    assert (layout.blocks, layout.width, layout.probes) == (4, 16, 4)


@pytest.mark.parametrize(("bits", "distance"), [*((64, k) for k in range(8)), (128, 15), (256, 7)])
def test_where_it_is_affordable_every_pair_is_found(bits, distance):
    assert plan_layout(bits, distance, 10**6).guaranteed_distance >= distance


@pytest.mark.parametrize(("bits", "distance"), [(64, 8), (128, 24), (256, 48)])
def test_elsewhere_most_simulated_pairs_at_the_distance_are_found(bits, distance):
    layout = plan_layout(bits, distance, 10**6)
    random = np.random.default_rng(1)
    angle = np.pi * distance / bits
    one, noise = random.standard_normal((2, 4000, bits), dtype=np.float32)
    other = np.cos(angle) * one + np.sin(angle) * noise
    near = np.flatnonzero(((one > 0) != (other > 0)).sum(axis=1) == distance)[:200]

    def value(sums: np.ndarray) -> int:
        return int.from_bytes(np.packbits(sums > 0).tobytes(), "big")

    found = [
        meet(layout, Fingerprint(value(one[i]), bits, np.abs(one[i])), value(other[i]))
        for i in near
    ]
    assert np.mean(found) >= 0.93


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((96, 3, 10), "bits"),
        ((64, 64, 10), "distance must be 0 to 63"),
        ((64, -1, 10), "distance"),
        ((64, 3, 0), "expected_pages"),
        ((64, 40, 10**6), "distance 40 is too large for 64 bits"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        plan_layout(*arguments)


@pytest.mark.parametrize(
    "numbers",
    [
        (96, 4, 16, 4, 3),
        (64, 4, 33, 4, 3),
        (64, 0, 16, 4, 3),
        (64, 50, 16, 50, 3),
        (64, 4, 16, 3, 3),
        (64, 4, 2, 17, 3),
        (64, 4, 16, 4, 64),
    ],
)
def test_an_impossible_layout_is_refused(numbers):
    with pytest.raises(ValueError):
        Layout(*numbers)
