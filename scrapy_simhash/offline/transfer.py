"""Fingerprints in files, for an index: Parquet, or JSON lines of another program."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.keys import key_of
from scrapy_simhash.offline.files import FileError, json_objects, opened
from scrapy_simhash.offline.prints import print_files, read_prints, spec_of_prints


def entries_in(path: Path, recipe: Recipe) -> tuple[IndexSpec, Callable[[], Iterator[Entry]]]:
    """Return how an index for the pages of a file is opened, and a function that yields them.

    The file, or folder, has fingerprints in Parquet; or it has JSON lines with ``url`` and
    ``fingerprint``, which another program has made as the recipe does. What cannot be read is a
    FileError.
    """
    if path.is_dir() or path.suffix == ".parquet":
        files = print_files([path])
        spec = spec_of_prints(files)
        return spec, partial(read_prints, files, spec)
    return spec_of(recipe), partial(_read_foreign, path, recipe)


def _read_foreign(path: Path, recipe: Recipe) -> Iterator[Entry]:
    """Yield the pages of JSON lines with ``url`` and ``fingerprint``, of 64 bits.

    A fingerprint is a number or hexadecimal text. A negative number stands for its bits, as in
    languages whose integers are signed: -1 has all.
    """
    now = time.time()
    with opened(path) as (file, _):
        for where, values in json_objects(file, path):
            try:
                number = values["fingerprint"]
                # A fraction is refused, because it has lost the last bits.
                value = number if type(number) is int else int(number, 16)
                if -(1 << recipe.bits - 1) <= value < 0:
                    value += 1 << recipe.bits
                # The key is that of a crawl, which would else take the page for a copy of itself.
                yield Entry(key_of(str(values["url"])), recipe.restored(value), time=now)
            except (KeyError, TypeError, ValueError) as error:
                raise FileError(f"{where}: no url and fingerprint: {error!r:.200}") from None
