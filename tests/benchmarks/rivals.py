"""Other packages that find near-duplicates, judged beside the recipes where they are installed.

They get the text that the extractor of the recipe takes from a page, whatever its length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.offline.evaluation.pairs import Fingerprints
from tests.benchmarks.judging import Comparison, FoundPairs

# MinHash makes an array of permutations x features: 4 MB of this many at 256.
_BATCH = 4096


class Rival(Protocol):
    """A method of another package.

    Attributes:
        package: on PyPI.
        name: for tables.
        note: how it is used, in one line.
        distance: the distance within which two pages are near-duplicates, if it has one.
        size: bytes that it keeps of a page.
    """

    @property
    def package(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def distance(self) -> int | None: ...
    @property
    def size(self) -> int: ...

    def sketch(self, text: str) -> Any:
        """Return what it keeps of a text that is not empty, to be sent between processes."""

    def compare(self, sketches: Sequence[Any]) -> Comparison:
        """Compare the sketches of all documents; None where there is no text."""


@dataclass(frozen=True, slots=True)
class PypiSimhash:
    """The package simhash with its defaults, at the distance of its index."""

    package: str = "simhash"
    name: str = "simhash (PyPI)"
    note: str = "64 bits, k = 3, its own features, of the same extracted text"
    distance: int | None = 3
    size: int = 8

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

    def compare(self, sketches: Sequence[Fingerprint | None]) -> Comparison:
        return Fingerprints.of(sketches, 64)


@dataclass(frozen=True, slots=True)
class MinHashLSH:
    """The MinHash LSH of datasketch: what its index returns, unchecked, as its manual has it."""

    permutations: int
    threshold: float = 0.8
    package: str = "datasketch"
    distance: int | None = None

    @property
    def name(self) -> str:
        return f"MinHash LSH {self.permutations}"

    @property
    def note(self) -> str:
        return (
            f"datasketch, {self.permutations} permutations, J = {self.threshold}, over the sets of "
            "character 5-grams of the same normalised text, so that the sketches are compared"
        )

    @property
    def size(self) -> int:
        return int(self._minhash().hashvalues.nbytes)

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

    def compare(self, sketches: Sequence[Any]) -> Comparison:
        from datasketch import MinHashLSH as Index

        index = Index(threshold=self.threshold, num_perm=self.permutations)
        pairs = []
        for number, minhash in enumerate(sketches):
            if minhash is not None:
                pairs += [(other, number) for other in index.query(minhash)]
                index.insert(number, minhash)
        return FoundPairs(pairs, len(sketches))

    def _minhash(self) -> Any:
        from datasketch import MinHash

        return MinHash(num_perm=self.permutations)


RIVALS: tuple[Rival, ...] = (PypiSimhash(), MinHashLSH(128), MinHashLSH(256))


def is_installed(rival: Rival) -> bool:
    """Return whether the rival's package is there."""
    try:
        version(rival.package)
    except PackageNotFoundError:
        return False
    return True
