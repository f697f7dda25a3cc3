"""`mnemonctl recall`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import (
    MIN_WRAP,
    Style,
    body,
    day,
    fraction,
    lines,
    milliseconds,
    plural,
    short_id,
    shorten,
    text_width,
    wrap,
)
from mnemond.commands.options import FILTERS, Split, add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.recall_notes import notes
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.context import CompactHit, CompactResult, ContextResult
from mnemond.protocol.memories import InsightView, RecallHit, RecallMeta, RecallResult, SignalsView

_INDENT = "   "
"""What stands below the first line of a result."""

_KIND = 12
"""Columns of category and importance: those of "preference/5"."""

_LABEL = 6
"""Columns of a confidence: those of "medium"."""


def _parser() -> Parser:
    parser = Parser("recall", takes_text=True)
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many results; usually 10")
    parser.add_argument("--intent", metavar="NAME", help="what is asked: why, when, entity or general (default: read)")
    parser.add_argument("--context", action="store_true", help="as text for a prompt, fenced: data, not instructions")
    parser.add_argument("--budget", type=whole_number, metavar="N", help="tokens of --context at most; default 1200")
    parser.add_argument("--compact", action="store_true", help="a line for each result, or a short object")
    parser.add_argument("--basic", action="store_true", help="what has the words in it as typed, newest first")
    parser.add_argument("--order", metavar="NAME", help="score: the best first (default); time: the oldest first")
    parser.add_argument("--explain", action="store_true", help="what each score is made of, and why it stands there")
    parser.add_argument("--rerank", action="store_true", help="a second look at the best, word by word")
    parser.add_argument("--no-rerank", action="store_false", dest="rerank", help="none, even if configured")
    parser.add_argument("--mode", metavar="NAME", help="follow links: none, beam, ppr or probabilistic")
    parser.add_argument("--seed", type=_seed, metavar="N", help="of the draws of --mode probabilistic; or random")
    parser.add_argument("--profile", metavar="NAME", help="ranking: mnemond; as published: mnemon, mnemosyne, mem0")
    add_filters(parser)
    parser.add_argument("--anchors", action=Split, metavar="A,B", help="only by keyword, vector, entity, recency")
    parser.add_argument("--no-touch", action="store_false", dest="touch", help="do not count this as use")
    add_globals(parser)
    return parser


def _seed(text: str) -> int | str:
    return text if text == "random" else whole_number(text)


def _request(arguments: Arguments) -> Request:
    return Request("recall", {**arguments.options, "query": arguments.text("recall", "a question")})


def _render(result: RecallResult | CompactResult | ContextResult, style: Style) -> str:
    if isinstance(result, ContextResult):
        return neutralise(result.text)
    if isinstance(result, CompactResult):
        return _compact(result, style)
    if style.quiet:
        return lines(*(neutralise(hit.insight.content) for hit in result.results))
    hits = (_hit(rank, hit, style) for rank, hit in enumerate(result.results, 1))
    return "\n".join([*hits, _footer(result, style)])


def _compact(result: CompactResult, style: Style) -> str:
    """A line each: as in the listing of memories, with the score and how far it is to be trusted."""
    if style.quiet:
        return lines(*(neutralise(hit.content) for hit in result.results))
    return lines(*(_short(hit, style) for hit in result.results), _found(len(result.results), result.meta))


def _short(hit: CompactHit, style: Style) -> str:
    kind = f"{one_line(hit.category)}/{hit.importance}"
    weighed = "" if hit.matched_via == "basic" else f"{fraction(hit.score):>3} {one_line(hit.confidence):<{_LABEL}}  "
    head = f"{short_id(hit.id)}  {kind:<{_KIND}}  {weighed}"
    return style.strong(head) + shorten(hit.content, max(style.columns - text_width(head), MIN_WRAP))


def _hit(rank: int, hit: RecallHit, style: Style) -> str:
    insight = hit.insight
    head = f"{rank}. {short_id(insight.id)}  {day(insight.created_at)}  {kind(insight)}"
    evidence = f"score {fraction(hit.score)} · confidence {one_line(hit.confidence)} · {_signals(hit.signals)}"
    told = wrap(evidence, style.columns - len(_INDENT)) if hit.via != "basic" else []  # nothing was weighed
    for line in _explained(hit):
        told += wrap(line, style.columns - len(_INDENT))
    return lines(
        style.strong(head),
        body(insight.content, style),
        _tags(insight, style),
        *(style.faint(f"{_INDENT}{line}") for line in told),
    )


def _explained(hit: RecallHit) -> list[str]:
    """Why it is there, where somebody asked: its parts, its path, and what puts it above the next."""
    told = []
    if hit.path:
        steps = (f"{short_id(step.from_)} -{one_line(step.edge)} {fraction(step.weight)}->" for step in hit.path)
        told.append(f"reached {' '.join(steps)} here")
    if hit.first_score is not None:
        told.append(f"score {fraction(hit.first_score)} before the second look")
    if hit.also:
        told.append(f"the same text: {', '.join(map(short_id, hit.also))}")
    if hit.explanation is not None:
        parts = hit.explanation.parts.items()
        told.append("made of " + " · ".join(f"{one_line(name)} {value:+.2f}" for name, value in parts))
        if hit.explanation.above:
            told.append(f"above the next best by {', '.join(map(one_line, hit.explanation.above))}")
    return told


def kind(insight: InsightView) -> str:
    """ "decision/4": category and importance."""
    return f"{one_line(insight.category)}/{insight.importance}"


def _tags(insight: InsightView, style: Style) -> str | None:
    """The tags on lines of their own, or None."""
    return body(" ".join(f"#{one_line(tag)}" for tag in insight.tags), style, _INDENT) if insight.tags else None


def _signals(signals: SignalsView) -> str:
    """Keyword and similarity always; the other signals where they had a say."""
    parts = [("keyword", signals.keyword), ("similarity", signals.similarity)]
    more = {"entity": signals.entity, "graph": signals.graph, "prior": signals.prior, "rerank": signals.rerank}
    parts += [(name, value) for name, value in more.items() if value]
    return " · ".join(f"{name} {fraction(value)}" for name, value in parts)


def _footer(result: RecallResult, style: Style) -> str:
    told = (style.faint(note) for each in notes(result) for note in wrap(each, style.columns))
    return lines(_found(len(result.results), result.meta), *told, style.faint(_timing(result.meta)))


def _found(count: int, meta: RecallMeta) -> str:
    found = plural(count, "memory") if count else "Nothing found"
    hint = f" ({one_line(meta.hint).replace('_', ' ')})" if meta.hint else ""
    return f'{found} in store "{one_line(meta.store)}"{hint}'


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
        "mnemonctl recall what did we decide last week --tags infra --min-importance 3",
        "mnemonctl recall --as-of 2026-01-01 which database do we use",
        "mnemonctl recall --context --budget 600 --text how do we deploy > prompt.txt",
        "mnemonctl recall --compact cache -n 20",
        "mnemonctl recall --explain who owns the billing service",
        "mnemonctl recall --order time --intent when the outage",
        "mnemonctl recall --basic 'snake_case_100%'",
        "mnemonctl recall --json deploy steps | jq -r '.results[].insight.content'",
    ),
    details=(
        "score: what ranks the results; comparable within one answer only.",
        "confidence: what speaks for a result by itself; low: perhaps something else.",
        "--explain: parts in units of the ranking; beside words and meaning who said it, dates, neighbours' words.",
        "--rerank: seldom better than without; for questions in the very words of what is looked for.",
        "--mode: what links lead to counts as well; beam and ppr are the same each time, probabilistic for a seed.",
        "A question why has causes before their effects.",
        "sparse results: fewer were found than half of --limit.",
        "--context: between two marks that no memory can forge, as much as the budget has room for.",
        "--budget: a token is taken to be four letters, or one Chinese character.",
        "--basic: letter for letter, but for case; no character stands for another, nothing is ranked.",
        *FILTERS,
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
