"""Normalised text: what it keeps, and that it does not depend on the Python version."""

import hashlib
import re
import unicodedata
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint import normalisation
from scrapy_simhash.fingerprint.normalisation import LONGEST, fold, normalise


def definition(text: str) -> str:
    """Normalise with regular expressions, in place of a look-up."""
    known = re.sub(f"[{normalisation._LATER}]", " ", text)
    one_form = "".join(
        letter if unicodedata.is_normalized("NFD", letter) or not pointed(letter) else bare(letter)
        for letter in unicodedata.normalize("NFC", known)
    )
    kept = "".join(re.findall(r"\w", one_form.lower().translate(ONE_LETTER)))
    return unicodedata.normalize("NFKC", kept)


ONE_LETTER = {
    **dict.fromkeys(map(ord, "\u0649\u06cc\ufeef\ufef0\ufbfc\ufbfd\ufbfe\ufbff"), "\u064a"),
    **dict.fromkeys(map(ord, "\u06a9\ufb8e\ufb8f\ufb90\ufb91"), "\u0643"),
    0x640: "",
}


def pointed(letter: str) -> bool:
    """Return whether a letter is not the same in NFC, or has a nukta."""
    return len(unicodedata.normalize("NFC", letter)) > 1 or letter in "\u0929\u0931\u0934"


def bare(letter: str) -> str:
    return unicodedata.normalize("NFD", letter)[0]


MARKED = st.sampled_from("eΣ\u0301\u0323が\u3099يیک\u0640क\u093c\u0929\u095c\u064e\u200c")


@given(st.text(st.characters() | MARKED, max_size=40))
def test_normalise_is_its_definition(text):
    assert normalise(text) == definition(text)


@given(st.text(MARKED))
def test_a_folded_text_has_the_normal_form_of_the_text(text):
    assert normalise(fold(text)) == normalise(text)


def test_every_letter_is_normalised_by_definition_and_has_one_form():
    points = [*range(0xD800), *range(0xE000, 0x30000)]
    text = " ".join(map(chr, points))
    assert normalise(text) == definition(text)
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(text)


@given(st.text(st.sampled_from("bé\u1ea5\u0323\u0301\uac01ёはば\u1f81\u0958３ى"), max_size=20))
def test_a_letter_and_its_marks_are_one_in_any_form(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    for form in (normalise, partial(normalise, by_line=True), fold):
        assert len({*map(form, forms)}) == 1


def test_word_characters_are_those_of_unicode_13():
    """Every Python version has the same table.

    When this fails under a newer Python, its Unicode has letters that ``_LATER`` must name.
    """
    digest = hashlib.sha256(
        np.packbits(normalisation._lower_case() > ord("\n")).tobytes()
    ).hexdigest()
    assert digest == "a024ba003570f041459e6afd736f2ebb24f42627294511cbb427fbf6e9d41e20"


def test_letters_newer_than_python_3_10_are_separators():
    """The lower case of a new letter may be an old one, which older Pythons do not know."""
    assert normalise("ab\u0870\u9ffd\U00010570\U000323afcd") == "abcd"
    assert fold("ab\u0870\U00010570CD é") == "ab  cd é"
    for text in ("ab\ua7cb\ua7dccd", "ab\ua7cb\u03a3"):
        assert normalise(text) == normalise(text.replace("\ua7cb", " ").replace("\ua7dc", " "))
    assert fold("ab\ua7cbCD") == "ab cd"


def test_fold_keeps_separators_and_cuts_long_runs_of_marks():
    """Combining marks without end, quadratic in NFKC, are a separator; a few stay."""
    assert fold("Ｈello, WORLD") == fold("Hello, WORLD") == "hello, world"
    assert fold("a" + "\u0315\u0300" * 50_000 + "b") == "a b"
    assert fold("e\u0301") == "é"


@pytest.mark.parametrize("form", [normalise, fold])
def test_a_long_text_is_taken_in_pieces_and_bounded(form):
    """What is beyond a million characters plays no part; 4 MB of U+FDFA would become 884 MB."""
    text = "ﬁve ﷺ ٣٤ été " * 9000
    assert form(text) == unicodedata.normalize("NFKC", form(text[:13]) * 9000)[:LONGEST]
    for endless in ("\ufdfa" * 100_000, "字" * (LONGEST + 5), "a" * (LONGEST + 5)):
        assert len(form(endless)) == LONGEST
