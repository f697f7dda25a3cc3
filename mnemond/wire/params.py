"""Parameters of methods: how they are declared, what is derived from a declaration, and how JSON becomes them."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Final, Generic, ParamSpec, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, inspect

from mnemond import __version__, errors
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.wire.jsonrpc import MALFORMED

if TYPE_CHECKING:
    from typing_extensions import TypeForm

# What is declared of a field. docs/protocol.md, the options of the command line and their help derive from it.


def about(
    text: str,
    *aliases: str,
    option: str = "",
    metavar: str = "",
    cli: str = "",
    item: str = "",
    choices: tuple[str, ...] = (),
    example: str = "",
    stdin: bool = False,
    json: bool = False,
    bare: bool = False,
    shortened: bool = False,
    by_client: bool = False,
    completes: str = "",
) -> Meta:
    """Describe a field of parameters: `Annotated[bool, about("both ways", "-b")] = False`.

    The other arguments are for the command line. `aliases` are further spellings of the option, `option` its spelling
    where that is not the field's name; `cli` replaces the text in help. `item` is an option that adds a single value to
    a list. `choices` are the values where the type does not name them, `example` is shown where a value is malformed.
    With `stdin` a "-" reads standard input; with `json` the value is JSON; with `bare` it may be left out. `shortened`
    marks an id of which the beginning will do. A field `by_client` has no option: the client fills it in. `completes`
    is the kind of value that a shell completes, one of `mnemond.cli.completion.SOURCES`.
    """
    extra = {
        "aliases": aliases, "option": option, "metavar": metavar, "cli": cli, "item": item, "choices": choices,
        "example": example, "stdin": stdin, "json": json, "bare": bare, "shortened": shortened,
        "by_client": by_client, "completes": completes,
    }  # fmt: skip
    return Meta(description=text, extra={name: value for name, value in extra.items() if value})


class Field(msgspec.Struct, frozen=True):
    """A field of a type and what is declared of it. `kind` is without annotations; `extra` as given to `about`."""

    name: str
    kind: inspect.Type
    required: bool
    default: object
    text: str
    extra: Mapping[str, object]

    @property
    def kinds(self) -> tuple[inspect.Type, ...]:
        """The alternatives of its type."""
        return self.kind.types if isinstance(self.kind, inspect.UnionType) else (self.kind,)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it takes, as far as they are declared."""
        items = (each.item_type if isinstance(each, inspect.ListType) else each for each in self.kinds)
        literal = (str(value) for each in items if isinstance(each, inspect.LiteralType) for value in each.values)
        return cast("tuple[str, ...]", self.extra.get("choices")) or tuple(literal)

    def described(self, text: str = "") -> str:
        """Its description, or another text, with the choices that it does not name."""
        text = text or self.text
        unnamed = self.choices if any(choice not in text for choice in self.choices) else ()
        return f"{text}: {', '.join(unnamed)}" if unnamed else text


@functools.cache
def fields_of(owner: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of a type; of parameters the required ones first, then its own before those that it shares."""
    node = inspect.type_info(owner)
    if not isinstance(node, inspect.StructType):
        raise TypeError(f"{owner} is no Struct")
    fields = [_field(each) for each in node.fields]
    if not issubclass(owner, Params):
        return tuple(fields)
    declared = [cls.__annotations__ for cls in declaring(owner)]
    depth = {each.name: [each.name in names for names in declared].index(True) for each in node.fields}
    order = {new.name: (not new.required, depth[old.name]) for new, old in zip(fields, node.fields, strict=True)}
    return tuple(sorted(fields, key=lambda each: order[each.name]))


def declaring(owner: type) -> list[type]:
    """The types that declare the parameters of a method: its own, then those that it shares with other methods."""
    return [each for each in owner.__mro__ if issubclass(each, Params) and each is not Params] or [owner]


def _field(field: inspect.Field) -> Field:
    made = field.default_factory
    default = made() if callable(made) else UNSET if field.default is msgspec.NODEFAULT else field.default
    return Field(field.encode_name, plain(field.type), field.required, default, *_notes(field.type))


def _notes(node: inspect.Type) -> tuple[str, dict[str, object]]:
    """The description and the extras of a type, those of its parts below its own."""
    match node:
        case inspect.Metadata(type=inner, extra_json_schema=schema, extra=extra):
            text, below = _notes(inner)
            return str((schema or {}).get("description", text)), below | (extra or {})
        case inspect.UnionType(types=types):
            texts, extras = zip(*map(_notes, types), strict=True)
            return next(filter(None, texts), ""), dict(itertools.chain(*(each.items() for each in extras)))
        case _:
            return "", {}


def plain(node: inspect.Type) -> inspect.Type:
    """A type without what is declared beside it."""
    match node:
        case inspect.Metadata(type=inner):
            return plain(inner)
        case inspect.UnionType(types=types):
            return inspect.UnionType(tuple(map(plain, types)))
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return msgspec.structs.replace(node, item_type=plain(item))
        case _:
            return node


# Types of fields that several methods share.


MAX_NAME = 200
"""Characters of a source, conversation, session, user or agent id: the same bound as that of an entity's name."""

Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, extra={"metavar": "NAME"})]
OpId = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, extra={"metavar": "ID"})]
StoreName = Annotated[str, Meta(min_length=1, max_length=64, extra={"metavar": "NAME", "completes": "store"})]
MIN_PREFIX = 6
"""Characters of an id that are needed to name a memory."""

IdOrPrefix = Annotated[
    str,
    Meta(
        min_length=MIN_PREFIX, max_length=64, extra={"metavar": "ID", "shortened": True, "completes": "memory"}
    ),
]  # fmt: skip
Limit = Annotated[int, Meta(ge=1, le=1000)]

MAX_EXACT = 2**53 - 1
"""The largest whole number that every reader of JSON holds exactly (RFC 8259, 6)."""

Time = Annotated[str, Meta(extra={"metavar": "TIME"})]
"""RFC 3339; filters take a day (YYYY-MM-DD, UTC) as well."""

Operation = Annotated[OpId | None, about("name of this write: repeating it with the same id is harmless")]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every method's parameters: unknown fields are refused."""


class NoParams(Params, frozen=True, kw_only=True):
    """Nothing."""


# Bases of parameters. What the fields mean is said at the fields, so that pages do not repeat it for every method.


Tty = Annotated[bool, about("the output of the client is a terminal", by_client=True)]

SPOOL: Final = "spool"
"""Directory in the data directory with files that hand over what is too large for a message (`mnemond.api.spool`)."""

SpoolName = Annotated[
    str,
    Meta(pattern="^[a-z0-9_]{8,64}$"),
    about("a file that the client made (0600) in `spool/` of the data directory; the call removes it", by_client=True),
]
ShowProgress = Annotated[
    bool, about("send notifications called `progress`, with `done` of `total`, before the reply", by_client=True)
]


class StoreParams(Params, frozen=True, kw_only=True):
    store: Annotated[
        StoreName | None,
        about(
            "which store; the active one unless given", cli="which store (default: $MNEMON_STORE, then the active one)"
        ),
    ] = None


class WriteParams(StoreParams, frozen=True, kw_only=True):
    op_id: Operation = None


class ScopeParams(StoreParams, frozen=True, kw_only=True):
    user_id: Annotated[Name | None, about("whose memories", "--user", metavar="ID")] = None
    session_id: Annotated[Name | None, about("of which session", "--session", metavar="ID")] = None
    agent_id: Annotated[Name | None, about("of which agent", "--agent", metavar="ID")] = None


class ScopedWriteParams(ScopeParams, frozen=True, kw_only=True):
    op_id: Operation = None  # a Struct cannot have two bases with fields


# Methods. Each is declared beside its parameters and result, with `method`; `mnemond.api.registry` collects them.


class Access(StrEnum):
    """The access of a method: whether it writes, or controls the daemon."""

    READ = "read"
    WRITE = "write"
    CONTROL = "control"


class Method(msgspec.Struct, frozen=True):
    """One method. `positional` names the parameters that may also be given by position, in order."""

    name: str
    params: type[Params]
    result: type | UnionType
    access: Access
    summary: str
    positional: tuple[str, ...] = ()


Signature = ParamSpec("Signature")
R = TypeVar("R")


class TypedMethod(Method, Generic[Signature, R], frozen=True):
    """A method whose parameters and result type checkers know."""


def method(
    name: str,
    params: Callable[Signature, Params],
    result: TypeForm[R],
    access: Access,
    summary: str,
    *,
    positional: tuple[str, ...] = (),
) -> TypedMethod[Signature, R]:
    """Declare a method."""
    return TypedMethod(name, cast("type[Params]", params), cast("type", result), access, summary, positional)


# Versions exchanged in a handshake.


PROTOCOL = 1
"""Number of the wire protocol. It rises only when an older client would be answered wrongly."""

SERVER_VERSION = __version__


MAX_DIRECTORY = 4096
"""Characters of a directory: PATH_MAX of Linux."""

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


# Values and types in messages. Values are named by their size, never repeated at length.


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


def counted(kinds: Iterable[str]) -> str:
    """Return how many things there are of each kind: "2 memories, 1 passage"."""
    found = list(kinds)
    counts = ((found.count(kind), kind) for kind in ("memory", "passage"))
    return ", ".join(plural(count, noun) for count, noun in counts if count)


def short(value: object) -> str:
    """At most 40 printable characters of a value; control characters and invisible ones are escaped."""
    shown = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def described(value: object) -> str:
    """Describe the kind and the size of a value."""
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
    """Return the known name that a misspelt one most likely means."""
    close = difflib.get_close_matches(name[:64], list(known), n=1)
    return close[0] if close else None


def expected(node: inspect.Type) -> str:
    """Describe the values that a type allows, without its limits."""
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
    """Return the phrase for a list of such values."""
    return "a list of " + _PLURALS.get(each, each)


def limits(node: inspect.Type) -> tuple[float | None, float | None]:
    """Return the smallest and largest value, or length, that a type allows."""
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
    """Describe the limits of a type: "1 to 1000", "at most 200 characters"; empty when it has none."""
    if isinstance(node, inspect.UnionType):
        return next((found for each in node.types if (found := bounds(each))), "")
    unit = _UNITS.get(type(node), "")
    low, high = limits(node)
    if low is None:
        return "" if high is None else f"at most {high}{unit}"
    return f"at least {low}{unit}" if high is None else f"{low} to {high}{unit}"


# JSON becomes the parameters of a method, or every bad field is explained at once.


P = TypeVar("P", bound=Params)

MAX_PROBLEMS = 20
"""Problems reported of one field, and unknown fields reported: a thousand bad items need no thousand sentences."""

MAX_ITEMS = 1000
"""Items of a list that are checked one by one; problems of later ones are reported in the words of the decoder."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder()
_names = msgspec.json.Encoder()
_decoder = functools.cache(msgspec.json.Decoder)
_fields = functools.cache(msgspec.structs.fields)


@functools.cache
def _node(kind: object) -> inspect.Type:
    return plain(inspect.type_info(kind))


def decode_params(params_type: type[P], raw: msgspec.Raw | bytes | None, positional: tuple[str, ...] = ()) -> P:
    """Decode the parameters of one call. `positional` names those that an array gives, in order.

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
    """Return parameters as a JSON object, whichever way they were given. Raises MnemonError for too many of them."""
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
    """Return the valid fields by name, and every problem of the others.

    Raises MnemonError (PARSE) when `raw` is not JSON, and INVALID_PARAMS when it is neither object nor array.
    """
    try:
        given = _members.decode(by_name(raw, positional))
    except msgspec.ValidationError:
        raise invalid([FieldProblem("params", "params must be an object or an array")]) from None
    except MALFORMED:
        raise MnemonError(errors.PARSE, "the parameters are not JSON, or not UTF-8") from None
    types = {field.encode_name: field for field in _fields(params_type)}
    fields = {field.name: types[field.name] for field in fields_of(params_type)}
    unknown = [name for name in given if name not in fields]
    problems = [_unknown(name, fields) for name in unknown[:MAX_PROBLEMS]]
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
    """Yield pairs of a path such as `tags[3]` and a sentence about the problem there."""
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
    """Return True if the JSON type fits; limits aside."""
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
