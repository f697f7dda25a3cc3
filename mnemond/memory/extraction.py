"""extract: the facts of a conversation, each remembered in a write of its own.

Every fact passes diff like any memory, on the channel `extract`. A failed write does not affect other facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings
from mnemond.embed.embedder import UNKNOWN_WORDS, Embedder
from mnemond.extract.facts import (
    UNKNOWN,
    Context,
    Engine,
    Extraction,
    Fact,
    Message,
    latest_exchange,
    of_five,
    stated_name,
    with_own_lowered,
)
from mnemond.extract.host_facts import completed
from mnemond.extract.quotes import RuleEngine, without_label
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.memory import remember
from mnemond.memory.cues import try_embed_memories
from mnemond.memory.diff import PUBLISHED
from mnemond.memory.draft import Draft
from mnemond.memory.questions.pairs import Allowance, not_asked
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import AddInsight, Change, ChangeSet, Vector
from mnemond.model.memory import EXTRACTED, Scope, format_us
from mnemond.model.outcomes import Fate, HostFact, RememberResult, Substance
from mnemond.model.query import Filter
from mnemond.model.reviews import OpenReview
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import Known
from mnemond.text.generality import is_general
from mnemond.text.proposed_triggers import proposed_trigger
from mnemond.text.resources import regex
from mnemond.text.secrets import redact, redact_together
from mnemond.text.similarity import normalised, share_of_larger, token_set
from mnemond.text.tokens import capped
from mnemond.text.transcripts import IsMemory

VERBATIM: Final = "verbatim"
"""The engine that stores every message unchanged."""

MAX_RELATIONSHIPS: Final = 200
"""Newest facts about a person that are searched for a name."""

_NAMED: Final = regex(rf"\A(?:{UNKNOWN}'s name is |用户的名字是)([^,.;，。]{{1,60}})")
"""What earlier versions stored of an introduction."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Origin and scope of facts. `resolves`: they may replace what they contradict. `metadata` (plain values) is for
    each of them. `allowance`: what the run that finds them may replace."""

    conversation_id: str | None = None
    scope: Scope = Scope()
    resolves: bool = True
    metadata: Mapping[str, object] = {}
    allowance: Allowance | None = None


class FactWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A fact prepared for its write; the vector is added by `embedded`. `allowance`: what the run that it belongs to
    may still replace."""

    fact: Fact
    prepared: remember.Prepared
    resolves: bool = True
    allowance: Allowance | None = None
    verbatim: bool = False

    @property
    def content(self) -> str:
        """The redacted text."""
        return self.prepared.draft.content

    def embedded(self, vector: Vector | None, error: str | None) -> FactWrite:
        """Add the vector, or the reason for a missing one."""
        return msgspec.structs.replace(
            self, prepared=msgspec.structs.replace(self.prepared, vector=vector, embed_error=error)
        )


def context_of(
    snapshot: Snapshot, scope: Scope, settings: ExtractionSettings, observed_us: int, threshold: int | None = None
) -> Context:
    """Return the context of extraction: settings, speaker and known names."""
    return Context(
        observed_us=observed_us,
        threshold=settings.importance_threshold if threshold is None else threshold,
        most=settings.max_facts,
        speaker=known_speaker(snapshot, scope),
        classes=frozenset(settings.classes),
        known=snapshot.entity_spelling,
    )


def extract_exchange(
    messages: Sequence[Message], context: Context, *, window: int, whole: bool = False, engine: Engine | None = None
) -> Extraction:
    """Extract the redacted facts of the latest exchange of a conversation, or of all of it with `whole`.

    `window`: number of earlier messages for context. Blocks for up to a second per megabyte.
    """
    latest: Sequence[Message] = cleaned(messages)
    if not whole:
        context, latest = _split(latest, context, window)
    return with_own_lowered((engine or RuleEngine()).extract(latest, context), context.threshold)


def _split(messages: Sequence[Message], context: Context, window: int) -> tuple[Context, Sequence[Message]]:
    exchange = latest_exchange(messages, window)
    return msgspec.structs.replace(context, earlier=exchange.earlier), exchange.latest


def cleaned(messages: Sequence[Message]) -> list[Message]:
    """Redact messages and remove characters that cannot be stored."""
    contents, _ = redact_together(capped(each.content.replace("\0", " ")) for each in messages)
    names = [None if each.name is None else redact(each.name).text for each in messages]
    return [
        msgspec.structs.replace(each, content=content, name=name)
        for each, content, name in zip(messages, contents, names, strict=True)
    ]


def host_facts(given: Sequence[HostFact], context: Context) -> Extraction:
    """Complete the facts that a host extracted."""
    return completed(given, context)


def verbatim(messages: Sequence[Message], context: Context) -> Extraction:
    """Return every message but system messages as a fact, redacted, else unchanged (Mem0's `infer=False`)."""
    given = [
        HostFact(
            content=each.content,
            intent="fact",
            category="general",
            attributed_to="assistant" if each.role == "assistant" else "user",
            event_time=None if each.said_us is None else format_us(each.said_us),
            message_ids=() if each.id is None else (each.id,),
        )
        for each in cleaned(messages)
        if each.role != "system" and each.content.strip()
    ]
    found = completed(given, msgspec.structs.replace(context, threshold=1))
    return msgspec.structs.replace(found, engine=VERBATIM)


def known_speaker(snapshot: Snapshot, scope: Scope) -> str | None:
    """Return the user's name as stored from an earlier exchange; the newest one."""
    wanted = Filter(channel=EXTRACTED, stated_intent="relationship", scope=scope, all_sessions=True)
    for insight in snapshot.newest(wanted, MAX_RELATIONSHIPS):
        if insight.scope.in_project(scope.project) != scope:
            continue
        found = _NAMED.match(insight.content)
        name = stated_name(without_label(insight.content)) if found is None else found[1].strip()
        if name is not None:
            return name
    return None


# The write of a fact.


def prepare(
    fact: Fact, provenance: Provenance, now_us: int, known: Known, config: Config, *, as_it_is: bool = False
) -> FactWrite:
    """Prepare a fact like any memory, without its vector; one that says that it holds in all projects belongs to none.
    `as_it_is`: skip substance check, diff, and that."""
    general = not as_it_is and (fact.general or is_general(fact.content))
    proposed = proposed_trigger(fact.content)
    draft = Draft(
        content=fact.content,
        category=fact.category,
        importance=of_five(fact.importance),
        weighed=fact.weighed,
        entities=tuple(each.name for each in fact.entities),
        cues=fact.cues,
        when=() if proposed is None else (proposed,),
        trigger_state="proposed",
        source=fact.attributed_to,
        channel=EXTRACTED,
        conversation_id=provenance.conversation_id,
        scope=provenance.scope.in_project(None) if general else provenance.scope,
        created_at=None if fact.said_us == now_us else format_us(fact.said_us),
        metadata=provenance.metadata,
        no_diff=as_it_is,
        corrects=fact.corrects,
    )
    prepared = remember.prepare(draft, now_us, known, config)
    kinds = {each.canonical: each.kind for each in fact.entities}
    mentions = tuple(
        msgspec.structs.replace(each, kind=kinds.get(each.canonical, each.kind)) for each in prepared.reading.mentions
    )
    substance = Substance(prepared.reading.substance.score, "keep") if as_it_is else prepared.reading.substance
    reading = msgspec.structs.replace(prepared.reading, mentions=mentions, substance=substance)
    if prepared.redacted:
        fact = msgspec.structs.replace(fact, content=prepared.draft.content, entities=mentions)
    return FactWrite(
        fact=fact,
        prepared=msgspec.structs.replace(prepared, reading=reading),
        resolves=provenance.resolves,
        allowance=provenance.allowance,
        verbatim=as_it_is,
    )


def propose(write: FactWrite, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose the write of one fact."""

    def decided(view: View) -> ChangeSet:
        return decide(write, identity, rules, view.snapshot, view.similarity)

    return remember.propose(write.prepared, identity, rules)._replace(decide=decided)


def decide(
    write: FactWrite, identity: WriteContext, rules: WriteRules, snapshot: Snapshot, similarity: Cosines | None
) -> ChangeSet:
    """Decide on a fact against `snapshot`; nothing is written.

    A replacement is not carried out where the caller, the resolver or the allowance of the run forbids it. Both
    memories stay then, and a review asks; with `add_only` they are linked instead.
    """
    mode = rules.config.extraction.resolver
    if mode == "threshold":
        rules = msgspec.structs.replace(rules, diff=msgspec.structs.replace(rules.diff, safeguards=PUBLISHED))
    resolves = write.resolves and mode != "add_only"
    reached = remember.decide(write.prepared, identity, rules, snapshot, similarity)
    gone = _outcome(reached).replaced_id
    if gone is not None and not (resolves and (write.allowance is None or write.allowance.admits((gone,)))):
        reached = _beside(write, identity, rules, snapshot, similarity, reached, asks=mode != "add_only")
    if write.fact.replaces and resolves:
        reached = _asking(write.fact.replaces, reached, snapshot)
    return _as_fact(write.fact, reached)


def _asking(older_id: str, reached: ChangeSet, snapshot: Snapshot) -> ChangeSet:
    """Ask whether the fact replaces the memory that the model named, if the rules left both: they decide, or whatever
    answers reviews; the model's word alone replaces nothing."""
    row, outcome = snapshot.row_of(older_id), _outcome(reached)
    added = next((change.insight for change in reached.changes if isinstance(change, AddInsight)), None)
    if outcome.action != "added" or row is None or added is None:
        return reached
    older = snapshot.insight(row)
    if any(isinstance(each, OpenReview) and older_id in (each.older, each.newer) for each in reached.reviews):
        return reached
    if (why := not_asked(older, added)) is None:
        alike = share_of_larger(token_set(older.content), token_set(added.content))
        review = OpenReview("conflict", older_id, added.id, "SUPERSEDE", round(alike, 6), CLAIMED)
        return msgspec.structs.replace(reached, reviews=(*reached.reviews, review))
    reason = f"{outcome.reason}; {CLAIMED} ({older_id[:8]}), but {why}"
    return msgspec.structs.replace(reached, outcome=msgspec.structs.replace(outcome, reason=reason))


CLAIMED: Final = "the model says that it replaces the older one"


def fate(outcome: RememberResult) -> Fate:
    """Convert the outcome of remember to the result for a fact."""
    match outcome.action:
        case "added":
            coexists = outcome.reason.startswith(COEXISTS) or bool(outcome.conflicts)
            return Fate("CREATE", "COEXIST" if coexists else None, outcome.id, None, outcome.reason)
        case "replaced":
            gone = outcome.no_longer
            return Fate("UPDATE", "SUPERSEDE", outcome.id, outcome.replaced_id, outcome.reason, no_longer=gone)
        case "merged":
            return Fate("MERGE", "MERGE", outcome.id, outcome.replaced_id, outcome.reason)
        case "skipped":
            gone, said = outcome.replaced_id, outcome.no_longer
            return Fate("NONE", "DUPLICATE", outcome.id, gone, outcome.reason, outcome.united, said)
        case _:
            return Fate("NONE", None, None, None, outcome.reason)


COEXISTS: Final = "kept beside"


def _outcome(reached: ChangeSet) -> RememberResult:
    assert isinstance(reached.outcome, RememberResult), "remember decides nothing else"  # noqa: S101
    return reached.outcome


def _beside(
    write: FactWrite,
    identity: WriteContext,
    rules: WriteRules,
    snapshot: Snapshot,
    similarity: Cosines | None,
    other: ChangeSet,
    *,
    asks: bool,
) -> ChangeSet:
    """Add the fact although it would replace a memory, with a review of the two (`asks`) or a link between them."""
    prepared = msgspec.structs.replace(
        write.prepared, draft=msgspec.structs.replace(write.prepared.draft, no_diff=True),
        reading=msgspec.structs.replace(write.prepared.reading, side=None),
    )  # fmt: skip
    reached = remember.decide(prepared, identity, rules, snapshot, similarity)
    would = _outcome(other)
    assert would.replaced_id is not None, "it would replace a memory"  # noqa: S101
    outcome = msgspec.structs.replace(
        _outcome(reached), matched_id=would.replaced_id, similarity=would.similarity,
        reason=f"{COEXISTS} {would.replaced_id}: {would.reason}",
    )  # fmt: skip
    reached, alike = msgspec.structs.replace(reached, outcome=outcome), would.similarity or 0.0
    if asks:
        review = OpenReview("conflict", would.replaced_id, identity.id, "SUPERSEDE", alike, would.reason)
        return msgspec.structs.replace(reached, reviews=(review,))
    links = remember.both_ways(identity.id, would.replaced_id, alike)
    return msgspec.structs.replace(reached, changes=(*reached.changes, *links))


def _as_fact(fact: Fact, reached: ChangeSet) -> ChangeSet:
    """Store the attributes of the fact in the metadata of the added memory."""
    changes = tuple(_tagged(fact, change) if isinstance(change, AddInsight) else change for change in reached.changes)
    return msgspec.structs.replace(reached, changes=changes)


def _tagged(fact: Fact, change: AddInsight) -> Change:
    fields = msgspec.json.decode(change.insight.metadata, type=dict[str, object])
    fields |= {"importance10": fact.importance, "confidence": fact.confidence, "attributed_to": fact.attributed_to}
    if fact.message_ids:
        fields["message_ids"] = list(fact.message_ids)
    if fact.model:
        fields |= {"model": fact.model, "prompt": fact.prompt}
    insight = msgspec.structs.replace(change.insight, intent=fact.intent, metadata=msgspec.json.encode(fields).decode())
    return msgspec.structs.replace(change, insight=insight)


def embedded(embedder: Embedder | None, writes: Sequence[FactWrite], lacking: str | None) -> list[FactWrite]:
    """Embed facts as one batch, or one by one where the batch fails and the first fact alone does not.

    `lacking` is the reason for a missing embedder. Facts to be discarded are not embedded. Blocks as the embedder does.
    """
    if embedder is None:
        return [each.embedded(None, lacking) for each in writes]
    wanted = [each for each in writes if not each.prepared.discarded]
    made = iter(_made(embedder, wanted) if wanted else [])
    return [each if each.prepared.discarded else next(made) for each in writes]


def _made(embedder: Embedder, wanted: Sequence[FactWrite]) -> list[FactWrite]:
    vectors, error = try_embed_memories(embedder, [each.prepared.text for each in wanted])
    if error is None or len(wanted) == 1 or try_embed_memories(embedder, [wanted[0].prepared.text])[1] is not None:
        return [each.embedded(vector, error or _lack(vector)) for each, vector in zip(wanted, vectors, strict=True)]
    singly = [try_embed_memories(embedder, [each.prepared.text]) for each in wanted]
    return [each.embedded(one[0], why or _lack(one[0])) for each, (one, why) in zip(wanted, singly, strict=True)]


def _lack(vector: Vector | None) -> str | None:
    return UNKNOWN_WORDS if vector is None else None


def known_in(snapshot: Snapshot) -> IsMemory:
    """Return a predicate that is true for the normalised text of an active memory."""

    def known(text: str) -> bool:
        return bool(text) and any(normalised(snapshot.insight(row).content) == text for row in snapshot.twins(text))

    return known
