"""The addresses of one page, and what two of them have to say of their signatures."""

from typing import NamedTuple

from scrapy_simhash.url_patterns.address import Address
from scrapy_simhash.url_patterns.store import NOTHING, Counts
from scrapy_simhash.url_patterns.table import HostTable


class AddressedPage(NamedTuple):
    """An address with its signature, and the values at its starred places."""

    url: str
    address: Address
    table: HostTable
    signature: str
    starred: list[str]

    @property
    def name(self) -> str:
        """Return host and signature."""
        return self.address.host + self.signature


class Cluster(NamedTuple):
    """The addresses of one page.

    Attributes:
        standing: the address that counts as that of the page: the one by which the original came,
            or a better one.
        other: that of a copy with another signature; empty without one.
        other_name: its host and signature when it came.
        counts: those of the other.
        names: a hash of the hosts and the names of the parameters of both.
        repeats: whether the signature of the standing address is that of a copy, too.
    """

    standing: str
    other: str = ""
    other_name: str = ""
    counts: Counts = NOTHING
    names: int = 0
    repeats: bool = False


def pair_of(source: AddressedPage, other: AddressedPage) -> tuple[str, str]:
    """Return a signature, and what the signatures are like that it may yield to."""
    return source.name, f"{other.address.host} {sorted(other.address.names)}"


def parameter_names(source: AddressedPage, other: AddressedPage) -> int:
    """Return a hash of the hosts and of the names of the parameters of two addresses."""
    return hash(tuple((one.address.host, *sorted(one.address.names)) for one in (source, other)))
