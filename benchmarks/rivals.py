"""Other packages that find near-duplicates, judged beside the recipes where they are installed.

They get the text that the extractor of the recipe takes from a page, whatever its length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.simhash import Fingerprint

# MinHash makes an array of permutations x features: 4 MB of this many at 256.
_BATCH = 4096


@dataclass(frozen=True, slots=True)
class PypiSimhash:
    """The package simhash with its defaults: 64 bits of its own features."""

    def sketch(self, text: str) -> Fingerprint:
        from simhash import Simhash

        try:
            value = Simhash(text).value
        except OverflowError:
            # With NumPy 2 it cannot multiply by a count above 255; with floats it can.
            letters = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
            grams = Counter(letters[i : i + 4] for i in range(max(1, len(letters) - 3)))
            value = Simhash({gram: float(count) for gram, count in grams.items()}).value
        return Fingerprint(value, 64)


@dataclass(frozen=True, slots=True)
class MinHashLSH:
    """The MinHash LSH of datasketch: what its index returns, unchecked, as its manual has it.

    Its sets are the character 5-grams of the normalised text.
    """

    permutations: int
    threshold: float = 0.8

    def sketch(self, text: str) -> Any:
        normal = normalise(text)
        if not normal:
            return None
        grams = list({normal[i : i + 5] for i in range(max(1, len(normal) - 4))})
        minhash = self._minhash()
        for start in range(0, len(grams), _BATCH):
            batch = grams[start : start + _BATCH]
            minhash.update_batch([gram.encode("utf-8", "surrogatepass") for gram in batch])
        return minhash

    def pairs(self, sketches: Sequence[Any]) -> list[tuple[int, int]]:
        """Return the pairs that the index finds among the sketches; None where there is no text."""
        from datasketch import MinHashLSH as Index

        index = Index(threshold=self.threshold, num_perm=self.permutations)
        pairs = set()
        for number, minhash in enumerate(sketches):
            if minhash is not None:
                pairs |= {(other, number) for other in index.query(minhash)}
                index.insert(number, minhash)
        return sorted(pairs)

    def _minhash(self) -> Any:
        from datasketch import MinHash

        return MinHash(num_perm=self.permutations)
