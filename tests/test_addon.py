"""The add-on leaves what is not its own as it was."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from scrapy_simhash import Addon


@pytest.mark.parametrize("queue", [None, "scrapy_redis.queue.FifoQueue", "own.Queue"])
def test_the_add_on_leaves_the_queue_of_the_scheduler_alone(queue: str | None) -> None:
    project = Settings({"SCHEDULER": "scrapy_redis.scheduler.Scheduler"})
    if queue:
        project.set("SCHEDULER_QUEUE_CLASS", queue, "project")
    Addon().update_settings(project)
    assert project.get("SCHEDULER_QUEUE_CLASS") == queue
