"""Walls: many addresses of a host that all lead to one page, such as a log-in or "not found"."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field

#: Copies of one original that make a wall, if they are a tenth of the host's pages as well.
COPIES = 50
SHARE = 0.1
# Originals of a host that are counted at a time.
COUNTED = 16


@dataclass(slots=True)
class _Host:
    pages: int = 0
    copies: Counter[str] = field(default_factory=Counter)
    told: bool = False


class Walls:
    """Finds walls, one for each host.

    Args:
        most_hosts: that are watched; the one that was met longest ago goes.
    """

    def __init__(self, most_hosts: int = 1000) -> None:
        self._most_hosts = most_hosts
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def page(self, host: str, original: str | None) -> int:
        """Take note of a page; return the copies of its original when that is found to be a wall.

        Args:
            host: of the page.
            original: the key of the page that it repeats; None for a distinct page.

        Returns:
            0 where there is no wall, and for each host after its first.
        """
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = _Host()
            if len(self._hosts) > self._most_hosts:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(host)
        known.pages += 1
        if original is None or known.told:
            return 0
        copies = known.copies
        copies[original] += 1
        if len(copies) > COUNTED:
            copies.subtract(list(copies))
            known.copies = copies = +copies
        number = copies[original]
        known.told = number >= COPIES and number >= SHARE * known.pages
        return number if known.told else 0
