"""Signatures of addresses: the form that the addresses of one kind of page share.

In a REPL::

    signature_of("http://shop.test/item/12?view=print&lang=fr").text
    # 'shop.test/item/{number}?lang=fr&view=print'
"""

import re
from typing import NamedTuple

from scrapy_simhash.keys import host_of
from scrapy_simhash.url_patterns.address import DEEPER, read_address, shape

#: Addresses of one signature that a page may hide before people should look.
MANY = 20
_PLAIN_NAME = re.compile(r"[\w.-]+", re.ASCII)


class Signature(NamedTuple):
    """The form of an address.

    Attributes:
        text: the address, with a star or a kind such as ``{number}`` in place of a
            value.
        expression: a regular expression that finds every address of this form.
    """

    text: str
    expression: str

    @property
    def action(self) -> str:
        """The line of the settings with which such pages are kept from now on."""
        is_plain = self.expression.isprintable() and '"' not in self.expression
        value = f'[(r"{self.expression}", "flag")]' if is_plain else '"flag"'
        return f"SIMHASH_ACTION = {value}"


def most_hidden(pages_of_crawl: int) -> float:
    """Return the number of addresses that a page may hide before people should look.

    They are of any signatures; see also ``MANY``.
    """
    return max(10, pages_of_crawl / 10)


def signature_of(url: str) -> Signature:
    """Return the signature of an address, or of its host if the address cannot be taken apart."""
    address = read_address(url)
    if address is None:
        host = host_of(url)
        expression = f"://{_escaped(host)}/" if host else _escaped(url)
        return Signature(host or url, expression)
    path = [*map(_star, address.path)]
    if not address.parameters and path[-1].isalpha():
        path[-1] = "*"  # a page by its name; with parameters, it is a program
    text = "/".join([address.host, *path])
    expression = "/".join([f"://{_escaped(address.host)}", *map(_expression_of, path)])
    if not address.parameters:
        return Signature(text, f"{expression}[?&;]*(?:#|$)")
    query = []
    for name, values in address.parameters:
        star = _star(values[0]) if len(values) == 1 else "*"
        query.append(f"{name}={star}")
        expression += _with_parameter(name, star)
    return Signature(f"{text}?{'&'.join(query)}", expression)


def _star(value: str) -> str:
    """Return a name unchanged, and a star in place of any other value."""
    form = shape(value)
    return value if form.kind == "name" else form.star


def _expression_of(star: str) -> str:
    if star == DEEPER:
        return ".*"
    return _escaped(star) if star.isidentifier() or not star else "[^/?#]*"


def _with_parameter(name: str, star: str) -> str:
    """Return an expression that looks ahead for a parameter, in whatever place it stands."""
    if not _PLAIN_NAME.fullmatch(name):
        return ""
    value = (
        f"={_escaped(star)}(?![^&;#])" if _PLAIN_NAME.fullmatch(star) else "(?![^=&;#])"
    )
    return f"(?=.*[?&;]{_escaped(name)}{value})"


def _escaped(text: str) -> str:
    """Return an expression for a text, with plain hyphens."""
    return re.escape(text).replace(r"\-", "-")
