"""Keep one copy of each page: near-duplicate detection while Scrapy crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_simhash.addon import Addon

__all__ = ["Addon", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Scrapy is imported only by those who want the Scrapy edge: the worker processes and the
    # users of the detector do without.
    if name == "Addon":
        from scrapy_simhash.addon import Addon

        return Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
