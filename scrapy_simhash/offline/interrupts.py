"""Ctrl-C ends a command with one message, and loses nothing."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def ending_by_interrupt() -> Iterator[None]:
    """End a block by KeyboardInterrupt at Ctrl-C, whatever else a library makes of it."""
    pressed = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    with _handled_by(interrupt):
        try:
            yield
        except Exception:
            if pressed:
                raise KeyboardInterrupt from None
            raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a Ctrl-C wait until the end of a block."""
    pressed = []
    with _handled_by(lambda number, frame: pressed.append((number, frame))) as before:
        yield
    if pressed and before:
        before(*pressed[0])


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], Any]) -> Iterator[Any]:
    """Have another handler of Ctrl-C in a block; yield the one of before, if Python has one."""
    before = signal.getsignal(signal.SIGINT)
    if (
        not callable(before)
        or threading.current_thread() is not threading.main_thread()
    ):
        yield None
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield before
    finally:
        signal.signal(signal.SIGINT, before)
