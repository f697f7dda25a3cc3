"""A result that comes later, without a task waiting for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

T = TypeVar("T")
U = TypeVar("U")


class Deferred(Generic[T]):
    """Settled exactly once, on the event loop; its subscribers are called then, in their order, or at once.

    Subscribers must not raise: they run inside the call that settles.
    """

    __slots__ = ("_error", "_settled", "_subscribers", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: Exception | None = None
        self._subscribers: list[Callable[[], None]] = []

    @property
    def settled(self) -> bool:
        """Whether `result` can be asked for."""
        return self._settled

    def resolve(self, value: T) -> None:
        """The result is here. Raises RuntimeError if it was settled before."""
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        """There will be no result. A MnemonError is for the caller, anything else is a defect."""
        self._settle(None, error)

    def result(self) -> T:
        """The value; raises the error it failed with, or RuntimeError before it is settled."""
        if not self._settled:
            raise RuntimeError("this result is not settled yet")
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call back once the result can be asked for."""
        if self._settled:
            callback()
        else:
            self._subscribers.append(callback)

    def map(self, change: Callable[[T], U]) -> Deferred[U]:
        """The same result, changed. `change` runs when the result is asked for, so what it raises reaches the asker
        and never the one who settles."""
        return _Mapped(self, change)

    def _settle(self, value: T | None, error: Exception | None) -> None:
        if self._settled:
            raise RuntimeError("a result is settled only once")
        self._settled, self._value, self._error = True, value, error
        subscribers, self._subscribers = self._subscribers, []
        for callback in subscribers:
            callback()


class _Mapped(Deferred[U], Generic[T, U]):
    __slots__ = ("_change", "_source")

    def __init__(self, source: Deferred[T], change: Callable[[T], U]) -> None:
        super().__init__()
        self._source = source
        self._change = change

    @property
    def settled(self) -> bool:
        return self._source.settled

    def result(self) -> U:
        return self._change(self._source.result())

    def subscribe(self, callback: Callable[[], None]) -> None:
        self._source.subscribe(callback)

    def _settle(self, value: U | None, error: Exception | None) -> None:
        raise RuntimeError("a changed result is settled through its source")
