"""How fast texts become fingerprints, beside PyPI simhash and datasketch MinHash in the same run.

    python benchmarks/fingerprint.py [--rounds 15]

Main texts of real pages (medians over a few pages of each set in ../shared/data), and generated
ones. Times are CPU time; everyone takes a turn in each round, and a figure is the median of the
rounds with the least and the greatest. A fingerprint has its block values with it: 14 bands.
PyPI simhash gets the default recipe's features, each once, and makes 64 bits of md5 of them; it
finds no near-duplicates by itself. MinHash gets the same and makes 128 permutations, which is its
address as well. datasketch and rjieba are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from simhash import Simhash

from benchmarks.documents import DATA, html_of
from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.features import ngrams
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import RECIPES, named_recipe
from scrapy_simhash.fingerprint.segmentation import jieba_tokenizer
from scrapy_simhash.offline.pages import read_pages

try:
    from datasketch import MinHash
except ImportError:
    MinHash = None
try:
    import rjieba
except ImportError:
    rjieba = None

SETS = ("docs-html", "articles-html", "blog-html", "shops-html")
PAGES = 8  # of each set, every so many pages
WIDTHS = {64: 3, 128: 22, 256: 48}  # bits -> distance
N = 5
SECONDS = 0.004  # that one turn takes at least

Call = Callable[[], object]


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


def real_texts(name: str) -> list[str]:
    """Return the main texts of a few pages of a set, in the order of the file."""
    pages = [page for page in islice(read_pages(DATA / name), 320) if not page.body.is_text][
        :: 320 // PAGES
    ]
    texts = [extract(html_of(page)).text for page in pages]
    return [text for text in texts if len(text) > 200]


def times(calls: Sequence[Call], rounds: int) -> list[list[float]]:
    """Return the CPU milliseconds of each call in every round, its turns mixed with the others'."""
    turns = []
    for call in calls:
        call()
        start = time.process_time()
        call()
        call()
        turns.append(1 + int(SECONDS / max((time.process_time() - start) / 2, 1e-6)))
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.process_time()
            for _ in range(turns[number]):
                call()
            found[number].append(1000 * (time.process_time() - start) / turns[number])
    return found


def pypi_simhash(text: str) -> Simhash:
    """The same features as the default recipe, hashed and added by the package simhash."""
    return Simhash(list(dict.fromkeys(ngrams(normalise(text), N))))


def minhash(text: str) -> object:
    """The same features again in 128 permutations."""
    sketch = MinHash(num_perm=128)
    sketch.update_batch({gram.encode() for gram in ngrams(normalise(text), N)})
    return sketch


def fingerprints(rounds: int) -> None:
    """Time the default features at every width."""
    print(f"character {N}-grams: ms, and how many times faster than the others (median, least")
    print("and greatest of the rounds)\n")
    print(f"{'text':16}{'KB':>6}{'bits':>5}{'ms':>8}{'simhash':>20}{'MinHash':>20}")
    kinds = {
        f"{name} {size} KB": [make(1000 * size)]
        for name, make in (("English", english), ("Chinese", chinese))
        for size in (2, 10, 50)
    }
    kinds |= {name: real_texts(name) for name in SETS if (DATA / name).is_dir()}
    if len(kinds) < 6 + len(SETS):
        print(f"real pages are skipped: {DATA} is missing")
    default = named_recipe("default")
    recipes = [replace(default, bits=bits, distance=k) for bits, k in WIDTHS.items()]
    # A worker process has met larger pages before, and the system's allocator keeps what they took.
    recipes[-1].fingerprint(english(500_000))
    for name, texts in kinds.items():
        ratios: dict[tuple[int, int], list[float]] = {}
        own: dict[int, list[float]] = {}
        for text in texts:
            calls: list[Call] = [lambda r=recipe, t=text: r.fingerprint(t) for recipe in recipes]
            calls.append(lambda t=text: pypi_simhash(t))
            if MinHash:
                calls.append(lambda t=text: minhash(t))
            found = times(calls, rounds if len(texts) == 1 else max(rounds // 3, 3))
            for number in range(len(recipes)):
                own.setdefault(number, []).extend(found[number])
                for rival in range(len(recipes), len(calls)):
                    ratios.setdefault((number, rival), []).extend(
                        theirs / ours
                        for ours, theirs in zip(found[number], found[rival], strict=True)
                    )
        size = statistics.median(len(text.encode()) for text in texts) / 1000
        for number, bits in enumerate(WIDTHS):
            cells = [
                f"{statistics.median(r):6.1f}x ({min(r):4.1f}-{max(r):5.1f})"
                for (ours, _), r in ratios.items()
                if ours == number
            ]
            ms = statistics.median(own[number])
            print(f"{name:16}{size:6.1f}{bits:5}{ms:8.3f}" + "".join(f"{c:>20}" for c in cells))


def named_recipes(rounds: int) -> None:
    """Time every recipe as it is."""
    print(f"\n{'10 KB, ms':16}{'English':>9}{'Chinese':>9}")
    texts = [english(10_000), chinese(10_000)]
    for name, recipe in RECIPES.items():
        found = times([lambda r=recipe, t=t: r.fingerprint(t) for t in texts], max(rounds // 3, 3))
        print(f"{name:16}" + "".join(f"{statistics.median(ms):9.2f}" for ms in found))


def segmentation(rounds: int) -> None:
    """Time the two engines on the same Han text."""
    text = chinese(10_000)
    calls: list[Call] = [lambda: jieba_tokenizer().lcut(text)]
    if rjieba:
        calls.append(lambda: rjieba.cut(text))
    jieba, *other = (statistics.median(ms) for ms in times(calls, max(rounds // 3, 3)))
    print(f"\nsegmentation, 10 KB of Chinese: jieba {jieba:.2f} ms", end="")
    if other:
        print(f", rjieba {other[0]:.2f} ms ({jieba / other[0]:.0f} times faster)")
    else:
        print(" (rjieba is not installed)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="turns that everyone takes")
    rounds = parser.parse_args().rounds
    fingerprints(rounds)
    named_recipes(rounds)
    segmentation(rounds)


if __name__ == "__main__":
    main()
