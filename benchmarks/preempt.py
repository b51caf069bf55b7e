"""How much of a page another site must change, so that a copy crawled first hides it no longer.

    python -m benchmarks.preempt

A site that is crawled before another one shows the pages of that one under their titles
and ``h1``, in which it has replaced a share of the words by others. Prints how many of
the true pages are dropped, by distance alone and with the rule, and how far the two are
from each other."""

from random import Random

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.rule.facts import facts_of
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

PAGES = 100
WORDS = 480
SHARES = (0.02, 0.05, 0.08, 0.10, 0.12, 0.15, 0.20)


def html_of(title: str, words: list[str]) -> str:
    lines = (" ".join(words[start : start + 15]) for start in range(0, len(words), 15))
    body = "".join(f"<p>{line}.</p>" for line in lines)
    return f"<title>{title}</title><h1>{title}</h1>{body}"


def distances(share: float) -> list[tuple[int, bool]]:
    """Return how far each page is from one with that share of other words, and whether it hides."""
    recipe = named_recipe("default")
    rule = Rule(recipe.distance)
    random = Random(3)
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    known = [
        "".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(3000)
    ]
    found = []
    for number in range(PAGES):
        random = Random(number)
        name = random.choices(known, k=6)
        words = [*name, *random.choices(known, k=WORDS)]
        others = list(words)
        for place in random.sample(range(6, len(words)), int(share * len(words))):
            others[place] = random.choice(known)
        prints, pages = [], []
        for address, text in (
            ("http://first.test/1", others),
            ("http://true.test/a", words),
        ):
            extraction = extract(html_of(" ".join(name), text))
            prints.append(recipe.fingerprint(*extraction.to_fingerprint))
            pages.append(Page(address, facts_of(extraction, recipe)))
        distance = hamming_distance(*(each.value for each in prints))
        found.append((distance, rule(*pages, distance).is_copy))
    return found


def main() -> None:
    k = named_recipe("default").distance
    print("| words replaced | hidden, by distance | with the rule | median distance |")
    print("| --- | --- | --- | --- |")
    for share in SHARES:
        found = sorted(distances(share))
        near, hidden = (
            sum(distance <= k for distance, _ in found),
            sum(hides for _, hides in found),
        )
        median, _ = found[PAGES // 2]
        print(
            f"| {share:.0%} | {near} of {PAGES} | {hidden} of {PAGES} | {median} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
