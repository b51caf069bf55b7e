"""The header of a stored index: names and values that tell what made it."""

from collections.abc import Mapping

from scrapy_simhash.index.store import StoreMismatch
from scrapy_simhash.index.values import IndexSpec

#: What a new index is made with besides; crawlers may have another one later.
DISTANCE = "distance"


def header_of(spec: IndexSpec) -> dict[str, str]:
    """Return what all crawlers of an index have in common."""
    return {
        "recipe": spec.recipe,
        "bits": str(spec.bits),
        "blocks": str(spec.blocks),
    }


def spec_in(header: Mapping[str, object]) -> IndexSpec:
    """Return the spec of a stored index, or raise ValueError or KeyError."""
    numbers = (int(str(header[name])) for name in ("bits", DISTANCE, "blocks"))
    bits, distance, blocks = numbers
    return IndexSpec(str(header["recipe"]), bits, distance, blocks)


def check_header(
    header: Mapping[str, object], expected: Mapping[str, str], where: str
) -> None:
    """Raise StoreMismatch if a header lacks what is expected of it."""
    for name, value in expected.items():
        if header.get(name) != value:
            raise StoreMismatch(
                f"{where} was made with {name}={header.get(name)!s:.200}, not {value}: use what "
                "made it, or another index, or delete this one to start anew"
            )
