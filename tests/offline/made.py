"""Fingerprints of pages that nobody wrote: copies, copies of copies, and floods of one bucket."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from random import Random

from scrapy_simhash.core.analysis import PageAnalysis, text_body
from scrapy_simhash.core.verdict import Verdict, spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index import open_index
from scrapy_simhash.keys import Scope
from scrapy_simhash.offline.saved_pages import Analysed, SavedPage, decide
from tests.pages import DEFAULT, analysed, article, html

FLOODED = 3  # the number of a block
# Pages among which one is chosen to be copied.
_RECENT = 20_000


def made_prints(
    count: int,
    seed: int = 0,
    recipe: Recipe = DEFAULT,
    *,
    flood: float = 0.1,
    one_text: float = 0.03,
) -> Iterator[Analysed]:
    """Yield pages: a third are copies; some share one bucket, and some have one text."""
    random = Random(seed)
    bodies = (html(article(n), title=f"Page {n}").decode() for n in range(40))
    facts = [analysed(body, recipe).facts for body in bodies]
    size, blocks = 4 * recipe.blocks.count, recipe.blocks.count
    pages: list[tuple[int, bytes, bytes]] = []
    one = random.getrandbits(recipe.bits), random.randbytes(size)
    for number in range(count):
        kind = random.random()
        if kind < one_text:  # another page with the same text
            value, values, about = *one, random.choice(facts)
        elif kind < 0.4 and pages:
            value, values, about = pages[-random.randrange(1, 1 + min(len(pages), _RECENT))]
            if random.random() < 0.2:
                about = random.choice(facts)
        else:
            value, values = random.getrandbits(recipe.bits), random.randbytes(size)
            about = random.choice(facts)
        if kind < 0.4:
            for _ in range(random.choice((0, 3, 20, 45, 65))):
                value ^= 1 << random.randrange(recipe.bits)
            for _ in range(random.randrange(blocks)):
                at = 4 * random.randrange(blocks)
                values = values[:at] + random.randbytes(4) + values[at + 4 :]
        if random.random() < flood:
            at = 4 * FLOODED
            values = values[:at] + b"same" + values[at + 4 :]
        pages.append((value, values, about))
        if len(pages) > 2 * _RECENT:
            del pages[:_RECENT]
        url = f"http://{random.randrange(20)}.example/{number}"
        fingerprint = Fingerprint(value, recipe.bits, values)
        yield SavedPage(url, url, text_body(""), url), PageAnalysis(fingerprint, about)


def judged_in_turn(
    pages: Iterable[Analysed], scope: Scope = "global", *, at_once: int = 64
) -> Iterator[Verdict]:
    """Yield the verdict on each page, as ``dedupe`` gives it, which asks about 64 at a time."""
    rest = iter(pages)
    with closing(open_index("memory://", spec_of(DEFAULT))) as index:
        while some := [*islice(rest, at_once)]:
            for _, verdict, _ in decide(iter(some), index, scope):
                yield verdict
