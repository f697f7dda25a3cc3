"""What becomes of a result of another method, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from mnemond.errors import MnemonError
from mnemond.server.deferred import Deferred

Done: TypeAlias = Callable[[Any], object]
Failed: TypeAlias = Callable[[MnemonError], object]


def afterwards(invoke: Callable[[], object], done: Done, failed: Failed) -> object:
    """What `done` makes of the result, or `failed` of a refusal: now, or as a Deferred or coroutine if the result
    comes as one. Of any but a Deferred `done` may make a coroutine."""
    try:
        result = invoke()
    except MnemonError as error:
        return failed(error)
    if isinstance(result, Deferred):
        return _Then(result, done, failed)
    if isinstance(result, Coroutine):
        return _waited(result, done, failed)
    return done(result)


async def _waited(result: Coroutine[Any, Any, object], done: Done, failed: Failed) -> object:
    try:
        value = await result
    except MnemonError as error:
        return failed(error)
    made = done(value)
    return await made if isinstance(made, Coroutine) else made


class _Then(Deferred[object]):
    """Made when it is asked for, so that a defect in it reaches the asker and not the one who settles the result."""

    __slots__ = ("_done", "_failed", "_source")

    def __init__(self, source: Deferred[Any], done: Done, failed: Failed) -> None:
        super().__init__()
        self._source = source
        self._done = done
        self._failed = failed

    @property
    def settled(self) -> bool:
        return self._source.settled

    def result(self) -> object:
        try:
            value = self._source.result()
        except MnemonError as error:
            return self._failed(error)
        return self._done(value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        self._source.subscribe(callback)
