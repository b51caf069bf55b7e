"""Masters that share the slots of a cluster."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import redis

from tests.servers.single import (
    HOST,
    REPLICATION,
    RedisServer,
    call,
    new_folder,
    stopped,
    wait_for_replica,
    wait_until,
)

SLOTS = 16384


class Cluster:
    """Masters that share the slots, each with the replicas asked for.

    Attributes:
        masters: in the order of their slots.
        replicas: those of each master, in the same order.
        url: of the cluster, by two of its nodes.
    """

    def __init__(self, masters: list[RedisServer], replicas: list[list[RedisServer]]) -> None:
        self.masters = masters
        self.replicas = replicas
        self.url = "redis+cluster://" + ",".join(f"{HOST}:{node.port}" for node in masters[:2])

    def client(self, **options: Any) -> redis.RedisCluster:
        """Return a client; it is the caller's to close."""
        host, port = self.masters[0].address
        return redis.RedisCluster(host, port, **options)

    def owner(self, slot: int) -> RedisServer:
        """Return the master of a slot."""
        ids = {call(node, "CLUSTER MYID"): node for node in self.masters}
        return ids[self._owner_id(slot)]

    @contextlib.contextmanager
    def migrating(self, slot: int, to: RedisServer, *, keys: int = 0) -> Iterator[None]:
        """Hold a slot half-way to another master (ASK); at the end the move is complete.

        Args:
            slot: 0 to 16383.
            to: a master that does not own it.
            keys: so many keys of the slot have moved while the block runs; 0 for none.
        """
        source = self.owner(slot)
        source_id, target_id = call(source, "CLUSTER MYID"), call(to, "CLUSTER MYID")
        call(to, "CLUSTER SETSLOT", slot, "IMPORTING", source_id)
        call(source, "CLUSTER SETSLOT", slot, "MIGRATING", target_id)
        if keys:
            self._move(slot, source, to, keys)
        try:
            yield
        finally:
            while self._move(slot, source, to, 100):
                pass
            for node in (to, source, *self.masters):
                with contextlib.suppress(redis.ConnectionError):
                    call(node, "CLUSTER SETSLOT", slot, "NODE", target_id)

    def fail_over(self, number: int) -> None:
        """Kill a master, and have a replica of it take over."""
        dead = call(self.masters[number], "CLUSTER MYID")
        self.masters[number].kill()
        self.masters[number] = self.replicas[number].pop()
        call(self.masters[number], "CLUSTER FAILOVER", "TAKEOVER")

        def is_forgotten(node: RedisServer) -> bool:
            return all(shard[2][2] != dead for shard in call(node, "CLUSTER SLOTS"))

        wait_until(lambda: all(map(is_forgotten, self.masters)), "no failover")

    def _owner_id(self, slot: int) -> Any:
        living = next(node for node in self.masters if node.process)
        for first, last, master, *_ in call(living, "CLUSTER SLOTS"):
            if first <= slot <= last:
                return master[2]
        raise LookupError(slot)

    def _move(self, slot: int, source: RedisServer, to: RedisServer, limit: int) -> int:
        # Names of keys are bytes, which redis-py would decode if the command were one word.
        with redis.Redis(host=HOST, port=source.port) as client:
            keys = client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, limit)
            if keys:
                client.execute_command("MIGRATE", HOST, to.port, "", 0, 5000, "KEYS", *keys)
        return len(keys)


@contextlib.contextmanager
def cluster(replicas: int = 0) -> Iterator[Cluster]:
    """Start a cluster of three masters, with replicas of each."""
    masters = 3
    # However busy the machine is, no living node is given up.
    options = ("--cluster-enabled yes", "--cluster-node-timeout 60000", *REPLICATION)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        nodes = [RedisServer(folder / str(i), options) for i in range(masters * (1 + replicas))]
        for epoch, node in enumerate(nodes, 1):
            stack.enter_context(stopped(node))
            node.start()
            call(node, "CLUSTER SET-CONFIG-EPOCH", epoch)
        for node, other in itertools.combinations(nodes, 2):
            call(node, "CLUSTER MEET", *other.address)
        bounds = [SLOTS * i // masters for i in range(masters + 1)]
        for i in range(masters):
            call(nodes[i], "CLUSTER ADDSLOTS", *range(bounds[i], bounds[i + 1]))
        followers = [nodes[masters + i :: masters] for i in range(masters)]
        for master, following in zip(nodes[:masters], followers, strict=True):
            name = call(master, "CLUSTER MYID")
            for node in following:
                wait_until(lambda node=node, name=name: _replicates(node, name), "nodes unknown")
        for node in nodes[masters:]:
            wait_for_replica(node)
        wait_until(lambda: all(_knows_all(node, len(nodes)) for node in nodes), "no cluster")
        yield Cluster(nodes[:masters], followers)


def _replicates(node: RedisServer, master: str) -> bool:
    try:
        return bool(call(node, "CLUSTER REPLICATE", master))
    except redis.ResponseError:
        return False  # it has not heard of its master yet


def _knows_all(node: RedisServer, nodes: int) -> bool:
    info = str(call(node, "CLUSTER INFO"))
    known = sum(len(shard) - 2 for shard in call(node, "CLUSTER SLOTS"))
    return (
        "cluster_state:ok" in info
        and f"cluster_slots_ok:{SLOTS}" in info
        and f"cluster_known_nodes:{nodes}" in info
        and known == nodes
    )
