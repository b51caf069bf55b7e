"""What strangers wrote reaches no terminal as more than text."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.exceptions import NearDuplicateItem, NearDuplicatePage, SparedPage
from scrapy_simhash.printable import logger_of, printable, without_userinfo

HOSTILE = "id 7\n2026-11-27 ERROR: \x1b]0;pwned\x07\x1b[2J\u2028\u202etxt\x85\x9b2J\r"


@given(st.text(st.characters(codec=None)))
def test_a_printable_text_is_one_line_of_characters_that_can_be_written(text):
    line = printable(text)
    assert len(line.splitlines()) <= 1
    assert not any(unsafe in line for unsafe in "\x1b\x07\x9b\u202e\u2028\u2066\u200f")
    line.encode()
    assert printable(line) == line


def test_ordinary_text_and_what_the_caller_keeps_stay():
    assert printable("straße 中文 ‘a’ 🏳️‍🌈") == "straße 中文 ‘a’ 🏳️‍🌈"
    assert printable("a\nb\tc\x1b[32md\x1b[5m", ("\n", "\x1b[32m")) == "a\nb\\tc\x1b[32md\\x1b[5m"


@pytest.mark.parametrize("login", ["user:secret@", "secret@", "user:sec@ret@", ":secret@"])
def test_an_address_loses_its_login_wherever_it_stands(login):
    text = f"(http://{login}a.example:80/?q=b@c and d@e, ftp://{login}[::1]/)"
    assert without_userinfo(text) == "(http://a.example:80/?q=b@c and d@e, ftp://[::1]/)"


@pytest.mark.parametrize(
    "error",
    [
        NearDuplicatePage(HOSTILE, "http://user:secret@a.example/", 3),
        NearDuplicateItem("http://user:secret@a.example/", HOSTILE, 3),
        SparedPage("http://user:secret@a.example/", HOSTILE),
    ],
)
def test_the_text_of_an_exception_is_printable(error):
    assert printable(error) == str(error)
    assert "secret" not in str(error)


def test_messages_and_tracebacks_are_printable(caplog):
    logger = logger_of("scrapy_simhash.tests")
    with caplog.at_level(logging.INFO):
        logger.info(
            "%s of %d: %s", HOSTILE, 7, ValueError(f"http://user:secret@a.example/{HOSTILE}")
        )
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            logger.exception("It failed")
    first, failed, *traceback = caplog.text.splitlines()
    assert "id 7\\n2026" in first
    assert "secret" not in first
    assert "It failed" in failed
    assert traceback[-1].startswith("  2026")
    assert printable(caplog.text, "\n") == caplog.text
