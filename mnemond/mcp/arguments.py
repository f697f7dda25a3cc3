"""Arguments of tools as clients send them: values as texts, numbers in other forms of JSON, optional fields filled in.

The schema of a tool is strict. Arguments that do not fit it are read a second time, each value as the only thing that
it can mean where the schema has it; what can mean several things is refused in the words of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import inspect

from mnemond.errors import MnemonError
from mnemond.wire.jsonrpc import MALFORMED
from mnemond.wire.params import Params, decode_params, plain

P = TypeVar("P", bound=Params)

TRUE: Final = frozenset({"true", "yes", "1"})
FALSE: Final = frozenset({"false", "no", "0"})

NOTHING_GIVEN: Final = frozenset({"", "null", "none", "undefined"})
"""Texts, in lower case, that clients put into optional fields without a value; in fields of text only the first."""

SEVERAL: Final = ",;|\n，、；"
"""A text with one of these may stand for several items of a list."""

MAX_EXACT: Final = 2**53
"""Integers up to this are exact in every form of a JSON number (RFC 8259, 6)."""

_json = msgspec.json.Decoder()


def decode_arguments(kind: type[P], raw: bytes) -> P:
    """Decode the arguments of a tool. Raises MnemonError: INVALID_PARAMS with every problem of what was sent, PARSE."""
    try:
        return decode_params(kind, raw)
    except MnemonError as refused:
        try:
            value = _json.decode(raw)
        except MALFORMED:
            raise refused from None
        if not isinstance(value, dict):
            raise
        try:
            return msgspec.convert(_fields(inspect.type_info(kind), value), kind)
        except msgspec.ValidationError:
            raise refused from None


def _fields(node: inspect.Type, given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of an object as they are meant, without optional ones that have no value."""
    assert isinstance(node, inspect.StructType)  # noqa: S101
    declared = {field.encode_name: field for field in node.fields}
    meant: dict[str, object] = {}
    for name, value in given.items():
        field = declared.get(name)
        if field is None:
            meant[name] = value
        elif field.required or not _is_empty(plain(field.type), value):
            meant[name] = _meant(field.type, value)
    return meant


def _is_empty(node: inspect.Type, value: object) -> bool:
    """Return True if an optional field with this value was filled in for the sake of the schema."""
    if value is None or value == {}:
        return True
    if isinstance(value, str):
        return value.strip() == "" or (not _takes_text(node) and value.strip().lower() in NOTHING_GIVEN)
    counts = [each for each in _alternatives(node) if isinstance(each, inspect.IntType)]
    return value == 0 and not isinstance(value, bool) and any((each.ge or 0) > 0 for each in counts)


def _alternatives(node: inspect.Type) -> tuple[inspect.Type, ...]:
    node = plain(node)
    return tuple(map(plain, node.types)) if isinstance(node, inspect.UnionType) else (node,)


def _takes_text(node: inspect.Type) -> bool:
    return any(isinstance(each, inspect.StrType) for each in _alternatives(node))


def _meant(node: inspect.Type, value: object) -> object:
    """Return a value in the form of the schema; as it is where it fits, or can mean several things."""
    if _takes_text(node):
        return _as_text(value)
    for each in _alternatives(node):
        match each:
            case inspect.IntType():
                return _as_integer(value)
            case inspect.FloatType():
                return _as_number(value)
            case inspect.BoolType():
                return _as_switch(value)
            case inspect.LiteralType(values=values):
                return _as_choice(values, value)
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                items = _items(value)
                return value if items is None else [_meant(item, one) for one in items]
            case inspect.StructType():
                opened = _opened(value)
                return _fields(each, opened) if isinstance(opened, dict) else value
    return value


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_number(value: object) -> object:
    if isinstance(value, str):
        try:
            found = _json.decode(value.strip())
        except MALFORMED:
            return value
        return found if isinstance(found, int | float) and not isinstance(found, bool) else value
    return value


def _as_integer(value: object) -> object:
    number = _as_number(value)
    if isinstance(number, float) and number.is_integer() and abs(number) <= MAX_EXACT:
        return int(number)
    return number


def _as_switch(value: object) -> object:
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in TRUE else False if word in FALSE else value


def _as_choice(values: tuple[object, ...], value: object) -> object:
    """Return the one of `values` that differs in letter case and blanks alone."""
    if not isinstance(value, str):
        return value
    word = value.strip().casefold()
    return next((each for each in values if isinstance(each, str) and each.casefold() == word), value)


def _items(value: object) -> list[object] | None:
    """Return the items of a list; of a text that is a list in JSON, or one item; None if it may stand for several."""
    opened = _opened(value)
    if isinstance(opened, list):
        return opened
    if isinstance(opened, dict):
        return [opened] if opened else []
    if not isinstance(opened, str) or any(mark in opened for mark in SEVERAL):
        return None
    return [opened] if opened.strip() else []


def _opened(value: object) -> object:
    """Return what a text is in JSON if that is a list or an object, else the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return _json.decode(value)
        except MALFORMED:
            return value
    return value
