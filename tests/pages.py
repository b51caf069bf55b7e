"""Pages for tests: our own words, as many different ones as are asked for."""

import random
from collections.abc import Iterable
from functools import lru_cache

from scrapy_simhash.core.analysis import Body, PageAnalysis, analyse_body
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.keys import base_address
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page, Ruling

DEFAULT = named_recipe("default")
_STEMS = "bar cel dor fen gal hol jin kel lum mor nav ost pel qua rin sol tam ulv wex yor"
_ENDINGS = "a ent ick ow ing er ista um ed olin ara eth ops usk ant"
_WORDS = [stem + ending for stem in _STEMS.split() for ending in _ENDINGS.split()]


def article(seed: int, words: int = 220) -> str:
    """Return a text of sentences that is unlike that of any other seed."""
    chance = random.Random(seed)
    sentences, left = [], words
    while left > 0:
        length = min(left, chance.randint(7, 16))
        sentence = " ".join(chance.choices(_WORDS, k=length))
        sentences.append(sentence.capitalize() + ".")
        left -= length
    return " ".join(sentences)


def edited(text: str, seed: int, share: float = 0.02) -> str:
    """Return the text with a share of its words changed."""
    chance = random.Random(seed)
    words = text.split()
    for place in chance.sample(range(len(words)), max(1, int(len(words) * share))):
        words[place] = chance.choice(_WORDS)
    return " ".join(words)


def turned(text: str) -> str:
    """Return the text with its sentences in another order, except for the last one."""
    *sentences, last = text.split(". ")
    return ". ".join([*reversed(sentences), last])


def paragraphs(text: str) -> str:
    """Return paragraphs of four sentences of the text."""
    sentences = text.split(". ")
    return "".join(
        f"<p>{'. '.join(sentences[at : at + 4])}.</p>" for at in range(0, len(sentences), 4)
    )


def framed(
    body: str,
    title: str = "A page",
    *,
    links: Iterable[str] = (),
    head: str = "",
    top: str = "",
    foot: str = "All the rest of it",
) -> str:
    """Return a page of a site around what it says below its heading."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title>{head}</head><body>"
        f"<nav><ul>{anchors}</ul></nav>{top}<main><h1>{title}</h1>{body}</main>"
        f"<footer>{foot}</footer></body></html>"
    )


def html(text: str, *, title: str = "A page", links: tuple[str, ...] = (), top: str = "") -> bytes:
    """Return a page around a text, in UTF-8."""
    return framed(paragraphs(text), title, links=links, top=top).encode()


def analysed(page: str | Body, recipe: Recipe = DEFAULT) -> PageAnalysis:
    """Return the analysis of a body, or of the HTML of a page."""
    body = Body(page.encode("utf-8", "surrogatepass"), "utf-8") if isinstance(page, str) else page
    return _by_default(body) if recipe is DEFAULT else analyse_body(body, recipe)


@lru_cache(maxsize=99)
def _by_default(body: Body) -> PageAnalysis:
    """Most pages are compared with several others."""
    return analyse_body(body, DEFAULT)


def distance_of(one: str | Body, other: str | Body) -> int:
    """Return how many bits of their fingerprints two pages differ in."""
    values = [
        page.value for page in (analysed(one).fingerprint, analysed(other).fingerprint) if page
    ]
    return hamming_distance(*values)


def located(page: str, url: str) -> Body:
    """Return the body of a page at an address."""
    data = page.encode()
    return Body(data, "utf-8", url=base_address(url, data))


def judged(one: tuple[str, str | Body], other: tuple[str, str | Body]) -> Ruling:
    """Return the ruling on two pages by their keys, and their HTML or bodies."""
    distance = distance_of(one[1], other[1])
    if distance > DEFAULT.reach:
        return Ruling(False, "far")
    pages = (Page(key, analysed(html).facts) for key, html in (one, other))
    return Rule(DEFAULT.distance)(*pages, distance)
