"""The queues of scrapy-redis give way to ours, those of others do not."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from scrapy_simhash import Addon

its = pytest.importorskip("scrapy_redis.queue", reason="scrapy-redis is not installed")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (None, "PriorityQueue"),
        ("scrapy_redis.queue.SpiderPriorityQueue", "PriorityQueue"),
        ("scrapy_redis.queue.FifoQueue", "FifoQueue"),
        ("scrapy_redis.queue.SpiderStack", "LifoQueue"),
        (its.FifoQueue, "FifoQueue"),
    ],
)
def test_the_add_on_puts_ours_in_the_place_of_theirs(theirs, ours):
    project = Settings({"SCHEDULER": "scrapy_redis.scheduler.Scheduler"})
    if theirs:
        project.set("SCHEDULER_QUEUE_CLASS", theirs, "project")
    Addon().update_settings(project)
    assert project["SCHEDULER_QUEUE_CLASS"] == f"scrapy_simhash.queues.{ours}"


def test_the_add_on_leaves_the_queue_of_others_alone():
    project = Settings(
        {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "SCHEDULER_QUEUE_CLASS": "own.Queue"}
    )
    Addon().update_settings(project)
    assert project["SCHEDULER_QUEUE_CLASS"] == "own.Queue"
    project = Settings({"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "SIMHASH_ENABLED": False})
    Addon().update_settings(project)
    assert project.get("SCHEDULER_QUEUE_CLASS") is None
    plain = Settings()
    Addon().update_settings(plain)
    assert plain.get("SCHEDULER_QUEUE_CLASS") is None
