"""Words of every script, and the two engines for Han text."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.fingerprint import segmentation
from scrapy_simhash.fingerprint.segmentation import jieba_tokenizer, segment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("the cat's 2 hats", ["the", "cat", "s", "2", "hats"]),
        ("我来到北京清华大学", ["我", "来到", "北京", "清华大学"]),
        ("2023年iPhone手机", ["2023", "年", "iPhone", "手机"]),
        ("𠮷野家", ["𠮷", "野家"]),
        ("日本語の本", ["日本", "本語", "語の", "の本"]),
        ("我说，ありがとう。", ["我", "说", "あり", "りが", "がと", "とう"]),
        ("สวัสดี ok", ["สว", "วั", "ัส", "สด", "ดี", "ok"]),
        ("हिन्दी समाचार", ["हिन्दी", "समाचार"]),
    ],
)
def test_words_by_run(text, words):
    assert segment(text) == words


@given(st.text(max_size=60))
def test_words_are_pieces_of_the_text(text):
    words = segment(text)
    assert all(word and word in text and not re.search(r"\s", word) for word in words)
    assert set(re.findall(r"\w", text)) <= set("".join(words))


COMMON_HAN = st.sampled_from(
    "的一是不了在人有我他这中大来上国个到说们为子和北京清华学生乒乓球拍卖完"
)
ANY_HAN = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5)


@settings(max_examples=300)
@given(st.text(COMMON_HAN, min_size=1, max_size=20) | st.text(ANY_HAN, min_size=1, max_size=12))
def test_both_engines_give_the_same_words(run):
    rjieba = pytest.importorskip("rjieba")
    assert rjieba.cut(run) == jieba_tokenizer().lcut(run)


def test_jieba_serves_where_rjieba_is_missing(monkeypatch):
    text = "这个网站的每一个页面只保留一份。"
    words = segment(text)
    monkeypatch.setitem(sys.modules, "rjieba", None)
    monkeypatch.setattr(segmentation, "_han_cutter", segmentation._han_cutter.__wrapped__)
    assert segmentation._han_cutter() == jieba_tokenizer().lcut
    assert segment(text) == words


def test_jieba_is_lazy_quiet_and_leaves_no_file(tmp_path):
    code = (
        "import sys, scrapy_simhash.fingerprint.segmentation as s; sys.modules['rjieba'] = None; "
        "s.segment('only Latin words'); print('jieba' in sys.modules, len(s.segment('北京大学')))"
    )
    command = [sys.executable, "-W", "error", "-B", "-c", code]
    folders = dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | folders)
    assert (done.stdout, done.stderr) == ("False 1\n", "")
    assert list(tmp_path.iterdir()) == []
