"""remember: a memory is read and embedded, then decided in the writer, where its store cannot change meanwhile.

The decision compares, retires a replaced memory, inserts, links, pairs and prunes, in this order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, cast

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import CausalSettings, SemanticSettings
from mnemond.embed.calibration import Calibration, unscaled
from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.arrays import Floats
from mnemond.index.edges import CAUSAL
from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.memory.compare import NO_MATCHES, Compared, Moment, Paired, compare, kept_because, pair, parted, to_review
from mnemond.memory.cues import given_cues
from mnemond.memory.decay import accumulated
from mnemond.memory.diff import Match
from mnemond.memory.diff_frames import holds_several
from mnemond.memory.draft import (
    ENFORCED,
    Draft,
    Known,
    Reading,
    as_text,
    clean,
    new_memory,
    quality_labels,
    read,
    with_reading,
)
from mnemond.memory.edge_builders import OVERLAP_DIGITS, Built, build_all, claims_of
from mnemond.memory.questions.pairs import opened
from mnemond.memory.relations import given_with
from mnemond.memory.repetition import united
from mnemond.memory.retention import prune
from mnemond.memory.rules import given_triggers, joined_triggers
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    ChangeSet,
    PutInsight,
    RetireInsight,
    Vector,
)
from mnemond.model.memory import (
    DAY_US,
    EDGE_TYPES,
    NO_METADATA,
    Cue,
    Edge,
    Insight,
    TextWithCues,
    Trigger,
    effective_importance,
    format_us,
    noting_contradictions,
    parse_rfc3339,
)
from mnemond.model.outcomes import CausalCandidate, EdgesCreated, RememberResult, SemanticCandidate
from mnemond.model.query import Filter
from mnemond.model.relations import AddEvidence
from mnemond.model.reviews import OpenReview
from mnemond.store import insights
from mnemond.store.operations import Proposal, View
from mnemond.text.causes import Claim, claims_between
from mnemond.text.similarity import token_set
from mnemond.text.tokens import index_terms

# Candidates for links, for a host to judge: causes and effects near a new memory in the graph, and similar memories.


MAX_CAUSAL_HOPS = 2
"""Links between a new memory and a candidate for its cause or effect."""


def causal_candidates(
    snapshot: Snapshot, insight_id: str, settings: CausalSettings, max_hops: int = MAX_CAUSAL_HOPS
) -> list[CausalCandidate]:
    """Return at most `max_candidates` memories within `max_hops` edges: those with a causal signal first, then the
    nearer, then by word overlap. Rows already linked as cause or effect are left out."""
    row = snapshot.row_of(insight_id)
    if row is None or not settings.max_candidates:
        return []
    it = snapshot.insight(row)
    own, words = claims_of(it), token_set(it.content)
    found = [
        _candidate(snapshot.insight(near), hop, EDGE_TYPES[kind], it, own, words)
        for near, hop, kind in _near(snapshot, row, it, settings.max_candidates, max_hops)
    ]
    found.sort(key=lambda each: (each.causal_signal is None, each.hop, -each.overlap, each.id))
    return found


def semantic_candidates(
    around: Neighbourhood,
    by_meaning: bool,
    likeness: Floats | None,
    linked: Collection[str],
    settings: SemanticSettings,
) -> list[SemanticCandidate]:
    """Return at most `max_candidates` memories somewhat similar to a new one, best first, without those in `linked`
    and without texts, which `with_candidates` adds.

    `likeness`: the result of Snapshot.likeness for its terms, shape (rows,), used unless `by_meaning`.
    """
    most = settings.max_candidates + len(linked)
    if by_meaning:
        alike = around.between(settings.review, settings.auto, most)
    else:
        alike = [] if likeness is None else around.by_words(likeness, settings.fallback_min, most)
    found = [(row, round(share, 6)) for row, share in alike if row not in linked][: settings.max_candidates]
    return [SemanticCandidate(row, "", "", share if by_meaning else None, share) for row, share in found]


def with_candidates(
    outcome: RememberResult, snapshot: Snapshot, settings: CausalSettings, calibration: Calibration | None
) -> RememberResult:
    """Complete a new or replayed outcome from `snapshot`: causal candidates, the texts of conflicts, and those of
    semantic candidates without those retired since. `calibration` maps their cosines to the scale of the thresholds."""
    stored = outcome.action in ("added", "replaced", "merged") and not outcome.dry_run and outcome.id is not None
    causal = causal_candidates(snapshot, outcome.id, settings) if stored and outcome.id is not None else []
    semantic = []
    for each in outcome.semantic_candidates:
        if (row := snapshot.row_of(each.id)) is not None:
            it = snapshot.insight(row)
            alike = each.similarity if each.cosine is None else round(unscaled(each.cosine, calibration), 6)
            semantic.append(SemanticCandidate(it.id, it.content, it.category, each.cosine, alike))
    texts = [_content(snapshot, each.id) for each in outcome.conflicts]
    conflicts = [
        msgspec.structs.replace(each, content=text, several=holds_several(text))
        for each, text in zip(outcome.conflicts, texts, strict=True)
    ]
    return msgspec.structs.replace(outcome, causal_candidates=causal, semantic_candidates=semantic, conflicts=conflicts)


def _content(snapshot: Snapshot, insight_id: str) -> str:
    row = snapshot.row_of(insight_id)
    return "" if row is None else snapshot.insight(row).content


def _candidate(
    other: Insight, hop: int, via: str, it: Insight, own: tuple[Claim, ...], words: frozenset[str]
) -> CausalCandidate:
    known = token_set(other.content)
    shared = _overlap(len(known & words), max(len(words), len(known)))
    decided = claims_between(own, it.content, claims_of(other), other.content, likely=True)
    if decided is None:
        return CausalCandidate(other.id, other.content, hop, via, None, "causes", "from_candidate", shared)
    way: Literal["from_candidate", "to_candidate"] = "to_candidate" if decided.new_is_cause else "from_candidate"
    signal, sub_type = decided.claim.signal, decided.claim.sub_type
    return CausalCandidate(other.id, other.content, hop, via, signal, sub_type, way, shared)


@lru_cache(maxsize=1024)  # texts have few words, and rounding takes longer than a look-up
def _overlap(shared: int, larger: int) -> float:
    return round(shared / larger, OVERLAP_DIGITS) if larger else 0.0


def _near(snapshot: Snapshot, start: int, it: Insight, most: int, max_hops: int) -> list[tuple[int, int, int]]:
    """Return (row, hops, type of the last edge): breadth first, along heavier edges first, until there are enough."""
    mask = snapshot.visible(Filter(scope=it.scope, now_us=parse_rfc3339(it.updated_at)))
    found: list[tuple[int, int, int]] = []
    own = _heaviest_first(snapshot, start)
    causal = {other for _, other, kind in own if kind == CAUSAL}
    ring: Iterable[tuple[float, int, int]] = own
    seen = {start}
    for hop in range(1, max_hops + 1):
        reached: list[int] = []
        for _, other, kind in ring:
            if other in seen or (mask is not None and not mask[other]):
                continue
            seen.add(other)
            reached.append(other)
            if other not in causal:
                found.append((other, hop, kind))
                if len(found) == most:
                    return found
        ring = chain.from_iterable(_heaviest_first(snapshot, row) for row in reached)
    return found


def _heaviest_first(snapshot: Snapshot, row: int) -> list[tuple[float, int, int]]:
    """Return (negative weight, row at the other end, type) of each link; ties by row."""
    return sorted([(-weight, other, kind) for other, weight, kind, _ in snapshot.links_listed(row)])


# The write.


class Prepared(msgspec.Struct, frozen=True):
    """A clean draft, the kinds of secrets that were cut out of it, and its reading. `vector` is None when it was not
    embedded; `embed_error` is the reason."""

    draft: Draft
    redacted: tuple[str, ...]
    reading: Reading
    said_us: int
    cues: tuple[Cue, ...] = ()
    when: tuple[Trigger, ...] = ()
    vector: object = None  # Vector | None
    embed_error: str | None = None

    @property
    def text(self) -> TextWithCues:
        """What its vector is made of."""
        return TextWithCues(self.draft.content, self.cues)

    @property
    def discarded(self) -> bool:
        """Return True if an automatically chosen text has too little substance."""
        return self.reading.substance.decision == "discard" and self.draft.channel in ENFORCED


def prepare(draft: Draft, now_us: int, known: Known, config: Config) -> Prepared:
    """Redact and read a draft that has no problems; the vector is added later.

    Raises MnemonError(INVALID_PARAMS) as `clean` does.
    """
    draft, redacted = clean(draft)
    said_us = now_us if draft.created_at is None else parse_rfc3339(draft.created_at)
    reading = read(
        draft.content,
        draft.category,
        entities=draft.entities,
        entity_mode=draft.entity_mode,
        known=known,
        said_us=said_us,
        source=draft.source,
        commitment=config.commitment,
        compared=not draft.no_diff,
        corrects=draft.corrects,
    )
    when = given_triggers(draft.when, draft.enforce, draft.trigger_state)
    return Prepared(draft, redacted, reading, said_us, given_cues(draft.cues), when)


def propose(prepared: Prepared, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose the write."""
    vector: Vector | None = prepared.vector  # type: ignore[assignment]

    def decided(view: View) -> ChangeSet:
        change_set = decide(prepared, identity, rules, view.snapshot, view.similarity)
        outcome = cast("RememberResult", change_set.outcome)
        if not prepared.draft.relations or outcome.id is None:
            return change_set
        said, user = format_us(prepared.said_us), prepared.draft.scope.user_id
        written = [each.insight for each in change_set.changes if isinstance(each, AddInsight | PutInsight)]
        it = next((each for each in written if each.id == outcome.id), None)
        it = it or cast("Insight", insights.read(view.connection, outcome.id))
        noted = given_with(it, prepared.draft.relations, said, identity, user, view)
        many = sum(isinstance(each, AddEvidence) for each in noted)
        detail = f"{change_set.detail} relations={many}"
        return msgspec.structs.replace(change_set, knowledge=noted, detail=detail)

    return identity.proposal("remember", decided, vector)


def decide(
    prepared: Prepared, identity: WriteContext, rules: WriteRules, snapshot: Snapshot, similarity: Cosines | None
) -> ChangeSet:
    """Decide on a memory against `snapshot`; nothing is written. `similarity`: cosine of every row with it, None
    without a vector."""
    if prepared.discarded:
        reason = "says too little to be kept"
        outcome = _outcome(prepared, identity, id=None, action="discarded", reason=reason, embedded=False)
        refused = prepared.reading.substance.reason
        detail = "too little substance"
        return identity.change_set("remember", (), outcome, operation="discard", detail=detail, refused=refused or "")
    return _Decision(prepared, identity, rules, snapshot, similarity).change_set()


class _Decision:
    """The decision on one memory against one generation of a store."""

    def __init__(
        self,
        prepared: Prepared,
        identity: WriteContext,
        rules: WriteRules,
        snapshot: Snapshot,
        similarity: Cosines | None,
    ) -> None:
        self._prepared = prepared
        self._draft = prepared.draft
        self._identity = identity
        self._config, self._diff = rules.config, rules.diff
        self._moment = Moment(prepared.said_us, identity.now_us)
        self._snapshot = snapshot
        self._similarity = similarity
        self._likeness = None if prepared.draft.no_diff and similarity is not None else _likeness(prepared, snapshot)

    def change_set(self) -> ChangeSet:
        compared = self._compared()
        best = compared.best
        action = "ADD" if best is None else best.verdict.action
        if best is not None and action == "DUPLICATE":
            return self._skipped(best)
        if best is not None and action in ("CONFLICT", "UPDATE") and self._may_replace(best.id):
            return self._replaced(compared, best)
        return self._added(compared)

    def _compared(self) -> Compared:
        side = self._prepared.reading.side
        if side is None:
            return NO_MATCHES
        return compare(
            self._snapshot,
            side,
            self._draft.scope,
            self._similarity,
            self._likeness,
            self._diff,
            self._moment,
        )

    def _may_replace(self, insight_id: str) -> bool:
        return kept_because(self._insight(insight_id), self._draft.scope, self._moment) is None

    def _row(self, insight_id: str) -> int:
        row = self._snapshot.row_of(insight_id)
        if row is None:
            raise MnemonError(
                INTERNAL, f"memory {insight_id} was compared, but is not in the index", outcome="rejected"
            )
        return row

    def _insight(self, insight_id: str) -> Insight:
        return self._snapshot.insight(self._row(insight_id))

    def _skipped(self, best: Match) -> ChangeSet:
        """Corroborate and boost the existing memory, and add what the repetition says about the text; its use is not
        counted, since it was not read."""
        now = self._identity.now
        old = self._insight(best.id)
        again = self._unread()
        if not self._draft.weighed:
            again = msgspec.structs.replace(again, importance=old.importance)
        union = united(old, again, self._prepared.reading.mentions, self._snapshot, self._config.graph)
        survivor = msgspec.structs.replace(
            union.insight,
            corroboration_count=old.corroboration_count + 1,
            last_corroborated_at=now,
            updated_at=now,
            boost_days=round(self._boosted(old), 6),
            last_boosted_at=now,
        )
        outcome = _outcome(
            self._prepared,
            self._identity,
            id=best.id,
            action="skipped",
            diff_suggestion="DUPLICATE",
            duplicate_of=best.id,
            edges_created=union.links,
            embedded=self._snapshot.has_vector(self._row(best.id)),
            united=union.report,
            cues=len(union.insight.cues),
            **_match_fields(best),
            **_as_stored(survivor),
        )
        detail = f"similarity={best.verdict.similarity:.3f}{_united_fields(old, survivor)}"
        changes: tuple[Change, ...] = (PutInsight(survivor, "BOOST", mentions=union.mentions), *union.edges)
        return self._identity.change_set(
            "remember", changes, outcome, operation="diff-skip", subject=best.id, detail=detail
        )

    def _boosted(self, old: Insight) -> float:
        since = parse_rfc3339(old.last_boosted_at or old.created_at)
        return accumulated(old.boost_days, (self._identity.now_us - since) / DAY_US, self._config.commitment.redundancy)

    def _added(self, compared: Compared) -> ChangeSet:
        insight = self._newcomer(compared)
        paired = self._paired(insight)
        leaving = None if paired.redundancy is None else paired.redundancy.retired
        left = () if leaving is None else (leaving,)
        around = Neighbourhood(self._snapshot, insight, self._similarity, [self._row(each) for each in left])
        built = build_all(new_memory(insight, self._prepared.reading), around, self._config.graph)
        related = _related(compared, insight.id, self._diff.settings.limit)
        more = [*related, *paired.changes]
        changes, alike = self._inserted(paired.newcomer, built, more)
        spare = {change.insight.id for change in paired.changes if isinstance(change, PutInsight)} | {*left}
        outcome = self._stored(
            compared,
            around,
            alike,
            **_as_stored(insight),
            edges_created=msgspec.structs.replace(built.links, semantic=len(alike)) if more else built.links,
            redundancy=paired.redundancy,
            conflicts=to_review(compared, left, self._diff.settings.limit),
        )
        more_detail = "".join(f" retired={each}" for each in left)
        reviews = self._reviews(compared, insight, left)
        return self._finished(changes, 1 - len(left), spare, outcome, "remember", more_detail, reviews)

    def _reviews(self, compared: Compared, insight: Insight, apart_from: Sequence[str]) -> tuple[OpenReview, ...]:
        most = self._diff.settings.limit
        return opened(compared.matches, insight, self._snapshot, self._config.extraction, most, apart_from)

    def _paired(self, insight: Insight) -> Paired:
        if self._draft.no_diff:
            return Paired(insight, (), None)
        settings, now_us = self._config.commitment, self._identity.now_us
        return pair(self._snapshot, insight, self._similarity, self._likeness, settings, now_us)

    def _replaced(self, compared: Compared, best: Match) -> ChangeSet:
        old = self._insight(best.id)
        insight = self._newcomer(compared, apart_from=best.id)
        insight = msgspec.structs.replace(insight, when=joined_triggers(old.when, insight.when))
        around = Neighbourhood(self._snapshot, insight, self._similarity, [self._row(best.id)])
        built = build_all(new_memory(insight, self._prepared.reading), around, self._config.graph)
        unpaired = parted(self._snapshot, old)
        retired = RetireInsight(old.id, "superseded", successor=insight.id, invalid_at=insight.valid_from)
        related = _related(compared, insight.id, self._diff.settings.limit, apart_from=old.id)
        changes, alike = self._inserted(insight, built, related)
        changes += [*unpaired, retired]
        outcome = self._stored(
            compared,
            around,
            alike,
            **_as_stored(insight),
            action="replaced",
            diff_suggestion=best.verdict.suggestion,
            replaced_id=old.id,
            no_longer=_no_longer(best, old),
            edges_created=msgspec.structs.replace(built.links, semantic=len(alike)) if related else built.links,
            conflicts=to_review(compared, (old.id,), self._diff.settings.limit),
        )
        spare = {change.insight.id for change in unpaired if isinstance(change, PutInsight)} | {old.id}
        reviews = self._reviews(compared, insight, (old.id,))
        return self._finished(changes, 0, spare, outcome, "diff-replace", f" replaced={old.id}", reviews)

    def _newcomer(self, compared: Compared, apart_from: str = "") -> Insight:
        """Return the new memory, with what it contradicts noted."""
        read_in = with_reading(self._unread(), self._prepared.reading, self._snapshot)
        named = [match.id for match in _contradicted(compared, self._diff.settings.limit) if match.id != apart_from]
        return msgspec.structs.replace(read_in, metadata=noting_contradictions(read_in.metadata, named))

    def _unread(self) -> Insight:
        """Return the new memory without what reading its text adds."""
        draft, created = self._draft, format_us(self._prepared.said_us)
        return Insight(
            id=self._identity.id,
            content=draft.content,
            created_at=created,
            updated_at=self._identity.now,
            category=draft.category,
            importance=draft.importance,
            tags=draft.tags,
            source=draft.source,
            channel=draft.channel,
            conversation_id=draft.conversation_id,
            scope=draft.scope,
            valid_from=created,
            metadata=as_text(draft.metadata) if draft.metadata else NO_METADATA,
            cues=self._prepared.cues,
            when=self._prepared.when,
        )

    def _inserted(self, insight: Insight, built: Built, more: Sequence[Change]) -> tuple[list[Change], set[str]]:
        """Return the changes that add a memory and its links, and the ids at the ends of its semantic links."""
        alike = {each.other for each in built.relations if each.kind == "semantic"}
        others = len(built.relations) - len(alike)
        # Related memories and pairs have two edges each, all with the new memory at one end.
        alike |= {change.edge.source_id for change in more if isinstance(change, AddEdge)} - {insight.id}
        # The importance includes the memory's own links, so that the store need not write the row twice.
        days = (self._identity.now_us - self._prepared.said_us) / DAY_US
        weighed = round(effective_importance(insight.importance, 0, days, others + len(alike)), 6)
        it, reading = msgspec.structs.replace(insight, effective_importance=weighed), self._prepared.reading
        inserted = AddInsight(it, self._prepared.vector, reading.mentions, reading.queries)
        relations = [AddRelations(insight.id, tuple(built.relations))] if built.relations else []
        return [inserted, *built.removed, *relations, *more], alike

    def _stored(
        self, compared: Compared, around: Neighbourhood, alike: Collection[str], **fields: object
    ) -> RememberResult:
        if self._draft.no_diff:
            fields["reason"] = "not compared with other memories: no_diff"
        elif compared.best is None:
            fields["reason"] = "no memory is like it"
        else:
            fields |= _match_fields(compared.best)
        by_meaning, limits = self._similarity is not None, self._config.graph.semantic
        return _outcome(
            self._prepared,
            self._identity,
            id=self._identity.id,
            semantic_candidates=semantic_candidates(around, by_meaning, self._likeness, alike, limits),
            embedded=self._prepared.vector is not None,
            cues=len(self._prepared.cues),
            **fields,
        )

    def _finished(
        self,
        changes: list[Change],
        adding: int,
        spare: set[str],
        outcome: RememberResult,
        operation: str,
        more: str,
        reviews: tuple[OpenReview, ...],
    ) -> ChangeSet:
        """Add the memories that a full store prunes for the new one."""
        pruned = prune(self._snapshot, adding, self._config.lifecycle, self._identity.now_us, frozenset(spare))
        if gone := tuple(change.id for change in pruned if isinstance(change, RetireInsight)):
            outcome = msgspec.structs.replace(outcome, auto_pruned=len(gone), pruned_ids=gone)
        draft = self._draft
        detail = f"{draft.category} importance={draft.importance} channel={draft.channel}{more}"
        return self._identity.change_set(
            "remember",
            (*changes, *pruned),
            outcome,
            operation=operation,
            subject=self._identity.id,
            detail=detail,
            reviews=reviews,
        )


def _likeness(prepared: Prepared, snapshot: Snapshot) -> Floats | None:
    terms = set(index_terms(prepared.draft.content))
    return snapshot.likeness(terms) if terms else None


def _no_longer(best: Match, old: Insight) -> str | None:
    """Return the statement of a replaced memory that the new one denies; None if it only adds to it."""
    if best.verdict.clauses is not None:
        return best.verdict.clauses[0]
    return old.content if best.verdict.action == "CONFLICT" else None


def _united_fields(old: Insight, new: Insight) -> str:
    """Return the names of the fields that a repetition added to, for the log, which holds no text of memories."""
    fields = [name for name in ("tags", "entities", "importance", "cues") if getattr(old, name) != getattr(new, name)]
    return f" united={','.join(fields)}" if fields else ""


def _contradicted(compared: Compared, most: int) -> list[Match]:
    return [match for match in compared.matches if match.verdict.contradicts][:most]


RELATED = '{"sub_type":"related"}'
CONTRADICTS = '{"sub_type":"contradicts"}'

LEAST_WEIGHT = 0.5
"""Weight of a link between memories that contradict each other in few common words: that of a pair (spec of Mnemosyne).
"""


def _related(compared: Compared, insight_id: str, most: int, apart_from: str = "") -> list[Change]:
    """Return semantic links to rows that stay although they contradict the new memory, and to similar ones that stay
    because their categories differ."""
    kinds = {match.id: (match, RELATED) for match in compared.matches[:most] if match.verdict.related}
    kinds |= {match.id: (match, CONTRADICTS) for match in _contradicted(compared, most)}
    kinds.pop(apart_from, None)
    changes: list[Change] = []
    for match, kind in kinds.values():
        changes += both_ways(insight_id, match.id, match.verdict.similarity, kind)
    return changes


def both_ways(one: str, other: str, similarity: float, kind: str = RELATED) -> list[AddEdge]:
    """Return a semantic link between two memories that both stay; `kind`: its metadata."""
    weight = min(1.0, max(LEAST_WEIGHT, round(similarity, 6)))
    ends = ((one, other), (other, one))
    return [AddEdge(Edge(source, target, "semantic", weight, kind)) for source, target in ends]


def _as_stored(insight: Insight) -> dict[str, object]:
    return {name: getattr(insight, name) for name in ("category", "importance", "tags", "entities")}


def _match_fields(match: Match) -> dict[str, object]:
    return {
        "similarity": round(match.verdict.similarity, 6),
        "matched_id": match.id,
        "reason": match.verdict.reason,
    }


def _outcome(prepared: Prepared, identity: WriteContext, **fields: object) -> RememberResult:
    """Return the outcome with everything that does not depend on the decision, and `fields`."""
    reading = prepared.reading
    common: dict[str, Any] = {
        "edges_created": EdgesCreated(),
        "quality_warnings": quality_labels(reading.quality),
        "quality_details": list(reading.quality),
        "redacted": list(prepared.redacted),
        "embed_error": prepared.embed_error,
        "substance": reading.substance,
        "trigger_type": reading.trigger_type,
        "hypothetical_queries": list(reading.queries),
        "scope": prepared.draft.scope,
        "store": identity.store,
        "dry_run": prepared.draft.dry_run,
        "op_id": identity.op_id,
        "replayed": False,
    }
    return RememberResult(**(common | fields))
