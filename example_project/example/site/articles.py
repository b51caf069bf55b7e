"""Articles as a desk writes them, and what becomes of them at other desks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from types import ModuleType

from example.site import chinese, english
from example.site.grammar import cast, edit, paragraphs, sentence

LANGUAGES: dict[str, ModuleType] = {"en": english, "zh": chinese}

_EDITED_SHARE = 0.03  # of the words
_WORD_LENGTH = {"en": 6, "zh": 2}
_JOINT = {"en": " ", "zh": ""}  # between two sentences


@dataclass(frozen=True)
class Article:
    """A story before any template sets it.

    Attributes:
        slug: its name in addresses.
        lines: the paragraphs.
        date: when it was published, or the counters were last changed.
        readers: how many have read it.
        comments: how many have left a comment.
    """

    lang: str
    slug: str
    title: str
    author: str
    lines: tuple[str, ...]
    date: str
    readers: int
    comments: int

    def body(self) -> list[str]:
        """Return the lines of the page: byline, paragraphs, counters."""
        phrases = LANGUAGES[self.lang].PHRASES
        byline = phrases["byline"].format(author=self.author, date=self.date)
        counters = phrases["counters"].format(
            date=self.date, readers=f"{self.readers:,}", comments=self.comments
        )
        return [byline, *self.lines, counters]


def write(lang: str, slug: str, rng: Random, length: int) -> Article:
    """Return a new article of ``length`` paragraphs."""
    language = LANGUAGES[lang]
    rules = cast(language.RULES, language.ABOUT, rng)
    return Article(
        lang=lang,
        slug=slug,
        title=sentence("{headline}", rules, rng),
        author=sentence("{hero}", language.RULES, rng),
        lines=paragraphs(rules, rng, length, _JOINT[lang]),
        date=_date(rng),
        readers=rng.randint(200, 9000),
        comments=rng.randint(2, 90),
    )


def near_duplicate(kind: str, article: Article, source: str) -> Article:
    """Return the article as another page has it.

    Args:
        kind: ``mirror`` (only the template around it will differ), ``syndicated``,
            ``ads``, ``counters`` or ``edits``.
        article: the original.
        source: the name of the newspaper that wrote it.
    """
    language = LANGUAGES[article.lang]
    rng = Random(f"{kind} of {source} {article.slug}")
    lines = list(article.lines)
    if kind == "syndicated":
        credit = language.PHRASES["credit"].format(source=source)
        permission = language.PHRASES["permission"].format(source=source)
        joint = _JOINT[article.lang]
        lines[0] = joint.join((credit, lines[0]))
        lines[-1] = joint.join((lines[-1], permission))
    elif kind == "ads":
        first, second = rng.sample(language.ADS, 2)
        lines[1:1] = [first]
        lines[-1:-1] = [second]
    elif kind == "counters":
        readers, comments = article.readers * 3 + 11, article.comments + 31
        return replace(article, date=_date(rng), readers=readers, comments=comments)
    elif kind == "edits":
        text = "\n".join(lines)
        terms = [language.RULES[name] for name in language.EDITED]
        count = round(len(text) / _WORD_LENGTH[article.lang] * _EDITED_SHARE)
        lines = edit(text, terms, rng, count).split("\n")
    return replace(article, lines=tuple(lines))


def _date(rng: Random) -> str:
    return f"2031-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
