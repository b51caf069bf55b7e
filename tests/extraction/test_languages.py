"""The default recipe in other languages: their scripts, spaces, marks and punctuation.

The texts are our own, made of syllables that these languages have; what counts is how they write.
"""

import random
from dataclasses import dataclass

import pytest

from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.pages import distance_of

RECIPE = named_recipe("default")


@dataclass(frozen=True)
class Language:
    """How a language writes: its syllables, how many make a word, what stands between."""

    word: tuple[int, int]
    syllables: str
    space: str = " "
    comma: str = ", "
    stop: str = ". "

    def sentences(self, seed: int, count: int = 40) -> list[str]:
        draw, syllables = random.Random(seed), self.syllables.split()
        sentences = []
        for _ in range(count):
            words = [
                "".join(draw.choices(syllables, k=draw.randint(*self.word)))
                for _ in range(draw.randint(8, 14))
            ]
            halves = words[: len(words) // 2], words[len(words) // 2 :]
            sentences.append(self.comma.join(map(self.space.join, halves)) + self.stop)
        return sentences


def unspaced(syllables: str, comma: str = "、", stop: str = "。") -> Language:
    return Language((1, 3), syllables, "", comma, stop)


LANGUAGES = {
    "English": Language(
        (1, 3), "the er ing house tea har vest mor ning walk re port cit y ship wright coun cil"
    ),
    "German": Language(
        (1, 4), "haus tür straß e über schön ung heit fluss brück e grün gärt ner mäß ig voll"
    ),
    "Russian": Language(
        (2, 4), "го род мос ква ре ка ность ный дом жи тель ство ши ро кий щё сча стье объ"
    ),
    "Arabic": Language(
        (2, 4), "ال مد ين ة كت اب شار ع بي ت صب اح خب ر نه ر جد يد قم ر سل ام", comma="، "
    ),
    "Korean": Language(
        (2, 4), "서 울 강 물 사 람 은 는 이 가 에 서 했 다 학 교 집 길 나 무 하 늘 새 로 운"
    ),
    "Japanese": unspaced(
        "東 京 川 町 祭 の は が を に で した いる 新 聞 カメ ラ バス 朝 人 々 屋"
    ),
    "Thai": unspaced("กรุง เทพ แม่ น้ำ บ้าน คน เมือง ใหม่ ถนน ตลาด เช้า ที่ และ ของ ข่าว วัน นี้", " ", " "),
    "Chinese": unspaced(
        "城 市 报 纸 河 流 桥 梁 记 者 茶 叶 节 日 邻 居 船 厂 议 会 风 筝 春", "，"
    ),
}


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


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_an_article_is_near_its_mirror_and_its_edit_and_far_from_another(language):
    """In the edit, one sentence of forty is another, one is gone, two have changed places."""
    sentences, others = language.sentences(1), language.sentences(2)
    article = page(sentences, PLAIN)
    assert distance_of(article, page(sentences, FRAMED)) <= 10
    edited = [*sentences[:5], sentences[6], sentences[5], *sentences[7:]]
    edited[20] = others[0]
    del edited[30]
    assert distance_of(article, page(edited, PLAIN)) <= RECIPE.distance
    assert distance_of(article, page(others, PLAIN)) > RECIPE.distance + 10
