"""Other packages that find near-duplicates, as their manuals have them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.simhash import Fingerprint

# MinHash makes an array of permutations x features: 4 MB of this many at 256.
_BATCH = 4096
# Returns whether a page, by its address and HTML, repeats an earlier one.
Filter = Callable[[str, str], bool]


def pypi_simhash(text: str) -> Any:
    """Return the Simhash of a text: 64 bits of the package's own features."""
    from simhash import Simhash

    try:
        return Simhash(text)
    except OverflowError:
        # With NumPy 2 it cannot multiply by a count above 255; with floats it can.
        letters = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
        grams = Counter(letters[i : i + 4] for i in range(max(1, len(letters) - 3)))
        return Simhash({gram: float(count) for gram, count in grams.items()})


@dataclass(frozen=True, slots=True)
class PypiSimhash:
    """The package simhash with its defaults."""

    def sketch(self, text: str) -> Fingerprint:
        return Fingerprint(pypi_simhash(text).value, 64)


@dataclass(frozen=True, slots=True)
class MinHashLSH:
    """The MinHash LSH of datasketch: what its index returns, unchecked.

    Its sets are the character 5-grams of the normalised text.
    """

    permutations: int
    threshold: float = 0.8

    def sketch(self, text: str) -> Any:
        from datasketch import MinHash

        normal = normalise(text)
        if not normal:
            return None
        grams = list({normal[i : i + 5] for i in range(max(1, len(normal) - 4))})
        minhash = MinHash(num_perm=self.permutations)
        for start in range(0, len(grams), _BATCH):
            batch = grams[start : start + _BATCH]
            minhash.update_batch(
                [gram.encode("utf-8", "surrogatepass") for gram in batch]
            )
        return minhash

    def index(self) -> Any:
        from datasketch import MinHashLSH as Index

        return Index(threshold=self.threshold, num_perm=self.permutations)

    def pairs(self, sketches: Sequence[Any]) -> list[tuple[int, int]]:
        """Return the pairs that the index finds among the sketches; None where there is no text."""
        index = self.index()
        pairs = set()
        for number, minhash in enumerate(sketches):
            if minhash is not None:
                pairs |= {(other, number) for other in index.query(minhash)}
                index.insert(number, minhash)
        return sorted(pairs)


def by_simhash() -> Filter:
    """Return a filter by the package simhash: 64 bits, k = 3, its own index."""
    from simhash import SimhashIndex

    index = SimhashIndex([], k=3)
    return _by_text(pypi_simhash, index.get_near_dups, index.add)


def by_minhash() -> Filter:
    """Return a filter by datasketch: 128 permutations, LSH from 0.8 on."""
    minhash = MinHashLSH(128)
    index = minhash.index()
    return _by_text(minhash.sketch, index.query, index.insert)


def _by_text(
    sketch: Callable[[str], Any], query: Callable[[Any], Any], add: Any
) -> Filter:
    """Return a filter that asks an index for a sketch of the text of trafilatura."""

    def repeats(url: str, html: str) -> bool:
        import trafilatura

        text = trafilatura.extract(html)
        if not text:
            return False
        made = sketch(text)
        if query(made):
            return True
        add(url, made)
        return False

    return repeats
