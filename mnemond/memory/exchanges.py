"""The exchange queue: queueing an exchange, its facts, and their writes. The extract job runs them in order."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings
from mnemond.extract.facts import Engine, Fact, Message, Remembered
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import parted
from mnemond.memory.extraction import (
    FactWrite,
    Provenance,
    context_of,
    extract_exchange,
    host_facts,
    known_in,
    prepare,
)
from mnemond.memory.extraction import propose as propose_fact
from mnemond.memory.questions.pairs import Allowance
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import (
    LONGEST_NAME,
    LONGEST_PROMPT,
    LONGEST_REPLY,
    AddInsight,
    ChangeSet,
    ExchangeKind,
    QueuedExchange,
    QueueExchange,
    RetireInsight,
    SettleFact,
)
from mnemond.model.memory import DAY_US, EXTRACTED, Insight, Scope, format_us, parse_rfc3339
from mnemond.model.outcomes import HostFact, Queued
from mnemond.model.passages import CHATS, KeepPassage, Passage
from mnemond.model.query import Filter
from mnemond.store import passages
from mnemond.store.exchanges import PendingExchange, digest, is_known, parse_digests
from mnemond.store.operations import Proposal, View
from mnemond.text.secrets import kind_in_name, redact_together
from mnemond.text.tokens import capped
from mnemond.text.transcripts import with_pasted_marked, without_echoes, without_long_code

SUMMARY: Final = "summary"
"""`kind` in the metadata of memories of a summary."""

REQUEST: Final = "extract"
"""`host` of an exchange of the method `extract`, which says for each if its facts may replace others."""

MAX_SUMMARIES: Final = 200
"""Newest memories searched for an older summary of the same conversation."""


def facts_of(
    waiting: PendingExchange,
    snapshot: Snapshot,
    config: Config,
    engine: Engine,
    earlier: Sequence[Message] = (),
    existing: Callable[[str], Sequence[Remembered]] | None = None,
    summary: str = "",
) -> list[Fact]:
    """Extract the facts of an exchange, without echoes of memories and without facts purged since; a summary becomes
    facts as a whole, in parts of the size of a memory. `earlier`: messages before it, which give no facts again.
    For an engine with a model, `existing` finds memories about a text, and `summary` is that of the conversation.
    Blocks as the engine does, for the rules 50 ms.
    """
    purged = parse_digests(waiting.purged)
    return [
        fact
        for fact in _extracted(waiting, snapshot, config, engine, earlier, existing, summary)
        if not purged or digest(fact.content) not in purged
    ]


def _extracted(
    waiting: PendingExchange,
    snapshot: Snapshot,
    config: Config,
    engine: Engine,
    earlier: Sequence[Message],
    existing: Callable[[str], Sequence[Remembered]] | None,
    summary: str,
) -> list[Fact]:
    said, known = waiting.exchange, known_in(snapshot)
    context = context_of(snapshot, said.scope, config.extraction, said.at_us)
    if said.kind == "summary":
        text = without_echoes(said.reply, known)
        given = HostFact(content=text, intent="event", category="context", attributed_to="assistant")
        return list(host_facts([given], msgspec.structs.replace(context, threshold=1)).facts)
    messages = [
        msgspec.structs.replace(each, content=without_echoes(each.content, known)) for each in _messages_of(said)
    ]
    context = msgspec.structs.replace(context, earlier=tuple(earlier), existing=existing, summary=summary)
    return list(extract_exchange(messages, context, window=0, whole=True, engine=engine).facts)


def _messages_of(said: QueuedExchange) -> list[Message]:
    reply = "" if said.host in CHATS else said.reply  # there an assistant explains, drafts and guesses
    texts = (("user", said.prompt), ("assistant", reply))
    return [Message(role, text, said_us=said.at_us) for role, text in texts if text]


decoded: Final = msgspec.json.Decoder(list[Fact]).decode
"""Decode the facts of a row. Raises msgspec.MsgspecError for a damaged row."""


def encoded(facts: Sequence[Fact]) -> str:
    """Encode facts for a row of the queue."""
    return msgspec.json.encode(facts).decode()


def write_of(
    fact: Fact, waiting: PendingExchange, snapshot: Snapshot, config: Config, allowance: Allowance | None = None
) -> FactWrite:
    """Prepare a fact with its provenance, without its vector. That of an agent's session is for every session: the
    host's session is stored as the conversation. `allowance`: what the run of the job may still replace."""
    said, is_summary = waiting.exchange, waiting.exchange.kind == "summary"
    provenance = Provenance(
        conversation_id=said.conversation_id or None,
        resolves=said.resolves and (said.host == REQUEST or config.extraction.auto_resolve_conflicts),
        scope=said.scope,
        metadata={"host": said.host} | ({"kind": SUMMARY} if is_summary else {}),
        allowance=allowance,
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
    """Propose the write of one fact, which is removed from the queue in the same transaction."""
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
    """Retire the memories of an earlier summary of the conversation, which the new one includes."""
    added = next((change.insight for change in reached.changes if isinstance(change, AddInsight)), None)
    if added is None or not conversation:
        return reached
    wanted = Filter(channel=EXTRACTED, category="context", all_sessions=True)
    older = [it for it in snapshot.newest(wanted, MAX_SUMMARIES) if _is_summary_of(conversation, it)]
    apart = [change for it in older for change in parted(snapshot, it)]
    gone = [RetireInsight(it.id, "superseded", added.id, added.valid_from, moves=False) for it in older]
    return msgspec.structs.replace(reached, changes=(*reached.changes, *apart, *gone))


def _is_summary_of(conversation: str, it: Insight) -> bool:
    if it.conversation_id != conversation or it.pinned or it.is_enforced or it.scope.in_project(None) != Scope():
        return False
    return msgspec.json.decode(it.metadata, type=dict[str, object]).get("kind") == SUMMARY


# The context of an exchange: what was said before it in its conversation, from the record of sessions.


MAX_EARLIER: Final = 2_000
"""Characters of an earlier message: context, not a source of facts."""

EARLIER_US: Final = DAY_US
"""How long an exchange is context of the next ones."""


def earlier_messages(said: Sequence[Passage], at_us: int, window: int) -> list[Message]:
    """Return the last `window` messages of exchanges of the day before `at_us`, shortened."""
    found = [
        Message(role, shortened(text, MAX_EARLIER), said_us=said_us)
        for each in said
        if at_us - (said_us := parse_rfc3339(each.said_at)) <= EARLIER_US
        for role, text in (("user", each.prompt), ("assistant", each.answer))
        if text
    ]
    return found[max(0, len(found) - window) :]


# Queueing an exchange: shortened, redacted, deduplicated.


METHOD: Final = "queue"
"""Method name of queueing operations."""

MARGIN: Final = 4_096
"""Characters on either side of a cut that are redacted before the final cut, so that no part of a secret remains. A
private key of 4,096 bits has 3,300."""

GAP: Final = "\n…\n"
"""Replaces the middle of a text."""


class Tidied(msgspec.Struct, frozen=True):
    """An exchange to store, and the kinds of secrets that were redacted."""

    exchange: QueuedExchange
    redacted: tuple[str, ...]


def shortened(text: str, most: int) -> str:
    """Shorten a text to `most` characters: keep its beginning and end, which carry the subject of a message, with `GAP`
    between them. Cuts between words if possible."""
    if len(text) <= most:
        return text
    half = (most - len(GAP)) // 2
    head, tail = text[:half], text[-half:]
    words_end = max(head.rfind(" "), head.rfind("\n"))
    words_begin = min((at for at in (tail.find(" "), tail.find("\n")) if at >= 0), default=-1)
    return (head[:words_end] if words_end > 0 else head) + GAP + tail[words_begin + 1 :]


def tidied(exchange: QueuedExchange) -> Tidied:
    """Shorten and redact an exchange, and hash its key. Takes up to 7 ms."""
    rough = (_rough(exchange.prompt, LONGEST_PROMPT), _rough(exchange.reply, LONGEST_REPLY))
    (prompt, reply), kinds = redact_together(rough)
    prompt, reply = shortened(prompt, LONGEST_PROMPT), shortened(reply, LONGEST_REPLY)
    conversation, project = _name(exchange.conversation_id), _name(exchange.project)
    said = (exchange.key,) if exchange.key else (exchange.kind, conversation, prompt, reply)
    tidy = msgspec.structs.replace(
        exchange, host=_name(exchange.host), conversation_id=conversation, project=project, prompt=prompt, reply=reply,
        key=_hash(exchange.host, *said),
    )  # fmt: skip
    return Tidied(tidy, tuple(sorted(kinds)))


def _rough(text: str, most: int) -> str:
    """Return a text to redact: a little longer than what is kept of it."""
    return unicodedata.normalize("NFC", capped(shortened(text, most + 2 * MARGIN).replace("\0", " ")))


def _name(name: str) -> str:
    """Return a name to store: "" if it is a secret, since redacted names of different people would be equal."""
    kept = name[:LONGEST_NAME].replace("\0", " ").strip()
    return "" if kind_in_name(kept) else kept


def _hash(*parts: str) -> str:
    """Return a key that does not reveal its parts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


KEYED: Final = 2_000
"""Characters of each text of a turn by which it is known."""


def turn_key(kind: ExchangeKind, conversation: str, prompt: str, reply: str) -> str:
    """Return the key of a turn, from its texts before anything of them is left out. Spaces make no difference: a hook
    and the transcript of the host lay them out differently."""
    texts = (" ".join(text[: 2 * KEYED].split())[:KEYED] for text in (prompt, reply))
    return "\0".join((kind, conversation, *texts))


def propose_queueing(
    exchange: QueuedExchange, identity: WriteContext, settings: ExtractionSettings, *, recorded: bool = True
) -> Proposal:
    """Propose to keep an exchange of a session as a passage, and to queue it if facts are to be extracted, or a request
    asks for them. It is tidied in the writer's thread, off the event loop. `recorded`: false in a store that is shared:
    what one person said to an agent is not for all who read it."""
    return identity.proposal(METHOD, partial(_decide_queueing, exchange, identity, settings, recorded))


def _decide_queueing(
    exchange: QueuedExchange, identity: WriteContext, settings: ExtractionSettings, recorded: bool, view: View
) -> ChangeSet:
    tidy = tidied(exchange)
    said, key = tidy.exchange, tidy.exchange.key
    known = is_known(view.connection, key) or passages.is_known(view.connection, key)
    kept = not known and bool(said.prompt.strip() or said.reply.strip())
    outcome = Queued(kept=kept, redacted=list(tidy.redacted), op_id=identity.op_id)
    requested = said.host == REQUEST
    queue = (QueueExchange(identity.id, said),) if kept and (settings.enabled or requested) else ()
    record = (KeepPassage(_passage(identity.id, said), key),) if kept and recorded and not requested else ()
    change_set = identity.change_set(METHOD, (), outcome, operation="")
    return msgspec.structs.replace(change_set, queue=queue, passages=record)


def _passage(passage_id: str, said: QueuedExchange) -> Passage:
    return Passage(
        id=passage_id, said_at=format_us(said.at_us), host=said.host, conversation_id=said.conversation_id,
        project=said.project, prompt=with_pasted_marked(without_long_code(said.prompt)).strip(),
        answer=without_long_code(said.reply).strip(), kind=said.kind, user_id=said.user_id,
        session_id=said.session_id, agent_id=said.agent_id,
    )  # fmt: skip
