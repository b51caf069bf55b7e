"""The size of an index of many pages, from measured bytes a page, and its false drops.

``python -m tests.benchmarks.sizing`` measures the bytes, with addresses of 60 characters;
``python tests/benchmarks/false_drops.py`` measures the rates.
"""

from __future__ import annotations

from scrapy_simhash.fingerprint.recipe import Recipe

ADDRESS = 60  # characters of a key
STORES = ("RAM, memory://", "RAM, sqlite://", "file, sqlite://", "Redis", "Redis, buckets=local")

# Bytes a page in each of the stores, by the bits of a fingerprint.
_BYTES = {
    64: (190, 90, 135, 125, 70),
    128: (470, 325, 230, 240, 160),
    256: (490, 330, 245, 280, 185),
}

# The probability that two unrelated pages of different sites are within the distance, by features,
# bits and distance.
_UNRELATED_MATCH = {
    ("words 2 sqrt", 64, 3): 9.4e-15,
    ("characters 5 binary", 64, 3): 3e-14,
    ("characters 5 binary", 64, 8): 2e-9,
    ("characters 5 binary", 128, 22): 2e-12,
    ("characters 5 binary", 256, 48): 7e-16,
    ("characters 5 binary", 256, 56): 4e-13,
}


def bytes_of(recipe: Recipe, pages: int) -> dict[str, int]:
    """Return the bytes that an index of so many pages takes in each of ``STORES``."""
    return {store: size * pages for store, size in zip(STORES, _BYTES[recipe.bits], strict=True)}


def false_drops(recipe: Recipe, pages: int) -> float | None:
    """Return the expected matches with unrelated pages of other sites, by distance alone.

    Each page meets those before it. The rule, which also compares headings, drops fewer of them.

    Returns:
        None where the rate of the recipe was not measured.
    """
    spec = recipe.spec
    features = f"{spec.kind} {spec.n} {spec.weights}"
    rate = _UNRELATED_MATCH.get((features, recipe.bits, recipe.distance))
    return None if rate is None else rate * pages * pages / 2
