"""A project brings a recipe, its features, its hash or an extractor by import path."""

import functools
from importlib import import_module
from typing import Any


@functools.cache
def load(path: str) -> Any:
    """Return the object that ``package.module.name`` names.

    Raises:
        ValueError: there is no such module, or no such name in it; one line says so.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{path!r:.200} cannot be imported: {error}") from None
