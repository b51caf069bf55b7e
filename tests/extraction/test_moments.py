"""A moment is one moment in any zone and format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extraction.moments import with_moments
from tests.pages import article, judged

MOMENTS = [
    *("Fri May 18 14:57:12 EDT 2007", "Fri May 18 12:57:12 MDT 2007"),
    *("18 May 2007 13:57 CDT", "18 May 2007 12:57 CST", "18 May 2007 10:57 PST"),
    *("Fri, 18 May 2007 14:57:12 -0400 (EDT)", "Fri, 18 May 2007 18:57:12 GMT"),
    *(
        "18 May 2007 20:57 CEST",
        "19 May 2007 03:57 KST",
        "Friday, 18 May 2007 20:57:12 +0200",
        "May 18, 2007 18:57 UTC",
    ),
    *("2007-05-18T14:57:12-04:00", "2007-05-18T18:57:12Z", "2007-05-18 18:57 UTC"),
    "2007-05-19 00:27:12.123 +0530",
]
# These have no zone.
TIMES = [
    *("at 14:57", "2007-05-18 14:57", "18 May 2007", "Fri May 18 14:57:12 2007"),
    *("2007-05-18 14:57 lbs", "18 May 2007 14:57 call me"),
]


@pytest.mark.parametrize("written", [*MOMENTS, *TIMES])
def test_a_moment_is_one_in_any_zone_and_format(written):
    shown = "2007-05-18 18:57" if written in MOMENTS else written
    assert with_moments(f"Sent {written}, by Ann") == f"Sent {shown}, by Ann"


@given(st.text("0123456789:-+ ,TZMayUTC", max_size=60))
def test_any_text_has_its_moments_read(text):
    assert isinstance(with_moments(f"2007-05-18 {text} 18 May 2007 1:11{text}"), str)


def mail(moment: str) -> str:
    return f"<title>Bypass</title><h1>Bypass</h1><i>{moment}</i><p>{article(1, 300)}</p>"


def test_a_mail_is_a_copy_where_an_archive_shows_its_moment_in_another_zone():
    original = ("http://m.test/2007/4711", mail("Fri May 18 14:57:12 EDT 2007"))
    assert judged(original, ("http://m.test/a/x", mail("Fri, 18 May 2007 20:57 +0200"))).is_copy
    assert not judged(original, ("http://m.test/a/x", mail("Fri, 18 May 2007 21:57 +0200"))).is_copy
