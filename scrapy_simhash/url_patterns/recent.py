"""A memory with a bound: what was met longest ago goes."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: OrderedDict[K, V], name: K, value: V, most: int) -> V:
    """Keep a value as the newest of at most so many, and return it."""
    memory[name] = value
    memory.move_to_end(name)
    if len(memory) > most:
        memory.popitem(last=False)
    return value
