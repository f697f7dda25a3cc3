"""Parameters of a method: JSON becomes its Struct, or every bad field is explained at once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import inspect

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.protocol.envelope import MALFORMED
from mnemond.protocol.types import Params
from mnemond.protocol.wording import bounds, described, expected, limits, nearest, short

P = TypeVar("P", bound=Params)

MAX_PROBLEMS = 20
"""Problems told of one field, and unknown fields told of: a thousand bad items need no thousand sentences."""

MAX_ITEMS = 1000
"""Items of a list that are looked at one by one; what is wrong with later ones is told as the decoder says it."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder()
_names = msgspec.json.Encoder()
_decoder = functools.cache(msgspec.json.Decoder)
_fields = functools.cache(msgspec.structs.fields)


@functools.cache
def _node(kind: object) -> inspect.Type:
    """What a type consists of, without what is told of it for schemas alone."""
    node = inspect.type_info(kind)
    return node.type if isinstance(node, inspect.Metadata) else node


def decode_params(params_type: type[P], raw: msgspec.Raw | bytes | None, positional: tuple[str, ...] = ()) -> P:
    """The parameters of one call. `positional` names those that an array gives, in order.

    Raises MnemonError: INVALID_PARAMS with every problem, or PARSE when `raw` is not JSON at all.
    """
    try:
        named = by_name(raw, positional)
        params: P = _decoder(params_type).decode(named)
    except MALFORMED:
        _, problems = explain(params_type, raw, positional)
        raise invalid(problems) from None
    return params


def by_name(raw: msgspec.Raw | bytes | None, positional: tuple[str, ...]) -> msgspec.Raw | bytes:
    """Parameters as a JSON object, whichever way they were given. Raises MnemonError for too many of them."""
    if raw is None:
        return b"{}"
    if memoryview(raw)[0] != ord("["):
        return raw
    values = _elements.decode(raw)
    if len(values) > len(positional):
        taken = f"{len(positional)} ({', '.join(positional)})" if positional else "none"
        sentence = f"{len(values)} parameters were given by position; this method takes {taken} that way"
        raise invalid([FieldProblem("params", sentence)], hint="give parameters by name")
    pairs = (b"%b:%b" % (_names.encode(name), bytes(value)) for name, value in zip(positional, values, strict=False))
    return b"{" + b",".join(pairs) + b"}"


def explain(
    params_type: type[Params], raw: msgspec.Raw | bytes | None, positional: tuple[str, ...] = ()
) -> tuple[dict[str, object], list[FieldProblem]]:
    """The fields that are good, by name, and everything that is wrong with the others.

    Raises MnemonError (PARSE) when `raw` is not JSON, and INVALID_PARAMS when it is neither object nor array.
    """
    try:
        given = _members.decode(by_name(raw, positional))
    except msgspec.ValidationError:
        raise invalid([FieldProblem("params", "params must be an object or an array")]) from None
    except MALFORMED:
        raise MnemonError(errors.PARSE, "the parameters are not JSON, or not UTF-8") from None
    fields = {field.encode_name: field for field in _fields(params_type)}
    strangers = [name for name in given if name not in fields]
    problems = [_unknown(name, fields) for name in strangers[:MAX_PROBLEMS]]
    good: dict[str, object] = {}
    for name, field in fields.items():
        if name in given:
            _check(name, field.type, given[name], good, problems)
        elif field.required:
            problems.append(FieldProblem(name, f"{name} is missing; it must be {expected(_node(field.type))}"))
    return good, problems


def _unknown(name: str, known: dict[str, msgspec.structs.FieldInfo]) -> FieldProblem:
    shown = short(name)
    guess = nearest(name, known)
    help_ = f'did you mean "{guess}"?' if guess else f"known are {', '.join(known) or 'none'}"
    return FieldProblem(shown.strip("'\""), f"there is no parameter {shown}; {help_}")


def _check(name: str, kind: object, raw: msgspec.Raw, good: dict[str, object], problems: list[FieldProblem]) -> None:
    try:
        good[name] = _decoder(kind).decode(raw)
    except msgspec.ValidationError as error:
        problems.extend(_faults(name, kind, raw) or [FieldProblem(name, f"{name}: {error}")])
    except MALFORMED:
        raise _not_json(name) from None


def _not_json(name: str) -> MnemonError:
    return MnemonError(errors.PARSE, f"the value of {name} is not JSON, or not UTF-8")


def _faults(name: str, kind: object, raw: msgspec.Raw) -> list[FieldProblem]:
    try:
        value = _anything.decode(raw)
    except msgspec.ValidationError:
        return [FieldProblem(name, f"{name} is a number out of range ({len(bytes(raw))} characters long)")]
    except MALFORMED:
        raise _not_json(name) from None
    found = itertools.islice(_sentences(name, _node(kind), value), MAX_PROBLEMS)
    return [FieldProblem(path, sentence) for path, sentence in found]


def _sentences(path: str, node: inspect.Type, value: object) -> Iterator[tuple[str, str]]:
    """Pairs of a path such as `tags[3]` and what is wrong there."""
    others = ""
    if isinstance(node, inspect.UnionType):
        whole, node = node, next((each for each in node.types if _is_a(each, value)), node)
        kinds = [each for each in whole.types if each is not node and not isinstance(each, inspect.NoneType)]
        others = "".join(f"{expected(each)} or " for each in kinds)
    if not _is_a(node, value):
        yield path, f"{path} must be {expected(node)}; it is {described(value)}"
        return
    match node, value:
        case inspect.LiteralType(values=values), _ if value not in values:
            yield path, f"{path} must be {others}{expected(node)}; it is {short(value)}"
        case ((inspect.ListType() | inspect.VarTupleType()), list()):
            yield from _out_of_bounds(path, node, len(value), f"has {len(value)} items")
            for at, item in enumerate(itertools.islice(value, MAX_ITEMS)):
                yield from _sentences(f"{path}[{at}]", node.item_type, item)
        case inspect.StrType(), str():
            yield from _out_of_bounds(path, node, len(value), f"has {len(value)} characters")
        case ((inspect.IntType() | inspect.FloatType()), (int() | float())):
            yield from _out_of_bounds(path, node, value, f"is {short(value)}")


def _out_of_bounds(path: str, node: inspect.Type, size: float, words: str) -> Iterator[tuple[str, str]]:
    low, high = limits(node)
    if (low is not None and size < low) or (high is not None and size > high):
        yield path, f"{path} {words}; allowed are {bounds(node)}"


def _is_a(node: inspect.Type, value: object) -> bool:
    """Whether the JSON type fits; limits aside."""
    match node:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType():
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case inspect.NoneType():
            return value is None
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list)
        case inspect.DictType() | inspect.StructType():
            return isinstance(value, dict)
        case inspect.LiteralType():
            return isinstance(value, (str, int))
        case inspect.UnionType():
            return any(_is_a(each, value) for each in node.types)
        case _:
            return True
