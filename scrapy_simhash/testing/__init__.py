"""The suite of the verbs of a store, so that one from outside can prove itself.

A store's own tests have five lines for it::

    class TestMyStore(StoreContract):
        @pytest.fixture
        def new_url(self, tmp_path):
            numbers = itertools.count()
            return lambda: f"mystore://{tmp_path}/{next(numbers)}"

The scheme of the URL is declared by an entry point; see :mod:`scrapy_simhash.index.registry`. The
suite needs pytest: ``pip install "scrapy-simhash[testing]"``.
"""

import pytest

# Before the module is imported, so that its asserts tell what they have found.
pytest.register_assert_rewrite(f"{__name__}.store_contract")

from scrapy_simhash.testing.store_contract import StoreContract  # noqa: E402

__all__ = ["StoreContract"]
