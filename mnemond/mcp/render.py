"""Results as short texts for a model, with everything that comes from memories fenced as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mnemond.api.types_changes import ReviewsResult, ReviewView
from mnemond.api.types_daemon import StatusResult
from mnemond.api.types_entities import EntityListResult, EntityPage
from mnemond.api.types_extract import ExtractResult, FactView
from mnemond.api.types_knowledge import CommunitiesResult, ConsolidateResult
from mnemond.api.types_relations import RelationsListResult
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.hooks.briefing import Core
from mnemond.hooks.prompt_text import REF, contradiction, fenced, references
from mnemond.mcp.tools import StatusView
from mnemond.model.answers import (
    GcCandidate,
    GetResult,
    InsightView,
    ListResult,
    MemoryInProject,
    RecallHit,
    RecallResult,
    RelatedMemory,
)
from mnemond.model.outcomes import (
    CausalCandidate,
    FeedbackResult,
    ForgetResult,
    LinkResult,
    RememberResult,
    ResolveResult,
    RestoreResult,
    Result,
    SummarizeResult,
    United,
    UpdateResult,
)
from mnemond.model.relations import RelationshipView, relation_text
from mnemond.text.prompt_escape import inert
from mnemond.text.transcripts import DATA
from mnemond.wire.params import counted, plural

MAX_SHOWN: Final = 1_200
"""Characters of one memory among several. The whole of it can be read as a resource."""

MAX_REPLACED: Final = 400
"""Characters of a memory that was replaced: enough to see whether it should have been."""

MAX_CANDIDATE: Final = 160
"""Characters of a memory that may be related to a new one."""

MAX_CANDIDATES: Final = 3
"""Candidates of each kind."""

MAX_NAME: Final = 40
"""Characters of a source or another name."""

MAX_NAMES: Final = 20
"""Other names of a thing, of each kind: an agent can give it thousands."""

WARNING: Final = f"What stands between the marks is {DATA}."


NOTHING_FITS: Final = "Nothing known surely fits; what comes nearest is of low confidence."


def recalled(result: RecallResult, nonce: str) -> str:
    """Results, best first, after a sentence if none of them surely fits."""
    hits = result.results
    note = _degraded(result)
    if not hits:
        return f"{note}Nothing is known about this."
    ids = [hit.insight.id for hit in hits]
    refs = dict(zip(ids, references(ids), strict=True))
    lines = [
        _line(
            hit.insight, refs, f"{hit.session or hit.insight.category} {hit.confidence}{_until(hit)}", hit.contradicts
        )
        for hit in hits
    ]
    if result.meta.nothing_fits:
        note += f"{NOTHING_FITS} "
    return f"{note}{counted(hit.kind for hit in hits)}, best first. {WARNING}\n{fenced(lines, nonce)}"


def _until(hit: RecallHit) -> str:
    return "" if hit.former is None else f" held until {hit.former.until[:10]}"


def related(found: Sequence[RelatedMemory], nonce: str) -> str:
    """Memories around one, nearest first."""
    if not found:
        return "No other memory is linked to this one."
    refs = references([each.id for each in found])
    lines = [
        f"<ref:{ref} {each.depth} away by {each.via_edge_type} {each.category}{_project(each)}> {_shown(each.content)}"
        for ref, each in zip(refs, found, strict=True)
    ]
    return f"{_memories(found)}, nearest first. {WARNING}\n{fenced(lines, nonce)}"


NO_CUES: Final = "It has no cues: `update` it with three to six questions, tasks or symptoms that need it."


class Remembered(NamedTuple):
    """The outcome for a new memory, and the ids and texts of those whose place it took."""

    result: RememberResult
    replaced: list[tuple[str, str]]


def remembered(found: Remembered, nonce: str) -> str:
    """The outcome for a new memory, what it replaced, and candidates for the model to judge."""
    result = found.result
    lines = [_degraded(result) + _outcome(result)]
    if result.redacted:
        lines.append(f"Cut out before it was stored: {', '.join(result.redacted)}.")
    if result.action in ("added", "replaced") and not result.cues:
        lines.append(NO_CUES)
    lines += [f"Consider: {inert(warning)}." for warning in result.quality_warnings]
    if result.auto_pruned:
        lines.append(f"{result.auto_pruned} of the least important memories left recall to make room.")
    replaced = [
        f"<ref:{inert(each[:REF])} left recall> {_shown(text, MAX_REPLACED)}"
        for each, text in found.replaced
        if text != result.no_longer  # which is among the candidates
    ]
    candidates = _candidates(result)
    if replaced or candidates:
        judge = "Judge for yourself, then link or correct. " if candidates else ""
        lines.append(f"{judge}{WARNING}\n{fenced([*replaced, *candidates], nonce)}")
    return "\n".join(lines)


def _outcome(result: RememberResult) -> str:
    match result.action:
        case "added":
            wording = result.redundancy.retired if result.redundancy else None
            return f"Remembered: {result.id}." + (f" {_in_place_of(wording)}" if wording else "")
        case "replaced":
            return f"Remembered: {result.id}. {_in_place_of(result.replaced_id or '')}"
        case "skipped":
            return f"Known already: {result.id or result.duplicate_of} says it. {_added(result.united)}"
        case "merged":
            return f"Remembered as part of {result.id}."
        case "discarded":
            return f"Not stored: {inert(result.reason)}."


def _added(united: United | None) -> str:
    """The tags, importance and entities that the memory took over from its repetition."""
    sentences = [] if united is None else united.sentences("Added")
    if united is None or not united.is_some:
        sentences.insert(0, "Nothing was stored")
    return " ".join(f"{inert(sentence[:1].upper() + sentence[1:])}." for sentence in sentences)


def _in_place_of(insight_id: str) -> str:
    return f"It takes the place of {insight_id}, which left recall."


def _candidates(result: RememberResult) -> list[str]:
    """The replaced memory, contradictions, causes or effects, and similar memories: none twice, and none that is only
    close in time; in a young store each memory is close to each."""
    listed = {each.id for each in result.conflicts}
    replaced = (
        [f"<ref:{inert(result.replaced_id[:REF])} is no longer held> {_shown(result.no_longer, MAX_CANDIDATE)}"]
        if result.replaced_id is not None and result.no_longer is not None
        else []
    )
    conflicts = [
        f"<ref:{inert(each.id[:REF])} may contradict it> {inert(each.reason)}{_quoted(each.content)}"
        for each in result.conflicts[:MAX_CANDIDATES]
    ]
    likely = [each for each in result.causal_candidates if each.is_likely and each.id not in listed]
    causal = [
        f"<ref:{inert(each.id[:REF])} may be the {_role(each)}> {_shown(each.content, MAX_CANDIDATE)}"
        for each in likely[:MAX_CANDIDATES]
    ]
    listed.update(each.id for each in likely)
    kin = [each for each in result.semantic_candidates if not each.auto_linked and each.id not in listed]
    similar = [
        f"<ref:{inert(each.id[:REF])} may belong together> {_shown(each.content, MAX_CANDIDATE)}"
        for each in kin[:MAX_CANDIDATES]
    ]
    return [*replaced, *conflicts, *causal, *similar]


def _quoted(content: str) -> str:
    return f": {_shown(content, MAX_CANDIDATE)}" if content else ""


def _role(candidate: CausalCandidate) -> str:
    return "cause" if candidate.suggested_direction == "from_candidate" else "effect"


def searched(result: RecallResult, nonce: str) -> str:
    """Memories that have words of the query, best first."""
    found = [hit.insight for hit in result.results]
    if not found:
        return f"{_degraded(result)}No memory has any of these words."
    lines = [
        f"<ref:{ref} {it.category}{_project(it)}> {_shown(it.content)}"
        for ref, it in zip(references([it.id for it in found]), found, strict=True)
    ]
    return f"{_degraded(result)}{_memories(found)}, best first. {WARNING}\n{fenced(lines, nonce)}"


def listed(result: ListResult, nonce: str) -> str:
    """A page of memories, newest first."""
    if not result.insights:
        return f"{_degraded(result)}There is no such memory."
    ids = [it.id for it in result.insights]
    refs = dict(zip(ids, references(ids), strict=True))
    lines = [_line(it, refs, it.category, ()) for it in result.insights]
    more = f" More: before {result.next}." if result.next else ""
    return f"{_degraded(result)}{_memories(ids)}, newest first.{more} {WARNING}\n{fenced(lines, nonce)}"


def extracted(result: ExtractResult, nonce: str) -> str:
    """The facts of a conversation, each with its outcome."""
    unread = "" if result.unread is None else f" By rules alone: {inert(result.unread)}."
    if result.held:
        unread += f" {plural(result.held, 'text')} of orders: not stored."
    if not result.facts:
        return f"{_degraded(result)}Nothing in it is worth keeping.{unread}"
    lines = [
        f"<{f'ref:{inert(each.memory_id[:REF])} ' if each.memory_id else ''}{_fate(each)}> {_shown(each.content)}"
        for each in result.facts
    ]
    return f"{_degraded(result)}{plural(len(lines), 'fact')}.{unread} {WARNING}\n{fenced(lines, nonce)}"


def _fate(fact: FactView) -> str:
    """The outcome of a fact, and the memory that it stands beside or in place of."""
    if fact.previous_id is not None:
        return f"{fact.action} in place of ref:{inert(fact.previous_id[:REF])}"
    return f"{fact.action}, at odds with another" if fact.resolution == "COEXIST" else fact.action


def to_decide(result: ReviewsResult, nonce: str) -> str:
    """Pairs of memories, and of names, that wait for a decision, with both texts. Texts that are no memory are left
    out: an agent does not decide about them, and they give orders to what reads them."""
    if not result.reviews:
        return f"{_degraded(result)}No memories wait for a decision."
    lines = [
        line
        for each in result.reviews
        for line in (
            f"<review {each.id} {each.suggestion}?> {inert(each.reason)}{_proposed(each)}",
            *(
                f"<ref:{inert(it.id[:REF])} {which} {it.created_at[:10]} {_name(it.source)}> {_shown(it.content)}"
                if each.kind != "names"
                else f"<name, {_name(it.category)}> {_shown(it.content)}"
                for which, it in (("older", each.older), ("newer", each.newer))
            ),
            *([] if each.preview is None else [f"merged: {_shown(each.preview)}"]),
        )
    ]
    waiting = plural(result.total + result.links + result.names, "review")
    return f"{_degraded(result)}{waiting}, oldest first. {WARNING}\n{fenced(lines, nonce)}"


def _proposed(review: ReviewView) -> str:
    """The direction of a proposed causal link."""
    link = review.link
    if link is None or link.edge_type != "causal":
        return ""
    return f"; the {'older' if link.source == review.older.id else 'newer'} one would be the cause"


MAX_QUOTE: Final = 200
"""Characters of the sentence that states a relation."""


def page(result: EntityPage, nonce: str) -> str:
    """All that is known of a person or a thing."""
    facts = {
        "also": _names(result.aliases, result.total_aliases),
        "not the same as": _names(result.not_same, result.total_not_same),
        "perhaps the same as": _names(list(result.proposed.values())),
        "summary": "" if result.summary is None else result.summary.content[:MAX_SHOWN],
    }
    lines = [
        f"<{_name(result.type)}> {_shown(result.name)}",
        *(f"{name}: {inert(value)}" for name, value in facts.items() if value),
        *(_relation(it, "now") for it in result.now),
        *(_relation(it, "over") for it in result.before),
        *(_relation(it, "later") for it in result.later),
        *(f"<ref:{inert(it.id[:REF])} {it.created_at[:10]}> {_shown(it.content)}" for it in result.memories),
    ]
    left = result.total_memories - len(result.memories)
    more = f" {plural(left, 'memory')} more: recall finds them." if left else ""
    return f"{_degraded(result)}{_at(result.as_of, result.known_at)}{WARNING}{more}\n{fenced(lines, nonce)}\n"


def _names(names: Sequence[str], total: int = 0) -> str:
    left = max(total, len(names)) - MAX_NAMES
    more = f", and {left:,} more" if left > 0 else ""
    return ", ".join(names[:MAX_NAMES]) + more


def relations(result: RelationsListResult, nonce: str) -> str:
    """Relations, those that began first at the top."""
    if not result.relations:
        return f"{_degraded(result)}No relation like that is known."
    lines = [_relation(it, "now" if it.status == "current" else it.status) for it in result.relations]
    head = f"{plural(result.total, 'relation')}. {_at(result.as_of, result.known_at)}"
    return f"{_degraded(result)}{head}{WARNING}\n{fenced(lines, nonce)}\n"


def entities(result: EntityListResult, nonce: str) -> str:
    """People and things, those that most memories name first."""
    if not result.entities:
        return f"{_degraded(result)}No person and no thing like that is known."
    lines = [
        f"<{_name(it.type)}, {plural(it.memories, 'memory')}> {_shown(it.name)}"
        + (f" (also {inert(', '.join(it.aliases)[:MAX_CANDIDATE])})" if it.aliases else "")
        for it in result.entities
    ]
    head = f"{plural(result.total, 'name')}, those of most memories first."
    return f"{_degraded(result)}{head} {WARNING}\n{fenced(lines, nonce)}"


def _relation(it: RelationshipView, which: str) -> str:
    """A relation with the last memory that states it and the sentence."""
    said = [each for each in it.evidence if each.memory_id is not None][-1:]
    by = "".join(f" <ref:{inert((each.memory_id or '')[:REF])}> {inert(each.quote[:MAX_QUOTE])}" for each in said)
    return f"<{which}> {_shown(relation_text(it))}{by}"


def _at(as_of: str | None, known_at: str | None) -> str:
    times = (("As it was", as_of), ("As it was known", known_at))
    return "".join(f"{what} {inert(at[:10])}. " for what, at in times if at is not None)


def grouped(result: CommunitiesResult, nonce: str) -> str:
    """Communities with their most central memories."""
    if not result.communities:
        return f"{_degraded(result)}No memories belong together yet."
    lines = [
        line
        for each in result.communities
        for line in (
            f"<community {each.number}, {plural(each.memories, 'memory')}>",
            *(f"<ref:{inert(it.id[:REF])}> {_shown(it.content)}" for it in each.examples),
        )
    ]
    return f"{_degraded(result)}{plural(result.total, 'community')}, largest first. {WARNING}\n{fenced(lines, nonce)}"


def consolidated(result: ConsolidateResult, nonce: str) -> str:
    """Memories that say nearly the same, with the numbers of the reviews about them."""
    if not result.clusters:
        return f"{_degraded(result)}No memories say nearly the same."
    lines = [
        line
        for each in result.clusters
        for line in (
            f"<ref:{inert(each.id[:REF])}> {_shown(each.content)}",
            *(
                f"<ref:{inert(it.id[:REF])} {it.suggestion}? review {it.review or 'none yet'}> {_shown(it.content)}"
                for it in each.members
            ),
        )
    ]
    asked = f"Asked the user about {plural(result.proposed, 'pair')} of {result.pairs}."
    return f"{_degraded(result)}{asked} {WARNING}\n{fenced(lines, nonce)}"


def summed_up(result: SummarizeResult, nonce: str) -> str:
    """The summary that was stored."""
    text = f"{_degraded(result)}Summary {result.id[:REF]} of {plural(len(result.derived_from), 'memory')}."
    return f"{text} {WARNING}\n{fenced([_shown(result.content)], nonce)}"


def decided(result: ResolveResult, nonce: str) -> str:
    """The decision, and the text of a merge."""
    text = f"{_degraded(result)}Review {result.review}: {result.resolution}, {result.message}."
    lines = [] if result.content is None else [_shown(result.content)]
    lines += [f"not in it: {_shown(clause, MAX_CANDIDATE)}" for clause in result.dropped[:MAX_CANDIDATES]]
    return f"{text} {WARNING}\n{fenced(lines, nonce)}" if lines else text


def restored(result: RestoreResult) -> str:
    """The memory that is back in recall."""
    odds = f" It is at odds with {', '.join(each.id for each in result.conflicts)}." if result.conflicts else ""
    return f"{_degraded(result)}Restored: {result.id}.{odds}"


def forgotten(result: ForgetResult) -> str:
    """The memory, or the passage of a session, that was taken out of recall."""
    back = f"restore {result.id}" if result.kind == "memory" else f"undo {result.op_id}"
    return f"{_degraded(result)}Forgotten: {result.id}. `mnemonctl {back}` brings it back."


def updated(result: UpdateResult) -> str:
    """The fields that changed."""
    if result.status == "unchanged":
        return f"{_degraded(result)}Nothing differs: {result.id} says that already."
    text = f"{_degraded(result)}Updated {result.id}: {', '.join(result.changed)}."
    if result.redacted:
        text += f" Cut out: {', '.join(result.redacted)}."
    if result.same_text is not None:
        merge = f"`mnemonctl merge {result.id} {result.same_text}`"
        text += f" Another memory says the same, {result.same_text}: {merge} makes one of the two."
    return text


def linked(result: LinkResult) -> str:
    """A link after the call."""
    ends = f"{result.source_id[:REF]} {'→' if result.edge_type == 'causal' else '↔'} {result.target_id[:REF]}"
    news = "Linked" if result.created else "Link changed" if result.updated else "Linked already"
    return f"{_degraded(result)}{news}: {ends} ({result.edge_type}, {result.weight:.2f})."


def status_view(result: StatusResult) -> StatusView:
    """The main figures of a store."""
    return StatusView(
        store=result.store,
        memories=result.total_insights,
        links=result.edge_count,
        embedded=result.embedded,
        questions=len(result.questions),
        healthy=result.degraded is not True,
        trouble=_reason(result) or "",
        version=result.version,
    )


def refused(error: MnemonError) -> str:
    """An error, and what to do next."""
    parts = [f"{error.message.rstrip('.')}."]
    if error.outcome == "unknown":
        parts.append("It may have been written all the same: call again with the same words, a repeat does no harm.")
    elif error.kind.retryable:
        parts.append("Try again in a moment.")
    if error.kind in (NOT_FOUND, AMBIGUOUS):
        parts.append("Ids are those that recall and related show.")
    if error.hint:
        parts.append(f"Next: {error.hint}.")
    return inert(" ".join(parts))


def whole(result: GetResult, nonce: str) -> str:
    """All fields of one memory, and its links."""
    it = result.insight
    if result.exchange is not None:
        said = (("user", result.exchange.prompt), ("assistant", result.exchange.answer))
        lines = [f"{name}: {inert(text)}" for name, text in said if text]
        head = f"<ref:{inert(it.id)} {inert(result.exchange.session)}>"
        return f"{_degraded(result)}{WARNING}\n{fenced([head, *lines], nonce)}\n"
    facts = {
        "importance": str(it.importance),
        "tags": ", ".join(it.tags),
        "entities": ", ".join(it.entities),
        "cues": "; ".join(cue.text for cue in it.cues),
        "project": it.project or "",
        "when": "; ".join(each.pattern for each in it.when),
        "conversation": it.conversation_id or "",
        "updated": it.updated_at[:10],
        "status": it.status,
        "in its place": (result.retired and result.retired.successor) or "",
    }
    lines = [
        f"<ref:{inert(it.id)} {it.created_at[:10]} {it.category} from {_name(it.source)}> {inert(it.content)}",
        *(f"{name}: {inert(value)}" for name, value in facts.items() if value),
        *(f"link: {link.edge_type} {link.direction} <ref:{inert(link.id)}> {link.weight:.2f}" for link in result.links),
    ]
    return f"{_degraded(result)}{WARNING}\n{fenced(lines, nonce)}\n"


def core(found: Core, nonce: str) -> str:
    """The core summary and the most important memories beside it, for the beginning of a session."""
    memories, against, summary = found
    if not memories and not summary:
        return "Nothing is in memory yet.\n"
    ids = [it.id for it in memories]
    refs = dict(zip(ids, references(ids), strict=True))
    lines = [*map(inert, summary), *(_line(it, refs, it.category, against.get(it.id, ())) for it in memories)]
    what = (
        f"What is known of the user in summary, and {_memories(memories)} that matter most"
        if summary
        else (f"What matters most, {_memories(memories)}")
    )
    return f"{what}. {WARNING}\n{fenced(lines, nonce)}\n"


def least(candidates: Sequence[GcCandidate], nonce: str) -> str:
    """The least important memories, least first."""
    if not candidates:
        return "No memory matters so little that it should be reviewed.\n"
    refs = references([each.id for each in candidates])
    lines = [
        f"<ref:{ref} {each.category} importance {each.importance} recalled {each.access_count} times> "
        f"{_shown(each.content)}"
        for ref, each in zip(refs, candidates, strict=True)
    ]
    return f"{_memories(candidates)}, least first. {WARNING}\n{fenced(lines, nonce)}\n"


def _line(it: InsightView, refs: Mapping[str, str], marks: str, against: Sequence[str]) -> str:
    name, against_it = f"{_name(it.source)}{_project(it)}", contradiction(against, refs)
    words = [f"ref:{refs[it.id]}", it.created_at[:10], marks, name, against_it]
    return f"<{' '.join(filter(None, words))}> {_shown(it.content)}"


def _project(it: MemoryInProject) -> str:
    """The label of a memory of another project than the one it is shown in, with a space before it."""
    return f" project:{_name(it.project)}" if it.other_project and it.project else ""


def _shown(content: str, most: int = MAX_SHOWN) -> str:
    return inert(content) if len(content) <= most else f"{inert(content[:most])}… ({len(content) - most} more)"


def _name(name: str) -> str:
    return inert(name[:MAX_NAME]).replace("<", "‹").replace(">", "›")


def _memories(found: Sequence[object]) -> str:
    return plural(len(found), "memory")


def _reason(result: Result) -> str | None:
    return result.degraded_reason if isinstance(result.degraded_reason, str) else None


def _degraded(result: Result) -> str:
    reason = _reason(result)
    return "" if reason is None else f"Note: {inert(reason)}.\n"


def judged(result: FeedbackResult) -> str:
    """Return the judgements of a memory."""
    learned = " It has the prompt as a cue now." if result.learned else ""
    return f"Counted: useful {result.useful}, misled {result.misled}.{learned}"
