"""What a connection needs of the server that accepted it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from mnemond.server.counters import Counters
from mnemond.server.dispatch import Dispatcher
from mnemond.server.hooks import Hooks
from mnemond.server.limits import Limits

C_contra = TypeVar("C_contra", contravariant=True)


class Host(Protocol[C_contra]):
    """What a connection needs of its server."""

    dispatcher: Dispatcher
    hooks: Hooks
    limits: Limits
    counters: Counters

    def spawn(self, run: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Run something in a task that ends with the server at the latest."""

    def flush_soon(self, connection: C_contra, /) -> None:
        """Send the connection's replies in the next pass of the event loop."""

    def take_up(self) -> None:
        """A request was answered: hear what other threads have finished meanwhile, and send what came of it."""

    def drained(self, connection: C_contra, /) -> None:
        """Everything is sent of a connection that could not be told something before."""

    def forget(self, connection: C_contra, /) -> None:
        """The connection is closed."""
