"""How short a text may be to be compared by distance.

Run as ``python benchmarks/min_length.py``. Excerpts of real texts (../shared/data beside the
checkout: news-en, and the Chinese bodies of articles-html) of 10 to 400 letters are compared with
themselves after one number or one word has changed, and all with all others. Prints, for each
length, which share of the changed ones is found and how many of the unrelated pairs match.
"""

from __future__ import annotations

import random
import re
import sys
from itertools import pairwise

import numpy as np

from benchmarks.documents import DATA, lines_of
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint, hamming_distance

LENGTHS = (10, 15, 20, 30, 40, 60, 80, 100, 200, 400)


def texts(language: str) -> list[str]:
    name = "news-en" if language == "en" else "articles-html"
    lines = [line for line in lines_of(name) if line.get("lang") == language]
    found = [line.get("text") or line.get("body") or "" for line in lines]
    return [text for text in found if len(normalise(text)) >= 2 * LENGTHS[-1]]


def excerpts(text: str, length: int) -> list[str]:
    """Cut a text into pieces of so many letters, at most four."""
    ends = [0]
    letters = 0
    for place, char in enumerate(text):
        letters += bool(normalise(char))
        if letters == length:
            ends.append(place + 1)
            letters = 0
    return [text[start:end] for start, end in pairwise(ends[:5])]


def one_changed(text: str, chance: random.Random, pattern: str, instead: str) -> str:
    """Replace one match of a pattern by as long a piece of something else."""
    places = [match.span() for match in re.finditer(pattern, text)]
    if not places:
        return text + " " + instead
    start, end = chance.choice(places)
    return text[:start] + (instead * 10)[: end - start] + text[end:]


def values_of(prints: list[Fingerprint]) -> np.ndarray:
    packed = b"".join(print_.to_bytes() for print_ in prints)
    return np.frombuffer(packed, np.uint8).reshape(len(prints), -1)


def main() -> int:
    if not DATA.is_dir():
        print(f"needs {DATA}", file=sys.stderr)
        return 1
    chance = random.Random(0)
    for name in ("default", "compact"):
        recipe = named_recipe(name)
        print(f"\n{name}: {recipe.bits} bits, k = {recipe.distance}")
        print("language  letters  number changed  word changed  unrelated pairs that match")
        for language, word in (("en", r"\b[a-z]{5,8}\b"), ("zh", "[\u4e00-\u9fff]{2}")):
            whole = texts(language)
            for length in LENGTHS:
                pieces, owners = [], []
                for owner, text in enumerate(whole[:400]):
                    for piece in excerpts(text, length):
                        pieces.append(piece)
                        owners.append(owner)
                prints = [recipe.fingerprint(piece) for piece in pieces]
                shares = []
                for pattern, instead in ((r"\d+", "7391"), (word, "豫qwx"[language == "en" :])):
                    changed = [one_changed(piece, chance, pattern, instead) for piece in pieces]
                    near = [
                        hamming_distance(one.value, recipe.fingerprint(other).value)
                        <= recipe.distance
                        for one, other in zip(prints, changed, strict=True)
                    ]
                    shares.append(sum(near) / len(near))
                values, owned = values_of(prints), np.array(owners)
                matches = compared = 0
                for row in range(len(values)):
                    distances = np.unpackbits(values[row + 1 :] ^ values[row], axis=1).sum(axis=1)
                    others = owned[row + 1 :] != owned[row]
                    matches += int((distances[others] <= recipe.distance).sum())
                    compared += int(others.sum())
                print(
                    f"{language:8}  {length:7}  {shares[0]:14.3f}  {shares[1]:12.3f}"
                    f"  {matches} of {compared:,}"
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
