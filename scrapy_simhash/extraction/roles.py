"""What the tag and the names of an element say about the text in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

Element = Any  # lxml has no types of its own

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
#: Whatever lies under these is furniture of the page.
FURNITURE_TAGS = frozenset(
    "amp-ad amp-consent amp-sidebar annotation aside button fieldset figcaption figure footer"
    " iframe input legend nav noscript object optgroup option script select style svg template"
    " textarea title".split()
)
#: These, and sections, shape running text inside a container, so a vote passes them at full
#: strength. Manuals nest them deeply: a definition in a list in a section in a section.
FLOW_TAGS = INLINE_TAGS | frozenset("blockquote center dd dl li ol tbody tr ul".split())

# What names tell, in lower case.
_FURNITURE = re.compile(
    r"caption|comment(?!ary)|cookie|consent|gdpr|disqus|signature|feedback|helpful|metadata"
    r"|author[-_]?(box|bio|card|note)|navbox|no-?print|(?<![\w-])(ads?(?!\w)|advert)"
)
_STRONG = re.compile(
    r"(article|story|post|entry)[-_]?(body|content|text|copy)|(body|content)[-_]?(text|copy)"
    r"|artibody|endtext|trs_editor|rich_media_content|markdown-body",
)
_WEAK = re.compile(r"article|story|post|entry|content|body|text|main|blog")
_DOUBTFUL = re.compile(
    r"foot|side-?bar|related|recommend|teaser|widget|promo|newsletter|popup|modal"
)
#: WordPress names an entry after the topics that it is filed under.
_TOPIC = re.compile(r"\b(category|tag)-\S+")
_SECTION = re.compile(r"\bsect(ion|\d)\b")


class Role(NamedTuple):
    """What the tag and names of an element, and of those around it, say about its text."""

    furniture: bool = False  # holds for all that lies under it
    doubtful: bool = False  # holds for all that lies under it
    flow: bool = False  # a vote passes it
    prior: float = 1.0  # how much more a vote for this element counts


class Roles:
    """The roles of the elements of one page; each is found once.

    Args:
        headings: the ``h1`` of the page.
    """

    def __init__(self, headings: Iterable[Element]) -> None:
        self._known: dict[Element, Role] = {}
        self._around_heading: set[Element] = set()
        for el in headings:
            while el is not None and el not in self._around_heading:
                self._around_heading.add(el)
                el = el.getparent()

    def of(self, el: Element | None) -> Role:
        """Return the role of an element within those around it."""
        known = self._known
        if (found := known.get(el)) is not None:
            return found
        path = []
        while el is not None and el not in known:
            path.append(el)
            el = el.getparent()
        role = Role() if el is None else known[el]
        for el in reversed(path):
            if el.keys():
                own = _role(el.tag, el.get("class", ""), el.get("id", ""), el.get("itemprop", ""))
            else:  # most are bare
                own = _role(el.tag)
            # Names such as "with-sidebar" or "has-comments" stand on wrappers of all that there is.
            if (own.furniture or own.doubtful) and el in self._around_heading:
                own = own._replace(furniture=el.tag in FURNITURE_TAGS, doubtful=False)
            # A figure is a picture with its credits, unless it frames a table or code.
            if el.tag == "figure" and not (el.find("table") is None and el.find("pre") is None):
                own = own._replace(furniture=False)
            if role.furniture or role.doubtful:
                furniture = role.furniture or own.furniture
                doubtful = role.doubtful or own.doubtful
                own = own._replace(furniture=furniture, doubtful=doubtful)
            known[el] = role = own
        return role


@lru_cache(maxsize=8192)
def _role(tag: str, classes: str = "", name: str = "", itemprop: str = "") -> Role:
    """The role that an element has by itself."""
    if tag in ("html", "body"):  # their names describe the page as a whole
        return Role()
    section = tag == "section" or (tag == "div" and _SECTION.search(classes) is not None)
    # The id of a section is the slug of its heading: it tells the topic, not the role.
    names = classes if section else f"{classes} {name}"
    names = _TOPIC.sub("", names.lower())
    prior = 6.0 if _STRONG.search(names) else 2.0 if _WEAK.search(names) else 1.0
    if tag in ("article", "main"):
        prior *= 2.0
    if itemprop == "articleBody":
        prior *= 9.0
    return Role(
        furniture=tag in FURNITURE_TAGS or _FURNITURE.search(names) is not None,
        doubtful=_DOUBTFUL.search(names) is not None,
        flow=section or tag in FLOW_TAGS,
        prior=prior,
    )
