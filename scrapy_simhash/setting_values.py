"""The values of settings: each function takes the value of a project, and returns the crawl's.

It raises one of ``WRONG`` for a value that cannot be used, and its text says what is
wrong.
"""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from scrapy_simhash.extraction.extractor import load_extractor
from scrapy_simhash.fingerprint.recipe import Recipe, named_recipe
from scrapy_simhash.index.registry import store_of
from scrapy_simhash.loading import load
from scrapy_simhash.readers import checked_readers

WRONG = (
    AttributeError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    OSError,
    re.error,
)

Action = Literal["drop", "follow", "flag"]

Read = Callable[[Any], Any]


class Actions(NamedTuple):
    """The action for a copy by its address: the first expression that finds something decides.

    An action of the project's own is an import path; see :func:`own_action`.
    """

    pairs: tuple[tuple[re.Pattern[str], str], ...]

    def of(self, url: str) -> str:
        return next(
            (action for pattern, action in self.pairs if pattern.search(url)), "drop"
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{pattern.pattern} {action}".lstrip() for pattern, action in self.pairs
        )


def choice(literal: Any) -> Read:
    """Return a function that reads one of the texts of a ``Literal``."""
    texts = get_args(literal)

    def read(value: Any) -> Any:
        if value not in texts:
            raise ValueError(f"{value!r:.80} is not one of {', '.join(texts)}")
        return value

    return read


checked_action: Callable[[Any], Action] = choice(Action)


def number(
    kind: Callable[[Any], Any],
    least: float,
    most: float = inf,
) -> Read:
    """Return a function that reads a number, which a command line gives as text."""

    def read(value: Any) -> Any:
        with suppress(ValueError, OverflowError):
            number = float(str(value))
            # Half a page is no number of pages.
            if least <= number <= most and kind(number) == number:
                return kind(number)
        whole = "a whole number" if kind is int else "a number"
        limit = f" and at most {most:,.0f}" if most < inf else ""
        raise ValueError(f"{value!r:.80} is not {whole} of at least {least:g}{limit}")

    return read


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"it is text, not {type(value).__name__}")
    return value


def name(value: Any) -> str:
    if not text(value):
        raise ValueError(
            "it is empty, as a variable of the environment is that was never set"
        )
    return text(value)


def expressions(value: Any) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(map(re.compile, _as_list(value)))
    except WRONG as error:
        raise ValueError(
            f"{value!r:.80} is no list of regular expressions: {error}"
        ) from None


def actions(value: Any) -> Actions:
    """Read one action for all copies, or pairs of a regular expression and an action."""
    if isinstance(value, str) and re.fullmatch(r"[\w.]+", value):
        value = [("", value)]
    try:
        pairs = [
            (re.compile(expression), action) for expression, action in _as_list(value)
        ]
    except WRONG as error:
        raise ValueError(
            f"{value!r:.80} is neither one of {', '.join(get_args(Action))} nor a list of pairs of "
            f"a regular expression and one of them: {error}"
        ) from None
    for _, action in pairs:
        if own_action(action) is None:
            checked_action(action)
    return Actions(tuple(pairs))


def own_action(action: Any) -> Callable[..., Any] | None:
    """Return an action of the project's own, which gets verdict, request and response."""
    if not (isinstance(action, str) and "." in action):
        return None
    call: Callable[..., Any] = load(action)
    if not callable(call):
        raise ValueError(f"{action!r:.80} is no callable")
    return call


def _as_list(value: Any) -> Any:
    """Return a list unchanged; a text of a command line as its only part, unless it is JSON."""
    if not isinstance(value, str):
        return value
    with suppress(ValueError, RecursionError):
        if isinstance(listed := json.loads(value), list):
            return listed
    return [value]


def recipe(value: Any) -> Recipe:
    return named_recipe(text(value))


def extractor(value: Any) -> str:
    load_extractor(text(value))
    return text(value)


def readers(value: Any) -> dict[str, str | None]:
    try:
        return checked_readers(json.loads(value) if isinstance(value, str) else value)
    except WRONG as error:
        raise ValueError(
            f"{value!r:.80} has no readers by content types: {error}"
        ) from None


def index(value: Any) -> str:
    store_of(text(value))
    return text(value)


def log(value: Any) -> Path | None:
    """Read the path of a file that is there or can be made; an empty one switches the log off."""
    if not value:
        return None
    with suppress(TypeError, ValueError):  # no path at all, or a NUL in it
        path = Path(value).absolute()
        is_there = os.access(path, os.F_OK)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"make the folder {path.parent} first, because it is not there"
            )
        if not path.is_dir() and os.access(path if is_there else path.parent, os.W_OK):
            return path
    raise ValueError(f"no path of a file that is there or can be made: {value}")
