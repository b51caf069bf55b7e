"""What the tests of the index in Redis have in common."""

from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.redis.client import Client
from scrapy_simhash.index.store import StoreUnavailable
from scrapy_simhash.index.values import Outcome
from tests.index.promises.made import page

# Seconds, on a busy machine; the client's own attempts take half a minute, and some have no end.
PATIENCE = 20


def keep(index: Index, value: int, key: str = "") -> Outcome:
    """Claim, and confirm what is kept."""
    key = key or str(value)
    outcome = index.claim(page(key, value)).outcome
    if outcome == "unique":
        index.confirm([key])
    return outcome


def is_away(call: Callable[[], Any], match: str | None = None) -> None:
    """Check that a call says that the store is away."""
    with pytest.raises(StoreUnavailable, match=match):
        call()


def turns_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of scripts of each turn in which some are sent."""
    turns, send = list[int](), Client.send

    def counted(client: Client, commands: Any) -> Any:
        if scripts := sum(command[0] == "EVALSHA" for command in commands):
            turns.append(scripts)
        return send(client, commands)

    monkeypatch.setattr(Client, "send", counted)
    return turns
