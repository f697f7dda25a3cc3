"""A method of the daemon as a method of a Python object, with the types that the protocol declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar
from uuid import uuid4

import msgspec

from mnemonctl import rpc
from mnemond.errors import MnemonError
from mnemond.protocol.registry import METHODS, Access
from mnemond.protocol.types import Params

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

Reader: TypeAlias = Callable[[msgspec.Raw], T]
"""Makes a result of its JSON. Raises MnemonError for what is no such result: the daemon is of another version."""


class Caller(Protocol):
    """What carries a call out."""

    @property
    def store(self) -> str | None:
        """The store that is meant where a call names none."""

    def send(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """The result as JSON. Raises MnemonError."""
        ...


class Bound(Protocol):
    """What methods are looked up on."""

    @property
    def caller(self) -> Caller:
        """Who carries them out."""


def remote(name: str, params: Callable[P, Params], result: Reader[T]) -> Callable[Concatenate[Bound, P], T]:
    """The method `name` of the daemon; its fields are keywords, as `params` declares them.

    A write is given an `op_id` unless it has one, so that it can be sent again when the daemon went away before it
    answered: it happens once.
    """
    method = METHODS[name]
    fields = frozenset(field.name for field in msgspec.structs.fields(method.params))
    writes, named = method.access is not Access.READ, "op_id" in fields

    def call(self: Bound, /, *args: P.args, **given: P.kwargs) -> T:
        caller = self.caller
        chosen: dict[str, Any] = dict(given)
        if "store" in fields and chosen.get("store") is None:
            chosen["store"] = caller.store
        if writes and named and chosen.get("op_id") is None:
            chosen["op_id"] = str(uuid4())
        message = params(*args, **chosen)
        return result(caller.send(name, message, repeatable=named or not writes))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.summary
    return call


def one(shape: Callable[..., T]) -> Reader[T]:
    """A result that is one Struct."""
    decode = msgspec.json.Decoder(shape).decode
    return lambda raw: _read(decode, raw)


def many(shape: Callable[..., T]) -> Reader[list[T]]:
    """A result that is a list of Structs."""
    decode = msgspec.json.Decoder(list[shape]).decode  # type: ignore[valid-type]
    return lambda raw: _read(decode, raw)


def either(first: Reader[T], second: Reader[U]) -> Reader[T | U]:
    """A result of one of two forms; their fields tell which."""

    def read(raw: msgspec.Raw) -> T | U:
        try:
            return first(raw)
        except MnemonError:
            return second(raw)

    return read


def _read(decode: Callable[[msgspec.Raw], Any], raw: msgspec.Raw) -> Any:  # noqa: ANN401 - the readers above say what
    try:
        return decode(raw)
    except msgspec.ValidationError:
        raise rpc.not_understood(bytes(raw)) from None
