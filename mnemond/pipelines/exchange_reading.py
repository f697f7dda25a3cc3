"""A queued exchange becomes facts, and each fact a write: everything but the order of things, which a job sees to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.extract.fact import Context, Engine, Fact, Message
from mnemond.extract.host import HostFact
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddInsight, ChangeSet, RetireInsight, SettleFact
from mnemond.model.insight import Insight
from mnemond.model.policy import WritePolicy
from mnemond.model.recall import Filter
from mnemond.pipelines.draft import MAX_TAG
from mnemond.pipelines.extraction import (
    CHANNEL,
    FactWrite,
    Provenance,
    context_of,
    extract_exchange,
    host_facts,
    prepare,
)
from mnemond.pipelines.extraction import propose as propose_fact
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.known_lines import known_in
from mnemond.pipelines.limits import Limits
from mnemond.pipelines.pairing import parted
from mnemond.store.exchanges import Waiting, digest, digests_of
from mnemond.store.proposal import Proposal, View
from mnemond.text.echoes import without_echoes

SUMMARY: Final = "summary"
"""What the metadata of a summary's memories say they are."""

MOST_SUMMARIES: Final = 200
"""Memories of what conversations were about, newest first, among which an older summary is looked for."""


def facts_of(waiting: Waiting, snapshot: Snapshot, policy: WritePolicy, engine: Engine) -> list[Fact]:
    """What of an exchange is worth remembering and was not told by memory itself, also by what was written since it was
    queued, nor purged since; of a summary all of it, in parts that a memory can hold. Blocks as the engine does, for
    the rules 50 ms."""
    purged = digests_of(waiting.purged)
    return [
        fact for fact in _said(waiting, snapshot, policy, engine) if not purged or digest(fact.content) not in purged
    ]


def _said(waiting: Waiting, snapshot: Snapshot, policy: WritePolicy, engine: Engine) -> list[Fact]:
    said, known = waiting.exchange, known_in(snapshot)
    context = context_of(snapshot, Provenance().scope, policy.extraction, said.at_us)
    if said.kind == "summary":
        return _summarised(without_echoes(said.reply, known), context)
    told = (("user", said.prompt), ("assistant", said.reply))
    messages = [Message(role, without_echoes(text, known), said_us=said.at_us) for role, text in told if text]
    window = policy.extraction.message_window
    return list(extract_exchange(messages, context, window=window, engine=engine).facts)


def _summarised(text: str, context: Context) -> list[Fact]:
    given = HostFact(content=text, intent="event", category="context", attributed_to="assistant")
    return list(host_facts([given], msgspec.structs.replace(context, threshold=1)).facts)


_facts = msgspec.json.Decoder(list[Fact])


def encoded(facts: Sequence[Fact]) -> str:
    """Facts as they stand in a row of the queue."""
    return msgspec.json.encode(facts).decode()


def decoded(text: str) -> list[Fact]:
    """Facts of a row. Raises msgspec.MsgspecError for a row that is damaged."""
    return _facts.decode(text)


def write_of(fact: Fact, waiting: Waiting, snapshot: Snapshot, policy: WritePolicy) -> FactWrite:
    """A fact made ready, with where it comes from; everything but its vector. It is for every session: the host's own
    is the conversation."""
    said, is_summary = waiting.exchange, waiting.exchange.kind == "summary"
    provenance = Provenance(
        conversation_id=said.conversation_id or None,
        resolves=policy.extraction.auto_resolve_conflicts,
        tags=(said.project[:MAX_TAG],) if said.project else (),
        metadata={"host": said.host} | ({"kind": SUMMARY} if is_summary else {}),
    )
    known = snapshot.entity_spelling
    return prepare(fact, provenance, waiting.exchange.at_us, known, policy, as_it_is=is_summary)


def propose(
    write: FactWrite, waiting: Waiting, settled: SettleFact, identity: Identity, limits: Limits, made_by: str | None
) -> Proposal:
    """The write of one fact, in whose transaction the queue lets go of it; its outcome is `Remembered`."""
    proposal = propose_fact(write, identity, limits)
    decide = partial(_decide, proposal, waiting, settled)
    return proposal._replace(decide=decide, made_by=made_by)


def _decide(proposal: Proposal, waiting: Waiting, settled: SettleFact, view: View) -> ChangeSet:
    reached = proposal.decide(view)
    if waiting.exchange.kind == "summary" and waiting.written == 0:
        reached = _instead_of_older(reached, waiting.exchange.conversation_id, view.snapshot)
    return msgspec.structs.replace(reached, queue=(settled,))


def _instead_of_older(reached: ChangeSet, conversation: str, snapshot: Snapshot) -> ChangeSet:
    """With what an earlier summary of the conversation said out of recall: the new one was made of it as well."""
    added = next((change.insight for change in reached.changes if isinstance(change, AddInsight)), None)
    if added is None or not conversation:
        return reached
    wanted = Filter(channel=CHANNEL, category="context", all_sessions=True)
    older = [it for it in snapshot.newest(wanted, MOST_SUMMARIES) if _is_summary_of(conversation, it)]
    apart = [change for it in older for change in parted(snapshot, it)]
    gone = [RetireInsight(it.id, "superseded", added.id, added.valid_from, moves=False) for it in older]
    return msgspec.structs.replace(reached, changes=(*reached.changes, *apart, *gone))


def _is_summary_of(conversation: str, it: Insight) -> bool:
    if it.conversation_id != conversation or it.pinned or it.scope != Provenance().scope:
        return False
    return msgspec.json.decode(it.metadata, type=dict[str, object]).get("kind") == SUMMARY
