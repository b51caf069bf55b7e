"""The only reader of the SIMHASH_* settings: a table of them, and what the unset ones become."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

from scrapy_simhash import setting_values as values
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.extraction.extractor import FAST_EXTRACTORS
from scrapy_simhash.extraction.selectors import checked_selectors
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.registry import file_of, store_of
from scrapy_simhash.keys import Scope
from scrapy_simhash.redis_settings import scrapy_redis_url, uses_scrapy_redis
from scrapy_simhash.setting_values import Actions

Prefer = Literal["first", "canonical"]
Recrawl = Literal["all", "changed"]
OnUnavailable = Literal["continue", "stop"]
Spare = Literal["watch", "skip", "off"]

_PREFIX = "SIMHASH_"
_LONGEST = 1e9  # seconds, 30 years, which every clock can add
#: The index in the folder of a job.
INDEX_OF_JOB = "simhash.sqlite"
#: Replaced by the name of the spider in SIMHASH_NAMESPACE and SIMHASH_INDEX_URL.
SPIDER = "{spider}"


def _name_of(field_name: str) -> str:
    return _PREFIX + field_name.upper()


# ruff: noqa: RUF009 - as dataclasses.field, which it wraps, _setting declares a field
# anew
def _setting(default: Any, read: values.Read) -> Any:
    return field(metadata={"default": default, "read": read})


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The checked settings of one crawl, each with its default and the function that reads it.

    The page "Settings" of the documentation says what each does, and in which unit it
    is.
    """

    action: Actions = _setting("drop", values.actions)
    scope: Scope = _setting("global", values.choice(Scope))
    prefer: Prefer = _setting("first", values.choice(Prefer))
    recrawl: Recrawl = _setting("all", values.choice(Recrawl))
    keep_runs: int = _setting(3, values.number(int, 1))
    recipe: Recipe = _setting("default", values.recipe)
    index_url: str = _setting(None, values.index)
    namespace: str = _setting(None, values.text)
    lease: float = _setting(60.0, values.number(float, 1, _LONGEST))
    on_unavailable: OnUnavailable = _setting("continue", values.choice(OnUnavailable))
    max_body_size: int = _setting(4 * 1024 * 1024, values.number(int, 1))
    timeout: float = _setting(10.0, values.number(float, 0.1, _LONGEST))
    processes: int = _setting(None, values.number(int, 0, 1024))
    spare: Spare = _setting("watch", values.choice(Spare))
    spare_never: tuple[re.Pattern[str], ...] = _setting([], values.expressions)
    log: Path | None = _setting(None, values.log)
    item_text_field: str | None = _setting(None, values.text)
    item_html_field: str | None = _setting(None, values.text)
    item_key_field: str = _setting("url", values.name)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> FilterSettings:
        """Read and check every setting.

        Raises:
            SettingError: one line that names the setting and says what it may be.
        """
        refuse_unknown(settings)
        checked = {
            each.name: _read_setting(settings, each.name, each.metadata["read"])
            for each in fields(cls)
        }
        checked["recipe"] = _changed(checked["recipe"], settings)
        checked["namespace"] = _namespace(settings)
        checked["index_url"] = named_url(
            checked["index_url"] or _usual_index(settings), settings
        )
        if checked["processes"] is None:
            # With a fast extractor, two keep up with any crawl process. Others take ten
            # times as long as the crawl does for a page. A worker starts only when all
            # others are busy.
            is_fast = checked["recipe"].extractor in FAST_EXTRACTORS
            checked["processes"] = min(os.cpu_count() or 1, 2 if is_fast else 4)
        if settings.get("SIMHASH_LOG") is None:
            checked["log"] = log_beside(checked["index_url"])
        chosen = cls(**checked)
        chosen._refuse_what_contradicts(settings)
        return chosen

    def _refuse_what_contradicts(self, settings: BaseSettings) -> None:
        if self.recrawl == "changed" and not self.survives:
            said = "'changed' needs an index that outlives the crawl, so name one"
            raise _error("SIMHASH_RECRAWL", f"{said} in SIMHASH_INDEX_URL")
        is_shared_file = self.survives and not store_of(self.index_url).name_option
        if (
            is_shared_file
            and SPIDER in self.namespace
            and settings.get("SIMHASH_INDEX_URL")
        ):
            said = f"a file has no namespace, so write {SPIDER} into SIMHASH_INDEX_URL"
            raise _error("SIMHASH_NAMESPACE", said)

    def of_spider(self, name: str) -> FilterSettings:
        """Return the settings of a spider, whose index may have its name."""
        safe = quote(re.sub(r"[^\w.-]", "_", name))
        return replace(self, index_url=self.index_url.replace(SPIDER, safe))

    @property
    def has_items(self) -> bool:
        return bool(self.item_text_field or self.item_html_field)

    @property
    def log_bytes(self) -> float:
        """The size at which the log begins anew: 100 MB, or none for one that somebody named."""
        is_beside = self.log is not None and self.log == log_beside(self.index_url)
        return 100e6 if is_beside else inf

    @property
    def survives(self) -> bool:
        return store_of(self.index_url).lasting


# The settings that change a value of the recipe, each without a default.
_CHANGES: dict[str, values.Read] = {
    "seed": values.name,
    "distance": values.number(int, 0),
    "extractor": values.extractor,
    "readers": values.readers,
    "content": checked_selectors,
    "ignore": checked_selectors,
}

#: Every setting of the plugin, with its default.
DEFAULTS: dict[str, Any] = {
    "SIMHASH_ENABLED": True,
    **{_name_of(field_name): None for field_name in _CHANGES},
    **{
        _name_of(each.name): each.metadata["default"] for each in fields(FilterSettings)
    },
}


def _read_setting(settings: BaseSettings, field_name: str, read: values.Read) -> Any:
    """Return the checked value of a setting; None if it has neither a value nor a default."""
    name = _name_of(field_name)
    value = settings.get(name, DEFAULTS[name])
    if value is None and DEFAULTS[name] is None:
        return None
    try:
        return read(value)
    except values.WRONG as error:
        raise _error(name, str(error)) from None


def _error(name: str, said: str) -> SettingError:
    return SettingError(f"{name:.80}: {said:.300}")


def _changed(recipe: Recipe, settings: BaseSettings) -> Recipe:
    """Return a recipe with the values that other settings give it."""
    for part, read in _CHANGES.items():
        if (value := _read_setting(settings, part, read)) is not None:
            try:
                recipe = replace(recipe, **{part: value})
            except ValueError as error:
                raise _error(_name_of(part), str(error)) from None
    return recipe


def _namespace(settings: BaseSettings) -> str:
    """Return the name that an index has in a shared store: by default, the project's."""
    project = str(settings.get("BOT_NAME") or "simhash")
    namespace: str = _read_setting(settings, "namespace", values.text) or project
    if set(namespace.replace(SPIDER, "")) & set("{}"):
        said = f"{namespace!r:.80} has braces, which Redis reads as something else"
        raise _error("SIMHASH_NAMESPACE", said)
    return namespace


def _usual_index(settings: BaseSettings) -> str:
    # Crawlers that share a scheduler also share the index.
    if uses_scrapy_redis(settings):
        return scrapy_redis_url(settings)
    # The index lasts as long as the job does, like Scrapy's own dupefilter.
    folder = job_dir(settings)
    return url_of_file(Path(folder) / INDEX_OF_JOB) if folder else "memory://"


def log_beside(index_url: str) -> Path | None:
    """Return the log beside the file of an index, which a crawl writes by default."""
    file = file_of(index_url)
    return file.with_name(f"{file.stem}.dedup.jsonl") if file else None


def named_url(url: str, settings: BaseSettings) -> str:
    """Return the URL of an index with the name that the index has in a shared store.

    Raises:
        ValueError: the URL is of no known form.
    """
    option = store_of(url).name_option
    if not option or re.search(f"[?&]{option}=", url):
        return url
    name = quote(f"{_namespace(settings)}:simhash", ":{}")
    return f"{url}{'&' if '?' in url else '?'}{option}={name}"


def url_of_file(path: Path) -> str:
    return "sqlite:///" + quote(str(path.absolute()))


def refuse_unknown(settings: BaseSettings) -> None:
    """Raise a SettingError for a misspelt setting, because without it other values count."""
    for name in settings:
        if str(name).startswith(_PREFIX) and name not in DEFAULTS:
            from difflib import get_close_matches

            names = [setting.removeprefix(_PREFIX) for setting in DEFAULTS]
            meant = get_close_matches(name.removeprefix(_PREFIX)[:80], names, 1)
            hint = f"; did you mean {_PREFIX}{meant[0]}?" if meant else ""
            raise _error(name, f"there is no such setting{hint}")
