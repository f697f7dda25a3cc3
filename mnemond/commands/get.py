"""`mnemonctl get`."""

from __future__ import annotations

import msgspec

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, fraction, lines, short_id, wrap
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.memories import GetResult, InsightDetail, LinkView

_FIELDS = (
    "status", "category", "importance", "effective_importance", "tags", "entities", "source", "channel",
    "conversation_id", "user_id", "session_id", "agent_id", "created_at", "updated_at", "valid_from", "invalid_at",
    "access_count", "pinned", "paired_with", "metadata",
)  # fmt: skip
_LABEL = max(map(len, _FIELDS)) + 2

_ENDS = {"to": ", its effect", "from": ", its cause"}
"""What a link leads to, where it has a direction."""

MOST_LINKS = 5
"""Links that people are shown, the heaviest first; JSON has more."""


def _parser() -> Parser:
    parser = Parser("get")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("get", {**arguments.options, "id": arguments.identifier("get")})


def _render(result: GetResult, style: Style) -> str:
    insight = result.insight
    if style.quiet:
        return lines(neutralise(insight.content))
    fields = ((name, _value(insight, name)) for name in _FIELDS)
    return lines(
        style.strong(one_line(insight.id)),
        body(insight.content, style, "  "),
        "",
        *(_field(name, value, style) for name, value in fields if value),
        _field("links", _counts(result), style) if result.edges_by_type else None,
        *(_link(each) for each in result.links[:MOST_LINKS]),
        _more(result),
    )


def _counts(result: GetResult) -> str:
    kinds = ", ".join(f"{one_line(name)} {count:,}" for name, count in result.edges_by_type.items())
    return f"{sum(result.edges_by_type.values()):,}: {kinds}"


def _link(link: LinkView) -> str:
    ends = _ENDS.get(link.direction, "")
    return f"{' ' * (_LABEL + 2)}{short_id(link.id)}  {one_line(link.edge_type)} {fraction(link.weight)}{ends}"


def _more(result: GetResult) -> str | None:
    missing = sum(result.edges_by_type.values()) - min(len(result.links), MOST_LINKS)
    return f"{' ' * (_LABEL + 2)}and {missing:,} more, see --json and mnemonctl related" if missing > 0 else None


def _field(name: str, value: str, style: Style) -> str:
    """A label and a value, wrapped beside it."""
    first, *others = wrap(value, style.columns - _LABEL - 2)
    return "\n".join(
        [f"  {name.replace('_', ' '):<{_LABEL}}{first}", *(" " * (_LABEL + 2) + other for other in others)]
    )


def _value(insight: InsightDetail, name: str) -> str:
    value = getattr(insight, name)
    if value is None or value is False or value in ((), {}):
        return ""
    if isinstance(value, tuple):
        return one_line(", ".join(value))
    if isinstance(value, float):
        return f"{value:.2f}"
    return one_line(value if isinstance(value, str) else msgspec.json.encode(value).decode())


COMMAND = Command(
    name="get",
    summary="Show one memory with everything known about it.",
    words="ID",
    examples=("mnemonctl get 1a2b3c4d", "mnemonctl get 1a2b3c4d --json --pretty"),
    details=("Any unique beginning of the id will do, from six characters on.",),
    parser=_parser(),
    request=_request,
    render=_render,
)
