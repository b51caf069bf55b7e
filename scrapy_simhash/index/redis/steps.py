"""Scripts of several shards: what each asks next goes to the servers in one pipeline.

Whoever talks to an index is a generator that yields scripts with their arguments, and is sent the
answers. So a call that concerns many shards waits for the network as often as one that concerns
one, and each server reads its scripts at once.
"""

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from scrapy_simhash.index.redis.client import Client

T = TypeVar("T")

# A script, given with its SHA-1, and its arguments.
Request = tuple[tuple[str, str], list[Any]]
Steps = Generator[Request, Any, T]


def done(client: Client, steps: Steps[T]) -> T:
    (result,) = together([(client, steps)])
    return result


def together(tasks: Sequence[tuple[Client, Steps[T]]]) -> list[T]:
    """Return the results of some steps, each with its client, which share their connections.

    They hold their indexes from their first steps on, so whoever calls this has one order for them.
    An error of one ends all.
    """
    results: dict[int, T] = {}
    waiting: dict[int, Request] = {}

    def go_on(number: int, answer: Any = None) -> None:
        steps = tasks[number][1]
        try:
            waiting[number] = (
                steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)
            )
        except StopIteration as end:
            results[number] = end.value

    try:
        for number in range(len(tasks)):
            go_on(number)
        while waiting:
            asked, waiting = waiting, {}
            answers = tasks[0][0].run_all([(tasks[n][0], *one) for n, one in asked.items()])
            for number, answer in zip(asked, answers, strict=True):
                go_on(number, answer)
    finally:
        for _, steps in tasks:
            steps.close()
    return [results[number] for number in range(len(tasks))]
