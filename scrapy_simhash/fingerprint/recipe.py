"""A recipe: every choice between a page and its fingerprint, under one name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b

from scrapy_simhash.extraction.marks import MARKS
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.hashing import check_hash, key_from_seed
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.fingerprint.simhash import BITS, Fingerprint, simhash, simhash_ngrams

# Versions of this package's own algorithms, as they stand in the identity. Raise one when the
# algorithm makes another fingerprint of the same page.
_VERSIONS = {
    **dict.fromkeys(("simhash", "karp-rabin"), 1),
    **dict.fromkeys(("characters", "words", "keywords", "pypi"), 1),
    "main": 1,
    "text": 1,
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a recipe makes of a text.

    Attributes:
        fingerprint: None where the text is too short to be compared by distance.
        length: the number of characters after normalisation.
    """

    fingerprint: Fingerprint | None
    length: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a page becomes a fingerprint, and how far apart two near-duplicates may be.

    Attributes:
        name: what people call it; not part of the identity.
        spec: the features and their weights.
        bits: the width of the fingerprint: 64, 128 or 256.
        distance: k, the largest number of bits in which two near-duplicates differ; from 0 to a
            quarter of the bits, beyond which unrelated pages meet.
        hash: the name of the feature hash.
        seed: a secret that changes every hash; None or empty: no seed.
        extractor: the name of the extractor of the main text.
        min_length: texts with fewer characters after normalisation have no fingerprint; at least 1.
        tell_apart: which of ``extraction.marks.MARKS`` must be the same in near-duplicates.
    """

    name: str
    spec: FeatureSpec
    bits: int
    distance: int
    hash: str = "xxh3"
    seed: str | bytes | None = field(default=None, repr=False)
    extractor: str = "main"
    min_length: int = 100
    tell_apart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.seed, str | bytes | None):
            raise ValueError("the seed must be a string or bytes")
        if self.bits not in BITS:
            raise ValueError(f"bits must be one of {BITS}, not {self.bits}")
        if not 0 <= self.distance <= self.bits // 4:
            raise ValueError(
                f"the distance must be between 0 and {self.bits // 4} for {self.bits} bits, "
                f"not {self.distance}"
            )
        if self.min_length < 1:
            raise ValueError(f"min_length must be at least 1, not {self.min_length}")
        if not self.extractor or not self.extractor.isprintable() or " " in self.extractor:
            raise ValueError(f"{self.extractor!r} is not the name of an extractor")
        for mark in self.tell_apart:
            if mark not in MARKS:
                raise ValueError(f"pages are told apart by {' or '.join(MARKS)}, not by {mark!r}")
        check_hash(self.hash, self.bits)

    @property
    def identity(self) -> str:
        """One line that names every choice that changes a fingerprint.

        Two recipes with the same identity give the same fingerprints. The seed stands in it as a
        keyed digest of 4 bytes, enough to tell two seeds apart.
        """
        seed = "none"
        if self.seed:
            seed = blake2b(b"identity", digest_size=4, key=key_from_seed(self.seed)).hexdigest()
        apart = f" apart={'+'.join(self.tell_apart)}" if self.tell_apart else ""
        return (
            f"{_versioned('simhash')} bits={self.bits} extractor={_versioned(self.extractor)} "
            f"features={_versioned(self.spec.kind)} n={self.spec.n} weights={self.spec.weights} "
            f"hash={_versioned(self.hash)} seed={seed}{apart}"
        )

    def features(self, text: str) -> dict[str, float]:
        """Return the weighted features of a text, to explain a fingerprint by."""
        return self.spec.of(text)

    def fingerprint(self, text: str) -> Fingerprint:
        """Return the fingerprint of a text of any length."""
        return self._fingerprint(text, normalise(text))

    def analyse(self, text: str) -> Analysis:
        """Return the fingerprint of a text, unless it is too short, and its length."""
        normal = normalise(text)
        if len(normal) < self.min_length:
            return Analysis(None, len(normal))
        return Analysis(self._fingerprint(text, normal), len(normal))

    def exact_fingerprint(self, text: str, *marks: str) -> Fingerprint:
        """Return a digest that only the same normalised text with the same marks has.

        It is far from every other digest and from every simhash.
        """
        return Fingerprint(self._digest("text", normalise(text), *marks), self.bits)

    def marked(self, fingerprint: Fingerprint, *marks: str) -> Fingerprint:
        """Return a fingerprint that is as far from others of the same marks as without them.

        From those of other marks it is as far as two random fingerprints are.
        """
        return replace(fingerprint, value=fingerprint.value ^ self._digest("marks", *marks))

    def _digest(self, *parts: str) -> int:
        key = key_from_seed(self.seed) if self.seed else b""
        digest = blake2b(digest_size=self.bits // 8, key=key)
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return int.from_bytes(digest.digest(), "big")

    def _fingerprint(self, text: str, normal: str) -> Fingerprint:
        if self.spec.kind == "characters" and self.hash == "karp-rabin":
            weighting = None if self.spec.weights == "binary" else self.spec.weigh
            return simhash_ngrams(normal, self.spec.n, weighting, self.bits, self.seed)
        return simhash(self.spec.of(text), self.bits, self.hash, self.seed)


def _versioned(algorithm: str) -> str:
    return f"{algorithm}/{_VERSIONS[algorithm]}" if algorithm in _VERSIONS else algorithm


_ALL = (
    # The best of the measured recipes at 32 bytes a page, and the one with the fewest false drops.
    Recipe("default", FeatureSpec("characters", 5), 256, 48, "karp-rabin"),
    # The same at 16 bytes a page: a little less recall, more false drops from 10M pages on.
    Recipe("compact", FeatureSpec("characters", 5), 128, 22, "karp-rabin"),
    # Manku, Jain and Das Sarma (WWW 2007): 64 bits, k = 3. Of the word features, shingles of two
    # have almost evenly filled buckets; single words drop unrelated pages of one vocabulary.
    Recipe("classic", FeatureSpec("words", 2, "sqrt"), 64, 3),
    # Simhash(text) of the package simhash, bit by bit.
    Recipe("pypi", FeatureSpec("pypi", 4, "frequency"), 64, 3, "md5"),
    Recipe("jieba-keywords", FeatureSpec("keywords", 20, "tfidf"), 64, 3),
    Recipe("fnv1", FeatureSpec("words", 1, "frequency"), 64, 3, "fnv1"),
)
RECIPES = {recipe.name: recipe for recipe in _ALL}


def named_recipe(
    name: str,
    *,
    bits: int | None = None,
    distance: int | None = None,
    seed: str | bytes | None = None,
    extractor: str | None = None,
    min_length: int | None = None,
    tell_apart: tuple[str, ...] | None = None,
) -> Recipe:
    """Return one of ``RECIPES``, with every value replaced that is given here.

    Raises:
        ValueError: there is no such recipe, or a value does not fit; one line says what does.
    """
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}; there are {', '.join(RECIPES)}")
    given = {
        "bits": bits,
        "distance": distance,
        "seed": seed,
        "extractor": extractor,
        "min_length": min_length,
        "tell_apart": tell_apart,
    }
    return replace(RECIPES[name], **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
