"""The near pairs of a set, for whoever judges all pairs of its documents."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.neighbours import distances, unpacked

#: The numbers of two documents, the lesser first.
Numbers: TypeAlias = tuple[int, int]


def near_pairs(
    fingerprints: Sequence[Fingerprint | None], distance: int
) -> list[tuple[Numbers, int]]:
    """Compare all pairs; return those within the distance, in bits, the nearest first.

    A document without a fingerprint is near to none.
    """
    known = {number: given for number, given in enumerate(fingerprints) if given is not None}
    if not known:
        return []
    present, bits = list(known), next(iter(known.values())).bits
    words, _ = unpacked(b"".join([given.to_bytes() for given in known.values()]), bits, 0)
    near: list[tuple[Numbers, int]] = []
    for row, number in enumerate(present[:-1]):
        apart = distances(words[row + 1 :], words[row])
        others = np.flatnonzero(apart <= distance).tolist()
        near += [((number, present[row + 1 + other]), int(apart[other])) for other in others]
    return sorted(near, key=lambda pair: pair[1])
