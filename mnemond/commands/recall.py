"""`mnemonctl recall`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, day, fraction, lines, milliseconds, plural, short_id
from mnemond.commands.options import Split, add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.memories import InsightView, RecallHit, RecallMeta, RecallResult, SignalsView


def _parser() -> Parser:
    parser = Parser("recall")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many results; default 10")
    add_filters(parser)
    parser.add_argument("--anchors", action=Split, metavar="A,B", help="only these signals: keyword, vector")
    parser.add_argument("--no-touch", action="store_false", dest="touch", help="write nothing, not even access counts")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("recall", {**arguments.options, "query": arguments.text("recall", "a question")})


def _render(result: RecallResult, style: Style) -> str:
    if style.quiet:
        return lines(*(neutralise(hit.insight.content) for hit in result.results))
    hits = (_hit(rank, hit, style) for rank, hit in enumerate(result.results, 1))
    return "\n".join([*hits, _footer(result, style)])


def _hit(rank: int, hit: RecallHit, style: Style) -> str:
    insight = hit.insight
    head = f"{rank}. {hit.score:.2f} {one_line(hit.confidence):<6}  {short_id(insight.id)}  {day(insight.created_at)}"
    return lines(
        style.strong(f"{head}  {kind(insight)}"),
        body(insight.content, style),
        tags(insight, "   "),
        style.faint(f"   {_signals(hit.signals)}  via {one_line(hit.via)}"),
    )


def kind(insight: InsightView) -> str:
    """ "decision/4": category and importance."""
    return f"{one_line(insight.category)}/{insight.importance}"


def tags(insight: InsightView, indent: str) -> str | None:
    """The tags on a line of their own, or None."""
    return indent + " ".join(f"#{one_line(tag)}" for tag in insight.tags) if insight.tags else None


def _signals(signals: SignalsView) -> str:
    parts = (
        ("keyword", signals.keyword),
        ("similarity", signals.similarity),
        ("entity", signals.entity),
        ("graph", signals.graph),
    )
    return " · ".join(f"{name} {fraction(value)}" for name, value in parts)


def _footer(result: RecallResult, style: Style) -> str:
    meta = result.meta
    found = plural(len(result.results), "memory") if result.results else "Nothing found"
    hint = f" ({one_line(meta.hint).replace('_', ' ')})" if meta.hint else ""
    return lines(f'{found} in store "{one_line(meta.store)}"{hint}', style.faint(_timing(meta)))


def _timing(meta: RecallMeta) -> str:
    stages = " · ".join(f"{one_line(name)} {milliseconds(value)}" for name, value in meta.stages_ms.items())
    took = f"took {milliseconds(meta.took_ms)} ms"
    return f"{took}: {stages}" if stages else took


COMMAND = Command(
    name="recall",
    summary="Find the memories that answer a question, and say why.",
    words="QUERY… | -",
    examples=(
        'mnemonctl recall "why did we choose SQLite"',
        "mnemonctl recall release date --limit 3 --category fact",
        "mnemonctl recall --json deploy steps | jq -r '.results[].insight.content'",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
