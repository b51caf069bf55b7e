"""Fit the weights of the extractor's two looks, and print them.

    python -m benchmarks.fit          # all pages: the table in likelihood.py
    python -m benchmarks.fit --check  # words right on pages of hosts left out

Needs ../shared/data: ``types-html`` and ``articles-html``, and mirrors made of both. A
line is main text if six tenths of its letters stand in the text that people marked; it
weighs as many bytes as it has, against the bytes of its page's main text.
"""

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

import numpy as np

from benchmarks.documents import DATA, html_of, read_marked
from benchmarks.kinds import make_kinds
from benchmarks.templates import own_text, shingles
from scrapy_simhash.extraction import likelihood
from scrapy_simhash.extraction.likelihood import first_look, second_look
from scrapy_simhash.extraction.main_text import candidates
from scrapy_simhash.extraction.outline import Floats, Ints
from scrapy_simhash.extraction.page import Page, encoded
from scrapy_simhash.fingerprint.normalisation import normalise
from scrapy_simhash.keys import registered_domain
from scrapy_simhash.offline.saved_pages import SavedPage

#: The share of a mirror in the fit: there are as many as pages, and their text is one
#: of theirs.
SETS = {"types-html": 0.5, "articles-html": 0.3}
PARTS = 4
PENALTY = 3.0
MIN_SHARE = 0.6
MIN_BODY = 100
#: Lines beside the main text of a page count no more than so many times that text.
MOST_BESIDE = 2.0


TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
# A page of which less is taken is lost.
LOST = 0.3


class Likeness(NamedTuple):
    """How much of a text is main text, and how much of the main text is there."""

    f1: float
    recall: float
    precision: float


def likeness(text: str, body: str) -> Likeness:
    words, marked = Counter(TOKEN.findall(text)), Counter(TOKEN.findall(body))
    shared = (words & marked).total()
    recall, precision = shared / max(1, marked.total()), shared / max(1, words.total())
    return Likeness(
        2 * shared / max(1, words.total() + marked.total()), recall, precision
    )


@dataclass
class Example:
    """A page of the fit: its features, and for each line whether it is main text and its weight."""

    name: str
    body: str
    parts: set[int]
    share: float
    texts: list[str]
    page: Page
    numbers: Ints
    first: Floats
    right: Floats
    weights: Floats


def example(
    name: str, document: SavedPage, hosts: Sequence[str], share: float, body: str
) -> Example | None:
    page = Page(encoded(html_of(document)))
    numbers = candidates(page)
    if not len(numbers):
        return None
    texts = [page.texts[line] for line in numbers]
    letters, wanted = normalise(body), shingles(body)
    right = np.array(
        [_share(normalise(text), letters, wanted) >= MIN_SHARE for text in texts]
    )
    weights = np.minimum(page.sizes[numbers], likelihood.LONGEST_LINE) + 4
    of_body = weights[right].sum()
    if of_body < MIN_BODY:
        return None
    weights = weights / of_body
    weights[~right] *= min(1, MOST_BESIDE / max(weights[~right].sum(), 1e-9))
    look = first_look(page, numbers)
    parts = {crc32(host.encode()[::-1]) % PARTS for host in hosts}
    return Example(
        name,
        body,
        parts,
        share,
        texts,
        page,
        numbers,
        look,
        right * 1.0,
        share * weights,
    )


def _share(line: str, letters: str, wanted: set[str]) -> float:
    own = {line[at : at + 8] for at in range(len(line) - 7)}
    return len(own & wanted) / len(own) if len(line) >= 12 else float(line in letters)


def examples() -> Iterator[Example]:
    """Yield the pages of the sets, and their mirrors, that have main text among their lines."""
    for name, share in SETS.items():
        originals = [page for page in read_marked(name).documents if own_text(page)]
        made = make_kinds(originals, kinds=["mirror"], name=name)
        by_name = {page.name: page for page in made.documents}
        found = [
            example(
                name,
                page,
                [_host(by_name.get(page.name, page))],
                1,
                own_text(page) or "",
            )
            for page in originals
        ]
        found += [
            example(
                name,
                page,
                [_host(by_name[of]), _host(page)],
                share,
                own_text(page) or "",
            )
            for page in made.documents
            if (of := page.name.removesuffix("#mirror")) != page.name
        ]
        yield from filter(None, found)


def _host(document: SavedPage) -> str:
    host = urlsplit(document.url or "").hostname or document.name
    return registered_domain(host)


def fitted(
    looks: Sequence[Floats], examples: Sequence[Example]
) -> tuple[float, Floats]:
    """Return bias and weights of a logistic regression, by Newton's method."""
    values = np.concatenate(looks, axis=1)
    right = np.concatenate([one.right for one in examples])
    weights = np.concatenate([one.weights for one in examples])
    middle, spread = values.mean(axis=1), values.std(axis=1) + 1e-6
    scaled = np.vstack(
        [np.ones(values.shape[1]), (values - middle[:, None]) / spread[:, None]]
    )
    penalty = np.full(len(scaled), 2 * PENALTY)
    penalty[0] = 0
    found = np.zeros(len(scaled))
    for _ in range(12):
        likely = 1 / (1 + np.exp(-(found @ scaled)))
        slope = scaled @ (weights * (likely - right)) + penalty * found
        bend = (scaled * (weights * likely * (1 - likely))) @ scaled.T + np.diag(
            penalty + 1e-9
        )
        found -= np.linalg.solve(bend, slope)
    own = found[1:] / spread
    return float(found[0] - own @ middle), own


@dataclass
class Model:
    first: tuple[float, Floats]
    second: tuple[float, Floats]

    def odds(self, one: Example) -> Floats:
        bias, weights = self.first
        look = second_look(one.page, one.numbers, weights @ one.first + bias)
        return self.second[1] @ look + self.second[0]


def model(found: Sequence[Example]) -> Model:
    first = fitted([one.first for one in found], found)
    looks = [
        second_look(one.page, one.numbers, first[1] @ one.first + first[0])
        for one in found
    ]
    return Model(first, fitted(looks, found))


def check(found: Sequence[Example]) -> None:
    """Print how right the text is on pages of hosts that the fit has not seen."""
    likenesses: dict[str, list[Likeness]] = {}
    for part in range(PARTS):
        left = model([one for one in found if part not in one.parts])
        for one in found:
            if part in one.parts and one.share == 1:
                taken = left.odds(one) >= 0
                text = "\n".join(compress(one.texts, taken))
                likenesses.setdefault(one.name, []).append(likeness(text, one.body))
    for name, all_of_it in likenesses.items():
        f1, recall, precision = map(statistics.mean, zip(*all_of_it, strict=True))
        lost = sum(one.recall < LOST for one in all_of_it)
        print(
            f"{name}: {len(all_of_it)} pages, F1 {f1:.3f}, recall {recall:.3f},"
            f" precision {precision:.3f}, {lost} with less than 30% of their main text"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="leave out hosts in turn")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"skipped: there is no {DATA}", file=sys.stderr)
        return 0
    found = list(examples())
    if options.check:
        check(found)
        return 0
    best = model(found)
    for name, (bias, weights) in (("first", best.first), ("second", best.second)):
        print(f"{name}: {bias:.3g} and", *(f"{weight:.3g}" for weight in weights))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
