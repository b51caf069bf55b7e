"""The only reader of the SIMHASH_* settings: each is checked, and an error names it.

It is imported by every door, also where the filter is switched off, so it imports nothing heavy
before a setting is read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args
from urllib.parse import quote

from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir

from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.keys import SCOPES, Scope
from scrapy_simhash.loading import load
from scrapy_simhash.redis_settings import scrapy_redis_url, uses_scrapy_redis

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint.recipe import Recipe

Action = Literal["drop", "follow", "flag"]
ACTIONS: tuple[Action, ...] = get_args(Action)
OnUnavailable = Literal["continue", "stop"]
Recrawl = Literal["all", "changed"]
Spare = Literal["watch", "skip", "off"]

_PREFIX = "SIMHASH_"
#: The index in the folder of a job.
INDEX_OF_JOB = "simhash.sqlite"
#: Replaced by the name of the spider in SIMHASH_NAMESPACE and SIMHASH_INDEX_URL.
SPIDER = "{spider}"
# Seconds: 30 years, which every clock can add.
_LONGEST_WAIT = 1e9
# Bytes of the log beside an index, and as many again of what was before it.
_LOG_BYTES = 100_000_000
# No machine has more cores, and each process takes some 60 MB.
_MOST_PROCESSES = 1024
# Values that cannot be used fail in these ways.
_WRONG = (AttributeError, TypeError, ValueError, OverflowError, RecursionError, re.error)


@dataclass(frozen=True, slots=True)
class OwnAction:
    """An action of the project's own: called with verdict, request and response, it returns one."""

    path: str
    call: Callable[..., Any]

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Actions:
    """The action for a copy by its address: the first expression that finds something decides."""

    pairs: tuple[tuple[re.Pattern[str], Action | OwnAction], ...]

    def of(self, url: str) -> Action | OwnAction:
        return next((action for pattern, action in self.pairs if pattern.search(url)), "drop")

    def __str__(self) -> str:
        return ", ".join(f"{pattern.pattern} {action}".lstrip() for pattern, action in self.pairs)


T = TypeVar("T")
Read = Callable[[BaseSettings, str], Any]


def _error(name: str, said: str) -> SettingError:
    return SettingError(f"{name:.80}: {said:.300}")


def _setting_name(field_name: str) -> str:
    return _PREFIX + field_name.upper()


def _get(settings: BaseSettings, name: str) -> Any:
    return settings.get(name, DEFAULTS[name])


def _choice(choices: tuple[T, ...]) -> Read:
    def read(settings: BaseSettings, name: str) -> T:
        return one_of(_get(settings, name), choices, name)

    return read


def one_of(value: Any, choices: tuple[T, ...], name: str) -> T:
    """Return a value that is one of the choices, or raise a SettingError with its place."""
    if value not in choices:
        raise _error(name, f"{value!r:.80} is not one of {', '.join(map(str, choices))}")
    return cast("T", value)


def _text(settings: BaseSettings, name: str) -> str | None:
    value = _get(settings, name)
    if not isinstance(value, str | None):
        raise _error(name, f"it is text, not {type(value).__name__}")
    return value


def _number(kind: Callable[[Any], Any], least: float, most: float = inf) -> Read:
    def read(settings: BaseSettings, name: str) -> Any:
        # Values given on the command line arrive as text.
        value = _get(settings, name)
        if value is DEFAULTS[name] is None:
            return None
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            number: Any = kind(value)
            # Half a page is no number of pages, and "not a number" is not even equal to itself.
            is_same = not isinstance(value, float) or value == number
            if is_same and not isinstance(value, bool) and least <= number <= most:
                return number
        whole = "a whole number" if kind is int else "a number"
        limit = f" and at most {most:,.0f}" if most < inf else ""
        raise _error(name, f"{value!r:.80} is not {whole} of at least {least:g}{limit}")

    return read


def _list(value: Any) -> Any:
    """Return a list unchanged; a text of a command line as its only part, unless it is JSON."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(read := json.loads(value), list):
                return read
        return [value]
    return value


def _spare_never(settings: BaseSettings, name: str) -> tuple[re.Pattern[str], ...]:
    value = _get(settings, name)
    try:
        return tuple(map(re.compile, _list(value)))
    except _WRONG as error:
        said = f"{value!r:.80} is no list of regular expressions: {error}"
        raise _error(name, said) from None


def _actions(settings: BaseSettings, name: str) -> Actions:
    value = _get(settings, name)
    is_path = isinstance(value, str) and re.fullmatch(r"[\w.]+", value)
    pairs = [("", value)] if is_path else _list(value)
    try:
        read = ((re.compile(pattern), action) for pattern, action in pairs)
        return Actions(tuple((each, _action(action, name)) for each, action in read))
    except SettingError:
        raise
    except _WRONG as error:
        said = f"{value!r:.80} is neither one of {', '.join(ACTIONS)} nor a list of pairs of a "
        raise _error(name, f"{said}regular expression and one of them: {error}") from None


def _action(value: Any, name: str) -> Action | OwnAction:
    if not (isinstance(value, str) and "." in value):
        return one_of(value, ACTIONS, name)
    try:
        call = load(value)
    except ValueError as error:
        raise _error(name, str(error)) from None
    if not callable(call):
        raise _error(name, f"{value!r:.80} is no callable")
    return OwnAction(value, call)


def _processes(settings: BaseSettings, name: str) -> int:
    number: int | None = _number(int, 0, _MOST_PROCESSES)(settings, name)
    if number is not None:
        return number
    from scrapy_simhash.extraction.extractor import FAST_EXTRACTORS

    # With a fast extractor, two keep up with any crawl process. Others take ten times as long as
    # the crawl does for a page. A worker starts only when all others are busy.
    is_fast = _recipe(settings, "SIMHASH_RECIPE").extractor in FAST_EXTRACTORS
    return min(os.cpu_count() or 1, 2 if is_fast else 4)


def _recipe(settings: BaseSettings, name: str) -> Recipe:
    from scrapy_simhash.extraction.extractor import load_extractor
    from scrapy_simhash.fingerprint.recipe import named_recipe

    text = _text(settings, name) or ""
    try:
        recipe = named_recipe(text)
        for change, read in _CHANGES.items():
            name = _setting_name(change)
            if (value := read(settings, name)) is not None:
                recipe = replace(recipe, **{change: value})
                load_extractor(recipe.extractor)
    except SettingError:
        raise
    except _WRONG as error:
        raise _error(name, str(error)) from None
    if recipe.spec.kind == "keywords" and find_spec("jieba") is None:
        raise _error("SIMHASH_RECIPE", f"install jieba, which finds the keywords of {text}")
    return recipe


def _item_key_field(settings: BaseSettings, name: str) -> str:
    field_name = _text(settings, name)
    if not field_name:
        raise _error(name, "it is empty, so no item would have a key")
    return field_name


def _seed(settings: BaseSettings, name: str) -> str | None:
    seed = _text(settings, name)
    if seed == "":
        raise _error(name, "it is empty, as a variable of the environment is that was never set")
    return seed


def _readers(settings: BaseSettings, name: str) -> dict[str, str | None] | None:
    from scrapy_simhash.readers import checked_readers

    value = _get(settings, name)
    if value is None:
        return None
    try:
        return checked_readers(json.loads(value) if isinstance(value, str) else value)
    except _WRONG as error:
        raise _error(name, f"{value!r:.80} has no readers by content types: {error}") from None


def _selectors(settings: BaseSettings, name: str) -> dict[str, str] | None:
    from scrapy_simhash.extraction.selectors import checked_selectors

    value = _get(settings, name)
    try:
        return None if value is None else checked_selectors(value)
    except _WRONG as error:
        raise _error(name, str(error)) from None


# The settings that change a value of the recipe.
_CHANGES: dict[str, Read] = {
    "seed": _seed,
    "distance": _number(int, 0),
    "extractor": _text,
    "readers": _readers,
    "content": _selectors,
    "ignore": _selectors,
}


def _log(settings: BaseSettings, name: str) -> Path | None:
    value = _get(settings, name)
    if value is None:
        return log_beside(_index_url(settings, "SIMHASH_INDEX_URL"))
    if not value:
        return None
    said = f"no path of a file that is there or can be made: {value}"
    with contextlib.suppress(TypeError, ValueError):  # no path at all, or a NUL in it
        path = Path(value).absolute()
        checked = path if os.access(path, os.F_OK) else path.parent
        if os.access(checked, os.W_OK) and checked.is_dir() == (checked != path):
            return path
        if not path.parent.is_dir():
            said = f"make the folder {path.parent} first, because it is not there"
    raise _error(name, said)


def log_beside(index_url: str) -> Path | None:
    """Return the log beside the file of an index, which a crawl writes by default."""
    from scrapy_simhash.index.registry import file_of  # heavy

    file = file_of(index_url)
    return file.with_name(f"{file.stem}.dedup.jsonl") if file else None


def _namespace(settings: BaseSettings, name: str) -> str:
    namespace = _text(settings, name) or str(settings.get("BOT_NAME") or "simhash")
    if set(namespace.replace(SPIDER, "")) & set("{}"):
        raise _error(name, f"{namespace!r:.80} has braces, which Redis reads as something else")
    return namespace


def _index_url(settings: BaseSettings, name: str) -> str:
    try:
        url = _text(settings, name)
        if url is not None:
            _need_name(url, settings)
            return named_url(url, settings)
        # Crawlers that share a scheduler also share the index.
        if uses_scrapy_redis(settings):
            return named_url(scrapy_redis_url(settings), settings)
    except SettingError:
        raise
    except ValueError as error:
        raise _error(name, str(error)) from None
    # The index lasts as long as the job does, like Scrapy's own dupefilter.
    folder = job_dir(settings)
    return url_of_file(Path(folder) / INDEX_OF_JOB) if folder else "memory://"


def _need_name(url: str, settings: BaseSettings) -> None:
    """Refuse a namespace that would separate spiders: a file has no namespace."""
    from scrapy_simhash.index.registry import store_of  # heavy

    store = store_of(url)
    is_file = store.lasting and not store.name_option
    if is_file and SPIDER in _namespace(settings, "SIMHASH_NAMESPACE"):
        said = f"a file has no namespace, so write {SPIDER} into SIMHASH_INDEX_URL"
        raise _error("SIMHASH_NAMESPACE", said)


def named_url(url: str, settings: BaseSettings) -> str:
    """Return the URL of an index with the name that the index has in a shared store.

    Raises:
        ValueError: the URL is of no known form.
    """
    from scrapy_simhash.index.registry import store_of  # heavy

    option = store_of(url).name_option
    if not option or re.search(f"[?&]{option}=", url):
        return url
    name = quote(f"{_namespace(settings, 'SIMHASH_NAMESPACE')}:simhash", ":{}")
    return f"{url}{'&' if '?' in url else '?'}{option}={name}"


def url_of_file(path: Path) -> str:
    return "sqlite:///" + quote(str(path.absolute()))


# ruff: noqa: RUF009 - as dataclasses.field, which it wraps, _setting declares a field anew
def _setting(default: Any, read: Read) -> Any:
    return field(metadata={"default": default, "read": read})


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The checked settings of one crawl, each with its default, and how it is read.

    The page "Settings" of the documentation says what each does, and in which unit it is.
    """

    action: Actions = _setting("drop", _actions)
    scope: Scope = _setting("global", _choice(SCOPES))
    prefer: str = _setting("first", _choice(("first", "canonical")))
    recrawl: Recrawl = _setting("all", _choice(get_args(Recrawl)))
    keep_runs: int = _setting(3, _number(int, 1))
    recipe: Recipe = _setting("default", _recipe)
    index_url: str = _setting(None, _index_url)
    namespace: str = _setting(None, _namespace)
    lease: float = _setting(60.0, _number(float, 1, _LONGEST_WAIT))
    on_unavailable: OnUnavailable = _setting("continue", _choice(get_args(OnUnavailable)))
    max_body_size: int = _setting(4 * 1024 * 1024, _number(int, 1))
    timeout: float = _setting(10.0, _number(float, 0.1, _LONGEST_WAIT))
    processes: int = _setting(None, _processes)
    spare: Spare = _setting("watch", _choice(get_args(Spare)))
    spare_never: tuple[re.Pattern[str], ...] = _setting([], _spare_never)
    log: Path | None = _setting(None, _log)
    log_text: int = _setting(1000, _number(int, 0))
    item_text_field: str | None = _setting(None, _text)
    item_html_field: str | None = _setting(None, _text)
    item_key_field: str = _setting("url", _item_key_field)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> FilterSettings:
        """Read and check every setting.

        Raises:
            SettingError: one line that names the setting and says what it may be.
        """
        refuse_unknown(settings)
        read = cls(
            *(each.metadata["read"](settings, _setting_name(each.name)) for each in fields(cls))
        )
        if read.recrawl == "changed" and not read.survives:
            said = "'changed' needs an index that outlives the crawl, so name one"
            raise _error("SIMHASH_RECRAWL", f"{said} in SIMHASH_INDEX_URL")
        return read

    def of_spider(self, name: str) -> FilterSettings:
        """Return the settings of a spider, whose index may have its name."""
        safe = quote(re.sub(r"[^\w.-]", "_", name))
        return replace(self, index_url=self.index_url.replace(SPIDER, safe))

    @property
    def has_items(self) -> bool:
        return bool(self.item_text_field or self.item_html_field)

    @property
    def log_bytes(self) -> float:
        """The size at which the log begins anew; one that somebody named may have any size."""
        is_beside = self.log is not None and self.log == log_beside(self.index_url)
        return _LOG_BYTES if is_beside else inf

    @property
    def survives(self) -> bool:
        from scrapy_simhash.index.registry import store_of  # heavy

        return store_of(self.index_url).lasting


#: Every setting of the plugin, with its default; the recipe is made of several.
DEFAULTS: dict[str, Any] = {
    "SIMHASH_ENABLED": True,
    **{_setting_name(change): None for change in _CHANGES},
    **{_setting_name(each.name): each.metadata["default"] for each in fields(FilterSettings)},
}


def is_enabled(settings: BaseSettings) -> bool:
    """Return whether the filter runs.

    Raises:
        SettingError: SIMHASH_ENABLED is neither true nor false.
    """
    try:
        return settings.getbool("SIMHASH_ENABLED", True)
    except (TypeError, ValueError):
        said = f"{settings.get('SIMHASH_ENABLED')!r:.80} is neither true nor false"
        raise _error("SIMHASH_ENABLED", said) from None


def refuse_unknown(settings: BaseSettings) -> None:
    """Raise a SettingError for a misspelt setting, because without it other values count."""
    for name in settings:
        if isinstance(name, str) and name.startswith(_PREFIX) and name not in DEFAULTS:
            from difflib import get_close_matches

            names = {setting.removeprefix(_PREFIX): setting for setting in DEFAULTS}
            meant = get_close_matches(name.removeprefix(_PREFIX)[:80], names, 1)
            hint = f"; did you mean {names[meant[0]]}?" if meant else ""
            raise _error(name, f"there is no such setting{hint}")
