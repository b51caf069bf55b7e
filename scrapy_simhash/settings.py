"""The only reader of the SIMHASH_* settings: each is checked, and an error names it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.python import global_object_name

from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.extraction.extractor import FAST_EXTRACTORS, load_extractor
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.index import StoreError, index_from_url
from scrapy_simhash.index.standby import StandbyIndex
from scrapy_simhash.keys import SCOPES, Scope

Action = Literal["drop", "follow", "flag"]
ACTIONS: tuple[Action, ...] = get_args(Action)
OnUnavailable = Literal["continue", "stop"]

# Stores that are on this machine.
LOCAL = ("memory:", "sqlite:")

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
    "SIMHASH_EXPECTED_PAGES": 1_000_000,
    "SIMHASH_LEASE": 60.0,
    "SIMHASH_ON_UNAVAILABLE": "continue",
    "SIMHASH_STANDBY_PAGES": 100_000,
    "SIMHASH_MAX_BODY_SIZE": 4 * 1024 * 1024,
    "SIMHASH_TIMEOUT": 10.0,
    "SIMHASH_PROCESSES": None,
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
        expected_pages: how many pages a new index is planned for.
        lease: seconds that a page in progress belongs to its worker.
        on_unavailable: whether the crawl goes on while the index is away.
        standby_pages: how many pages it may hold meanwhile.
        standby_path: the file for them, or None for memory.
        max_body_size: bytes; larger pages are let through unchecked.
        timeout: seconds that a page's analysis may take; then it is let through unchecked.
        processes: worker processes for the analysis; 0 for a thread.
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
    expected_pages: int
    lease: float
    on_unavailable: OnUnavailable
    standby_pages: int
    standby_path: Path | None
    max_body_size: int
    timeout: float
    processes: int
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
        _refuse_unknown(settings)
        folder = job_dir(settings)
        log_path = _log_path(settings)
        recipe = recipe_from_settings(settings)
        log_text = _number(settings, "SIMHASH_LOG_TEXT", int, 0)
        return cls(
            action=checked_action(_get(settings, "SIMHASH_ACTION"), "SIMHASH_ACTION"),
            scope=_one_of(_get(settings, "SIMHASH_SCOPE"), SCOPES, "SIMHASH_SCOPE"),
            recipe=recipe,
            index_url=_index_url(settings, folder),
            expected_pages=_number(settings, "SIMHASH_EXPECTED_PAGES", int, 1),
            lease=lease_from_settings(settings),
            on_unavailable=_one_of(
                _get(settings, "SIMHASH_ON_UNAVAILABLE"),
                get_args(OnUnavailable),
                "SIMHASH_ON_UNAVAILABLE",
            ),
            standby_pages=_number(settings, "SIMHASH_STANDBY_PAGES", int, 0),
            standby_path=Path(folder).absolute() / "simhash-standby.sqlite" if folder else None,
            max_body_size=_number(settings, "SIMHASH_MAX_BODY_SIZE", int, 1),
            timeout=_number(settings, "SIMHASH_TIMEOUT", float, 0.1),
            processes=_processes(settings, recipe),
            log_path=log_path,
            log_size=_number(settings, "SIMHASH_LOG_SIZE", int, 10_000),
            log_text=log_text if log_path else 0,
            item_text_field=_get(settings, "SIMHASH_ITEM_TEXT_FIELD"),
            item_html_field=_get(settings, "SIMHASH_ITEM_HTML_FIELD"),
            item_key_field=_get(settings, "SIMHASH_ITEM_KEY_FIELD"),
        )

    def open_index(self, spider: str = "") -> StandbyIndex:
        """Open the index that the settings name, with a standby for when it is away.

        Args:
            spider: the name of the spider whose pages are crawled.

        Raises:
            SettingError: the index cannot be used; names SIMHASH_INDEX_URL.
        """
        about: dict[str, Any] = {
            "recipe": self.recipe.identity,
            "bits": self.recipe.bits,
            "distance": self.recipe.distance,
            "lease": self.lease,
            "spider": spider,
        }
        open_primary = partial(
            index_from_url, self.index_url, expected_pages=self.expected_pages, **about
        )
        # A file on this machine that cannot be opened now will not come by itself.
        needed = self.on_unavailable == "stop" or self.index_url.startswith(LOCAL)
        try:
            return StandbyIndex(
                open_primary,
                self.standby_path,
                pages=self.standby_pages,
                start_without=not needed,
                **about,
            )
        except (ValueError, StoreError) as error:
            raise SettingError(f"SIMHASH_INDEX_URL: {error}") from None


def is_enabled(settings: BaseSettings) -> bool:
    """Return whether the filter runs.

    Raises:
        SettingError: SIMHASH_ENABLED is neither true nor false.
    """
    try:
        return settings.getbool("SIMHASH_ENABLED", DEFAULTS["SIMHASH_ENABLED"])
    except ValueError as error:
        raise SettingError(f"SIMHASH_ENABLED: {error}") from None


def lease_from_settings(settings: BaseSettings) -> float:
    """Return the seconds after which a worker that does not answer counts as dead.

    Raises:
        SettingError: SIMHASH_LEASE is no number, or less than 1.
    """
    return _number(settings, "SIMHASH_LEASE", float, 1)


def checked_action(value: object, name: str) -> Action:
    """Return an action, or raise a SettingError that says where it came from."""
    return _one_of(value, ACTIONS, name)


def _get(settings: BaseSettings, name: str) -> Any:
    return settings.get(name, DEFAULTS[name])


def _refuse_unknown(settings: BaseSettings) -> None:
    # A misspelt setting that is silently ignored filters with values nobody asked for.
    for name in settings:
        if isinstance(name, str) and name.startswith("SIMHASH_") and name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise SettingError(f"{name}: there is no such setting; there are {known}")


def _one_of(value: object, choices: tuple[T, ...], name: str) -> T:
    for choice in choices:
        if value == choice:
            return choice
    raise SettingError(f"{name}: {value!r} is none of {', '.join(map(str, choices))}")


def _number(settings: BaseSettings, name: str, kind: Callable[[Any], T], least: float) -> T:
    return _as_number(_get(settings, name), name, kind, least)


def _as_number(value: Any, name: str, kind: Callable[[Any], T], least: float) -> T:
    # Values given on the command line arrive as text.
    try:
        number: Any = kind(value)
        if isinstance(value, bool) or not number >= least or number == float("inf"):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        whole = "a whole number" if kind is int else "a number"
        raise SettingError(f"{name}: {value!r} is not {whole} of at least {least:g}") from None
    return kind(number)


def _processes(settings: BaseSettings, recipe: Recipe) -> int:
    if _get(settings, "SIMHASH_PROCESSES") is not None:
        return _number(settings, "SIMHASH_PROCESSES", int, 0)
    # By a fast extractor, two keep up with any crawl process, for which a core is left. Others take
    # ten times as long as the crawl does for a page.
    cores = os.cpu_count() or 1
    return max(1, min(cores - 1, 2) if recipe.extractor in FAST_EXTRACTORS else min(cores, 4))


def recipe_from_settings(settings: BaseSettings) -> Recipe:
    """Return the recipe that the settings describe.

    Raises:
        SettingError: one line that names the setting and says what it may be.
    """
    try:
        recipe = named_recipe(_get(settings, "SIMHASH_RECIPE"))
    except ValueError as error:
        raise SettingError(f"SIMHASH_RECIPE: {error}") from None
    changes: list[tuple[str, str, Any]] = []
    distance = _get(settings, "SIMHASH_DISTANCE")
    if distance is not None:
        distance = _as_number(distance, "SIMHASH_DISTANCE", int, 0)
        changes.append(("SIMHASH_DISTANCE", "distance", distance))
    min_length = _get(settings, "SIMHASH_MIN_LENGTH")
    if min_length is not None:
        min_length = _as_number(min_length, "SIMHASH_MIN_LENGTH", int, 1)
        changes.append(("SIMHASH_MIN_LENGTH", "min_length", min_length))
    extractor = _get(settings, "SIMHASH_EXTRACTOR")
    if extractor is not None:
        changes.append(("SIMHASH_EXTRACTOR", "extractor", extractor))
    seed = _get(settings, "SIMHASH_SEED")
    if not isinstance(seed, str | None):
        raise SettingError(f"SIMHASH_SEED: it is text, not {type(seed).__name__}")
    changes.append(("SIMHASH_SEED", "seed", seed))
    for name, field, value in changes:
        try:
            recipe = replace(recipe, **{field: value})
            if field == "extractor":
                load_extractor(value)
        except (TypeError, ValueError) as error:
            raise SettingError(f"{name}: {error}") from None
    return recipe


def _log_path(settings: BaseSettings) -> Path | None:
    value = _get(settings, "SIMHASH_LOG")
    if not value:
        return None
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise SettingError(f"SIMHASH_LOG: {value!r} is not the path of a file")
    path = Path(value).absolute()
    # Its folder is made when there is something to write.
    there = next(place for place in (path, *path.parents) if place.exists())
    if path.is_dir():
        raise SettingError(f"SIMHASH_LOG: {value} is a folder; name a file")
    if not os.access(there, os.W_OK) or (there != path and not there.is_dir()):
        raise SettingError(
            f"SIMHASH_LOG: {value} cannot be written; nothing may be made in {there}"
        )
    return path


def _index_url(settings: BaseSettings, folder: str | None) -> str:
    url = _get(settings, "SIMHASH_INDEX_URL")
    if url is not None:
        return str(url)
    # What the scheduler shares, the index shares.
    if uses_scrapy_redis(settings):
        return _scrapy_redis_url(settings)
    # As Scrapy's own dupefilter: what was seen lasts as long as the job does.
    if folder is None:
        return "memory://"
    return "sqlite:///" + quote(str(Path(folder).absolute() / "simhash.sqlite"))


def uses_scrapy_redis(settings: BaseSettings) -> bool:
    """Return whether scrapy-redis is the scheduler."""
    scheduler = settings.get("SCHEDULER")
    name = scheduler if isinstance(scheduler, str) else getattr(scheduler, "__module__", "")
    return bool(name.startswith("scrapy_redis."))


def forgets_requests(settings: BaseSettings) -> bool:
    """Return whether the queue is one of scrapy-redis's own, see :mod:`scrapy_simhash.queues`."""
    return uses_scrapy_redis(settings) and queue_name(settings).startswith("scrapy_redis.")


def queue_name(settings: BaseSettings) -> str:
    """Return the path of the queue that scrapy-redis uses, which may be set as a class."""
    queue = settings.get("SCHEDULER_QUEUE_CLASS") or "scrapy_redis.queue.PriorityQueue"
    return queue if isinstance(queue, str) else global_object_name(queue)


# What a URL calls the values of ssl_cert_reqs; redis-py itself also takes the module's.
_CERT_REQS = {
    None: "none",
    ssl.CERT_NONE: "none",
    ssl.CERT_OPTIONAL: "optional",
    ssl.CERT_REQUIRED: "required",
}


def _scrapy_redis_url(settings: BaseSettings) -> str:
    """Return the URL of the Redis that scrapy-redis uses, by the settings that it reads."""
    params = dict(settings.getdict("REDIS_PARAMS"))
    for name in ("url", "host", "port", "db"):
        if value := settings.get(f"REDIS_{name.upper()}"):
            params[name] = value
    user, password = (quote(str(params.get(name) or ""), "") for name in ("username", "password"))
    database = params.get("db") or 0
    # As redis-py, what the URL says goes before what is said beside it.
    try:
        parts = urlsplit(str(params.get("url") or ""))
    except ValueError:
        # Its own message may hold the password.
        raise SettingError("REDIS_URL is not the URL of a Redis") from None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name, value in params.items():
        if name == "ssl_cert_reqs":
            query.setdefault(name, _CERT_REQS.get(value, str(value)))
        elif name.startswith("ssl_") and value is not None:
            query.setdefault(name, str(value))
    login, _, place = parts.netloc.rpartition("@")
    own_user, _, own_password = login.partition(":")
    user, password = own_user or user, own_password or password
    scheme, path = parts.scheme, parts.path
    if not scheme and params.get("unix_socket_path"):
        scheme, path = "unix", quote(str(params["unix_socket_path"]))
    elif not scheme:
        scheme = "rediss" if params.get("ssl") else "redis"
        host = str(params.get("host") or "localhost")
        place = f"{f'[{host}]' if ':' in host else host}:{params.get('port') or 6379}"
    if scheme == "unix":
        query.setdefault("db", str(database))
    elif not path.strip("/") and "db" not in query:
        path = f"/{database}"
    login = f"{user}:{password}@" if user or password else ""
    return f"{scheme}://{login}{place}{path}{'?' if query else ''}{urlencode(query)}"
