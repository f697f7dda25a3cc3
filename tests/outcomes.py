"""Outcomes of operations for tests that care about a few of their fields."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from msgspec import inspect

from mnemond.model.outcomes import ForgetResult, GcDone, RememberResult, WriteResult

R = TypeVar("R", bound=WriteResult)


def made(kind: type[R], op_id: str, **fields: object) -> R:
    """An outcome with these fields; all others are empty, null, or the first choice."""
    empty = {name: _empty(node) for name, node in _required(kind)}
    return kind(**(empty | {"op_id": op_id} | fields))


@cache
def _required(kind: type[WriteResult]) -> tuple[tuple[str, inspect.Type], ...]:
    node = inspect.type_info(kind)
    assert isinstance(node, inspect.StructType)
    return tuple((field.name, field.type) for field in node.fields if field.required)


def remembered(insight_id: str | None, op_id: str, *, embedded: bool = False, **fields: object) -> RememberResult:
    return made(RememberResult, op_id, id=insight_id, store="default", embedded=embedded, **fields)


def forgotten(insight_id: str, op_id: str) -> ForgetResult:
    return made(ForgetResult, op_id, id=insight_id)


def collected(op_id: str, *ids: str) -> GcDone:
    return made(GcDone, op_id, count=len(ids), ids=list(ids))


def _empty(node: inspect.Type) -> Any:
    match node:
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.UnionType():
            return None
        case inspect.StructType(cls=cls):
            return cls(**{field.name: _empty(field.type) for field in node.fields if field.required})
        case inspect.ListType():
            return []
        case inspect.VarTupleType():
            return ()
        case inspect.DictType():
            return {}
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 0
        case _:
            return ""
