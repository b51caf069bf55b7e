"""Writes each moment in a text in one form, whatever its zone and format.

An archive of mails shows the hour of the sender, of its own server, or of Greenwich.
"""

import re
from datetime import datetime, timezone
from email.utils import mktime_tz, parsedate_tz

# The library knows those of America.
_ZONES = {
    **dict.fromkeys(("UTC", "GMT", "WET", "Z"), "+0000"),
    **dict.fromkeys(("BST", "CET", "WEST", "MEZ"), "+0100"),
    **dict.fromkeys(("CEST", "EET", "MESZ"), "+0200"),
    **dict.fromkeys(("EEST", "MSK"), "+0300"),
    **dict.fromkeys(("JST", "KST"), "+0900"),
}
_NAMED = re.compile(rf"\b(?:{'|'.join(_ZONES)})\b|(?<=\d)Z\b", re.IGNORECASE)
# A time of day without a date and a zone around it is not looked at closer.
_TIME = re.compile(r":\d\d")
_DAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)\w{0,6},?\s)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w{0,6}"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,6})?"
_NAME = rf"(?:{'|'.join(_ZONES)}|[ECMP][DS]T)"
_ZONE = rf"\s?(?:[+-]\d\d:?\d\d|{_NAME}\b)"
_MOMENT = re.compile(
    # 2007-05-18T14:57:12-04:00
    rf"(?P<iso>\b(?:19|20)\d\d-\d\d-\d\d)[t\s](?P<clock>{_CLOCK})(?P<zone>{_ZONE})"
    # Fri, 18 May 2007 14:57:12 -0400 (EDT); Fri May 18 14:57:12 EDT 2007
    rf"|\b{_DAY}(?:\d{{1,2}}\s{_MONTH}\s\d{{4}},?\s{_CLOCK}{_ZONE}(?:\s?\({_NAME}\))?"
    rf"|{_MONTH}\s{{1,2}}\d{{1,2}},?\s(?:\d{{4}},?\s{_CLOCK}{_ZONE}|{_CLOCK}\s{_NAME}\s\d{{4}}))",
    re.IGNORECASE,
)


def with_moments(text: str) -> str:
    """Return a text in which each moment with a zone is written in UTC, to the minute."""
    return _MOMENT.sub(_in_utc, text) if _TIME.search(text) else text


def _in_utc(found: re.Match[str]) -> str:
    numeric = _NAMED.sub(
        lambda name: _ZONES[name[0].upper()], found["zone"] or found[0]
    )
    try:
        if found["iso"]:
            written = f"{found['iso']} {found['clock'][:5]} {numeric.strip()}"
            moment = datetime.strptime(written, "%Y-%m-%d %H:%M %z")
        elif parts := parsedate_tz(numeric):
            moment = datetime.fromtimestamp(mktime_tz(parts), timezone.utc)
        else:
            return found[0]
        return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):  # such as the 31st of June
        return found[0]
