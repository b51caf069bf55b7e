"""The contract suite of the index, so that a store from outside can prove itself.

A store's own tests have five lines for it::

    class TestMyStore(IndexContract):
        @pytest.fixture
        def new_url(self, tmp_path):
            numbers = itertools.count()
            return lambda: f"mystore://{tmp_path}/{next(numbers)}"

The scheme of the URL is declared by an entry point; see :mod:`scrapy_simhash.index.registry`. The
suite needs pytest and hypothesis: ``pip install "scrapy-simhash[testing]"``. It sets the clock of
the :class:`.IndexSpec`, so a store takes its time from there, unless it is :func:`time.time`.
"""

import pytest

# Before the modules are imported, so that their asserts tell what they have found.
for _name in ("claims", "copies", "entries", "histories", "leases", "races", "runs", "waiting"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")

from scrapy_simhash.testing.claims import Claims  # noqa: E402
from scrapy_simhash.testing.copies import Copies  # noqa: E402
from scrapy_simhash.testing.entries import Entries  # noqa: E402
from scrapy_simhash.testing.histories import Histories  # noqa: E402
from scrapy_simhash.testing.leases import Leases  # noqa: E402
from scrapy_simhash.testing.races import Races  # noqa: E402
from scrapy_simhash.testing.runs import Runs  # noqa: E402
from scrapy_simhash.testing.waiting import Waiting  # noqa: E402

__all__ = [
    *("Claims", "Copies", "Entries", "Histories", "IndexContract", "Leases", "Races", "Runs"),
    "Waiting",
]


class IndexContract(Claims, Copies, Entries, Leases, Waiting, Runs, Histories, Races):
    """Everything that an index promises; a subclass has the fixture ``new_url``."""
