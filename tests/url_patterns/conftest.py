"""The stores of address patterns are those of the index."""

from tests.index.conftest import redis_servers, stores

__all__ = ["redis_servers", "stores"]
