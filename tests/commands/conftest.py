"""The stores of the index's own tests are also what commands work on."""

from tests.index.conftest import opened, redis_servers, stores  # noqa: F401
