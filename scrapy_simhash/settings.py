"""The only reader of the SIMHASH_* settings: each is checked, and an error names it.

It is imported by every door, also where the filter is switched off, so it imports nothing heavy
before a setting is read.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args
from urllib.parse import quote

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.keys import SCOPES, Scope
from scrapy_simhash.redis_settings import scrapy_redis_url, uses_scrapy_redis

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe
    from scrapy_simhash.index.contract import IndexSpec

Action = Literal["drop", "follow", "flag"]
ACTIONS: tuple[Action, ...] = get_args(Action)
OnUnavailable = Literal["continue", "stop"]
Spare = Literal["watch", "defer", "skip", "off"]

_PREFIX = "SIMHASH_"
# Characters that a text may have.
_LONGEST = 4096
# Characters of a value, and of what others say about it, that a message shows.
_SHOWN = 80
_EXPLAINED = 300
_MOST_EXPRESSIONS = 100
_LONGEST_EXPRESSION = 500
# Seconds: 30 years, which every clock can add.
_LONGEST_WAIT = 1e9
# Above any number that means something.
_MOST = 1e18

#: Every setting of the plugin, with its default.
DEFAULTS: dict[str, Any] = {
    "SIMHASH_ENABLED": True,
    "SIMHASH_ACTION": "drop",
    "SIMHASH_SCOPE": "global",
    "SIMHASH_INDEX_URL": None,
    "SIMHASH_RECIPE": "default",
    "SIMHASH_DISTANCE": None,
    "SIMHASH_EXTRACTOR": None,
    "SIMHASH_MIN_LENGTH": None,
    "SIMHASH_SEED": None,
    "SIMHASH_LEASE": 60.0,
    "SIMHASH_ON_UNAVAILABLE": "continue",
    "SIMHASH_OUTAGE_PAGES": 100_000,
    "SIMHASH_MAX_BODY_SIZE": 4 * 1024 * 1024,
    "SIMHASH_TIMEOUT": 10.0,
    "SIMHASH_PROCESSES": None,
    "SIMHASH_SPARE": "watch",
    "SIMHASH_SPARE_SHARE": 0.05,
    "SIMHASH_SPARE_NEVER": [],
    "SIMHASH_LOG": None,
    "SIMHASH_LOG_SIZE": 1_000_000_000,
    "SIMHASH_LOG_TEXT": 1000,
    "SIMHASH_ITEM_TEXT_FIELD": None,
    "SIMHASH_ITEM_HTML_FIELD": None,
    "SIMHASH_ITEM_KEY_FIELD": "url",
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The checked settings of one crawl.

    Attributes:
        action: what happens to a near-duplicate page.
        scope: which pages are compared.
        recipe: from text to fingerprint.
        index_url: where the index is.
        lease: seconds that a page in progress belongs to its crawler.
        on_unavailable: whether the crawl goes on while the index is away.
        outage_pages: the number of pages that a crawl may hold meanwhile.
        max_body_size: bytes; larger pages are let through unchecked.
        timeout: seconds that a page's analysis may take; then it is let through unchecked.
        processes: worker processes for the analysis; 0 for a thread.
        spare: what happens to requests whose addresses tell that their pages will be copies.
        spare_share: of such requests, those that are sent all the same; above 0, at most 1.
        spare_never: addresses in which one of these is found are never spared.
        log_path: the dedup log, or None for no log.
        log_size: bytes that its files may have together.
        log_text: characters of each page's text in it; 0 without a log.
        item_text_field: the item field with the text to compare, or None.
        item_html_field: the item field with the HTML to compare, or None.
        item_key_field: the item field that names the item.
    """

    action: Action
    scope: Scope
    recipe: Recipe
    index_url: str
    lease: float
    on_unavailable: OnUnavailable
    outage_pages: int
    max_body_size: int
    timeout: float
    processes: int
    spare: Spare
    spare_share: float
    spare_never: tuple[re.Pattern[str], ...]
    log_path: Path | None
    log_size: int
    log_text: int
    item_text_field: str | None
    item_html_field: str | None
    item_key_field: str

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> FilterSettings:
        """Read and check every setting.

        Raises:
            SettingError: one line that names the setting and says what it may be.
        """
        refuse_unknown(settings)
        log_path = log_path_from_settings(settings)
        recipe = recipe_from_settings(settings)
        log_text = _number(settings, "SIMHASH_LOG_TEXT", int, 0)
        return cls(
            action=checked_action(_get(settings, "SIMHASH_ACTION"), "SIMHASH_ACTION"),
            scope=_one_of(_get(settings, "SIMHASH_SCOPE"), SCOPES, "SIMHASH_SCOPE"),
            recipe=recipe,
            index_url=index_url_from_settings(settings),
            lease=_number(settings, "SIMHASH_LEASE", float, 1, _LONGEST_WAIT),
            on_unavailable=_one_of(
                _get(settings, "SIMHASH_ON_UNAVAILABLE"),
                get_args(OnUnavailable),
                "SIMHASH_ON_UNAVAILABLE",
            ),
            outage_pages=_number(settings, "SIMHASH_OUTAGE_PAGES", int, 0),
            max_body_size=max_body_size_from_settings(settings),
            timeout=_number(settings, "SIMHASH_TIMEOUT", float, 0.1, _LONGEST_WAIT),
            processes=_processes(settings, recipe),
            spare=_one_of(_get(settings, "SIMHASH_SPARE"), get_args(Spare), "SIMHASH_SPARE"),
            spare_share=_number(settings, "SIMHASH_SPARE_SHARE", float, 0.01, 1),
            spare_never=_spare_never(settings),
            log_path=log_path,
            log_size=_number(settings, "SIMHASH_LOG_SIZE", int, 10_000),
            log_text=log_text if log_path else 0,
            item_text_field=_text(settings, "SIMHASH_ITEM_TEXT_FIELD"),
            item_html_field=_text(settings, "SIMHASH_ITEM_HTML_FIELD"),
            item_key_field=_text(settings, "SIMHASH_ITEM_KEY_FIELD") or "",
        )

    @property
    def has_items(self) -> bool:
        """True if items are compared."""
        return bool(self.item_text_field or self.item_html_field)

    @property
    def is_local(self) -> bool:
        """True if the index is on this machine."""
        return self.index_url.startswith(("memory:", "sqlite:"))

    @property
    def survives(self) -> bool:
        """True if the index outlives the crawl."""
        return not self.index_url.startswith("memory:")

    def index_spec(self, spider: str = "") -> IndexSpec:
        """Return how the index is opened.

        Args:
            spider: the name of the spider whose pages are crawled.
        """
        from scrapy_simhash.detector import spec_of

        return spec_of(self.recipe, lease=self.lease, spider=spider)


def is_enabled(settings: BaseSettings) -> bool:
    """Return whether the filter runs.

    Raises:
        SettingError: SIMHASH_ENABLED is neither true nor false.
    """
    try:
        return settings.getbool("SIMHASH_ENABLED", DEFAULTS["SIMHASH_ENABLED"])
    except (TypeError, ValueError):
        value = _shown(_get(settings, "SIMHASH_ENABLED"))
        raise SettingError(f"SIMHASH_ENABLED: {value} is neither true nor false") from None


def checked_action(value: object, name: str) -> Action:
    """Return an action, or raise a SettingError that says where it came from."""
    return _one_of(value, ACTIONS, name)


def _get(settings: BaseSettings, name: str) -> Any:
    return settings.get(name, DEFAULTS[name])


def _shown(value: object) -> str:
    """Return a value as a message shows it."""
    return _cut(repr(value), _SHOWN)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def refuse_unknown(settings: BaseSettings) -> None:
    """Raise a SettingError for a misspelt setting, because without it other values count."""
    for name in settings:
        if isinstance(name, str) and name.startswith(_PREFIX) and name not in DEFAULTS:
            from difflib import get_close_matches

            names = {known.removeprefix(_PREFIX): known for known in DEFAULTS}
            meant = get_close_matches(name.removeprefix(_PREFIX)[:_SHOWN], names, 1)
            hint = f"; did you mean {names[meant[0]]}?" if meant else ""
            raise SettingError(f"{_cut(name, _SHOWN)}: there is no such setting{hint}")


def _one_of(value: object, choices: Iterable[T], name: str) -> T:
    for choice in choices:
        if value == choice:
            return choice
    raise SettingError(f"{name}: {_shown(value)} is none of {', '.join(map(str, choices))}")


def _text(settings: BaseSettings, name: str) -> str | None:
    value = _get(settings, name)
    if not isinstance(value, str | None):
        raise SettingError(f"{name}: it is text, not {type(value).__name__}")
    if value is not None and len(value) > _LONGEST:
        raise SettingError(f"{name}: it has {len(value)} characters, and may have {_LONGEST}")
    return value


def _number(
    settings: BaseSettings,
    name: str,
    kind: Callable[[Any], T],
    least: float,
    most: float = _MOST,
) -> T:
    # Values given on the command line arrive as text.
    value = _get(settings, name)
    try:
        number: Any = kind(value)
        # Half a page is no number of pages, and "not a number" is not even equal to itself.
        is_another = isinstance(value, float) and value != number
        if isinstance(value, bool) or is_another or not least <= number <= most:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        whole = "a whole number" if kind is int else "a number"
        limit = f" and at most {most:,.0f}" if most < _MOST else ""
        raise SettingError(
            f"{name}: {_shown(value)} is not {whole} of at least {least:g}{limit}"
        ) from None
    return kind(number)


def _spare_never(settings: BaseSettings) -> tuple[re.Pattern[str], ...]:
    value = _get(settings, "SIMHASH_SPARE_NEVER")
    expressions = _listed(value) if isinstance(value, str) else value
    if not isinstance(expressions, (list, tuple)) or len(expressions) > _MOST_EXPRESSIONS:
        raise SettingError(
            f"SIMHASH_SPARE_NEVER: {_shown(value)} is no list of up to {_MOST_EXPRESSIONS} "
            "regular expressions"
        )
    found = []
    for expression in expressions:
        try:
            if not isinstance(expression, str) or len(expression) > _LONGEST_EXPRESSION:
                raise re.error(f"it must be text of up to {_LONGEST_EXPRESSION} characters")
            found.append(re.compile(expression))
        except (re.error, RecursionError, OverflowError) as error:
            raise SettingError(
                f"SIMHASH_SPARE_NEVER: {_shown(expression)} is no regular expression: {error}"
            ) from None
    return tuple(found)


def _listed(text: str) -> list[str]:
    """Return the texts of a list as a settings file writes it; other text is the only one."""
    try:
        with warnings.catch_warnings():
            # Expressions are full of backslashes, not all of which a literal knows.
            warnings.simplefilter("ignore")
            texts = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return [text]
    is_list = isinstance(texts, list) and all(isinstance(one, str) for one in texts)
    return texts if is_list else [text]


def _processes(settings: BaseSettings, recipe: Recipe) -> int:
    if _get(settings, "SIMHASH_PROCESSES") is not None:
        return _number(settings, "SIMHASH_PROCESSES", int, 0)
    from scrapy_simhash.extraction.extractor import FAST_EXTRACTORS

    # By a fast extractor, two keep up with any crawl process, for which a core is left. Others take
    # ten times as long as the crawl does for a page.
    cores = os.cpu_count() or 1
    return max(1, min(cores - 1, 2) if recipe.extractor in FAST_EXTRACTORS else min(cores, 4))


def recipe_from_settings(settings: BaseSettings) -> Recipe:
    """Return the recipe that the settings describe.

    Raises:
        SettingError: one line that names the setting and says what it may be.
    """
    from scrapy_simhash.extraction.extractor import load_extractor
    from scrapy_simhash.fingerprint.recipe import named_recipe

    name = _text(settings, "SIMHASH_RECIPE") or ""
    try:
        recipe = named_recipe(name)
    except ValueError as error:
        raise SettingError(f"SIMHASH_RECIPE: {_cut(str(error), _EXPLAINED)}") from None
    changes: dict[str, Any] = {"seed": _text(settings, "SIMHASH_SEED")}
    if _get(settings, "SIMHASH_DISTANCE") is not None:
        changes["distance"] = _number(settings, "SIMHASH_DISTANCE", int, 0)
    if _get(settings, "SIMHASH_MIN_LENGTH") is not None:
        changes["min_length"] = _number(settings, "SIMHASH_MIN_LENGTH", int, 1)
    if (extractor := _text(settings, "SIMHASH_EXTRACTOR")) is not None:
        changes["extractor"] = extractor
    for change, value in changes.items():
        try:
            recipe = replace(recipe, **{change: value})
            if change == "extractor":
                load_extractor(value)
        except (RecursionError, TypeError, ValueError) as error:
            message = _cut(str(error), _EXPLAINED)
            raise SettingError(f"SIMHASH_{change.upper()}: {message}") from None
    return recipe


def max_body_size_from_settings(settings: BaseSettings) -> int:
    """Return the bytes that a page may have to be compared.

    Raises:
        SettingError: SIMHASH_MAX_BODY_SIZE is no whole number of at least 1.
    """
    return _number(settings, "SIMHASH_MAX_BODY_SIZE", int, 1)


def log_path_from_settings(settings: BaseSettings) -> Path | None:
    """Return where the dedup log is; None for no log.

    Raises:
        SettingError: SIMHASH_LOG is no path of a file that can be written.
    """
    value = _get(settings, "SIMHASH_LOG")
    if not value:
        return None
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise SettingError(f"SIMHASH_LOG: {_shown(value)} is not the path of a file")
    path, shown = Path(value).absolute(), _cut(str(value), _EXPLAINED)
    try:
        # Its folder is made when there is something to write.
        there = next(place for place in (path, *path.parents) if place.exists())
    except OSError as error:
        raise SettingError(f"SIMHASH_LOG: {shown} cannot be written: {error.strerror}") from None
    if path.is_dir():
        raise SettingError(f"SIMHASH_LOG: {shown} is a folder; name a file")
    if not os.access(there, os.W_OK) or (there != path and not there.is_dir()):
        raise SettingError(
            f"SIMHASH_LOG: {shown} cannot be written; nothing may be made in {there}"
        )
    return path


def index_url_from_settings(settings: BaseSettings) -> str:
    """Return where the index is.

    Raises:
        SettingError: SIMHASH_INDEX_URL is no text, or REDIS_URL is no URL.
    """
    url = _text(settings, "SIMHASH_INDEX_URL")
    if url is not None:
        return url
    # Crawlers that share a scheduler share the index, too.
    if uses_scrapy_redis(settings):
        return scrapy_redis_url(settings)
    # As Scrapy's own dupefilter: what was seen lasts as long as the job does.
    folder = job_dir(settings)
    if folder is None:
        return "memory://"
    return "sqlite:///" + quote(str(Path(folder).absolute() / "simhash.sqlite"))
