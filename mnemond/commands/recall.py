"""`mnemonctl recall`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, day, fraction, lines, milliseconds, plural, short_id, wrap
from mnemond.commands.options import NO_EFFECT, Split, add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.memories import InsightView, RecallHit, RecallMeta, RecallResult, SignalsView

_INDENT = "   "
"""What stands below the first line of a result."""


def _parser() -> Parser:
    parser = Parser("recall", takes_text=True)
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many results; default 10")
    add_filters(parser)
    parser.add_argument("--anchors", action=Split, metavar="A,B", help="only these signals: keyword, vector")
    parser.add_argument(
        "--no-touch",
        action="store_false",
        dest="touch",
        help=f"write nothing at all {NO_EFFECT}",
    )
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
    head = f"{rank}. {short_id(insight.id)}  {day(insight.created_at)}  {kind(insight)}"
    evidence = f"score {fraction(hit.score)} · confidence {one_line(hit.confidence)} · {_signals(hit.signals)}"
    return lines(
        style.strong(head),
        body(insight.content, style),
        _tags(insight, style),
        *(style.faint(f"{_INDENT}{line}") for line in wrap(evidence, style.columns - len(_INDENT))),
    )


def kind(insight: InsightView) -> str:
    """ "decision/4": category and importance."""
    return f"{one_line(insight.category)}/{insight.importance}"


def _tags(insight: InsightView, style: Style) -> str | None:
    """The tags on lines of their own, or None."""
    return body(" ".join(f"#{one_line(tag)}" for tag in insight.tags), style, _INDENT) if insight.tags else None


def _signals(signals: SignalsView) -> str:
    """Keyword and similarity always; the other signals where they had a say."""
    parts = [("keyword", signals.keyword), ("similarity", signals.similarity)]
    parts += [(name, value) for name, value in (("entity", signals.entity), ("graph", signals.graph)) if value]
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
    details=(
        "score: what ranks the results; comparable within one answer only.",
        "confidence: what speaks for a result by itself; low: perhaps something else.",
        "sparse results: fewer were found than half of --limit.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
