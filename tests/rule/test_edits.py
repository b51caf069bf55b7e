"""Edited texts under one title, and texts with other sentences among those that both have."""

from __future__ import annotations

import random

import pytest

from tests.pages import article, judged

TEXT = article(1, 700).split(". ")
OTHERS = article(2, 700).split(". ")
ONE, OTHER = "http://a.test/news/4711", "http://a.test/archive/mill"


def page(sentences: list[str]) -> str:
    lines = "".join(f"<p>{sentence}.</p>" for sentence in sentences)
    return f"<title>The mill</title><nav>Home</nav><h1>The mill</h1>{lines}"


def changed(number: int, *, foreign: bool) -> str:
    """Return the text with so many of its sentences changed: others, or with a word less."""
    sentences = list(TEXT)
    for at in random.Random(number).sample(range(1, len(TEXT)), number):
        sentences[at] = OTHERS[at] if foreign else sentences[at].replace(" ", " so ", 1)
    return page(sentences)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 12])
def test_edited_sentences_are_a_copy_and_foreign_ones_are_none(number: int) -> None:
    original = ONE, page(TEXT)
    assert judged(original, (OTHER, changed(number, foreign=False))).is_copy
    assert not judged(original, (OTHER, changed(number, foreign=True))).is_copy
