"""Each classic recipe gives what the program that it is named after gives.

The programs are written here anew, from their descriptions, with loops over bits.
"""

import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from random import Random

import pytest
from simhash import Simhash

from scrapy_simhash.core.analysis import analyse_body, text_body
from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.features import FeatureSpec
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.fingerprint.segmentation import segment

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jieba
    import jieba.analyse

jieba.setLogLevel(60)

LATIN = (
    "the cat sat on a mat and We all scream for ice cream, Isn't it? été straße 2024 3.5%".split()
)
CHINESE = (
    "我来到北京清华大学参观图书馆今天天气真好人工智能数据库网页去重新闻美国雇员称内部有飞碟，。"
)
EMOJI = "😀🚀👩‍💻❤️🎉𝔘𠮷"


def random_texts(count: int, seed: int = 7) -> list[str]:
    """Latin, Chinese, emoji and mixed texts, empty ones and single words."""
    draw = Random(seed)
    makers: list[Callable[[], str]] = [
        lambda: " ".join(draw.choices(LATIN, k=draw.randint(2, 60))),
        lambda: "".join(draw.choices(CHINESE, k=draw.randint(2, 120))),
        lambda: " ".join(draw.choices([*LATIN, *EMOJI, *CHINESE], k=draw.randint(2, 60))),
        lambda: "".join(draw.choices(EMOJI, k=draw.randint(1, 20))),
        lambda: draw.choice(LATIN),
        lambda: "",
    ]
    return [draw.choices(makers, [5, 5, 5, 2, 1, 1])[0]() for _ in range(count)]


def string_hash(word: str, bits: int) -> int:
    """The string hash of Python 2 over code points, widened to some bits."""
    if not word:
        return 0
    x = ord(word[0]) << 7
    for char in word:
        x = (x * 1000003 ^ ord(char)) & (2**bits - 1)
    return x ^ len(word)


def fnv_of_java(word: str) -> int:
    """FNV-1 in unlimited integers, over what charAt gives, cut to 64 bits at the end."""
    value, data = 14695981039346656037, word.encode("utf-16-be")
    for i in range(0, len(data), 2):
        value = value * 1099511628211 ^ (data[i] << 8 | data[i + 1])
    return value & (2**64 - 1)


def voted(hashes: Iterable[tuple[int, int]], bits: int, *, with_zero: bool) -> int:
    """Add or take away weights bit by bit; a bit is set where the sum is > 0, or >= 0."""
    sums = [0] * bits
    for value, weight in hashes:
        for i in range(bits):
            sums[i] += weight if value >> i & 1 else -weight
    return sum(1 << i for i in range(bits) if sums[i] > 0 or (with_zero and sums[i] == 0))


def oldest_program(text: str) -> int:
    return voted(((string_hash(t, 128), 1) for t in text.split()), 128, with_zero=True)


def fnv_program(text: str) -> int:
    """Its words came from IK Analyzer; here they are this package's words."""
    words = segment(unicodedata.normalize("NFKC", text.lower()))
    return voted(((fnv_of_java(word), 1) for word in words), 64, with_zero=True)


def keywords_program(text: str) -> int:
    tags = jieba.analyse.extract_tags("|".join(jieba.cut(text)), topK=10, withWeight=True)
    hashes = ((string_hash(w, 128) & (2**64 - 1), int(weight)) for w, weight in tags)
    return voted(hashes, 64, with_zero=False)


PROGRAMS: dict[str, Callable[[str], int]] = {
    "string-hash": oldest_program,
    "fnv1": fnv_program,
    "jieba-keywords": keywords_program,
    "pypi": lambda text: Simhash(text).value,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_classic_gives_the_bits_of_its_program_on_random_texts(name):
    recipe, program = named_recipe(name), PROGRAMS[name]
    for text in random_texts(400):
        assert recipe.fingerprint(text).value == program(text), text


def test_words_whose_weight_is_cut_to_nought_vote_for_nothing():
    """The weights of the words of a long text are all below 1, so it has no fingerprint."""
    recipe = named_recipe("jieba-keywords")
    assert recipe.features("今天星期四") == {"星期四": 5.0, "今天": 2.0}
    long = "".join(CHINESE[i % 40 : i % 40 + 7] for i in range(0, 4000, 7))
    assert recipe.features(long) == {}
    assert recipe.fingerprint(long).value == recipe.nothing == 0
    assert analyse_body(text_body(long), recipe).reason == "too_short"


def test_a_project_brings_a_recipe_of_its_own_by_import_path(tmp_path, monkeypatch):
    (tmp_path / "own_recipes.py").write_text(
        "from scrapy_simhash.fingerprint.features import FeatureSpec\n"
        "from scrapy_simhash.fingerprint.recipe import Recipe\n"
        "def pairs(text): return {text[i:i + 2] for i in range(len(text) - 1)}\n"
        "def sum_of(feature, bits): return sum(map(ord, feature)).to_bytes(bits // 8, 'big')\n"
        "CAT = Recipe('cat', FeatureSpec('own_recipes.pairs', 2), 32, 3, 'own_recipes.sum_of')\n"
        "BAD = Recipe('bad', FeatureSpec('own_recipes.gone', 2), 64, 3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    recipe = named_recipe("own_recipes.CAT")
    text = "the cat sat on the mat"
    pairs = {text[i : i + 2] for i in range(len(text) - 1)}
    assert recipe.features(text) == dict.fromkeys(pairs, 1.0)
    hashes = ((sum(map(ord, pair)), 1) for pair in pairs)
    assert recipe.fingerprint(text).value == voted(hashes, 32, with_zero=False)
    assert "own_recipes.pairs" in recipe.identity
    for path, said in {
        "own_recipes.BAD": "own_recipes.gone",
        "own_recipes.pairs": "is no scrapy_simhash.Recipe",
        "no_such.RECIPE": "cannot be imported",
    }.items():
        with pytest.raises(ValueError, match=said):
            named_recipe(path)
    sys.modules.pop("own_recipes")


def test_no_index_takes_a_recipe_of_32_bits_and_one_line_says_so():
    recipe = Recipe("cat", FeatureSpec("characters", 2), 32, 3, "multiply-xor")
    with pytest.raises(ValueError, match=r"'cat' has 32 bits, .* an index takes 64, 128 or 256"):
        spec_of(recipe)
