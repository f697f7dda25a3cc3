"""The reference of the wire as Markdown, made of the registry and the types themselves, so that it cannot be wrong.

Pure functions; whoever writes the files compares them in `make check`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import get_args

import msgspec
from msgspec import inspect

from mnemond.errors import Kind
from mnemond.protocol.depth import MAX_DEPTH
from mnemond.protocol.envelope import MAX_BATCH
from mnemond.protocol.framing import MAX_MESSAGE_BYTES
from mnemond.protocol.registry import Method
from mnemond.protocol.types import Params
from mnemond.protocol.version import PROTOCOL
from mnemond.protocol.wording import bounds, expected, plural

_PROTOCOL_HEAD = f"""# Protocol

Generated from `mnemond.protocol`; change it there.

Version {PROTOCOL}. A client connects to the Unix stream socket `sock` in the data directory and speaks JSON-RPC 2.0.
A message is one line of UTF-8 JSON; the end of the stream (a half-close) ends a message too, and blank lines are
ignored. Requests of one connection are answered as they finish; the id says which. A request without an id is a
notification and is never answered. An id is a string, a number or null and comes back exactly as it was written.
Parameters are given by name, and for some methods the first ones by position. The escape of half a character ("\\ud83d"
alone) counts as U+FFFD.

| limit | value |
|---|---|
| bytes of a message | {MAX_MESSAGE_BYTES} |
| nesting of arrays and objects | {MAX_DEPTH} |
| requests of a batch | {MAX_BATCH} |

An error's `data` has `code` (a name), `hint`, `retryable`, `outcome` (of a failed write: `rejected` was certainly not
stored, `unknown` may have been: repeat it with the same `op_id`) and `problems`, a list of `field` and `message`.
Unknown parameters are refused.
"""

_ERRORS_HEAD = """# Errors

Generated from `mnemond.errors`; change it there.

`rpc` is the code of the JSON-RPC error, `exit` the status mnemonctl leaves with. A retryable request may succeed later
without being changed.

| name | rpc | exit | retryable | meaning |
|---|---|---|---|---|
"""


def protocol_markdown(methods: Iterable[Method]) -> str:
    """The page about every method: parameters with types, limits and defaults, and what comes back."""
    listed = list(methods)
    index = "".join(f"| [`{each.name}`](#{_anchor(each)}) | {each.access} | {each.summary} |\n" for each in listed)
    shared: dict[str, inspect.StructType] = {}
    sections = "".join(_method(each, shared) for each in listed)
    types = "".join(_struct(f"### {name}", node, shared) for name, node in _closure(shared))
    return (
        f"{_PROTOCOL_HEAD}\n## Methods\n\n| method | access | |\n|---|---|---|\n{index}\n{sections}## Types\n\n{types}"
    ).rstrip("\n") + "\n"


def errors_markdown(kinds: Iterable[Kind]) -> str:
    """The page about every kind of error."""
    rows = (
        f"| `{kind.name}` | {kind.rpc} | {kind.exit} | {'yes' if kind.retryable else 'no'} | {kind.meaning} |\n"
        for kind in kinds
    )
    return _ERRORS_HEAD + "".join(rows)


def _anchor(method: Method) -> str:
    return method.name.replace(".", "")


def _method(method: Method, shared: dict[str, inspect.StructType]) -> str:
    position = f"By position: {', '.join(f'`{name}`' for name in method.positional)}.\n\n" if method.positional else ""
    params = _struct("Parameters.", _struct_of(method.params), shared)
    result = _result(method.result, shared)
    return f"### {method.name}\n\n{method.summary} Access: {method.access}.\n\n{position}{params}{result}"


def _result(kind: type | UnionType, shared: dict[str, inspect.StructType]) -> str:
    if isinstance(kind, UnionType):
        return "\n".join(_struct("Result, or:", _struct_of(each), shared) for each in get_args(kind))
    node = inspect.type_info(kind)
    if isinstance(node, inspect.ListType):
        return f"Result: {_type(node, shared)}.\n\n"
    return _struct("Result.", _struct_of(kind), shared)


def _struct_of(kind: type) -> inspect.StructType:
    node = inspect.type_info(kind)
    if not isinstance(node, inspect.StructType):
        raise TypeError(f"{kind} is no Struct")
    return node


def _struct(head: str, node: inspect.StructType, shared: dict[str, inspect.StructType]) -> str:
    docs = "\n\n".join(" ".join((each.__doc__ or "").split()) for each in _declaring(node.cls))
    lead = f"{head}\n\n{docs}" if head.startswith("#") else f"{head} {docs}"
    rows = "".join(_row(field, shared) for field in _in_order(node))
    table = f"\n\n| field | type | limits | default |\n|---|---|---|---|\n{rows}" if rows else "\n"
    return f"{lead}{table}\n"


def _in_order(node: inspect.StructType) -> list[inspect.Field]:
    """What is required stands first; then parameters that a method has for itself, before those it shares."""
    if not issubclass(node.cls, Params):
        return list(node.fields)
    shared = [cls.__annotations__ for cls in _declaring(node.cls)]
    depth = {field.name: [field.name in names for names in shared].index(True) for field in node.fields}
    return sorted(node.fields, key=lambda field: (not field.required, depth[field.name]))


def _declaring(cls: type) -> list[type]:
    """Where the parameters of a method are declared: its own type, then those it shares with other methods."""
    return [each for each in cls.__mro__ if issubclass(each, Params) and each is not Params] or [cls]


def _row(field: inspect.Field, shared: dict[str, inspect.StructType]) -> str:
    return f"| `{field.encode_name}` | {_type(field.type, shared)} | {bounds(field.type)} | {_default(field)} |\n"


def _default(field: inspect.Field) -> str:
    if field.required:
        return "required"
    if field.default is not msgspec.NODEFAULT:
        return f"`{json.dumps(field.default)}`"
    return f"`{json.dumps(field.default_factory())}`" if callable(field.default_factory) else "absent"


def _type(node: inspect.Type, shared: dict[str, inspect.StructType]) -> str:
    match node:
        case inspect.StructType():
            shared.setdefault(node.cls.__name__, node)
            return f"[{node.cls.__name__}](#{node.cls.__name__.lower()})"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return plural(_type(item, shared))
        case inspect.DictType(value_type=value):
            return f"object of {_type(value, shared)}"
        case inspect.TupleType():
            return "list, empty" if not node.item_types else "list"
        case inspect.UnionType():
            return " or ".join(_type(each, shared) for each in node.types)
        case _:
            return expected(node)


def _closure(shared: dict[str, inspect.StructType]) -> Iterator[tuple[str, inspect.StructType]]:
    """Every shared type, with those that they use in turn, by name."""
    seen: set[str] = set()
    while waiting := sorted(shared.keys() - seen):
        for name in waiting:
            seen.add(name)
            for field in shared[name].fields:
                _type(field.type, shared)
    yield from sorted(shared.items())
