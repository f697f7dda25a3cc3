"""`mnemonctl recall`, `search`, `get` and `list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

import msgspec

from mnemond.api import types_memories
from mnemond.cli.output import (
    MIN_WRAP,
    SHORT_ID,
    Style,
    body,
    counts,
    day,
    fraction,
    hanging,
    ids,
    kind,
    lines,
    milliseconds,
    neutralise,
    one_line,
    row,
    second,
    short_id,
    shorten,
    text_width,
    wrap,
)
from mnemond.cli.parser import ID, Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.model.answers import (
    CompactHit,
    CompactResult,
    ContextResult,
    ExchangeView,
    GetResult,
    InsightDetail,
    LinkView,
    ListResult,
    MemoryInProject,
    RecallHit,
    RecallMeta,
    RecallResult,
    RetiredResult,
    RetiredView,
    Retirement,
    Signals,
    Unasked,
    traits_text,
)
from mnemond.model.memory import NOTE, Cue, Trigger
from mnemond.wire.params import about, counted

_FILTERS = (
    """--metadata takes eq ne in nin gt gte lt lte contains icontains, "*" for anything at all, and AND, OR and NOT \
with lists: {"OR": [{"project": "apollo"}, {"ticket": "*"}]}.""",
    """Nothing that has ended, has expired or begins later is found unless --as-of or --include-invalid asks for it, \
and what was forgotten only by --status forgotten.""",
    """Memories of other projects than that of this directory are labelled with their project; --project NAME leaves \
them out, --project none leaves out those of all projects.""",
)
"""About the filters, for the end of a help page."""

# recall.


class RecallOptions(msgspec.Struct, frozen=True):
    """Options of mnemon, whose scripts go on working: they say what recall does anyway."""

    smart: Annotated[bool, about("rank by meaning, words and links: the default, accepted for scripts of mnemon")] = (
        False
    )
    verbose: Annotated[bool, about("full results: the default, accepted for scripts of mnemon")] = False


def _recall_request(arguments: Arguments) -> Request:
    for name, opposite in (("smart", "basic"), ("verbose", "compact"), ("verbose", "context")):
        if arguments.options.get(name) and arguments.options.get(opposite):
            raise UsageError(f"--{name} and --{opposite} exclude each other", f"--{name} is the default: leave it out")
    return arguments.request()


def _recall(result: RecallResult, style: Style) -> str:
    if style.quiet:
        return ids(hit.insight for hit in result.results)
    footer = lines(
        _found(result.results, result.meta),
        *(style.faint(line) for note in notes(result) for line in wrap(note, style.columns)),
        style.faint(_timing(result.meta)),
    )
    doubt = _doubt(len(result.results), result.meta)
    hits = (_hit(rank, hit, style) for rank, hit in enumerate(result.results, 1))
    return "\n".join([*filter(None, (lines(doubt),)), *hits, footer])


def _compact(result: CompactResult, style: Style) -> str:
    """A line for each hit, with its score and its confidence."""
    if style.quiet:
        return ids(result.results)
    hits = (_compact_hit(hit, style) for hit in result.results)
    return lines(_doubt(len(result.results), result.meta), *hits, _found(result.results, result.meta))


_NOTHING_FITS: Final = "Nothing known surely fits"


def _doubt(count: int, meta: RecallMeta) -> str | None:
    """A sentence if nothing known surely fits."""
    return f"{_NOTHING_FITS}." if meta.nothing_fits and count else None


def _compact_hit(hit: CompactHit, style: Style) -> str:
    weighed = "" if hit.matched_via == "basic" else f"{fraction(hit.score):>3} {one_line(hit.confidence):<6}  "
    head = f"{short_id(hit.id)}  {one_line(hit.session) or kind(hit):<12}  {weighed}"
    head += f"{_wordings(hit).lstrip()}{'  ' if hit.wordings > 1 else ''}"
    head += _project(hit, after="  ")
    if hit.former is not None:
        head += f"until {one_line(hit.former.until[:10])}  "
    return style.strong(head) + shorten(hit.content, max(style.columns - text_width(head), MIN_WRAP))


def _hit(rank: int, hit: RecallHit, style: Style) -> str:
    insight = hit.insight
    evidence = f"score {fraction(hit.score)} · confidence {one_line(hit.confidence)} · {_signals(hit.signals)}"
    about = [evidence] if hit.via != "basic" else []  # nothing was weighed
    return lines(
        style.strong(f"{rank}. {short_id(insight.id)}  {_origin(hit)}{_wordings(hit)}"),
        body(insight.content, style),
        _tags(insight.tags, style),
        *(style.faint(f"   {line}") for each in [*about, *_explained(hit)] for line in wrap(each, style.columns - 3)),
    )


def _origin(hit: RecallHit) -> str:
    """The day, the category and another project of a memory, or the session of a passage."""
    return one_line(hit.session) or f"{day(hit.insight.created_at)}  {kind(hit.insight)}{_project(hit.insight, '  ')}"


def _project(it: MemoryInProject, before: str = "", after: str = "") -> str:
    """The label of a memory of another project than the one it is shown in."""
    return f"{before}project {one_line(it.project)}{after}" if it.other_project and it.project else ""


def _wordings(hit: RecallHit | CompactHit) -> str:
    return f"  ({hit.wordings} wordings)" if hit.wordings > 1 else ""


def _explained(hit: RecallHit) -> Iterator[str]:
    """The path to a hit, its parts, and those that put it above the next."""
    if hit.path:
        steps = (f"{short_id(step.from_)} -{one_line(step.edge)} {fraction(step.weight)}->" for step in hit.path)
        yield f"reached {' '.join(steps)} here"
    if hit.first_score is not None:
        yield f"score {fraction(hit.first_score)} before the second look"
    if hit.former is not None:
        yield f"held until {one_line(hit.former.until[:10])}; {short_id(hit.former.superseded_by)} holds now"
    if hit.contradicts:
        yield f"may contradict {', '.join(map(short_id, hit.contradicts))}"
    if hit.also:
        yield f"the same {'in other words' if hit.wordings > 1 else 'text'}: {', '.join(map(short_id, hit.also))}"
    if hit.explanation is not None:
        parts = hit.explanation.parts.items()
        yield "made of " + " · ".join(f"{one_line(name)} {value:+.2f}" for name, value in parts)
        if hit.explanation.cue:
            yield f'found by its cue "{one_line(hit.explanation.cue)}"'
        if hit.explanation.above:
            yield f"above the next best by {', '.join(map(one_line, hit.explanation.above))}"
        if hit.explanation.unasked:
            yield _unasked(hit.explanation.unasked)


def _unasked(judgement: Unasked) -> str:
    """The probability that a prompt of these words needs the memory, with the weightiest reasons."""
    return f"a prompt needs it with probability {fraction(judgement.probability)}: {one_line(traits_text(judgement))}"


def _signals(signals: Signals) -> str:
    """Keyword and similarity always; the other signals if they took part."""
    shown = {"keyword": signals.keyword, "similarity": signals.similarity}
    more = {"entity": signals.entity, "graph": signals.graph, "prior": signals.prior, "rerank": signals.rerank}
    shown |= {name: value for name, value in more.items() if value}
    return " · ".join(f"{name} {fraction(value)}" for name, value in shown.items())


def _tags(tags: Iterable[str], style: Style) -> str | None:
    return body(" ".join(f"#{one_line(tag)}" for tag in tags), style) if tags else None


def _found(hits: Sequence[RecallHit | CompactHit], meta: RecallMeta) -> str:
    nothing = _NOTHING_FITS if meta.nothing_fits and meta.left_out else "Nothing found"
    found = counted(hit.kind for hit in hits) or nothing
    hint = f" ({one_line(meta.hint).replace('_', ' ')})" if meta.hint else ""
    left_out = f", {meta.left_out} of less confidence left out" if meta.left_out else ""
    return f'{found} in store "{one_line(meta.store)}"{left_out}{hint}'


DOUBTED_BELOW: Final = 0.45
"""Trust that is not mentioned from here on. At least a third of the best results are from other sources below it, as
trust is never under .70 times the share of the named source."""

_REASONS: Final = {"short_query": "the question has fewer than three words"}
"""Reasons against a second look that are codes."""


def notes(result: RecallResult) -> Iterator[str]:
    """Sentences about the order of the results and their trust."""
    meta = result.meta
    if meta.window is not None:
        only = "other memories were left out" if meta.window.hard else "other times count for less"
        yield f"about {day(meta.window.since)} to {day(meta.window.until)}; {only}"
    if result.results and meta.trust < DOUBTED_BELOW:
        yield f"trust {fraction(meta.trust)}: much of this is not from the source that the question names"
    if meta.missing and any(hit.explanation is not None for hit in result.results):
        yield f"the first result lacks what the question asks for: {', '.join(map(one_line, meta.missing))}"
    if meta.rerank.reason is not None:
        yield f"no second look: {_REASONS.get(meta.rerank.reason, one_line(meta.rerank.reason))}"
    explained = any(hit.explanation is not None for hit in result.results)
    if explained and meta.embedding is not None and meta.known_share < 1.0:
        known = f"{one_line(meta.embedding)} knows {fraction(meta.known_share)} of the letters of the question"
        yield f"{known}; the rest is ranked by words alone"
    scores = [hit.score for hit in result.results if hit.kind == "memory"]
    if meta.intent == "WHY" and scores != sorted(scores, reverse=True):
        yield "causes are listed before their effects"


def _timing(meta: RecallMeta) -> str:
    stages = " · ".join(f"{one_line(name)} {milliseconds(value)}" for name, value in meta.stages_ms.items())
    took = f"took {milliseconds(meta.took_ms)} ms"
    return f"{took}: {stages}" if stages else took


def _context(result: ContextResult, style: Style) -> str:
    return lines(*map(one_line, result.ids)) if style.quiet else neutralise(result.text)


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
        "mnemonctl recall who may deploy on Fridays --min-confidence medium",
        "mnemonctl recall --explain who owns the billing service",
        "mnemonctl recall --project acme which HTTP client do we use",
        "mnemonctl recall --order time --intent when the outage",
        "mnemonctl recall --kind passage what was wrong with the login",
        "mnemonctl recall --basic 'snake_case_100%'",
        "mnemonctl recall --json deploy steps | jq -r '.results[].insight.content'",
    ),
    method=types_memories.RECALL,
    words=Words("QUERY… | -", ("query",), text=True),
    details=(
        "score: ranks the results; comparable within one answer only.",
        "confidence: the evidence for a result by itself; low: perhaps something else.",
        "--min-confidence: of a context medium unless given; causes of what is shown are shown, too.",
        "--explain: parts in units of the ranking; beside words and meaning the source, dates, neighbours' words.",
        "--rerank: seldom better than without; for questions in the very words of the memory.",
        "--mode: what links lead to counts as well; beam and ppr are deterministic, probabilistic for a seed.",
        "A question why has causes before their effects.",
        "A question about a person or a thing has what holds of it first, a context what holds of all it names.",
        "sparse results: fewer were found than half of --limit.",
        "--context: between two marks that no memory can forge, as much as the budget has room for.",
        "--budget: a token is taken to be four letters, or one Chinese character.",
        "A passage is what answers of an exchange in an agent's session: `mnemonctl get` shows all of it.",
        "--no-sessions: without passages.",
        "--basic: letter for letter, but for case; no character is a wildcard, nothing is ranked.",
        *_FILTERS,
    ),
    options=RecallOptions,
    request=_recall_request,
    render=by_type(
        {
            RecallResult: _recall,
            CompactResult: _compact,
            ContextResult: _context,
        }
    ),
)


# context.


CONTEXT = Command(
    "context",
    Group.RECALL,
    (
        "mnemonctl context --text how do we deploy > prompt.txt",
        "mnemonctl context --budget 600 --project acme which HTTP client do we use",
    ),
    method=types_memories.CONTEXT,
    words=Words("QUERY… | -", ("query",), text=True),
    details=("The same as `mnemonctl recall --context`, whose help has more.", *_FILTERS),
    render=lambda result, _: neutralise(result.text),
)


# search.


def _search(result: RecallResult, style: Style) -> str:
    hits = result.results
    if style.quiet:
        return ids(hit.insight for hit in hits)
    if not hits:
        return lines("no memory has any of these words")
    return "\n".join(
        lines(
            style.strong(f"{rank}. {short_id(hit.insight.id)}  {kind(hit.insight)}{_project(hit.insight, '  ')}")
            + style.faint(f"  score {fraction(hit.score)}"),
            body(hit.insight.content, style),
            _tags(hit.insight.tags, style),
        )
        for rank, hit in enumerate(hits, 1)
    )


SEARCH = Command(
    "search",
    Group.RECALL,
    (
        "mnemonctl search WAL checkpoint",
        "mnemonctl search --category decision sqlite -n 3",
        "mnemonctl search sqlite --entity k8s --since 2026-02-01",
    ),
    method=types_memories.SEARCH,
    words=Words("WORDS… | -", ("query",), text=True),
    details=(
        "For a question in your own words use recall, which also goes by meaning.",
        "score: how well the words match, below 1; comparable within one answer only.",
        *_FILTERS,
    ),
    render=_search,
)


# get.


_FIELDS = (
    "status", "category", "importance", "effective_importance", "tags", "entities", "cues", "when", "source", "channel",
    "conversation_id", "user_id", "session_id", "agent_id", "project", "created_at", "updated_at", "valid_from",
    "invalid_at", "access_count", "pinned", "paired_with", "metadata",
)  # fmt: skip
_LABEL: Final = max(map(len, _FIELDS)) + 2

MAX_LINKS: Final = 5
"""Links that are shown, the heaviest first; JSON has more."""


def _get(result: GetResult, style: Style) -> str:
    insight = result.insight
    if style.quiet:
        return lines(one_line(insight.id))
    if result.exchange is not None:
        return _exchange(insight.id, result.exchange, style)
    margin, total = _LABEL + 2, sum(result.edges_by_type.values())
    fields = {name: value for name in _FIELDS if (value := _value(insight, name))}
    if result.retired is not None:
        back = one_line(result.retired.next).replace(insight.id, short_id(insight.id))
        fields = {"status": "", "to have it again": back} | fields | {"status": _retirement(result.retired)}
    if insight.useful or insight.misled:
        fields["judged"] = counts({"useful": insight.useful, "misled": insight.misled})
    if isinstance(note := insight.metadata.get(NOTE), dict):
        rest = {name: value for name, value in insight.metadata.items() if name != NOTE}
        fields.pop("metadata", None)
        fields |= {"metadata": one_line(msgspec.json.encode(rest).decode())} if rest else {}
        fields["model"] = _model_note(note)
    if result.edges_by_type:
        fields["links"] = f"{total:,}: {counts(result.edges_by_type)}"
    unshown = total - min(len(result.links), MAX_LINKS)
    return lines(
        style.strong(one_line(insight.id)),
        body(insight.content, style, "  "),
        "",
        *(
            line
            for name, value in fields.items()
            for line in hanging(f"  {name.replace('_', ' '):<{_LABEL}}", value, style.columns - margin, margin)
        ),
        *(" " * margin + _link(each) for each in result.links[:MAX_LINKS]),
        f"{' ' * margin}and {unshown:,} more, see --json and mnemonctl related" if unshown > 0 else None,
    )


def _exchange(exchange_id: str, it: ExchangeView, style: Style) -> str:
    said = (("user", it.prompt), ("assistant", it.answer))
    around = {"before": it.before, "after": it.after}
    return lines(
        style.strong(f"{one_line(exchange_id)}  {one_line(it.session)}"),
        *(line for name, text in said if text for line in (style.faint(f"  {name}"), body(text, style, "  "))),
        *(style.faint(f"  {name}: mnemonctl get {short_id(near)}") for name, near in around.items() if near),
    )


def _model_note(note: dict[str, object]) -> str:
    """Return what a model was asked about a memory after it was written, and what came of it."""
    told = note.get("told")
    parts = [f"{gate}: {sentence}" for gate, sentence in told.items()] if isinstance(told, dict) else []
    return one_line(f"read by {note.get('model')}: {'; '.join(parts)}")


def _retirement(retired: Retirement) -> str:
    """Return when and why a memory left recall, and the one in its place."""
    by = "" if retired.superseded_by is None else f" by {short_id(retired.superseded_by)}"
    place = ""
    if retired.successor is not None:
        named = (
            "" if retired.successor == retired.superseded_by else f", in whose place is {short_id(retired.successor)}"
        )
        place = f'{named}: "{one_line(retired.words or "")}"'
    return f"{one_line(retired.status)} {second(retired.at)}{by}{place}"


def _link(link: LinkView) -> str:
    end = {"to": ", its effect", "from": ", its cause"}.get(link.direction, "")
    kind = f" {one_line(link.sub_type)}" if link.sub_type else ""
    return f"{short_id(link.id)}  {one_line(link.edge_type)}{kind} {fraction(link.weight)}{end}"


def _value(insight: InsightDetail, name: str) -> str:
    """The value of a field as text; empty for fields that say nothing."""
    value = getattr(insight, name)
    if value is None or value is False or value in ((), {}):
        return ""
    if isinstance(value, tuple):
        if name == "when":
            return one_line("; ".join(map(trigger_text, value)))
        return one_line("; ".join(map(_cue, value)) if name == "cues" else ", ".join(value))
    if isinstance(value, float):
        return f"{value:.2f}"
    return one_line(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def trigger_text(trigger: Trigger) -> str:
    """Return a trigger with what a person set."""
    marks = [each for each in (trigger.enforce, trigger.state) if each not in ("tell", "on")]
    return f"{trigger.pattern} ({', '.join(marks)})" if marks else trigger.pattern


def _cue(cue: Cue) -> str:
    return cue.text if cue.source == "given" else f"{cue.text} ({cue.source})"


GET = Command(
    "get",
    Group.LOOK,
    ("mnemonctl get 1a2b3c4d", "mnemonctl get 1a2b3c4d --json --pretty"),
    method=types_memories.GET,
    words=ID,
    details=(
        "Any unique beginning of the id will do, from six characters on.",
        "Of a memory that is out of recall it also shows since when, why, and what took its place.",
    ),
    render=_get,
)


# list.


def _active(result: ListResult, style: Style) -> str:
    if style.quiet:
        return ids(result.insights)
    if not result.insights:
        return lines("no memories here")
    return lines(
        *(
            row(
                f"{short_id(each.id)}  {day(each.created_at)}  {kind(each):<13}  {_project(each, after='  ')}",
                each.content,
                style,
            )
            for each in result.insights
        ),
        f"More: mnemonctl list --before {short_id(result.next)}" if result.next else None,
    )


def _retired(result: RetiredResult, style: Style) -> str:
    if style.quiet:
        return ids(result.retired)
    if not result.retired:
        return lines("nothing here is out of recall")
    return lines(
        *(_retired_row(each, style) for each in result.retired),
        f"More: mnemonctl list --retired --before {short_id(result.next)}" if result.next else None,
    )


_REASON: Final = len("superseded by ") + SHORT_ID


def _retired_row(each: RetiredView, style: Style) -> str:
    reason = one_line(each.status) + (f" by {short_id(each.superseded_by)}" if each.superseded_by else "")
    head = f"{short_id(each.id)}  {day(each.retired_at)}  {reason:<{_REASON}}  {_project(each, after='  ')}"
    return row(head, each.content, style)


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
    method=types_memories.LIST,
    details=(
        "--retired: when and why each left recall (superseded, merged, forgotten, pruned, expired), and its successor.",
        "`mnemonctl restore ID` brings one back; what was purged is nowhere.",
        *_FILTERS,
    ),
    render=by_type({ListResult: _active, RetiredResult: _retired}),
)
