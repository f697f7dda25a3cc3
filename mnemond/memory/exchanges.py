"""A queued exchange becomes facts, and each fact a write: everything but the order of things, which a job sees to."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.config.settings import Config
from mnemond.extract.facts import Context, Engine, Fact, Message
from mnemond.extract.rules import HostFact
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import parted
from mnemond.memory.draft import WriteContext, WriteRules
from mnemond.memory.extraction import (
    CHANNEL,
    FactWrite,
    Provenance,
    context_of,
    extract_exchange,
    host_facts,
    known_in,
    prepare,
)
from mnemond.memory.extraction import propose as propose_fact
from mnemond.model.changes import (
    LONGEST_NAME,
    LONGEST_PROMPT,
    LONGEST_REPLY,
    AddInsight,
    ChangeSet,
    QueuedExchange,
    QueueExchange,
    RetireInsight,
    SettleFact,
)
from mnemond.model.memory import MAX_TAG, Insight
from mnemond.model.outcomes import Queued
from mnemond.model.query import Filter
from mnemond.store.exchanges import PendingExchange, digest, is_known, parse_digests
from mnemond.store.operations import Proposal, View
from mnemond.text.secrets import find_secrets, redact
from mnemond.text.tokens import capped
from mnemond.text.transcripts import without_echoes

SUMMARY: Final = "summary"
"""What the metadata of a summary's memories say they are."""

MAX_SUMMARIES: Final = 200
"""Memories of what conversations were about, newest first, among which an older summary is looked for."""


def facts_of(waiting: PendingExchange, snapshot: Snapshot, config: Config, engine: Engine) -> list[Fact]:
    """What of an exchange is worth remembering and was not told by memory itself, also by what was written since it was
    queued, nor purged since; of a summary all of it, in parts that a memory can hold. Blocks as the engine does, for
    the rules 50 ms."""
    purged = parse_digests(waiting.purged)
    return [
        fact for fact in _said(waiting, snapshot, config, engine) if not purged or digest(fact.content) not in purged
    ]


def _said(waiting: PendingExchange, snapshot: Snapshot, config: Config, engine: Engine) -> list[Fact]:
    said, known = waiting.exchange, known_in(snapshot)
    context = context_of(snapshot, Provenance().scope, config.extraction, said.at_us)
    if said.kind == "summary":
        return _summarised(without_echoes(said.reply, known), context)
    told = (("user", said.prompt), ("assistant", said.reply))
    messages = [Message(role, without_echoes(text, known), said_us=said.at_us) for role, text in told if text]
    window = config.extraction.message_window
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


def write_of(fact: Fact, waiting: PendingExchange, snapshot: Snapshot, config: Config) -> FactWrite:
    """A fact made ready, with where it comes from; everything but its vector. It is for every session: the host's own
    is the conversation."""
    said, is_summary = waiting.exchange, waiting.exchange.kind == "summary"
    provenance = Provenance(
        conversation_id=said.conversation_id or None,
        resolves=config.extraction.auto_resolve_conflicts,
        tags=(said.project[:MAX_TAG],) if said.project else (),
        metadata={"host": said.host} | ({"kind": SUMMARY} if is_summary else {}),
    )
    known = snapshot.entity_spelling
    return prepare(fact, provenance, waiting.exchange.at_us, known, config, as_it_is=is_summary)


def propose_exchange_reading(
    write: FactWrite,
    waiting: PendingExchange,
    settled: SettleFact,
    identity: WriteContext,
    rules: WriteRules,
    made_by: str | None,
) -> Proposal:
    """The write of one fact, in whose transaction the queue lets go of it; its outcome is `Remembered`."""
    proposal = propose_fact(write, identity, rules)
    decide = partial(_decide_exchange_reading, proposal, waiting, settled)
    return proposal._replace(decide=decide, made_by=made_by)


def _decide_exchange_reading(
    proposal: Proposal, waiting: PendingExchange, settled: SettleFact, view: View
) -> ChangeSet:
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
    older = [it for it in snapshot.newest(wanted, MAX_SUMMARIES) if _is_summary_of(conversation, it)]
    apart = [change for it in older for change in parted(snapshot, it)]
    gone = [RetireInsight(it.id, "superseded", added.id, added.valid_from, moves=False) for it in older]
    return msgspec.structs.replace(reached, changes=(*reached.changes, *apart, *gone))


def _is_summary_of(conversation: str, it: Insight) -> bool:
    if it.conversation_id != conversation or it.pinned or it.scope != Provenance().scope:
        return False
    return msgspec.json.decode(it.metadata, type=dict[str, object]).get("kind") == SUMMARY


# Queueing what was said in a turn: cut to a bound, without secrets, once.


METHOD: Final = "queue"
"""What operations are called that put something into the queue."""

MARGIN: Final = 4_096
"""Characters on either side of a cut that are looked through for secrets before they go: what the first cut took a part
of, the second one takes all of. A private key of 4,096 bits has 3,300."""

GAP: Final = "\n…\n"
"""Where the middle of a text was."""


class Tidied(msgspec.Struct, frozen=True):
    """An exchange as it may be stored, and the kinds of secrets that it had."""

    exchange: QueuedExchange
    redacted: tuple[str, ...]


def shortened(text: str, most: int) -> str:
    """`text`, or, where it is longer than `most` characters, its beginning and its end with `GAP` between them: what a
    message is about stands at its ends. Each end stops between two words where there are any."""
    if len(text) <= most:
        return text
    half = (most - len(GAP)) // 2
    head, tail = text[:half], text[-half:]
    words_end = max(head.rfind(" "), head.rfind("\n"))
    words_begin = min((at for at in (tail.find(" "), tail.find("\n")) if at >= 0), default=-1)
    return (head[:words_end] if words_end > 0 else head) + GAP + tail[words_begin + 1 :]


def tidied(exchange: QueuedExchange) -> Tidied:
    """`exchange` within its bounds and without secrets, its key hashed. Takes up to 7 ms."""
    kinds: dict[str, None] = {}
    prompt = _clean(exchange.prompt, LONGEST_PROMPT, kinds)
    reply = _clean(exchange.reply, LONGEST_REPLY, kinds)
    conversation, project = _name(exchange.conversation_id), _name(exchange.project)
    said = (exchange.key,) if exchange.key else (exchange.kind, conversation, prompt, reply)
    tidy = msgspec.structs.replace(
        exchange, host=_name(exchange.host), conversation_id=conversation, project=project, prompt=prompt, reply=reply,
        key=_hash(exchange.host, *said),
    )  # fmt: skip
    return Tidied(tidy, tuple(sorted(kinds)))


def _clean(text: str, most: int, kinds: dict[str, None]) -> str:
    rough = shortened(text, most + 2 * MARGIN)
    found = redact(unicodedata.normalize("NFC", capped(rough.replace("\0", " "))))
    kinds.update(dict.fromkeys(found.kinds))
    return shortened(found.text, most)


def _name(name: str) -> str:
    """A name as it may be stored: none where it is a secret, since redacted ones of different people are the same."""
    kept = name[:LONGEST_NAME].replace("\0", " ").strip()
    return "" if find_secrets(kept) else kept


def _hash(*parts: str) -> str:
    """A key that tells nothing of what it was made from."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def propose_queueing(exchange: QueuedExchange, identity: WriteContext) -> Proposal:
    """The write. It is tidied up in the writer's thread, so that the event loop need not wait for it."""
    return identity.proposal(METHOD, partial(_decide_queueing, exchange, identity))


def _decide_queueing(exchange: QueuedExchange, identity: WriteContext, view: View) -> ChangeSet:
    tidy = tidied(exchange)
    known = is_known(view.connection, tidy.exchange.key)
    empty = not (tidy.exchange.prompt.strip() or tidy.exchange.reply.strip())
    kept = not (known or empty)
    outcome = Queued(kept=kept, redacted=list(tidy.redacted), op_id=identity.op_id)
    queue = (QueueExchange(identity.id, tidy.exchange),) if kept else ()
    return msgspec.structs.replace(identity.change_set(METHOD, (), outcome, operation=""), queue=queue)
