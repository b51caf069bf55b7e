"""Normalised text: what it keeps, and that it does not depend on the Python version."""

import hashlib
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.fingerprint import normalisation
from scrapy_simhash.fingerprint.normalisation import LONGEST, fold, normalise


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
def test_characters_that_count(text, expected):
    """Lower case letters and digits in their compatibility form stay, in any script."""
    assert normalise(text) == expected


@given(
    st.text(
        st.characters() | st.sampled_from("e\u0301\u0323が\u3099يیک\u0640क\u093c\u0929\u095c"),
        max_size=40,
    )
)
def test_normalise_is_its_definition(text):
    """The look-up keeps what the regular expression keeps, for any string."""
    known = re.sub(f"[{normalisation._LATER}]", " ", text)
    one_form = "".join(
        letter if unicodedata.is_normalized("NFD", letter) or not pointed(letter) else bare(letter)
        for letter in unicodedata.normalize("NFC", known)
    )
    kept = "".join(re.findall(r"\w", one_form.lower().translate(ONE_LETTER)))
    assert normalise(text) == unicodedata.normalize("NFKC", kept)


@pytest.mark.parametrize("name", ["_LATER", "_POINTED", "_COMPOSING"])
def test_a_class_has_the_characters_that_a_regular_expression_finds(name):
    characters = getattr(normalisation, name)
    points = [point for point in range(0x30000) if re.match(f"[{characters}]", chr(point))]
    assert np.flatnonzero(normalisation._in_ranges(characters)[:0x30000]).tolist() == points


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


SENTENCES = [
    "Cây cầu cũ bắc qua sông sẽ mở lại vào mùa xuân, sau khi các trụ được sửa.",
    "Le vieux pont était fermé depuis l’été ; ça ne gêne plus les élèves à Noël.",
    "Žluťoučký kůň přešel přes starý most, který byl od léta zavřený.",
    "Η παλιά γέφυρα άνοιξε ξανά την άνοιξη. ΜΕΤΆ ΑΠΌ ΤΟΥΣ ΕΛΈΓΧΟΥΣ. Ταΐστε τα άλογα.",
    "ᾠδὴ τῇ γεφύρᾳ, ἣν ὁ ποταμὸς οὐκ ἔλυσεν",
    "ふるい橋がまたひらくのは、はるになってからだ。ベンチはペンキをぬった。",
    "오래된 다리가 봄에 다시 열린다.",
    "Ещё в июле район закрыл старый мост, а в апреле откроет его.",
    "सड़क पर बाढ़ का पानी ज़्यादा है, पढ़ाई बंद है।",
    "বড় নদীর সেতু আষাঢ়ে আবার খোলা হয়।",
    "ஔவையார் பழைய பாலத்தைப் பாடினார்.",
    "တံတားဟောင်းကို ဦးစွာ ပြန်ဖွင့်မည်။",
    "הַגֶּשֶׁר הַיָּשָׁן נִפְתַּח שׁוּב בָּאָבִיב",
    "آخر الأخبار: رؤية المسؤولين أن الجسر يفتح غدا إن شاء الله.",
    "Ọ̀nà àtijọ́ tí ó gba orí odò kọjá ti ṣí padà.",
]


def test_a_letter_and_its_marks_are_one_in_any_form():
    """Composed, decomposed, in part or by compatibility, a sentence has one normal form."""
    for sentence in SENTENCES:
        forms = [unicodedata.normalize(form, sentence) for form in ("NFC", "NFD", "NFKC", "NFKD")]
        forms.append(
            "".join(unicodedata.normalize("NFD", c) if n % 2 else c for n, c in enumerate(sentence))
        )
        assert len(set(map(normalise, forms))) == 1
        assert len({normalise(form, by_line=True) for form in forms}) == 1
        assert len(set(map(fold, forms))) == 1


def test_a_word_with_another_mark_is_another_word():
    for one, other in [("má", "mà"), ("peche", "pêche"), ("はは", "ばば"), ("ё", "е")]:
        for form in ("NFC", "NFD"):
            texts = [unicodedata.normalize(form, word) for word in (one, other)]
            assert normalise(texts[0]) != normalise(texts[1])


def test_every_letter_of_unicode_13_has_one_form():
    for point in range(0xA0, 0x30000):
        letter = chr(point)
        apart = unicodedata.normalize("NFD", letter)
        if apart != letter and not re.match(f"[{normalisation._LATER}]", letter):
            assert normalise(f"a {letter}b") == normalise(f"a {apart}b"), hex(point)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("الجسر القديم", "الـجـسر القديـــم"),
        ("كتاب علي في المدينة", "کتاب علی فی المدینة"),
        ("ﻋﻠﻰ ﻛﺘﺎﺑﻲ", "علی کتابی"),
        ("می‌خواهم یک کتاب", "مي‌خواهم يك كتاب"),
        ("إلى اليمين", "إلي اليمين"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_arabic_and_persian_keyboards_write_the_same(one, other):
    """Yeh and kaf are one letter each, and neither tatweel nor a vowel sign is one."""
    assert normalise(one) == normalise(other)
    assert normalise(fold(one)) == normalise(fold(other))


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
