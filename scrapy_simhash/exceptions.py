"""Exceptions that the plugin raises into Scrapy."""

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_simhash.printable import printable, without_userinfo


class SettingError(ValueError):
    """A SIMHASH_* setting has a value that cannot be used; the message names it.

    It also names REDIS_URL and REDIS_PARAMS of scrapy-redis, and TWISTED_REACTOR.
    """


class _Repeats(Exception):
    """Says which page or item repeats which other one.

    Attributes:
        key: the key of the dropped page or item.
        original: the key of the nearest one that it repeats.
        distance: their Hamming distance in bits.
    """

    def __init__(
        self,
        key: str,
        original: str,
        distance: int,
        **options: str,
    ) -> None:
        # Scrapy logs the text of an exception unchanged, and pages write keys.
        said = f"{key} repeats {original} (distance {distance})"
        super().__init__(printable(without_userinfo(said)), **options)
        self.key = key
        self.original = original
        self.distance = distance


class NearDuplicatePage(_Repeats, IgnoreRequest):
    """A downloaded page was dropped because it repeats one that was crawled before."""


class SparedPage(IgnoreRequest):
    """A request was not sent because pages of addresses like its own were copies.

    Attributes:
        url: the address.
        signature: the signature of the address, as ``scrapy simhash patterns`` lists
            it.
    """

    def __init__(self, url: str, signature: str) -> None:
        said = f"{without_userinfo(url)} is spared: pages of {signature} were copies"
        super().__init__(printable(said))
        self.url = url
        self.signature = signature


class NearDuplicateItem(_Repeats, DropItem):
    """An item was dropped because its text repeats an item or page seen before."""
