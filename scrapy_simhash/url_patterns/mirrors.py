"""Mirrors: two prefixes of addresses under which the same pages stand.

A pair of prefixes is a row like a signature, of the host whose pages are the copies:
``/handbook/ = other.test/handbook/``. Two hosts as a whole tell little (three releases of a manual
share most pages, not all), so each prefix has counts of its own, and the deepest one that has
enough of them decides.
"""

from collections.abc import Iterator

from scrapy_simhash.url_patterns.address import Address

#: Segments that a prefix may have.
DEEPEST = 3
BETWEEN = " = "


def is_mirror(signature: str) -> bool:
    """Tell whether a row is that of a pair of prefixes."""
    return BETWEEN in signature


def prefixes(address: Address) -> Iterator[str]:
    """Yield the prefixes of an address's path, the deepest first, the root last."""
    directories = address.path[:-1][:DEEPEST]
    for length in range(len(directories), -1, -1):
        yield _prefix(directories[:length])


def pairs(copy: Address, original: Address) -> list[str]:
    """Return the pairs of prefixes that a copy and its original speak for.

    They have parameters alike and end in the same segments of the path.
    """
    if copy.parameters != original.parameters:
        return []
    mine, theirs = copy.path, original.path
    same = 0
    while same < min(len(mine), len(theirs)) and mine[-1 - same] == theirs[-1 - same]:
        same += 1
    # An index page has an empty last segment, which is like any other.
    if not same or not any(mine[-same:]):
        return []
    found = []
    for length in range(len(mine) - same, min(len(mine) - 1, DEEPEST) + 1):
        other = length + len(theirs) - len(mine)
        left, right = _prefix(mine[:length]), _prefix(theirs[:other])
        found.append(f"{left}{BETWEEN}{original.host}{right}")
    return found


def _prefix(segments: tuple[str, ...]) -> str:
    return "/" + "".join(f"{segment}/" for segment in segments)
