"""Normalised text: what it keeps, and that it does not depend on the Python version."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint import normalisation
from scrapy_simhash.fingerprint.normalisation import fold, normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Hello, WORLD!\n Page_2 of 3", "helloworldpage_2of3"),
        ("“Déjà vu” — ÉTÉ", "déjàvuété"),
        ("ＡＢＣ１２３，ﬁn", "abc123fin"),
        ("你好，世界！2024年", "你好世界2024年"),
        ("日本語 ｶﾞ", "日本語ガ"),
        ("a\ud800b 😀", "ab"),
        ("ΟΔΟΣ, ΣΑΣ", "οδοςσας"),
        ("İstanbul", "istanbul"),
    ],
)
def test_characters_that_count(text: str, expected: str) -> None:
    """Lower case letters and digits in their compatibility form stay, in any script."""
    assert normalise(text) == expected


@given(st.text(st.characters(), max_size=40))
def test_normalise_is_its_definition(text: str) -> None:
    """The look-up keeps what the regular expression keeps, for any string."""
    known = re.sub(f"[{normalisation._LATER}]", " ", text)
    kept = "".join(re.findall(r"\w", known.lower()))
    assert normalise(text) == unicodedata.normalize("NFKC", kept)


def test_word_characters_are_those_of_unicode_13() -> None:
    """Every Python version has the same table.

    When this fails under a newer Python, its Unicode has letters that ``_LATER`` must name.
    """
    digest = hashlib.sha256(
        np.packbits(normalisation._lower_case() > ord("\n")).tobytes()
    ).hexdigest()
    assert digest == "df6f39cde325adfd1b0633667ef28f5fc100174577b91dfe1ffd5b9d1c6fee23"


def test_letters_newer_than_python_3_10_are_separators() -> None:
    """A letter of Unicode 14 plays no part, in n-grams or in words."""
    assert normalise("ab\u0870\u9ffd\U00010570\U000323afcd") == "abcd"
    assert fold("ab\u0870\U00010570CD é") == "ab  cd é"


def test_case_newer_than_python_3_10_plays_no_part() -> None:
    """The lower case of a new letter may be an old one, which older Pythons do not know."""
    for text in ("ab\ua7cb\ua7dccd", "ab\ua7cb\u03a3"):
        assert normalise(text) == normalise(text.replace("\ua7cb", " ").replace("\ua7dc", " "))
    assert fold("ab\ua7cbCD") == "ab cd"


def test_fold_keeps_separators() -> None:
    """Words are still apart after folding, and in one case and form."""
    assert fold("Ｈello, WORLD") == "hello, world"
    assert fold("Hello, WORLD") == "hello, world"


def test_fold_cuts_long_runs_of_marks() -> None:
    """Combining marks without end, quadratic in NFKC, are a separator; a few stay."""
    assert fold("a" + "\u0315\u0300" * 50_000 + "b") == "a b"
    assert fold("e\u0301") == "é"


@pytest.mark.parametrize("form", [normalise, fold])
def test_texts_without_end_are_bounded(form: Callable[[str], str]) -> None:
    """What is beyond a million characters plays no part; 4 MB of U+FDFA would become 884 MB."""
    assert len(form("\ufdfa" * 100_000)) == normalisation.LONGEST
    assert len(form("字" * (normalisation.LONGEST + 5))) == normalisation.LONGEST
    assert len(form("a" * (normalisation.LONGEST + 5))) == normalisation.LONGEST
