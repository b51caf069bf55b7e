"""Keep one copy of each page: near-duplicate detection while crawlers run.

Everything that people use is imported from here; the modules behind it may move.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Each module is imported from once.
# ruff: isort: off
if TYPE_CHECKING:
    from scrapy_simhash.addon import Addon as Addon
    from scrapy_simhash.core.dedup import Dedup as Dedup
    from scrapy_simhash.core.sync import SyncDedup as SyncDedup
    from scrapy_simhash.core.verdict import Document as Document, Verdict as Verdict
    from scrapy_simhash.exceptions import (
        NearDuplicateItem as NearDuplicateItem,
        NearDuplicatePage as NearDuplicatePage,
        SettingError as SettingError,
        SparedPage as SparedPage,
    )
    from scrapy_simhash.extraction.extractor import Extraction as Extraction
    from scrapy_simhash.fingerprint.features import FeatureSpec as FeatureSpec
    from scrapy_simhash.fingerprint.recipe import (
        Recipe as Recipe,
        named_recipe as named_recipe,
    )
    from scrapy_simhash.index.index import Index as Index
    from scrapy_simhash.index.registry import Scheme as Scheme
    from scrapy_simhash.index.store import (
        Answer as Answer,
        Counts as Counts,
        Part as Part,
        Store as Store,
        Stored as Stored,
        StoreError as StoreError,
    )
    from scrapy_simhash.offline.join import spark_verdicts as spark_verdicts
    from scrapy_simhash.report.dedup_log import read_log as read_log
    from scrapy_simhash.signals import near_duplicate as near_duplicate

__version__ = "0.1.0"

# The public names by their modules.
_PUBLIC = {
    "addon": "Addon",
    "core.dedup": "Dedup",
    "core.sync": "SyncDedup",
    "core.verdict": "Document Verdict",
    "exceptions": "NearDuplicateItem NearDuplicatePage SettingError SparedPage",
    "extraction.extractor": "Extraction",
    "fingerprint.features": "FeatureSpec",
    "fingerprint.recipe": "Recipe named_recipe",
    "index.index": "Index",
    "index.registry": "Scheme",
    "index.store": "Answer Counts Part Store Stored StoreError",
    "offline.join": "spark_verdicts",
    "report.dedup_log": "read_log",
    "signals": "near_duplicate",
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    # A program imports only what it asks for: workers and other engines do without
    # Scrapy, and a filter that is switched off does without the core.
    if name in _MODULES:
        return getattr(import_module(f"scrapy_simhash.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
