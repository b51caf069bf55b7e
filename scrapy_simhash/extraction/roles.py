"""Roles of elements: their tag and their names tell something about the text in them.

A role is one bit, so that an element carries those of all that it stands in, but for
two that are its own alone. Each role is evidence with a weight of its own, and none
decides alone.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

Element = Any  # lxml has no types of its own

#: Their text is never shown, or is no text of the page.
UNSEEN_TAGS = (
    "script style template svg math iframe object select noframes audio video canvas datalist area"
).split()
#: They stand inside a line. Links and images do, too, but are looked at.
INLINE_TAGS = (
    "abbr acronym b bdi bdo big cite code data del dfn em font i input ins kbd label map mark nobr"
    " q rp rt ruby s samp small span strike strong sub sup time tt u var wbr"
).split()
#: They shape running text inside the element that paragraphs stand in together.
FLOW_TAGS = frozenset(
    "address blockquote center dd dl dt figure ol p pre section table tbody tfoot thead tr"
    " ul".split()
)

NAVIGATION, FOOTER, ASIDE, HEADER, CAPTION, DIALOG, HIDDEN = (
    1 << bit for bit in range(7)
)
#: Teasers, sidebars and the like, by their names.
DOUBTFUL = 1 << 8
#: Menus, heads, tools and the like, by their names.
UNLIKELY = 1 << 9
LINK = 1 << 10
TITLE = 1 << 11
#: All that names or tags say against an element; it is not said of one around the
#: heading.
AGAINST = LINK - 1
#: The heading of a section, and an item of a list.
SUBHEADING, ITEM = 1 << 12, 1 << 13
#: The label of a value.
TERM = 1 << 20
#: What is shown as it is written, such as a program.
CODE = 1 << 21
OF_ITSELF = SUBHEADING | ITEM
#: A footer by its very name, as pages had it before there was a tag. It plays no part
#: in what is main text, which knows names by their parts.
NAMED_FOOTER = 1 << 15
#: What readers write, by its names. It is hardly ever main text, and always content.
COMMENT = 1 << 16
#: A header or footer of the site: one in an article or a section is a part of that.
OUTER = 1 << 17
#: What stands in these elements is the page's own, and so are headers and footers in
#: them.
SECTION, MAIN = 1 << 18, 1 << 19

#: What names alone hint at, and all roles that may speak against a line.
HINTS = DOUBTFUL | UNLIKELY | CAPTION
AGAINST_LINES = np.array(
    [
        NAVIGATION,
        OUTER,
        NAMED_FOOTER,
        DIALOG,
        HIDDEN,
        ASIDE,
        DOUBTFUL,
        UNLIKELY,
        CAPTION,
    ]
)

#: What HTML's words tell as tags, and ARIA's as roles.
_WORDS = {
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), SUBHEADING),
    "a": LINK,
    "alert": DIALOG,
    "alertdialog": DIALOG,
    "article": SECTION,
    "aside": ASIDE,
    "banner": HEADER,
    "complementary": ASIDE,
    "contentinfo": FOOTER,
    "dialog": DIALOG,
    "dt": TERM,
    "figcaption": CAPTION,
    "footer": FOOTER,
    "h1": TITLE,
    "header": HEADER,
    "li": ITEM,
    "main": MAIN | SECTION,
    "nav": NAVIGATION,
    "navigation": NAVIGATION,
    "noscript": HIDDEN,
    "pre": CODE,
    "section": SECTION,
    "th": TERM,
}
_NOTICE = re.compile("cookie|consent")
# Each alternative begins with a letter, and no two with the same one, because the
# search then looks closer at few characters only.
_DOUBTFUL = re.compile(
    r"caption|foot|promo|related|si(?:de-?bar|gnature)|teaser|widget"
)
_COMMENT = re.compile(r"comment(?!ary|s-open)")
_UNLIKELY = re.compile(r"a(?<![a-z]a)d[-s]|crumb|head|menu|nav|side(?<!inside)")
_INVISIBLE = re.compile(r"display\s{0,3}:\s{0,3}none")
LONGEST_NAMES = 200  # characters of an attribute that are looked at
_TELLING = frozenset(("role", "hidden", "aria-hidden", "style"))


def role_and_class(tag: str, attributes: Iterable[tuple[str, str]]) -> tuple[int, str]:
    """Return what an element's own tag and attributes tell, as bits, and its first class."""
    role, first = _WORDS.get(tag, 0), ""
    for name, value in attributes:
        # The id of a section is the slug of its heading: it tells the topic, not the
        # role.
        if name == "class" or (name == "id" and tag != "section"):
            of_names, named = _role_and_first(value[:LONGEST_NAMES])
            # A form is no notice, but may be filled in from a cookie.
            role |= of_names & ~DIALOG if tag == "form" else of_names
            first = named if name == "class" else first
        elif name in _TELLING:
            role |= _role_of_attribute(name, value)
    return role, first


def _role_of_attribute(name: str, value: str) -> int:
    if name == "role":
        return _WORDS.get(value, 0)
    if name == "hidden" or value == "true" or _INVISIBLE.search(value[:LONGEST_NAMES]):
        return HIDDEN
    return 0


@lru_cache(maxsize=8192)
def _role_and_first(classes: str) -> tuple[int, str]:
    names = classes.lower()
    role = DIALOG if _NOTICE.search(names) else 0
    if _COMMENT.search(names):
        role |= COMMENT
    if _UNLIKELY.search(names):
        role |= UNLIKELY
    if _DOUBTFUL.search(names):
        role |= DOUBTFUL | (NAMED_FOOTER if "footer" in names.split() else 0)
    return role, classes.lstrip().partition(" ")[0]
