"""Real Redis servers on loopback: alone, with TLS or a password, Sentinel, Cluster.

Each function is a context manager. It starts its servers on free ports, with their data in a
temporary folder, and stops them at the end, whatever happens in between. A server keeps its port
and its data when it is stopped, or killed, and started again.
"""

from __future__ import annotations

from tests.servers.cluster import Cluster, cluster
from tests.servers.sentinel import Sentinel, sentinel
from tests.servers.single import (
    MAJOR,
    PROGRAM,
    RedisServer,
    fake_server,
    password_server,
    redis_server,
    tls_server,
    wait_for_replica,
    wait_until,
)

__all__ = [
    "MAJOR",
    "PROGRAM",
    "Cluster",
    "RedisServer",
    "Sentinel",
    "cluster",
    "fake_server",
    "password_server",
    "redis_server",
    "sentinel",
    "tls_server",
    "wait_for_replica",
    "wait_until",
]
