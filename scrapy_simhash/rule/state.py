"""Makes one small hash of all that a page says, and tells by it whether the page is as it was.

The hash leaves out what changes by itself: an age, such as "3 days ago", a number that
its own words call a count of visits or answers, the id of a visit, and the year of a
copyright. Any other number is in it, because nothing but its words tells a counter from
a price, and a change that is taken for noise is lost. Dates are, too, because one that
stands in the content may be that of an event.
"""

import functools
import re
from hashlib import blake2b

from scrapy_simhash.fingerprint.normalisation import LONGEST

#: Counts, ages and datelines stand in shorter lines; characters.
SHORT_LINE = 100
#: Bytes of a state, which stand at the end of the facts.
STATE_SIZE = 3
_NUMBER = re.compile(r"\d[\d.,]*")
_WORD_BEFORE = re.compile(
    r"([^\W\d_]+|visitor no\.|visitor number)[\s:(\uff1a\uff08]{0,3}$", re.IGNORECASE
)
_WORDS_AFTER = re.compile(
    r"\s?(?:[km](?![a-z])|[万만천])?[\s)\uff09]{0,3}([^\W\d_]+)(?:\s([^\W\d_]+))?",
    re.IGNORECASE,
)
#: Beside a number, these words make it a count: of visits, of answers.
_COUNTED = frozenset(
    "view views visit visits visitor visitors hits read reads guests clicks downloads downloaded"
    " likes shares followers comment comments replies votes reviews ratings aufrufe kommentare"
    " antworten vues commentaires visitas comentarios respuestas просмотров комментариев".split()
) | {"visitor no.", "visitor number"}
_COUNTED_UNSPACED = tuple(
    "浏览 阅读 点击 查看 访问 人气 评论 回复 点赞 閲覧 コメント 조회 댓글".split()
)
#: Around a number and a word, these make it an age: "vor 3 Tagen", "3 days ago".
_AGO_BEFORE, _AGO_AFTER = (
    ("vor", "hace", "há"),
    ("ago", "geleden", "temu", "назад", "önce", "atrás"),
)
_AGO_UNSPACED = re.compile(".{1,3}?[前전]")
_COPYRIGHT_OR_ID = re.compile(
    r"(?:(?:\bcopyright|©|\(c\))[\s:]{0,3}){1,2}(?:\d{4}\s?[-\u2013]\s?)?\d{4}\b"
    r"|\brequest[ -]?id\b\W{0,3}[\w-]{6,64}",
    re.IGNORECASE,
)
# An id of 64 bits, or a UUID. Longer ones are the checksums of files.
# It begins with a letter of the id, because a search for a \b takes twice the time.
_VISIT = re.compile(
    r"[0-9a-f](?<!\w[0-9a-f])[0-9a-f]{7}(?:[0-9a-f]{8}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
)
_QUOTES = r"\"\u00ab\u00bb\u200b\u201c-\u201f"
_MARKS = (
    r"!#'-*,-/:;?@\[-`{-~\u00a1\u00a7\u00b4\u00b6-\u00b8\u00bf\u2010-\u201b\u2020-\u2027\u2032-\u205e"
    r"\u3001-\u3020\u30fb\ue000-\uf8ff\ufe30-\ufe6b\uff01-\uff03\uff05-\uff0a\uff0c-\uff0f\uff1a\uff1b\uff1f\uff20\uff3b-\uff40"
)
# A mark parts words, but beside a digit it is a part of the number, as a minus and a
# colon are. A quote never is, because another release has other quotes.
_GAP = re.compile(rf"[{_QUOTES}{_MARKS}](?:(?!\d)(?<!\d.)|(?<=[{_QUOTES}]))")
# All digits of an id become 0. To look for a row of them takes a fifth of the time of
# the whole search.
_AS_ZEROS = bytes.maketrans(b"123456789abcdef", b"0" * 15)
_ID, _UUID = b"0" * 16, b"00000000-0000-"


def state_of(content: str, key: bytes = b"") -> int:
    """Return a hash of what a page says, without what changes by itself.

    Marks of punctuation play no part but beside a digit, nor do signs of icon fonts,
    nor does how much space is between words.

    Args:
        content: lines; the first 1,048,576 characters count.
        key: makes another hash of the same text.
    """
    text = "\n".join(map(lasting, content[:LONGEST].split("\n")))
    zeros = text.encode("utf-8", "surrogatepass").translate(_AS_ZEROS)
    if _ID in zeros or _UUID in zeros:
        text = _VISIT.sub(" ", text)
    words = " ".join(_GAP.split(text)).split()
    said = " ".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(
        blake2b(said, digest_size=STATE_SIZE, key=key).digest(), "little"
    )


def is_same(facts: bytes, others: bytes, distance: int) -> bool:
    """Return whether a page says the same at two times, for :attr:`.IndexSpec.same`.

    In doubt it has changed: a page that is delivered without a change costs work, and a
    change that is not delivered is lost. Fingerprints tell it only of a page without
    facts, because a word more in a long text may leave all of their bits as they are.

    Args:
        facts: of the page; see :func:`.facts_of`.
        others: of the page as it was.
        distance: of their fingerprints, in bits.
    """
    if facts and others:
        return facts[-STATE_SIZE:] == others[-STATE_SIZE:]
    return distance == 0


def lasting(line: str) -> str:
    """Return a line without the counts and ages in it, which a longer one may keep."""
    if len(line) < SHORT_LINE:
        return _lasting(line)
    # "(c)" may be the third item of a list.
    notice = None if line.startswith("(") else _COPYRIGHT_OR_ID.match(line)
    return line[notice.end() :] if notice else line


# A site has the same short lines on each of its pages, and a page has them twice.
@functools.lru_cache(maxsize=4096)
def _lasting(line: str) -> str:
    if not _NUMBER.search(line):
        return line
    line = _COPYRIGHT_OR_ID.sub(" ", line)
    stays = list[str]()
    end = 0
    for number in _NUMBER.finditer(line):
        passed = _end_of_count_or_age(line, number)
        if passed and number.start() >= end:
            stays.append(line[end : number.start()])
            end = passed
    return " ".join([*stays, line[end:]])


def _end_of_count_or_age(line: str, number: re.Match[str]) -> int:
    """Return where the count or the age ends that a number is a part of; 0 for any other number."""
    before = _WORD_BEFORE.search(line[max(0, number.start() - 20) : number.start()])
    after = _WORDS_AFTER.match(line, number.end())
    # In lower case a line may be longer, so each word is lowered by itself.
    ahead = before[1].lower() if before else ""
    word, following = map(str.lower, after.groups("")) if after else ("", "")
    if after and following in _AGO_AFTER:
        return after.end(2)
    if ahead in _AGO_BEFORE or _AGO_UNSPACED.match(word):
        return after.end(1) if after else number.end()
    is_count = (
        ahead in _COUNTED
        or ahead.rstrip("量数次").endswith(_COUNTED_UNSPACED)
        or word in _COUNTED
        or (word.startswith("min") and following == "read")
        or word.lstrip("次条人").startswith(_COUNTED_UNSPACED)
    )
    return number.end() if is_count else 0
