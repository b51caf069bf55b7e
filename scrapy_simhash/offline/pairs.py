"""The near pairs of a set, for whoever judges all pairs of its documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.neighbours import distances

#: The numbers of two documents, the lesser first.
Numbers: TypeAlias = tuple[int, int]


def words_of(fingerprints: Iterable[Fingerprint]) -> npt.NDArray[np.uint64]:
    """Return fingerprints of one width as words, shape (fingerprints, bits / 64)."""
    rows = [np.frombuffer(known.to_bytes(), ">u8") for known in fingerprints]
    return np.array(rows, np.uint64)


def near_pairs(
    fingerprints: Sequence[Fingerprint | None], distance: int
) -> list[tuple[Numbers, int]]:
    """Compare all pairs; return those within the distance, in bits, the nearest first.

    A document without a fingerprint is near to none.
    """
    present = [number for number, known in enumerate(fingerprints) if known is not None]
    words = words_of(known for known in fingerprints if known is not None)
    near: list[tuple[Numbers, int]] = []
    for row, number in enumerate(present[:-1]):
        apart = distances(words[row + 1 :], words[row])
        others = np.flatnonzero(apart <= distance).tolist()
        near += [((number, present[row + 1 + other]), int(apart[other])) for other in others]
    return sorted(near, key=lambda pair: pair[1])
