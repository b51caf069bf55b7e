"""A recipe: every choice between a page and its fingerprint, under one name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from scrapy_simhash.fingerprint.blocks import Bands, Slices
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.hashing import key_from_seed
from scrapy_simhash.fingerprint.normalisation import heavier, normalise
from scrapy_simhash.fingerprint.simhash import (
    Fingerprint,
    Sums,
    feature_sums,
    fingerprint_from_sums,
    ngram_sums,
)
from scrapy_simhash.loading import load

# The identity names the version of each algorithm of this package. Raise one when the
# algorithm makes another fingerprint, or other block values, of the same page.
_VERSIONS = {
    "simhash": 1,
    "karp-rabin": 1,
    "fnv1": 2,
    "tokens": 1,
    "keywords": 1,
    "pypi": 1,
    "characters": 2,
    "words": 2,
    "slices": 2,
    "bands": 2,
    "main": 27,
    "text": 13,
    "facts": 43,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The way from a page to its fingerprint, and the distance up to which two pages are near.

    Attributes:
        name: its name for people, which is not part of the identity.
        spec: the features and their weights.
        bits: the width of the fingerprint: 64, 128 or 256; 32 for worked examples.
        distance: k, the largest number of bits in which two near-duplicates differ;
            from 0 to a quarter of the bits, beyond which unrelated pages meet.
        hash: the name of the feature hash, or its import path; see
            :func:`.hash_features`.
        seed: a secret that changes every hash; None or empty: no seed.
        extractor: the name of the extractor of the main text.
        min_length: texts with fewer characters after normalisation have no fingerprint;
            at least 1.
        sign: ``>`` or ``>=``: how the sum of its weights compares to 0 where a bit is
            1.
        readers: the reader of each content type in lower case, by name or import path,
            added to the readers of :mod:`scrapy_simhash.readers`; a type with None is
            let through.
        content: CSS selectors of the content of pages, by host; see :mod:`.selectors`.
        ignore: CSS selectors of elements that do not count, by host.
    """

    name: str
    spec: FeatureSpec
    bits: int
    distance: int
    hash: str = "xxh3"
    seed: str | None = field(default=None, repr=False)
    extractor: str = "main"
    min_length: int = 10
    sign: str = ">"
    readers: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    content: Mapping[str, str] = field(default_factory=dict, hash=False)
    ignore: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not 0 <= self.distance <= self.bits // 4:
            raise ValueError(
                f"the distance must be between 0 and {self.bits // 4} for {self.bits} bits, "
                f"not {self.distance}"
            )
        if self.sign not in (">", ">="):
            raise ValueError(f"the sign must be > or >=, not {self.sign!r:.20}")

    @property
    def blocks(self) -> Slices | Bands:
        """Four slices where they find every pair within the distance, bands elsewhere."""
        return Slices() if _is_narrow(self.bits, self.distance) else Bands()

    @property
    def nothing(self) -> int:
        """The fingerprint of a text without any weight; no page is known by it."""
        return (1 << self.bits) - 1 if self.sign == ">=" else 0

    @property
    def reach(self) -> int:
        """The distance up to which the rule judges two pages, in bits."""
        return reach_of(self.bits, self.distance)

    @property
    def identity(self) -> str:
        """One line that names every choice that changes a fingerprint, its blocks or the facts.

        Two recipes with the same identity give the same fingerprints. A keyed digest of
        4 bytes tells two seeds apart. A project's own reader is named if it has a
        version, so that a reader of another type can be added without one.
        """
        seed = "none"
        if self.seed:
            seed = blake2b(
                b"identity", digest_size=4, key=key_from_seed(self.seed)
            ).hexdigest()
        kind, _, numbers = str(self.blocks).partition(":")
        sign = "" if self.sign == ">" else self.sign
        names = {
            _versioned(name) for name in self.readers.values() if name and "." in name
        }
        readers = ",".join(sorted(name for name in names if "/" in name))
        return (
            f"{_versioned('simhash')}{sign} bits={self.bits} "
            f"extractor={_versioned(self.extractor)} "
            f"features={_versioned(self.spec.kind)} n={self.spec.n} weights={self.spec.weights} "
            f"hash={_versioned(self.hash)} seed={seed} blocks={_versioned(kind)}:{numbers} "
            f"{_versioned('facts')}{readers and ' readers='}{readers}"
            f"{_digested('content', self.content)}{_digested('ignore', self.ignore)}"
        )

    def features(self, text: str) -> dict[str, float]:
        """Return the weighted features of a text."""
        return self.spec.of(text)

    def fingerprint(
        self,
        text: str,
        weights: Sequence[int] = (),
        normal: str | None = None,
    ) -> Fingerprint:
        """Return the fingerprint of a text of any length.

        Args:
            text: not normalised.
            weights: of each of its lines, if they differ. Recipes without n-grams by
                ``karp-rabin`` take the lines with more than half of the greatest
                weight.
            normal: the text normalised, where it is known, with weights by line.
        """
        sums = self.sums(text, weights, normal)
        value = fingerprint_from_sums(sums.values, self.sign)
        return Fingerprint(value, self.bits, self.blocks.of(value, sums.hashes))

    def sums(
        self,
        text: str,
        weights: Sequence[int] = (),
        normal: str | None = None,
    ) -> Sums:
        """Return the sums and hashes for fingerprint and block values; see :meth:`fingerprint`."""
        how = self.spec.kind, self.spec.weights, self.hash
        if how != ("characters", "binary", "karp-rabin"):
            features = self.features(heavier(text, weights) if weights else text)
            return feature_sums(features, self.bits, self.hash, self.seed)
        normal = normalise(text, by_line=bool(weights)) if normal is None else normal
        return ngram_sums(normal, self.spec.n, self.bits, self.seed, weights)

    def restored(self, value: int) -> Fingerprint:
        """Return a fingerprint of which only the value is known, with its block values.

        Raises:
            ValueError: the value does not fit, or block values are made from the text.
        """
        bare = Fingerprint(value, self.bits)  # which refuses a value that does not fit
        return replace(bare, blocks=self.blocks.of(value))


def _digested(name: str, selectors: Mapping[str, str]) -> str:
    """Return selectors as a part of an identity, which they may be too long for."""
    written = repr(sorted(selectors.items())).encode()
    return f" {name}={blake2b(written, digest_size=4).hexdigest()}" if selectors else ""


def reach_of(bits: int, distance: int) -> int:
    """Return the reach, in bits, of a recipe with this width and distance.

    Beyond k the rule calls some pages of two sites copies, if their blocks find them.
    """
    return distance if _is_narrow(bits, distance) else distance * 4 // 3


def _is_narrow(bits: int, distance: int) -> bool:
    """Return whether four slices find every pair within the distance."""
    return bits == 64 and distance <= 3


def _versioned(algorithm: str) -> str:
    """Return the name of an algorithm with its version, an attribute where it is a project's."""
    version = _VERSIONS.get(algorithm)
    if version is None and "." in algorithm:
        with suppress(ValueError):  # an identity can be told where the algorithm is not
            version = getattr(load(algorithm), "version", None)
    return algorithm if version is None else f"{algorithm}/{version}"


_ALL = (
    # The best of the measured recipes at 32 bytes a page, and the one with the fewest
    # false drops.
    Recipe("default", FeatureSpec("characters", 5), 256, 48, "karp-rabin"),
    # The same at 16 bytes a page: a little less recall, more false drops from 10M pages
    # on.
    Recipe("compact", FeatureSpec("characters", 5), 128, 22, "karp-rabin"),
    # Manku, Jain and Das Sarma (WWW 2007): 64 bits, k = 3. Among word features,
    # shingles of two have almost evenly filled buckets; single words drop unrelated
    # pages of one vocabulary.
    Recipe("classic", FeatureSpec("words", 2, "sqrt"), 64, 3),
    # Simhash(text) of the package simhash, bit by bit.
    Recipe("pypi", FeatureSpec("pypi", 4, "frequency"), 64, 3, "md5"),
    # The program for Chinese: ten keywords of the tokens, and the low 64 bits of the
    # string hash.
    Recipe(
        "jieba-keywords", FeatureSpec("keywords", 10, "whole"), 64, 3, "multiply-xor"
    ),
    # Weights are not cut, because in long texts all are below 1.
    Recipe("jieba-keywords-20", FeatureSpec("keywords", 20, "tfidf"), 64, 3),
    # The program in Java, which had its words from IK Analyzer.
    Recipe("fnv1", FeatureSpec("words", 1, "frequency"), 64, 3, "fnv1", sign=">="),
    # 128 bits of Python 2's string hash, as the first simhashes in Python had them; k
    # is the same share of the bits as three of 64. The hash of a short word leaves its
    # high bits empty, so slices would be the same on every page: it has bands.
    Recipe(
        "string-hash",
        FeatureSpec("tokens", 1, "frequency"),
        128,
        6,
        "multiply-xor",
        sign=">=",
    ),
)
RECIPES = {recipe.name: recipe for recipe in _ALL}


def named_recipe(name: str) -> Recipe:
    """Return one of ``RECIPES``, or a project's own recipe by its import path.

    Raises:
        ValueError: there is no such recipe; one line says which there are.
    """
    if name in RECIPES:
        return RECIPES[name]
    if "." not in name:
        raise ValueError(f"unknown recipe {name!r}; there are {', '.join(RECIPES)}")
    recipe = load(name)
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{name!r:.200} is no scrapy_simhash.Recipe")
    for path in (recipe.spec.kind, recipe.hash):
        if "." in path:
            load(path)
    return recipe
