"""Transcripts of agents' sessions, and conversations, that are imported: each exchange is kept as if a hook had brought
it in its time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.requests import Identities, submit
from mnemond.api.store_access import OpenStore
from mnemond.api.types_interchange import ImportParams
from mnemond.errors import BUSY, rejected
from mnemond.interchange.restore import Report
from mnemond.interchange.sessions import ENDING, SessionExchange
from mnemond.memory.draft import WriteContext
from mnemond.memory.exchanges import Tidied, tidied, turn_key
from mnemond.memory.extraction import known_in
from mnemond.memory.importing import propose_session_exchange
from mnemond.model.changes import MAX_PENDING, QueuedExchange
from mnemond.model.memory import parse_rfc3339
from mnemond.model.passages import CHATS
from mnemond.store import exchanges, imports, passages
from mnemond.store.connection import Connection
from mnemond.text.project_name import Project
from mnemond.text.transcripts import without_echoes

ROOM_S: Final = 120.0
"""Seconds that an import waits for the queue of exchanges to be read: with rules a thousand take half of that."""

NO_DIRECTORY: Final = "it does not say in which directory it was, so its project is not known; it was left out"

PAUSED: Final = "some of it was not to be kept, so only what was kept at its time is"

SAMPLES: Final = 3
"""Texts of which a report shows the beginning."""


class Importing(NamedTuple):
    """One import. `seen`: so far sources of memories, keys of exchanges, and marks of sessions."""

    params: ImportParams
    context: WriteContext
    report: Report
    seen: set[str]

    @property
    def host(self) -> str:
        """The program that the exchanges are of."""
        return self.params.kind.removesuffix(ENDING)

    def is_first(self, mark: str) -> bool:
        """Return True once for each mark."""
        is_first = mark not in self.seen
        self.seen.add(mark)
        return is_first


class _Exchange(NamedTuple):
    """An exchange, and as it would be stored."""

    said: QueuedExchange
    tidy: Tidied


class ExchangeKeeper:
    """Keeps and queues the exchanges of transcripts and conversations."""

    def __init__(
        self,
        identities: Identities,
        projects: Projects,
        on_kept: Callable[[str], None],
        read_queue: Callable[[str], Awaitable[object]],
        is_partial: Callable[[str], bool],
    ) -> None:
        """`on_kept` is called with the name of a store in which exchanges wait now; `read_queue` reads all of them,
        also after the caller was cancelled. `is_partial` returns True for a session, by the host's id of it, of which
        some was not to be kept."""
        self._identities = identities
        self._projects = projects
        self._on_kept = on_kept
        self._read_queue = read_queue
        self._is_partial = is_partial

    async def keep(self, warm: OpenStore, importing: Importing, given: Sequence[SessionExchange]) -> None:
        """Queue exchanges, in their order, without those that a hook or an import brought before. Raises MnemonError:
        BUSY if those that wait already are not read soon, STORAGE."""
        directories = {each.directory for each in given}
        projects = {each: await self._projects.of(each) if each else None for each in directories}
        found = [
            (each, project)
            for each in given
            if (project := self._in_store(each, projects[each.directory], warm, importing)) is not None
        ]
        work = partial(_tidied, warm, importing.host, found, self._identities.now_us())
        ready = await trio.to_thread.run_sync(work, limiter=warm.threads)
        known = await warm.store.read(partial(_known, keys=[each.tidy.exchange.key for each in ready]))
        new: list[_Exchange] = []
        for each in ready:
            said = each.tidy.exchange
            if said.key in known or said.key in importing.seen or not (said.prompt or said.reply):
                importing.report.known["exchange"] += 1
                continue
            if self._is_partial(said.conversation_id):
                _leave_out(importing, said.conversation_id, PAUSED)
                continue
            importing.seen.add(said.key)
            new.append(each)
        if new and not importing.params.dry_run:
            await self._room(warm, len(new))
            await self._queue(warm, importing, new)
        for each in new:
            said, report = each.tidy.exchange, importing.report
            report.added["exchange"] += 1
            if importing.is_first(f"session\0{said.conversation_id}"):
                report.added["conversation" if importing.host in CHATS else "session"] += 1
            report.secrets += bool(each.tidy.redacted)
            if len(report.samples) < SAMPLES:
                report.samples.append(said.prompt[:200])

    @staticmethod
    def _in_store(each: SessionExchange, project: Project | None, warm: OpenStore, importing: Importing) -> str | None:
        """Return the id of the project of an exchange as hooks would mark it, "" for none; None, with a remark for each
        session, if it has no place in this store."""
        mode, why = warm.config.hooks.project, ""
        if importing.host in CHATS:
            return ""
        if project is None and mode != "none":
            why = NO_DIRECTORY
        elif project is not None and mode == "store" and project.store and project.store != warm.store.name:
            why = f"it is of {project.name}, which has a store of its own: --store {project.store}"
        if why:
            _leave_out(importing, each.session, why)
            return None
        return project.id if project is not None and mode == "tag" else ""

    async def _room(self, warm: OpenStore, more: int) -> None:
        """Have the queue read if so many exchanges do not fit into it: beyond its limit the oldest leave it unread.
        Raises MnemonError(BUSY)."""
        if not warm.config.extraction.enabled or warm.config.extraction.engine == "host":
            return  # nothing here reads them
        if (await warm.store.read(exchanges.backlog)).pending + more <= MAX_PENDING:
            return
        with trio.move_on_after(ROOM_S):
            await self._read_queue(warm.store.name)
        if (await warm.store.read(exchanges.backlog)).pending + more <= MAX_PENDING:
            return
        why = f"{MAX_PENDING:,} exchanges wait to be read for memories; what was sent before them is imported"
        raise rejected(BUSY, why, "repeat the import later: it goes on where it stopped")

    async def _queue(self, warm: OpenStore, importing: Importing, new: Sequence[_Exchange]) -> None:
        """Submit all writes before waiting for the first, so that they share a transaction."""
        waiting = []
        for each in new:
            identity = msgspec.structs.replace(
                self._identities.own(warm.store.name, importing.context.triggered_by), op_id=importing.context.op_id
            )
            waiting.append(
                submit(
                    warm,
                    propose_session_exchange(
                        each.said, identity, warm.config.extraction, recorded=warm.store.shared is None
                    ),
                )
            )
        for written in waiting:
            await written
        self._on_kept(warm.store.name)
        if warm.on_missing_vector is not None:
            warm.on_missing_vector(warm.store.name)


def _tidied(warm: OpenStore, host: str, given: Sequence[tuple[SessionExchange, str]], now_us: int) -> list[_Exchange]:
    """Return exchanges as hooks would queue them (blocking)."""
    known, found = known_in(warm.store.snapshot), list[_Exchange]()
    for each, project in given:
        prompt, reply = (without_echoes(text, known) for text in (each.prompt, each.answer))
        said = QueuedExchange(
            host=host, at_us=min(parse_rfc3339(each.at), now_us), conversation_id=each.session, project=project,
            prompt=prompt, reply=reply, key=turn_key("exchange", each.session, each.prompt, each.answer),
        )  # fmt: skip
        found.append(_Exchange(said, tidied(said)))
    return found


def _leave_out(importing: Importing, session: str, why: str) -> None:
    """Say once of a session why something of it is left out."""
    if importing.is_first(f"left out\0{session}"):
        importing.report.note_conflict(session, why)


def _known(connection: Connection, keys: Sequence[str]) -> set[str]:
    """Return those of the keys of which there is an exchange already, from a hook or an import."""
    here = (each for each in keys if exchanges.is_known(connection, each) or passages.is_known(connection, each))
    return {*imports.known(connection, keys), *here}
