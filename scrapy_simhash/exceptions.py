"""Exceptions that the plugin raises into Scrapy."""

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_simhash.printable import printable, without_userinfo


class SettingError(ValueError):
    """A SIMHASH_* setting or meta key has a value that cannot be used; the message names it.

    It also names REDIS_URL and REDIS_PARAMS of scrapy-redis, and TWISTED_REACTOR.
    """


class _NearDuplicate(Exception):
    def __init__(self, key: str, original: str, distance: int) -> None:
        # Scrapy logs the text of an exception as it is, and pages write keys.
        said = f"{key} repeats {original} (distance {distance})"
        super().__init__(printable(without_userinfo(said)))
        self.key = key
        self.original = original
        self.distance = distance


class NearDuplicatePage(_NearDuplicate, IgnoreRequest):
    """A downloaded page was dropped because it repeats one that was crawled before.

    Attributes:
        key: the key of the dropped page.
        original: the key of the nearest page that it repeats.
        distance: their Hamming distance in bits.
    """


class NearDuplicateItem(_NearDuplicate, DropItem):
    """An item was dropped because its text repeats an item or page seen before.

    Its attributes are those of :class:`NearDuplicatePage`.
    """

    def __init__(self, key: str, original: str, distance: int) -> None:
        super().__init__(key, original, distance)
        self.log_level = "DEBUG"


class SparedPage(IgnoreRequest):
    """A request was not sent because pages of addresses like its own were copies.

    Attributes:
        url: the address.
        signature: of the address; what ``scrapy simhash patterns`` lists.
    """

    def __init__(self, url: str, signature: str) -> None:
        said = f"{without_userinfo(url)} is spared: pages of {signature} were copies"
        super().__init__(printable(said))
        self.url = url
        self.signature = signature
