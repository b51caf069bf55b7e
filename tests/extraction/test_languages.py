"""The default recipe in other languages: their scripts, spaces, marks and punctuation.

The texts are our own, made of syllables that these languages have; what counts is how they write.
"""

import random

import pytest

from scrapy_simhash.fingerprint.recipe import named_recipe
from tests.pages import distance_of

RECIPE = named_recipe("default")
#: Syllables, and what stands between words, halves of sentences, and sentences.
LANGUAGES = {
    "English": "the er ing house tea har vest mor ning walk re port cit y ship wright coun cil",
    "German": "haus tür straß e über schön ung heit fluss brück e grün gärt ner mäß ig voll",
    "Russian": "го род мос ква ре ка ность ный дом жи тель ство ши ро кий щё сча стье объ",
    "Arabic": "ال مد ين ة كت اب شار ع بي ت صب اح خب ر نه ر جد يد قم ر سل ام",
    "Korean": "서 울 강 물 사 람 은 는 이 가 에 서 했 다 학 교 집 길 나 무 하 늘 새 로 운",
    "Japanese": "東 京 川 町 祭 の は が を に で した いる 新 聞 カメ ラ バス 朝 人 々 屋",
    "Thai": "กรุง เทพ แม่ น้ำ บ้าน คน เมือง ใหม่ ถนน ตลาด เช้า ที่ และ ของ ข่าว วัน นี้",
    "Chinese": "城 市 报 纸 河 流 桥 梁 记 者 茶 叶 节 日 邻 居 船 厂 议 会 风 筝 春",
}
MARKS = {"Japanese": ("", "、", "。"), "Thai": ("", " ", " "), "Chinese": ("", "，", "。")}
PLAIN = "<html><body><h1>-</h1>{}</body></html>"
FRAMED = (
    "<html><body><div id=header><a href=/>Home</a></div><table><tr><td><ul><li>1<li>2</ul></td>"
    "<td>{}</td></tr></table><div class=footer>(c)</div></body></html>"
)


def sentences_in(language: str, seed: int, count: int = 40) -> list[str]:
    draw, syllables = random.Random(seed), LANGUAGES[language].split()
    space, comma, stop = MARKS.get(language, (" ", "، " if language == "Arabic" else ", ", ". "))

    def half() -> str:
        words = ("".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(5))
        return space.join(words)

    return [f"{half()}{comma}{half()}{stop}" for _ in range(count)]


def page(sentences: list[str], frame: str) -> str:
    paragraphs = ("".join(sentences[at : at + 5]) for at in range(0, len(sentences), 5))
    return frame.format(f"<div>{''.join(map('<p>{}</p>'.format, paragraphs))}</div>")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_article_is_near_its_mirror_and_its_edit_and_far_from_another(language):
    """In the edit, one sentence of forty is another, one is gone, two have changed places."""
    sentences, others = sentences_in(language, 1), sentences_in(language, 2)
    article = page(sentences, PLAIN)
    assert distance_of(article, page(sentences, FRAMED)) <= 10
    edited = [*sentences[:5], sentences[6], sentences[5], *sentences[7:]]
    edited[20] = others[0]
    del edited[30]
    assert distance_of(article, page(edited, PLAIN)) <= RECIPE.distance
    assert distance_of(article, page(others, PLAIN)) > RECIPE.distance + 10
