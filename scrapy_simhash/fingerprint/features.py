"""Text to weighted features, most of which near-duplicates share."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_simhash.fingerprint.normalisation import LONGEST, fold, normalise
from scrapy_simhash.fingerprint.segmentation import keywords, ngrams, segment
from scrapy_simhash.loading import load


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """The kind of features of a text, and their weights.

    Attributes:
        kind: ``characters``: n-grams of the normalised text. ``words``: n-grams of its
            words (shingles), joined by a space. ``tokens``: the text split at white
            space. ``keywords``: the n words of the highest TF-IDF, as
            ``jieba.analyse.extract_tags`` gives them. ``pypi``: the character n-grams
            of the package ``simhash``, which normalises in its own way.
            ``package.module.function``: the strings that this function returns for the
            text.
        n: the length of an n-gram, or the number of keywords; at least 1. A text
            shorter than one n-gram is a single feature.
        weights: ``binary``: 1. ``sqrt`` and ``frequency``: by how often the feature
            occurs. ``tfidf``: the weights of keywords. ``whole``: the weights of
            keywords among the text's tokens, cut to whole numbers; a keyword whose
            weight becomes 0 does not count.
    """

    kind: str
    n: int
    weights: str = "binary"

    def of(self, text: str) -> dict[str, float]:
        """Return the features of a text and their weights; an empty text gives an empty dict.

        With ``pypi`` an empty text has the empty string as its one feature, as in that
        package.
        """
        if self.kind == "keywords":
            # Bounded as in normalise(), because jieba takes seconds for a million
            # characters.
            return keywords(text[:LONGEST], self.n, is_whole=self.weights == "whole")
        counts = Counter(self._occurrences(text))
        if self.weights == "binary":
            return dict.fromkeys(counts, 1.0)
        weigh = math.sqrt if self.weights == "sqrt" else float
        return {feature: weigh(count) for feature, count in counts.items()}

    def _occurrences(self, text: str) -> Iterable[str]:
        """Return the features of a text, each as often as it occurs."""
        if self.kind == "characters":
            return ngrams(normalise(text), self.n)
        if self.kind == "tokens":
            return text[:LONGEST].split()
        if self.kind == "pypi":
            words = re.findall(r"\w+", text.lower())
            return ngrams("".join(words), self.n) or [""]
        if self.kind == "words":
            shingles = ngrams(segment(fold(text)), self.n)
            return [" ".join(words) for words in shingles]
        features: Iterable[str] = load(self.kind)(text[:LONGEST])
        return features
