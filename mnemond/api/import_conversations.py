"""Conversations that are imported: what a person says in them is read for facts as in an agent's session, and each fact
is remembered with the time of its message, under the operation of the import.

What an assistant says is context alone: in a session it reports on the project it works in, here it may say anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, cast

import msgspec
import trio

from mnemond.api.extract import DISABLED, HOST_ALONE
from mnemond.api.requests import Identities, submit
from mnemond.api.store_access import OpenStore
from mnemond.config.settings import Config
from mnemond.extract.facts import Context, Engine, Extraction, Message
from mnemond.extract.orders import ORDER
from mnemond.extract.quotes import RuleEngine
from mnemond.interchange.conversations import Exchange
from mnemond.interchange.restore import MAX_NAMED, Conflict, Report
from mnemond.memory import extraction
from mnemond.memory.draft import WriteContext, problems_of
from mnemond.memory.extraction import FactWrite, Provenance, embedded
from mnemond.memory.importing import propose_imported_fact
from mnemond.memory.model_reading import ModelEngine
from mnemond.model.memory import IMPORTED, Scope, parse_rfc3339
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import Filter
from mnemond.recall.context import known_memories
from mnemond.store import imports
from mnemond.text.secrets import find_secrets, redact

MAX_CONTEXTS: Final = 100
"""Conversations whose last messages are kept as context of what is read next."""

MAX_EARLIER: Final = 4
"""Messages of such a context: two exchanges. Reading takes longer with each, and a pronoun seldom reaches further."""

SAMPLES: Final = 3
"""Texts of which a report shows the beginning."""

HAS_ORDERS: Final = "a part of this conversation gives orders to a program; it was left out"

MakeRoom = Callable[[OpenStore, int], Awaitable[OpenStore]]
"""Makes room for so many memories; returns the store with its settings then. Raises MnemonError."""


class Progress:
    """The conversations of one import between two of its messages."""

    def __init__(self, kind: str, report: Report, context: WriteContext, *, dry_run: bool) -> None:
        self.kind = kind
        self.report = report
        self.context = context
        self.dry_run = dry_run
        self.seen: set[str] = set()
        """Exchanges and facts of this import so far."""
        self.conversations: set[str] = set()
        self.earlier: dict[str, tuple[Message, ...]] = {}
        self.left_out = False
        self.superseded = 0
        """Memories of the import that took the place of others of it."""

    def count(self, name: str, number: int = 1) -> None:
        self.report.added[name] = self.report.added.get(name, 0) + number

    def conflict(self, name: str, why: str) -> None:
        self.report.conflicts_found += 1
        if len(self.report.conflicts) < MAX_NAMED:
            self.report.conflicts.append(Conflict(name, why))

    def heard(self, exchange: Exchange, messages: Sequence[Message], window: int) -> None:
        """Keep messages, without secrets, as context of the next ones of their conversation."""
        before = self.earlier.pop(exchange.conversation, ())
        kept = (*before, *extraction.cleaned(messages[-MAX_EARLIER:]))[-min(window, MAX_EARLIER) :] if window else ()
        self.earlier[exchange.conversation] = kept
        if len(self.earlier) > MAX_CONTEXTS:
            del self.earlier[next(iter(self.earlier))]


class _Found(NamedTuple):
    """The facts of an exchange by their keys. `asked`: of a dry run, a model would be asked; `unread`: one gave no
    answer."""

    writes: dict[str, FactWrite]
    asked: bool
    unread: bool
    ordering: bool
    secret: bool


class _ByRules:
    """What the rules of an engine with a model find, without a call. `asked`: there would be one."""

    def __init__(self, engine: ModelEngine) -> None:
        self._engine = engine
        self.asked = False

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        found, rest = self._engine.by_rules(messages, context)
        self.asked = bool(rest)
        return found


class ConversationReader:
    """Reads conversations for facts, and remembers these."""

    def __init__(self, identities: Identities, engine: Callable[[Config], Engine]) -> None:
        """`engine` returns what reads conversations for a store with these settings."""
        self._identities = identities
        self._engine = engine
        self._model_thread = trio.CapacityLimiter(1)

    async def read(
        self, warm: OpenStore, progress: Progress, exchanges: Sequence[Exchange], make_room: MakeRoom
    ) -> None:
        """Read exchanges, in their order. One that was read by an earlier import is context alone. Raises MnemonError
        if nothing can be written, or if there is no room."""
        settings, report = warm.config.extraction, progress.report
        if not settings.enabled or settings.engine == "host":
            if not progress.left_out:
                progress.left_out = True
                progress.conflict("conversations", HOST_ALONE if settings.enabled else DISABLED)
            return
        keys = [each.key(progress.kind) for each in exchanges]
        known = await warm.store.read(partial(imports.known, sources=keys))
        engine, done = self._engine(warm.config), list[str]()
        for key, exchange in zip(keys, exchanges, strict=True):
            now_us = self._identities.now_us()
            messages = _messages_of(exchange, now_us)
            if key in known or key in progress.seen:
                report.known["exchange"] = report.known.get("exchange", 0) + 1
            elif any(each.role == "user" for each in messages):
                progress.seen.add(key)
                limiter = warm.threads if isinstance(engine, RuleEngine) or progress.dry_run else self._model_thread
                work = partial(_read, warm, progress, exchange, key, messages, engine, now_us)
                found = await trio.to_thread.run_sync(work, limiter=limiter)
                warm = await self._take(warm, progress, exchange, found, make_room)
                if not found.unread:
                    done.append(key)
            progress.heard(exchange, messages, settings.message_window)
        if done and not progress.dry_run:
            await warm.store.rewrite(
                lambda it: imports.note(it, progress.context.op_id, [(each, None) for each in done])
            )

    async def _take(
        self, warm: OpenStore, progress: Progress, exchange: Exchange, found: _Found, make_room: MakeRoom
    ) -> OpenStore:
        report = progress.report
        progress.count("exchange")
        if exchange.conversation not in progress.conversations:
            progress.conversations.add(exchange.conversation)
            progress.count("conversation")
        report.calls += found.asked
        report.unread += found.unread
        report.secrets += found.secret
        if found.ordering:
            progress.conflict(exchange.conversation, HAS_ORDERS)
        known = await warm.store.read(partial(imports.known, sources=list(found.writes)))
        new = {key: each for key, each in found.writes.items() if key not in known and key not in progress.seen}
        progress.seen.update(new)
        for each in new.values():
            if len(report.samples) < SAMPLES:
                report.samples.append(each.content[:200])
        if progress.dry_run:
            report.active += len(new)
            if new:
                progress.count("memory", len(new))
            return warm
        if new:
            warm = await make_room(warm, len(new))
            await self._write(warm, progress, new)
        return warm

    async def _write(self, warm: OpenStore, progress: Progress, new: dict[str, FactWrite]) -> None:
        """Submit all writes before waiting for the first, so that they share a transaction."""
        report, waiting = progress.report, []
        for key, write in new.items():
            identity = msgspec.structs.replace(
                self._identities.own(warm.store.name, progress.context.triggered_by), op_id=progress.context.op_id
            )
            waiting.append(submit(warm, propose_imported_fact(write, identity, warm.rules, key)))
        results = [cast("RememberResult", await each) for each in waiting]
        made = [each.id for each in results if each.action in ("added", "replaced", "merged") and each.id is not None]
        added = sum(each.action == "added" for each in results)
        report.active += added
        progress.superseded += len(made) - added
        if known := sum(each.action == "skipped" for each in results):
            report.known["memory"] = report.known.get("memory", 0) + known
        warm.store.imports.add(made, progress.context.now_us)


def _messages_of(exchange: Exchange, now_us: int) -> list[Message]:
    return [Message(each.role, each.text, said_us=_said_us(each.at, now_us), id=each.id) for each in exchange.turns]


def _said_us(at: str | None, now_us: int) -> int | None:
    """Return a time in microseconds since 1970; None for one that cannot be, so that the import's is taken."""
    try:
        found = 0 if at is None else parse_rfc3339(at)
    except ValueError:
        return None
    return found if 0 < found <= now_us else None


def _read(
    warm: OpenStore,
    progress: Progress,
    exchange: Exchange,
    key: str,
    messages: Sequence[Message],
    engine: Engine,
    now_us: int,
) -> _Found:
    """Find and embed the facts of an exchange (blocking). A dry run asks no model."""
    said = [each for each in messages if each.role == "user"]
    snapshot, scope = warm.store.snapshot, Scope()
    observed_us = next((each.said_us for each in reversed(said) if each.said_us is not None), now_us)
    context = extraction.context_of(snapshot, scope, warm.config.extraction, observed_us)
    existing = partial(known_memories, snapshot, Filter(scope=scope, now_us=now_us))
    earlier = progress.earlier.get(exchange.conversation, ())
    context = msgspec.structs.replace(context, earlier=earlier, existing=existing)
    reader = _ByRules(engine) if progress.dry_run and isinstance(engine, ModelEngine) else engine
    found = extraction.extract_exchange(said, context, window=0, whole=True, engine=reader)
    named = exchange.conversation if not problems_of({"conversation_id": exchange.conversation}) else None
    provenance = Provenance(
        channel=IMPORTED, conversation_id=named, metadata={"host": progress.kind, "title": redact(exchange.title).text}
    )
    writes = [
        extraction.prepare(each, provenance, now_us, snapshot.entity_spelling, warm.config) for each in found.facts
    ]
    kept = [each for each in writes if not each.prepared.discarded]
    if not progress.dry_run:
        kept = embedded(warm.embedder, kept, warm.embed_error)
    return _Found(
        writes={_fact_key(key, each.content): each for each in kept},
        asked=isinstance(reader, _ByRules) and reader.asked,
        unread=bool(found.unread),
        ordering=any(each.reason == ORDER for each in found.dropped),
        secret=any(find_secrets(each.content) for each in said),
    )


def _fact_key(key: str, content: str) -> str:
    digest = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{key}/{digest}"
