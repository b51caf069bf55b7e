"""Text to words, run by run: a page may mix scripts.

Han text goes through jieba, or through rjieba when it is installed, which gives the
same words in a tenth of the time. (It does so run by run: 55,800 different runs of real
pages, no difference. Over whole texts with spaces and Latin letters between, the two
differ.) Scripts without spaces that jieba does not know - Japanese, Thai, Lao, Khmer,
Myanmar - give overlapping pairs of characters. Everything else is cut at what is not a
letter, mark or digit.
"""

import functools
import re
import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

Text = TypeVar("Text", str, list[str])

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_WITHOUT_SPACES = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e80-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17dc\u17dd\u17e0-\u17e9"  # Khmer
)
# Vowel signs and other marks are no word characters to Python, but they do not end a
# word.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0971-\u09e3\u09fe-\u0df3\u0f18-\u0fbc"
)
_OTHER = rf"[^\W{_HAN}{_KANA}{_WITHOUT_SPACES}]"
_RUN = re.compile(
    rf"(?P<cjk>[{_HAN}{_KANA}]+)|(?P<unspaced>[{_WITHOUT_SPACES}]+)|{_OTHER}+(?:[{MARKS}]+{_OTHER}*)*"
)
_IS_KANA = re.compile(f"[{_KANA}]")
# Both engines know these characters as Han; older jieba cuts anything else one by one,
# as here.
_KNOWN_HAN = re.compile("[\u4e00-\u9fd5]+|.")


def segment(text: str) -> list[str]:
    """Return the words of a text in their order, without separators.

    The text is not normalised here: bring it to one case and form first.
    """
    words: list[str] = []
    for run in _RUN.finditer(text):
        chars = run.group()
        script = run.lastgroup
        if script == "unspaced" or (script == "cjk" and _IS_KANA.search(chars)):
            words += ngrams(chars, 2)
        elif script == "cjk":
            for part in _KNOWN_HAN.findall(chars):
                words += _han_cutter()(part) if len(part) > 1 else part
        else:
            words.append(chars)
    return words


def ngrams(text: Text, n: int) -> list[Text]:
    """Return all overlapping n-grams of a text or its words, or all of it if it is shorter."""
    starts = range(max(len(text) - n + 1, 1))
    return [text[start : start + n] for start in starts] if text else []


@functools.cache
def jieba_tokenizer() -> Any:
    """Return this package's own ``jieba.Tokenizer``, loaded once (0.5 s).

    It never touches jieba's global tokenizer or its log, and reads no cache file: jieba
    would unmarshal one from the shared temporary folder, and that is no faster than the
    dictionary (0.51 s against 0.49 s).
    """
    with warnings.catch_warnings():
        # jieba 0.42.1 imports the deprecated pkg_resources and has invalid escapes in
        # its source.
        warnings.simplefilter("ignore")
        import jieba

        tokenizer = jieba.Tokenizer()
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(
            tokenizer.get_dict_file()
        )
    tokenizer.initialized = True
    return tokenizer


def keywords(
    text: str,
    most: int,
    *,
    is_whole: bool,
) -> dict[str, float]:
    """Return the keywords of a text by jieba's TF-IDF, with their weights.

    ``is_whole``: of the text's tokens joined by ``|``, with the whole parts of their
    weights.
    """
    if is_whole:
        text = "|".join(jieba_tokenizer().cut(text))
    tags = dict(_keyword_extractor().extract_tags(text, most, withWeight=True))
    if is_whole:
        return {
            word: float(int(weight)) for word, weight in tags.items() if weight >= 1
        }
    return tags


@functools.cache
def _keyword_extractor() -> Any:
    """Return jieba's extractor of keywords by TF-IDF, with the tokenizer of this package.

    It takes jieba also where rjieba is installed, because over a whole text the two
    differ.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from jieba.analyse import default_tfidf

    extractor = copy(default_tfidf)
    extractor.tokenizer = jieba_tokenizer()
    # a project may add words to the shared set
    extractor.stop_words = extractor.STOP_WORDS
    return extractor


@functools.cache
def _han_cutter() -> Callable[[str], list[str]]:
    try:
        import rjieba
    except ImportError:
        cut: Callable[[str], list[str]] = jieba_tokenizer().lcut
    else:
        # An instance of our own: a project may add words to rjieba's shared one.
        cut = rjieba.Jieba().cut
    return cut
