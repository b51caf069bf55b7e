"""The default recipe in other languages: their scripts, spaces, marks and punctuation.

The texts are our own, made of syllables that these languages have; what counts is how they write.
"""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass

import pytest

from scrapy_simhash.core.analysis import analyse_html
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance

RECIPE = named_recipe("default")


@dataclass(frozen=True)
class Language:
    """How a language writes: its syllables, how many make a word, what stands between."""

    syllables: str
    word: tuple[int, int]
    space: str
    comma: str
    stop: str

    def sentences(self, seed: int, count: int = 40) -> list[str]:
        chance = random.Random(seed)
        syllables = self.syllables.split()
        made = []
        for _ in range(count):
            words = [
                "".join(chance.choices(syllables, k=chance.randint(*self.word)))
                for _ in range(chance.randint(8, 14))
            ]
            half = len(words) // 2
            made.append(
                self.space.join(words[:half])
                + self.comma
                + self.space.join(words[half:])
                + self.stop
            )
        return made


LANGUAGES = {
    "English": Language(
        "the er ing house tea har vest mor ning walk re port cit y ship wright coun cil", (1, 3),
        " ", ", ", ". ",
    ),
    "German": Language(
        "haus tür straß e über schön ung heit fluss brück e grün gärt ner mäß ig voll", (1, 4),
        " ", ", ", ". ",
    ),
    "Russian": Language(
        "го род мос ква ре ка ность ный дом жи тель ство ши ро кий щё сча стье объ", (2, 4),
        " ", ", ", ". ",
    ),
    "Arabic": Language(
        "ال مد ين ة كت اب شار ع بي ت صب اح خب ر نه ر جد يد قم ر سل ام", (2, 4), " ", "، ", ". ",
    ),
    "Korean": Language(
        "서 울 강 물 사 람 은 는 이 가 에 서 했 다 학 교 집 길 나 무 하 늘 새 로 운", (2, 4),
        " ", ", ", ". ",
    ),
    "Japanese": Language(
        "東 京 川 町 祭 の は が を に で した いる 新 聞 カメ ラ バス 駅 朝 人 々 屋", (1, 3),
        "", "、", "。",
    ),
    "Thai": Language(
        "กรุง เทพ แม่ น้ำ บ้าน คน เมือง ใหม่ ถนน ตลาด เช้า ที่ และ ของ ข่าว วัน นี้", (1, 3),
        "", " ", " ",
    ),
    "Chinese, simplified": Language(
        "城 市 报 纸 河 流 桥 梁 记 者 茶 叶 节 日 邻 居 船 厂 议 会 风 筝 春 天 学 校", (1, 3),
        "", "，", "。",
    ),
    "Chinese, traditional": Language(
        "城 市 報 紙 河 流 橋 樑 記 者 茶 葉 節 日 鄰 居 船 廠 議 會 風 箏 春 天 學 校", (1, 3),
        "", "，", "。",
    ),
}  # fmt: skip

each_language = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)


def page(sentences: list[str], frame: str) -> str:
    paragraphs = "".join(
        f"<p>{''.join(sentences[at : at + 5])}</p>" for at in range(0, len(sentences), 5)
    )
    return frame.format(f"<div>{paragraphs}</div>")


PLAIN = "<html><body><h1>-</h1>{}</body></html>"
FRAMED = (
    "<html><body><div id=header><a href=/>Home</a></div><table><tr><td><ul><li>1<li>2</ul></td>"
    "<td>{}</td></tr></table><div class=footer>(c)</div></body></html>"
)


def distance(one: str, other: str) -> int:
    values = []
    for html in (one, other):
        analysis = analyse_html(html, RECIPE)
        assert analysis.fingerprint is not None
        values.append(analysis.fingerprint.value)
    return hamming_distance(*values)


@each_language
def test_article_in_another_template_is_the_same(language: Language) -> None:
    sentences = language.sentences(1)
    assert distance(page(sentences, PLAIN), page(sentences, FRAMED)) <= 10


@each_language
def test_edited_article_is_a_near_duplicate(language: Language) -> None:
    """One sentence of forty is another, one is gone, two have changed places."""
    sentences = language.sentences(1)
    edited = sentences.copy()
    edited[20] = language.sentences(2)[0]
    edited[5], edited[6] = edited[6], edited[5]
    del edited[30]
    assert distance(page(sentences, PLAIN), page(edited, PLAIN)) <= RECIPE.distance


@each_language
def test_other_article_is_another(language: Language) -> None:
    one, other = language.sentences(1), language.sentences(2)
    assert distance(page(one, PLAIN), page(other, PLAIN)) > RECIPE.distance + 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ １２３", "abc 123"),  # full width
        ("ﾊﾞｽ", "バス"),  # half-width kana with its mark
        (unicodedata.normalize("NFD", "서울"), "서울"),  # jamo and syllables
        ("مُحَمَّد", "محمد"),  # vowel signs
        ("Straße — ÄRGER", "straße, ärger"),
        ("МОСКВА", "москва"),
    ],
)
def test_ways_to_write_the_same_are_the_same(one: str, other: str) -> None:
    assert RECIPE.fingerprint(one * 40) == RECIPE.fingerprint(other * 40)


def test_simplified_and_traditional_chinese_are_different_texts() -> None:
    """A conversion is no near-duplicate: too many characters differ."""
    simplified = LANGUAGES["Chinese, simplified"].sentences(1)
    traditional = LANGUAGES["Chinese, traditional"].sentences(1)
    assert distance(page(simplified, PLAIN), page(traditional, PLAIN)) > RECIPE.distance
