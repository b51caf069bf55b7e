"""Text from sentence grammars: rules whose alternatives name further rules in braces."""

from __future__ import annotations

import re
from random import Random

Rules = dict[str, list[str]]

_SLOT = re.compile(r"\{(\w+)\}")


def words(text: str) -> list[str]:
    """Return the alternatives of a rule, parted by ``|`` or, with none, by spaces."""
    if "|" not in text:
        return text.split()
    return [" ".join(phrase.split()) for phrase in text.split("|")]


def expand(template: str, rules: Rules, rng: Random) -> str:
    """Return the template with every ``{rule}`` replaced by one of its alternatives."""
    return _SLOT.sub(
        lambda slot: expand(rng.choice(rules[slot[1]]), rules, rng), template
    )


def cast(rules: Rules, names: list[str], rng: Random) -> Rules:
    """Return the rules with the named ones fixed: who and what one text is about."""
    return rules | {name: [expand(f"{{{name}}}", rules, rng)] for name in names}


def sentence(template: str, rules: Rules, rng: Random) -> str:
    """Return the expanded template with the capital and the articles that English asks for."""
    text = expand(template, rules, rng)
    text = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)
    return text[0].upper() + text[1:]


def paragraphs(rules: Rules, rng: Random, count: int, joint: str) -> tuple[str, ...]:
    """Return ``count`` paragraphs of 2-4 sentences, no sentence pattern twice."""
    patterns = rng.sample(rules["sentence"], len(rules["sentence"]))
    return tuple(
        joint.join(
            sentence(patterns.pop(), rules, rng) for _ in range(rng.randint(2, 4))
        )
        for _ in range(count)
    )


def edit(text: str, terms: list[list[str]], rng: Random, count: int) -> str:
    """Return the text with ``count`` terms, each replaced by another one of its list."""
    alternatives = {term: listed for listed in terms for term in listed}
    longest_first = sorted(alternatives, key=len, reverse=True)
    pattern = "|".join(re.escape(term) for term in longest_first)
    found = list(re.finditer(rf"(?<![0-9A-Za-z])(?:{pattern})(?![0-9A-Za-z])", text))
    for place in sorted(rng.sample(found, count), key=re.Match.start, reverse=True):
        other = rng.choice(
            [term for term in alternatives[place[0]] if term != place[0]]
        )
        text = text[: place.start()] + other + text[place.end() :]
    return text
