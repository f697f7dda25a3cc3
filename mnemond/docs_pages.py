"""The generated pages of docs/ as Markdown, derived from the declarations. Pure functions: docs/generate.py writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, inspect

from mnemond.config.hosts import Host, described
from mnemond.config.loading import OF_A_STORE, SHORT_NAMES, value_of
from mnemond.config.settings import PROFILES, Config
from mnemond.errors import Kind
from mnemond.mcp.protocol import LEGACY, MODERN, PROMPTS, TEMPLATES, TEXTS
from mnemond.mcp.tools import CORE, tools
from mnemond.wire.connection import MAX_MESSAGE_BYTES
from mnemond.wire.hooks import MAX_CONTEXT
from mnemond.wire.jsonrpc import MAX_BATCH, MAX_DEPTH
from mnemond.wire.params import PROTOCOL, Field, Method, Params, bounds, declaring, expected, fields_of, list_of

_PROTOCOL_HEAD = f"""# Protocol

Generated from `mnemond.api.types_*`; change it there.

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
    """Return the page about every method: parameters with types, limits and defaults, and results."""
    listed = list(methods)
    index = "".join(f"| [`{each.name}`](#{_anchor(each)}) | {each.access} | {each.summary} |\n" for each in listed)
    shared: dict[str, type[msgspec.Struct]] = {}
    sections = "".join(_method(each, shared) for each in listed)
    types = "".join(_struct(f"### {name}\n\n", kind, shared) for name, kind in _closure(shared))
    return (
        f"{_PROTOCOL_HEAD}\n## Methods\n\n| method | access | |\n|---|---|---|\n{index}\n{sections}## Types\n\n{types}"
    ).rstrip("\n") + "\n"


def errors_markdown(kinds: Iterable[Kind]) -> str:
    """Return the page about every kind of error."""
    rows = (
        f"| `{kind.name}` | {kind.rpc} | {kind.exit} | {'yes' if kind.retryable else 'no'} | {kind.meaning} |\n"
        for kind in kinds
    )
    return _ERRORS_HEAD + "".join(rows)


def _anchor(method: Method) -> str:
    return method.name.replace(".", "")


def _method(method: Method, shared: dict[str, type[msgspec.Struct]]) -> str:
    position = f"By position: {', '.join(f'`{name}`' for name in method.positional)}.\n\n" if method.positional else ""
    params = _struct("Parameters.", method.params, shared)
    result = _result(method.result, shared)
    return f"### {method.name}\n\n{method.summary} Access: {method.access}.\n\n{position}{params}{result}"


def _result(kind: type | UnionType, shared: dict[str, type[msgspec.Struct]]) -> str:
    if isinstance(kind, UnionType):
        return "\n".join(_struct("Result, or:", each, shared) for each in get_args(kind))
    node = inspect.type_info(kind)
    if isinstance(node, inspect.ListType):
        return f"Result: {_type(node, shared)}.\n\n"
    return _struct("Result.", kind, shared)


def _struct(head: str, kind: type[msgspec.Struct], shared: dict[str, type[msgspec.Struct]]) -> str:
    """A head, the docstrings of a type and its bases, and a table of its fields; of parameters with descriptions."""
    fields, of_params = fields_of(kind), issubclass(kind, Params)
    docs = (" ".join((each.__doc__ or "").split()) for each in declaring(kind))
    lead = "\n\n".join(filter(None, docs))
    lead = head + lead if head.startswith("#") else f"{head} {lead}".rstrip()
    rows = "".join(_row(field, shared) + (f" {field.described()} |\n" if of_params else "\n") for field in fields)
    columns = "| field | type | limits | default |" + (
        " |\n|---|---|---|---|---|\n" if of_params else "\n|---|---|---|---|\n"
    )
    return f"{lead}\n\n{columns}{rows}\n" if rows else f"{lead}\n\n"


def _row(field: Field, shared: dict[str, type[msgspec.Struct]]) -> str:
    default = "required" if field.required else "absent" if field.default is UNSET else f"`{json.dumps(field.default)}`"
    return f"| `{field.name}` | {_type(field.kind, shared)} | {bounds(field.kind)} | {default} |"


def _type(node: inspect.Type, shared: dict[str, type[msgspec.Struct]]) -> str:
    match node:
        case inspect.StructType():
            shared.setdefault(node.cls.__name__, node.cls)
            return f"[{node.cls.__name__}](#{node.cls.__name__.lower()})"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return list_of(_type(item, shared))
        case inspect.DictType(value_type=value):
            return f"object of {_type(value, shared)}"
        case inspect.TupleType():
            return "list, empty" if not node.item_types else "list"
        case inspect.UnionType():
            return " or ".join(_type(each, shared) for each in node.types)
        case _:
            return expected(node)


def _closure(shared: dict[str, type[msgspec.Struct]]) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """Every shared type, with those that they use in turn, by name."""
    seen: set[str] = set()
    while waiting := sorted(shared.keys() - seen):
        for name in waiting:
            seen.add(name)
            for field in fields_of(shared[name]):
                _type(field.kind, shared)
    yield from sorted(shared.items())


# docs/config.md.


_CONFIG_PAGE_HEAD = f"""# Configuration

`config.toml` in the data directory (`~/.mnemon` unless `--data-dir` or `MNEMON_DATA_DIR` says otherwise) is TOML; it is
read when the daemon starts, and every setting is optional. An earlier source in this list overrides the later ones:

1. the command line: `mnemond --set diff.update=0.7`, `mnemond --profile NAME`;
2. the environment: `MNEMON_DIFF__UPDATE=0.7`, the path of a setting in capitals with two underscores between its parts;
   an empty variable counts as unset; a list is written with commas;
   short names are {", ".join(f"`{name}`" for name in SHORT_NAMES)};
3. `data/NAME/config.toml`, for one store: {", ".join(f"`{name}`" for name in OF_A_STORE)}; read when it is opened;
4. `config.toml` of the data directory, or the file that `mnemond --config FILE` names;
5. the profile;
6. the defaults below.

An unknown key, variable or option is refused; the error names it, the line in the file, and the nearest known name. A
running daemon keeps its settings until SIGHUP. `mnemonctl config show --origin` shows the settings in force and their
origins, `mnemonctl config check` checks that a daemon could start with them.
"""


def config_markdown() -> str:
    """Return the page about every setting."""
    lines = [*_CONFIG_PAGE_HEAD.splitlines(), "", *_section((), Config)]
    return "\n".join(lines)


def _profiles() -> list[str]:
    """The settings that profiles change."""
    paths = sorted({path for values in PROFILES.values() for path in values})
    return [
        "### Profiles", "", f"| setting | {' | '.join(PROFILES)} |", "|---|" + "---|" * len(PROFILES),
        *(f"| `{path}` | {' | '.join(_shown(_in_profile(name, path)) for name in PROFILES)} |" for path in paths),
        "",
    ]  # fmt: skip


def _in_profile(name: str, path: str) -> object:
    return PROFILES[name].get(path, value_of(Config(), path))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "unset" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _section(path: tuple[str, ...], kind: type) -> list[str]:
    """A table of settings, and those of the tables within it."""
    title = f"{'#' * (1 + len(path))} [{'.'.join(path)}]" if path else "## Settings of no table"
    lines = [title, "", " ".join(str(kind.__doc__).split()), ""]
    hints = get_type_hints(kind, include_extras=True)
    tables = {name: hint for name, hint in hints.items() if isinstance(hint, type)}
    if len(tables) < len(hints):
        lines += ["| setting | type | default | what |", "|---|---|---|---|"]
        lines += [_setting(name, hint, getattr(kind(), name)) for name, hint in hints.items() if name not in tables]
        lines.append("")
    if not path:
        lines += _profiles()
    for name, table in tables.items():
        lines += _section((*path, name), table)
    return lines


def _setting(name: str, annotation: Any, default: object) -> str:  # noqa: ANN401 - a type expression
    base, meta = get_args(annotation)[0], get_args(annotation)[1:]
    text = next(each.description for each in meta if each.description is not None)
    limits = next((each for each in meta if each.le is not None), Meta())
    return f"| `{name}` | {_type_name(base, limits)} | {_shown(default)} | {text} |"


def _type_name(base: Any, meta: Meta) -> str:  # noqa: ANN401 - a type expression
    """A type as people write it, with its range."""
    if get_origin(base) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(base))
    if get_origin(base) is Annotated:
        return _type_name(*get_args(base))
    if get_origin(base) is tuple:
        return f"list of {_type_name(get_args(base)[0], meta)}"
    if get_args(base):
        kinds = [part for part in get_args(base) if part is not type(None)]
        return " or ".join(_type_name(kind, meta) for kind in kinds)
    low = f"{meta.ge:,}" if meta.ge is not None else f"above {meta.gt:,}" if meta.gt is not None else None
    return f"{base.__name__}, {low} … {meta.le:,}" if low is not None else str(base.__name__)


# docs/dialects.md.


_DIALECTS_PAGE_HEAD = f"""# Dialects

Generated from `mnemond/hosts` and `mnemond.mcp`; change it there.

The socket understands more than [mnemond's own protocol](protocol.md). Each message says by itself what it is, so one
connection may mix them:

| a message that | is |
|---|---|
| has no `jsonrpc`, but the fields of a coding agent's hook | a hook: one line comes back, in the shape of that agent |
| calls a method of MCP, with `_meta` naming the revision {MODERN} | MCP without a session |
| calls a method of MCP without that | MCP with a session: {", ".join(LEGACY)} |
| is any other JSON-RPC 2.0 | [mnemond's own](protocol.md) |

So `nc -N -U ~/.mnemon/sock` is a whole hook command, and a whole MCP server command, one that ends with the daemon;
`~/.mnemon/bin/mnemond-mcp`, which `mnemonctl setup` writes, connects anew.

## Hooks

A hook is always answered as if all were well: for an event that asks nothing of memory, for a payload that is broken or
has any length, when memory has nothing to say or takes longer than `server.hook_deadline_ms`. A context has at most
{MAX_CONTEXT:,} characters, and is said only where the agent shows it to its model: never at the end of a turn.

"""

_MCP = """## MCP

`ping` on a connection that said `initialize` is MCP's. What is cancelled is done all the same, and answered no more.
Of a subscription nothing follows but its acknowledgement: no list here changes while a client looks. `mcp.tools` in the
settings says which set of tools is offered. The instructions are the guide.

"""


def dialects_markdown() -> str:
    """Return the page about hooks and MCP."""
    hooks = _table(("agent", "event", "moment", "takes a context"), _hooks())
    tools = _table(("tool", "", "set", "reads only", "destructive", "idempotent"), _tools())
    addresses = _table(("resource", ""), _addresses())
    prompts = _table(("prompt", ""), ((f"`{name}`", str(each["description"])) for name, each in PROMPTS.items()))
    return f"{_DIALECTS_PAGE_HEAD}{hooks}\n{_MCP}{tools}\n{addresses}\n{prompts}"


def _hooks() -> Iterator[tuple[str, ...]]:
    for host in Host:
        for event, moment in described(host).events.items():
            yield host, f"`{event}`", moment, _yes(event in described(host).context)


def _tools() -> Iterator[tuple[str, ...]]:
    for tool in tools("full").values():
        hints = tool.annotations
        yield (
            f"`{tool.name}`", tool.description, "core" if tool.name in CORE else "full", _yes(hints.read_only_hint),
            _yes(hints.destructive_hint), _yes(hints.idempotent_hint),
        )  # fmt: skip


def _addresses() -> Iterator[tuple[str, ...]]:
    for text in TEXTS:
        yield f"`{text['uri']}`", str(text["description"])
    for template in TEMPLATES:
        yield f"`{template['uriTemplate']}`", str(template["description"])


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
