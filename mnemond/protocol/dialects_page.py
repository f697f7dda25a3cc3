"""The page about what else is spoken on the socket, made of the tables that are gone by."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.protocol.hooks.events import MOMENTS
from mnemond.protocol.hooks.replies import MAX_CONTEXT, TAKES_CONTEXT
from mnemond.protocol.mcp.prompts import PROMPTS
from mnemond.protocol.mcp.resources import TEMPLATES
from mnemond.protocol.mcp.tools import TOOLS
from mnemond.protocol.mcp.versions import LEGACY, MODERN

_HEAD = f"""# Dialects

Generated from `mnemond.protocol.hooks` and `mnemond.protocol.mcp`; change it there.

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
Of a subscription nothing follows but its acknowledgement: no list here ever changes.

"""


def dialects_markdown() -> str:
    """The page."""
    hooks = _table(("agent", "event", "moment", "takes a context"), _hooks())
    tools = _table(("tool", "", "reads only", "destructive", "idempotent"), _tools())
    addresses = _table(("resource", ""), _addresses())
    prompts = _table(("prompt", ""), ((f"`{name}`", str(each["description"])) for name, each in PROMPTS.items()))
    return f"{_HEAD}{hooks}\n{_MCP}{tools}\n{addresses}\n{prompts}"


def _hooks() -> Iterator[tuple[str, ...]]:
    for host, events in MOMENTS.items():
        for event, moment in events.items():
            yield host, f"`{event}`", moment, _yes(event in TAKES_CONTEXT[host])


def _tools() -> Iterator[tuple[str, ...]]:
    for tool in TOOLS.values():
        hints = tool.annotations
        yield (
            f"`{tool.name}`", tool.description, _yes(hints.read_only_hint), _yes(hints.destructive_hint),
            _yes(hints.idempotent_hint),
        )  # fmt: skip


def _addresses() -> Iterator[tuple[str, ...]]:
    yield "`mnemon://guide`", "When to recall, what to remember."
    for template in TEMPLATES:
        yield f"`{template['uriTemplate']}`", str(template["description"])


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
