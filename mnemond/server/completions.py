"""What other threads hand to the event loop, taken up between two requests as well as between two of its passes.

A pass of the event loop reads from every client that sent something. With 32 of them that recall, it takes 30 ms, and a
write waits for three: until its batch begins, until it is heard that it was committed, and until the reply is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol


class Token(Protocol):
    """The part of trio's token that is needed."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` in the next pass of the event loop; callable from any thread."""
        ...


class Completions:
    """Calls in the order they came in. `run_sync_soon` is for any thread, all else for that of the event loop."""

    def __init__(self, token: Token) -> None:
        self._token = token
        self._waiting: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._expected = False
        """Whether the event loop was asked for a pass that has not come. Whoever adds a call looks here after it: a
        pass that is expected still finds it."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` after the request that is being answered, in the next pass of the event loop at the latest."""
        self._waiting.append((sync_fn, args))
        if not self._expected:
            self._expected = True
            self._token.run_sync_soon(self._pass)

    def _pass(self) -> None:
        self._expected = False
        self.take_up()

    def take_up(self) -> None:
        """Make the calls that wait; those that they ask for come next time. One that raises ends the event loop, as it
        would in a pass of its own, and not the request before it."""
        waiting = self._waiting
        for _ in range(len(waiting)):
            call, arguments = waiting.popleft()
            try:
                call(*arguments)
            except Exception as error:
                self._token.run_sync_soon(_raise, error)


def _raise(error: Exception) -> None:
    raise error
