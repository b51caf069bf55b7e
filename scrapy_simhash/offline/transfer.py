"""An index as JSON lines, the same whatever store it comes from and goes to.

The first line says how the index is opened, and the last one how many pages stand between them. The
page "Reference" of the documentation has an example.
"""

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from scrapy_simhash.core.verdict import spec_of
from scrapy_simhash.fingerprint.recipe import Recipe
from scrapy_simhash.fingerprint.simhash import Fingerprint
from scrapy_simhash.index.values import Entry, IndexSpec
from scrapy_simhash.keys import key_of
from scrapy_simhash.offline.files import FileError, json_objects, opened
from scrapy_simhash.offline.prints import SPEC, print_files, read_prints, spec_of_prints

_FORMAT = {"format": "scrapy-simhash index 2"}


def write_entries(file: IO[bytes], spec: IndexSpec, entries: Iterable[Entry]) -> int:
    """Write an index as JSON lines; return the number of its pages."""
    count = 0
    _write(file, _FORMAT | {name: getattr(spec, name) for name in SPEC})
    for entry in entries:
        values = {
            "key": entry.key,
            "fingerprint": str(entry.fingerprint),
            "blocks": b64encode(entry.fingerprint.blocks).decode(),
            "facts": b64encode(entry.facts).decode(),
            "time": int(entry.time),
            "scope": entry.scope,
        }
        _write(file, {name: value for name, value in values.items() if value != ""})
        count += 1
    _write(file, {"count": count})
    return count


def _write(file: IO[bytes], values: dict[str, Any]) -> None:
    # ASCII, because not every key is text that UTF-8 can hold.
    file.write(json.dumps(values).encode() + b"\n")


def index_in(path: Path, recipe: Recipe) -> tuple[IndexSpec, Callable[[], Iterator[Entry]]]:
    """Return how the index in a file is opened, and a function that yields its pages.

    The file is JSON lines or Parquet; or JSON lines with ``url`` and ``fingerprint``, which another
    program has made as the recipe does. What cannot be read is a FileError.
    """
    if path.is_dir() or path.suffix == ".parquet":
        files = print_files([path])
        spec = spec_of_prints(files)
        return spec, partial(read_prints, files, spec)
    with opened(path) as (file, _):
        _, head = next(json_objects(file, path), ("", {}))
    if head.get("format") != _FORMAT["format"]:
        return spec_of(recipe), partial(_read_foreign, path, recipe)
    try:
        spec = IndexSpec(*(head[name] for name in SPEC))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: its first line is of no index: {error!r:.200}") from None
    return spec, partial(_read_entries, path, spec)


def _read_entries(path: Path, spec: IndexSpec) -> Iterator[Entry]:
    with opened(path) as (file, _):
        for number, (where, values) in enumerate(json_objects(file, path)):
            if "count" in values:
                if values["count"] == number - 1:
                    return
                break
            if number:  # the first one is the head
                yield _entry(values, spec, where)
    raise FileError(
        f"{path}: cut off or damaged: its last line is not the number of its pages; export it again"
    )


def _entry(values: dict[str, Any], spec: IndexSpec, where: str) -> Entry:
    # Another program may have written it.
    try:
        blocks, facts = (b64decode(values.get(name, "")) for name in ("blocks", "facts"))
        fingerprint = Fingerprint(int(values["fingerprint"], 16), spec.bits, blocks)
        if not 0 <= values["time"] < 1 << 32:
            raise ValueError(f"the time {values['time']} is not one of 32 bits")
        return Entry(
            str(values["key"]), fingerprint, values.get("scope", ""), facts, values["time"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{where}: no page of an index: {error!r:.200}") from None


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
                raise FileError(
                    f"{where}: neither an exported index nor url and fingerprint: {error!r:.200}"
                ) from None
