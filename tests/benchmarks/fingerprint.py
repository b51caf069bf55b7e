"""How fast texts become fingerprints, beside PyPI simhash and datasketch MinHash in the same run.

    python tests/benchmarks/fingerprint.py

Texts are generated; every figure is the median of the repeats that fit into a fifth of a second.
datasketch and rjieba are left out, with a note, where they are not installed.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

from simhash import Simhash

from scrapy_simhash.fingerprint.features import ngrams
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import RECIPES, named_recipe
from scrapy_simhash.fingerprint.segmentation import jieba_tokenizer

try:
    from datasketch import MinHash
except ImportError:
    MinHash = None
try:
    import rjieba
except ImportError:
    rjieba = None

WIDTHS = {64: 3, 128: 22, 256: 48}  # bits -> distance
N = 5


def english(size: int) -> str:
    """Return text of so many bytes: a vocabulary of pronounceable words, few of them frequent."""
    rng = random.Random(1)
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(5000)]
    ranks = [1 / (rank + 3) for rank in range(len(words))]
    sentences = [" ".join(rng.choices(words, ranks, k=15)).capitalize() for _ in range(size // 60)]
    return (". ".join(sentences) + ".")[:size]


def chinese(size: int) -> str:
    """Return text of so many UTF-8 bytes: words of jieba's own dictionary, by frequency."""
    rng = random.Random(1)
    entries = [(w, n) for w, n in jieba_tokenizer().FREQ.items() if n > 50 and len(w) < 5]
    words, frequencies = zip(*entries, strict=True)
    clauses = ["".join(rng.choices(words, frequencies, k=7)) for _ in range(size // 20)]
    return "，".join(clauses).encode()[:size].decode("utf-8", "ignore")


def median(call: Callable[[], object]) -> float:
    """Return the median time of a call in milliseconds."""
    call()
    times: list[float] = []
    while sum(times) < 0.2 or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def pypi_simhash(text: str) -> Simhash:
    """The same features as the default recipe, hashed and added by the package simhash."""
    return Simhash(list(dict.fromkeys(ngrams(normalise(text), N))))


def minhash(text: str) -> object:
    """The same features again in 128 permutations."""
    sketch = MinHash(num_perm=128)
    sketch.update_batch({gram.encode() for gram in ngrams(normalise(text), N)})
    return sketch


def fingerprints() -> None:
    """Time the default features at every width."""
    print(f"character {N}-grams: ms (MB/s), and how many times faster than the others\n")
    print(f"{'text':14}{'bits':>5}{'ms':>8}{'MB/s':>7}{'simhash':>10}{'MinHash':>10}")
    for name, make in (("English", english), ("Chinese", chinese)):
        for size in (2, 10, 50):
            text = make(1000 * size)
            simhash = median(lambda: pypi_simhash(text))  # noqa: B023 - called at once
            sketch = median(lambda: minhash(text)) if MinHash else float("nan")  # noqa: B023
            for bits, distance in WIDTHS.items():
                recipe = named_recipe("default", bits=bits, distance=distance)
                ms = median(lambda: recipe.analyse(text))  # noqa: B023
                label = f"{name} {size} KB"
                print(
                    f"{label:14}{bits:5}{ms:8.3f}{size / ms:7.1f}"
                    f"{simhash / ms:9.0f}x{sketch / ms:9.0f}x"
                )
            print(f"{'':14}{'':5}{'':8}{'':7}{simhash:7.2f} ms{sketch:7.2f} ms")


def recipes() -> None:
    """Time every recipe as it is."""
    print(f"\n{'10 KB, ms':16}{'English':>9}{'Chinese':>9}")
    texts = [english(10_000), chinese(10_000)]
    for name, recipe in RECIPES.items():
        times = [median(lambda: recipe.fingerprint(text)) for text in texts]  # noqa: B023
        print(f"{name:16}{times[0]:9.2f}{times[1]:9.2f}")


def segmentation() -> None:
    """Time the two engines on the same Han text."""
    text = chinese(10_000)
    jieba = median(lambda: jieba_tokenizer().lcut(text))
    print(f"\nsegmentation, 10 KB of Chinese: jieba {jieba:.2f} ms", end="")
    if rjieba:
        other = median(lambda: rjieba.cut(text))
        print(f", rjieba {other:.2f} ms ({jieba / other:.0f} times faster)")
    else:
        print(" (rjieba is not installed)")


if __name__ == "__main__":
    fingerprints()
    recipes()
    segmentation()
