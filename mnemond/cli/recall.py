"""`mnemonctl recall`, `search`, `get`, `list` and `related`."""

from __future__ import annotations

import msgspec

from mnemond.api import types_changes as changes
from mnemond.api import types_memories as memories
from mnemond.cli.output import (
    MIN_WRAP,
    SHORT_ID,
    Style,
    body,
    day,
    fraction,
    lines,
    milliseconds,
    neutralise,
    notes,
    one_line,
    short_id,
    shorten,
    text_width,
    wrap,
)
from mnemond.cli.parser import ID, Command, Group, Words
from mnemond.model.answers import (
    CompactHit,
    CompactResult,
    ContextResult,
    GetResult,
    InsightDetail,
    InsightView,
    LinkView,
    ListResult,
    RecallHit,
    RecallMeta,
    RecallResult,
    RelatedMemory,
    RetiredResult,
    RetiredView,
    SearchHit,
    SignalsView,
)
from mnemond.wire.params import plural

_FILTERS = (
    """--metadata takes eq ne in nin gt gte lt lte contains icontains, "*" for anything at all, and AND, OR and NOT \
with lists: {"OR": [{"project": "apollo"}, {"ticket": "*"}]}.""",
    """Nothing that has ended, has expired or begins later is found unless --as-of or --include-invalid asks for it, \
and what was forgotten only by --status forgotten.""",
)
"""About the filters, for the end of a help page."""

_INDENT = "   "
"""What stands below the first line of a result."""

_KIND = 12
"""Columns of category and importance: those of "preference/5"."""

_LABEL = 6
"""Columns of a confidence: those of "medium"."""


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


RECALL = Command(
    "recall",
    Group.EVERYDAY,
    (
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
    method=memories.RECALL,
    words=Words("QUERY… | -", ("query",), text=True),
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
        *_FILTERS,
    ),
    render=_render,
)


# `mnemonctl get`.


_FIELDS = (
    "status", "category", "importance", "effective_importance", "tags", "entities", "source", "channel",
    "conversation_id", "user_id", "session_id", "agent_id", "created_at", "updated_at", "valid_from", "invalid_at",
    "access_count", "pinned", "paired_with", "metadata",
)  # fmt: skip
_GET_LABEL = max(map(len, _FIELDS)) + 2

_ENDS = {"to": ", its effect", "from": ", its cause"}
"""What a link leads to, where it has a direction."""

MAX_LINKS = 5
"""Links that people are shown, the heaviest first; JSON has more."""


def _render_get(result: GetResult, style: Style) -> str:
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
        *(_link(each) for each in result.links[:MAX_LINKS]),
        _more(result),
    )


def _counts(result: GetResult) -> str:
    kinds = ", ".join(f"{one_line(name)} {count:,}" for name, count in result.edges_by_type.items())
    return f"{sum(result.edges_by_type.values()):,}: {kinds}"


def _link(link: LinkView) -> str:
    ends = _ENDS.get(link.direction, "")
    return f"{' ' * (_GET_LABEL + 2)}{short_id(link.id)}  {one_line(link.edge_type)} {fraction(link.weight)}{ends}"


def _more(result: GetResult) -> str | None:
    missing = sum(result.edges_by_type.values()) - min(len(result.links), MAX_LINKS)
    return f"{' ' * (_GET_LABEL + 2)}and {missing:,} more, see --json and mnemonctl related" if missing > 0 else None


def _field(name: str, value: str, style: Style) -> str:
    """A label and a value, wrapped beside it."""
    first, *others = wrap(value, style.columns - _GET_LABEL - 2)
    return "\n".join(
        [f"  {name.replace('_', ' '):<{_GET_LABEL}}{first}", *(" " * (_GET_LABEL + 2) + other for other in others)]
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


GET = Command(
    "get",
    Group.LOOK,
    ("mnemonctl get 1a2b3c4d", "mnemonctl get 1a2b3c4d --json --pretty"),
    method=memories.GET,
    words=ID,
    details=("Any unique beginning of the id will do, from six characters on.",),
    render=_render_get,
)


# `mnemonctl list`.


MIN_CONTENT = 20
"""Cells of the content that are shown even where the terminal is too narrow for them."""


def _render_list(result: ListResult | RetiredResult, style: Style) -> str:
    return _retired(result, style) if isinstance(result, RetiredResult) else _active(result, style)


def _active(result: ListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(insight.id) for insight in result.insights))
    if not result.insights:
        return lines("no memories here")
    more = f"More: mnemonctl list --before {short_id(result.next)}" if result.next else None
    return lines(*(_row(insight, style) for insight in result.insights), more)


def _retired(result: RetiredResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.retired))
    if not result.retired:
        return lines("nothing here is out of recall")
    more = f"More: mnemonctl list --retired --before {short_id(result.next)}" if result.next else None
    return lines(*(_retired_row(each, style) for each in result.retired), more)


def _retired_row(each: RetiredView, style: Style) -> str:
    """When it left recall, why, and what stands in its place."""
    why = one_line(each.status) + (f" by {short_id(each.superseded_by)}" if each.superseded_by else "")
    return _line(f"{short_id(each.id)}  {day(each.retired_at)}  {why:<{_WHY}}  ", each.content, style)


_WHY = len("superseded by ") + SHORT_ID


def _row(insight: InsightView, style: Style) -> str:
    head = f"{short_id(insight.id)}  {day(insight.created_at)}  {kind(insight):<13}  "
    return _line(head, insight.content, style)


def _line(head: str, content: str, style: Style) -> str:
    return style.faint(head) + shorten(content, max(style.columns - len(head), MIN_CONTENT))


LIST = Command(
    "list",
    Group.EVERYDAY,
    (
        "mnemonctl list",
        "mnemonctl list --category decision --limit 50",
        "mnemonctl list --before 1a2b3c4d",
        "mnemonctl list --retired --limit 5",
        "mnemonctl list --since 2026-02-01 --until 2026-02-28 --any-tags infra,db",
        "mnemonctl list --as-of 2026-01-01T12:00:00Z",
    ),
    method=memories.LIST,
    details=(
        "--retired: what was superseded, merged, forgotten, pruned or has expired, since when, and what stands in its",
        "place. `mnemonctl restore ID` brings one back; what was purged is nowhere.",
        *_FILTERS,
    ),
    render=_render_list,
)


# `mnemonctl related`.


def _render_related(result: list[RelatedMemory], style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result))
    if not result:
        return lines("nothing is linked to it")
    return lines(*(_memory(each, style) for each in result))


def _memory(each: RelatedMemory, style: Style) -> str:
    kind = f"{one_line(each.category)}/{each.importance}"
    way = f"{one_line(each.via_edge_type)} {fraction(each.weight)}"
    head = f"{style.strong(short_id(each.id))}  {kind}"
    evidence = style.faint(f"  {plural(each.depth, 'link')} away, over {way}")
    return f"{head}{evidence}\n{body(each.content, style)}"


RELATED = Command(
    "related",
    Group.RECALL,
    ("mnemonctl related 1a2b3c4d", "mnemonctl related 1a2b3c4d --edge causal --depth 3"),
    method=changes.RELATED,
    words=ID,
    details=("Links are followed whichever way they lead. Memories you may not see are not passed through.",),
    render=_render_related,
)


# `mnemonctl search`.


def _render_search(result: list[SearchHit], style: Style) -> str:
    if style.quiet:
        return lines(*(neutralise(hit.content) for hit in result))
    if not result:
        return lines("no memory has any of these words")
    return "\n".join(_hit_search(rank, hit, style) for rank, hit in enumerate(result, 1))


def _hit_search(rank: int, hit: SearchHit, style: Style) -> str:
    head = f"{rank}. {short_id(hit.id)}  {one_line(hit.category)}/{hit.importance}"
    tags = " ".join(f"#{one_line(tag)}" for tag in hit.tags)
    return lines(
        f"{style.strong(head)}{style.faint(f'  score {fraction(hit.score)}')}",
        body(hit.content, style),
        body(tags, style) if tags else None,
    )


SEARCH = Command(
    "search",
    Group.RECALL,
    (
        "mnemonctl search WAL checkpoint",
        "mnemonctl search --category decision sqlite -n 3",
        "mnemonctl search sqlite --entity k8s --since 2026-02-01",
    ),
    method=memories.SEARCH,
    words=Words("WORDS… | -", ("query",), text=True),
    details=(
        "For a question in your own words use recall, which also goes by meaning.",
        "score: how well the words match, below 1; comparable within one answer only.",
        *_FILTERS,
    ),
    render=_render_search,
)
