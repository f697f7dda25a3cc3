"""Columns, values and reader of a table's rows, derived from the struct that a row is.

A field is a column of its name. What a field of another type than text or number is stored as follows from its type:
a truth value as 0 or 1, a struct as columns of its own, a collection, or a struct that may be absent, as JSON. What
differs from that is declared. The two functions of a mapper are compiled once, when its module is imported: a store
reads each of its memories with them when it opens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from mnemond.model.memory import format_us, parse_rfc3339
from mnemond.store.connection import Value

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class Codec(NamedTuple):
    """The value of a field as its column has it, and back."""

    write: Callable[[Any], Value]
    read: Callable[[Any], Any]


TIME: Final = Codec(format_us, parse_rfc3339)
"""Microseconds since the epoch, stored as RFC 3339."""


class Mapper(Generic[T]):
    """How rows of a table hold one kind of struct.

    `columns`: the stored ones, in the order of `values`. `select`: these and the computed ones, in the order that
    `read` expects; a longer row is read as well. `read` checks no more than its codecs do.
    """

    columns: tuple[str, ...]
    values: Callable[[T], tuple[Value, ...]]
    read: Callable[[Sequence[Any]], T]

    def __init__(
        self,
        kind: type[T],
        *,
        names: Mapping[str, str] | None = None,
        codecs: Mapping[str, Codec] | None = None,
        nullable: Collection[str] = (),
        computed: Mapping[str, str] | None = None,
    ) -> None:
        """`names`: columns that are called otherwise than their field; `codecs` by field; `nullable`: fields that are
        stored as NULL while they are empty, and read as their default; `computed`: fields that are not stored with the
        row, and the expression that selects each."""
        columns, computed = names or {}, computed or {}
        fields = list(_fields(kind, ""))
        stored = [each for each in fields if each.name not in computed]
        self.columns = tuple(columns.get(each.name, each.name) for each in stored)
        later = [each for each in fields if each.name in computed]
        self.select = ", ".join([*self.columns, *(computed[each.name] for each in later)])
        self.width = len(fields)
        scope: dict[str, Any] = {"encode": _encode}
        written, values = [], {}
        for place, field in enumerate((*stored, *later)):
            write, read = _expressions(field, place, (codecs or {}).get(field.name), field.name in nullable, scope)
            values[field.path] = read
            if place < len(stored):
                written.append(write)
        made = _construction(kind, "", values, scope)
        # The sources consist of the names of fields.
        self.values = eval(f"lambda it: ({', '.join(written)},)", scope)  # noqa: S307
        self.read = eval(f"lambda row: {made}", scope)  # noqa: S307

    def places(self, more: int = 0) -> str:
        """Return the placeholders of `values`, and of some before or behind them."""
        return ", ".join("?" * (len(self.columns) + more))


class _Field(NamedTuple):
    path: str
    name: str
    type: Any
    default: Any


def _fields(kind: type, path: str) -> Iterator[_Field]:
    """Yield the fields of a struct, those of a struct in it in its place."""
    for name, type_, default in _declared(kind):
        if _is_struct(type_):
            yield from _fields(type_, f"{path}.{name}")
        else:
            yield _Field(f"{path}.{name}", name, type_, default)


def _declared(kind: type) -> list[tuple[str, Any, Any]]:
    if issubclass(kind, msgspec.Struct):
        return [(each.name, each.type, each.default) for each in msgspec.structs.fields(kind)]
    defaults: dict[str, Any] = getattr(kind, "_field_defaults", {})
    return [(name, type_, defaults.get(name)) for name, type_ in get_type_hints(kind).items()]


def _is_struct(type_: object) -> bool:
    return isinstance(type_, type) and (issubclass(type_, msgspec.Struct) or hasattr(type_, "_fields"))


def _expressions(
    field: _Field, place: int, codec: Codec | None, is_nullable: bool, scope: dict[str, Any]
) -> tuple[str, str]:
    """Return the source that stores a field and that which reads it; what they call goes into `scope`."""
    write, read = f"it{field.path}", f"row[{place}]"
    if codec is not None:
        scope |= {f"write{place}": codec.write, f"read{place}": codec.read}
        write, read = f"write{place}({write})", f"read{place}({read})"
    elif field.type is bool:
        write, read = f"int({write})", f"{read} == 1"
    elif not _is_plain(field.type):
        scope[f"read{place}"] = msgspec.json.Decoder(field.type).decode
        write, read = f"encode({write}).decode()", f"read{place}({read})"
        if NoneType in get_args(field.type):
            write = f"None if it{field.path} is None else {write}"
            read = f"None if row[{place}] is None else {read}"
        elif get_origin(field.type) is tuple:  # most are empty
            read = f"() if row[{place}] == '[]' else {read}"
    if is_nullable:
        scope[f"default{place}"] = field.default
        if codec is None and _is_plain(field.type):
            return f"{write} or None", f"{read} or default{place}"
        write, read = f"({write}) if it{field.path} else None", f"({read}) if row[{place}] else default{place}"
    return write, read


def _is_plain(type_: object) -> bool:
    """Return True for what SQLite stores as it is."""
    if get_origin(type_) in (Union, UnionType):
        return all(_is_plain(each) for each in get_args(type_))
    return type_ in (str, int, float, bytes, NoneType) or get_origin(type_) is Literal


def _construction(kind: type, path: str, values: Mapping[str, str], scope: dict[str, Any]) -> str:
    made = f"make{path.replace('.', '_')}"
    scope[made] = kind
    given = (
        _construction(type_, f"{path}.{name}", values, scope) if _is_struct(type_) else values[f"{path}.{name}"]
        for name, type_, _ in _declared(kind)
    )
    return f"{made}({', '.join(f'{name}={value}' for (name, _, _), value in zip(_declared(kind), given, strict=True))})"
