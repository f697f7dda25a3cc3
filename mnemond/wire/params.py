"""Field types that several messages share."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Iterable, Iterator
from enum import StrEnum
from types import UnionType
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import inspect

from mnemond import __version__, errors
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.wire.jsonrpc import MALFORMED

MAX_NAME = 200
"""Characters of a source, conversation, session, user or agent id (the same bound as an entity's name, chapter 07)."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
OpId = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
StoreName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
IdOrPrefix = Annotated[str, msgspec.Meta(min_length=6, max_length=64)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every method's parameters: unknown fields are refused."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every object result: while a store is degraded, the result says so."""

    degraded: bool | msgspec.UnsetType = msgspec.UNSET
    degraded_reason: str | msgspec.UnsetType = msgspec.UNSET


class Access(StrEnum):
    """What a method may do."""

    READ = "read"
    WRITE = "write"
    CONTROL = "control"


class Method(msgspec.Struct, frozen=True):
    """One method. `positional` names the parameters that may also be given by position, in order."""

    name: str
    params: type
    result: type | UnionType
    access: Access
    summary: str
    positional: tuple[str, ...] = ()


MAX_TAGS = 50
"""Tags that one filter asks for: more than any memory has."""

Tags = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TAGS)]


class FilterParams(Params, frozen=True, kw_only=True):
    """Base of what looks for memories, and how that can be narrowed; what is not given does not narrow.

    A scope id that is given admits its own memories and those of nobody in particular, with `strict_scope` its own
    alone; those of a session are left out unless it or `all_sessions` is given.

    `tags`: with all of these; `any_tags`: with one of these; case does not matter. `entity`: naming it, under any of
    its spellings and known aliases. `stated_intent`: that of the fact a memory was extracted as. `since` and `until`:
    when a memory was made; `event_since` and `event_until`: what it speaks of overlaps that. Times are RFC 3339
    timestamps, or days (YYYY-MM-DD, UTC); what begins at `until` is outside, but a day given as `until` is inside.

    `metadata`: `{"project": "apollo"}`, `{"build": {"gte": 3}}`, `{"ticket": "*"}`; operators eq ne in nin gt gte lt
    lte contains icontains; `AND`, `OR` and `NOT` take lists of such objects.

    What is valid is told at `now` (default: the clock): nothing that has ended or expired, or begins later. `as_of`
    tells what was valid then, also of what left recall since; `include_invalid` minds no validity; `status` names one
    state: active, superseded, merged, forgotten, pruned, expired. What was forgotten is found by its status alone.
    """

    category: str | None = None
    source: Name | None = None
    channel: Name | None = None
    tags: Tags = ()
    any_tags: Tags = ()
    entity: Name | None = None
    stated_intent: Name | None = None
    min_importance: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    since: str | None = None
    until: str | None = None
    event_since: str | None = None
    event_until: str | None = None
    status: str | None = None
    metadata: dict[str, object] | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    strict_scope: bool = False
    all_sessions: bool = False
    as_of: str | None = None
    include_invalid: bool = False
    now: str | None = None


# Parameters and results of subscribe and unsubscribe, and what a subscriber is sent.


Topic = Literal["memory", "job"]
TOPICS: tuple[Topic, ...] = ("memory", "job")

MAX_SEQ = 2**53 - 1
"""The largest number that every reader of JSON holds exactly (RFC 8259, 6)."""

Seq = Annotated[int, msgspec.Meta(ge=0, le=MAX_SEQ)]


class SubscribeParams(Params, frozen=True, kw_only=True):
    """`topics`: all of them unless given. `since_seq`: the number of the last event that was seen, to be sent what came
    after it first; without it, only what comes from now on."""

    topics: Annotated[tuple[Topic, ...], msgspec.Meta(min_length=1, max_length=len(TOPICS))] = TOPICS
    since_seq: Seq | None = None


class SubscribeResult(Result, frozen=True, kw_only=True):
    """Events follow on this connection as notifications called `event`, with `subscription`, `seq`, `topic` and `data`,
    and as `event.dropped`, with `subscription`, `from` and `to`, for numbers that are no longer kept: after a restart,
    or for a reader that is too slow. Numbers grow from event to event, not always by one.

    `seq` is the number of the newest event there was.
    """

    subscription: str
    seq: int


class UnsubscribeParams(Params, frozen=True, kw_only=True):
    """One's own, made on this connection."""

    subscription: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class UnsubscribeResult(Result, frozen=True, kw_only=True):
    """`ended` is false when there was none by that name on this connection."""

    ended: bool


class MemoryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `memory`: something was written, and is on disk. `method` did it, or the job that is called so; `op_id` is
    what history, receipt and undo call it; `id` the memory it was about, if it was about one. No text is sent."""

    store: str
    method: str
    op_id: str
    id: str | None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `job`: a background job ran and did something, asks something, or failed (`error`)."""

    store: str
    job: str
    outcome: str
    changed: int
    error: str | None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a notification `event`."""

    subscription: str
    seq: int
    topic: Topic
    data: msgspec.Raw


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a notification `event.dropped`: both ends are among what is lost."""

    subscription: str
    from_: int = msgspec.field(name="from")
    to: int


# Versions that meet in a handshake.


PROTOCOL = 1
"""The wire protocol's number. It rises only when an older client would be answered wrongly."""

SERVER_VERSION = __version__


MAX_VERSION = 64
"""Characters of a version."""


def release_key(version: str) -> tuple[int, ...]:
    """Order releases such as "0.10.2" by number; anything after the digits (rc1, .dev3) is ignored, and so is what
    follows MAX_VERSION characters."""
    numbers: list[int] = []
    for part in version[:MAX_VERSION].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


# Words for values and types in messages to the user. Values are named by their size, never repeated at length.


SHOWN = 40
"""Characters of a value that a message may show."""

_PLURALS = {"a string": "strings", "a whole number": "whole numbers", "a number": "numbers", "an object": "objects"}
_UNITS: dict[type[inspect.Type], str] = {
    inspect.StrType: " characters",
    inspect.ListType: " items",
    inspect.VarTupleType: " items",
}


def plural(count: int, noun: str) -> str:
    """ "1 store", "2 stores" (a final "y" becomes "ies")."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def short(value: object) -> str:
    """At most 40 printable characters of a value; control characters and invisible ones are escaped."""
    shown = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def described(value: object) -> str:
    """What kind of value it is, and how large."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"a string of {len(value)} characters"
        case int() | float():
            return f"the number {short(value)}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name a misspelt one most likely means."""
    close = difflib.get_close_matches(name[:64], list(known), n=1)
    return close[0] if close else None


def expected(node: inspect.Type) -> str:
    """What values a type allows, without its limits."""
    match node:
        case inspect.StrType():
            return "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number"
        case inspect.FloatType():
            return "a number"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(str(value) for value in values)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return list_of(expected(item))
        case inspect.UnionType(types=types):
            return " or ".join(expected(each) for each in types)
        case inspect.DictType() | inspect.StructType():
            return "an object"
        case _:
            return "any value"


def list_of(each: str) -> str:
    """The phrase for a list of such values."""
    return "a list of " + _PLURALS.get(each, each)


def limits(node: inspect.Type) -> tuple[float | None, float | None]:
    """Smallest and largest value, or length, that a type allows."""
    match node:
        case inspect.IntType(ge=low, le=high) | inspect.FloatType(ge=low, le=high):
            return low, high
        case inspect.StrType(min_length=low, max_length=high):
            return low, high
        case inspect.ListType(min_length=low, max_length=high) | inspect.VarTupleType(min_length=low, max_length=high):
            return low, high
        case _:
            return None, None


def bounds(node: inspect.Type) -> str:
    """The limits of a type, such as "1 to 1000" or "at most 200 characters"; empty when it has none."""
    if isinstance(node, inspect.UnionType):
        return next((found for each in node.types if (found := bounds(each))), "")
    unit = _UNITS.get(type(node), "")
    low, high = limits(node)
    if low is None:
        return "" if high is None else f"at most {high}{unit}"
    return f"at least {low}{unit}" if high is None else f"{low} to {high}{unit}"


# Parameters of a method: JSON becomes its Struct, or every bad field is explained at once.


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
