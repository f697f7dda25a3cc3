"""Methods that write memories from lines: import.run and import.accept.

The client reads the file and hands its lines over in the spool: no path ever comes from a client. Lines of an export
are restored in one transaction.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.remember import prepared_draft, similarity_with
from mnemond.api.requests import Identities, Progress, from_client, submit
from mnemond.api.settings import StoreSettings
from mnemond.api.spool import taken
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_interchange import ImportAcceptParams, ImportAcceptResult, ImportParams, ImportResult
from mnemond.errors import AMBIGUOUS, BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, MnemonError, rejected
from mnemond.interchange.items import Item, ItemLink
from mnemond.interchange.recognise import KINDS
from mnemond.interchange.restore import MAX_NAMED, Record, Report, restore
from mnemond.interchange.sessions import ENDING, Line, SessionExchange
from mnemond.memory.draft import Draft, problems_of
from mnemond.memory.exchanges import Tidied, tidied, turn_key
from mnemond.memory.extraction import known_in
from mnemond.memory.importing import ImportedLink, propose_import, propose_session_exchange
from mnemond.memory.links import stored_metadata
from mnemond.memory.remember import Prepared, decide
from mnemond.memory.write import WriteContext
from mnemond.model.changes import MAX_PENDING, QueuedExchange, Vector
from mnemond.model.memory import IMPORTED, Scope, format_us, parse_rfc3339
from mnemond.model.outcomes import ImportContradiction, RememberResult
from mnemond.model.passages import CHATS
from mnemond.store import exchanges, history, imports, operations, passages
from mnemond.store.connection import Connection
from mnemond.store.imports import Import
from mnemond.text.project_name import Project
from mnemond.text.secrets import redact
from mnemond.text.transcripts import without_echoes
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import plural

MAX_IMPORTS: Final = 2
"""Imports at the same time, of all stores."""

MAX_BYTES: Final = 1 << 32
"""Bytes of one import."""

ITEMS_AT_ONCE: Final = 50
"""Memories that are written together: some tens of milliseconds."""

EXCHANGES_AT_ONCE: Final = 10
"""Parts of conversations that are."""

MAX_LINE: Final = 32 << 20
"""Bytes of a line: an operation that moved every link of a well-connected memory has some megabytes."""

SHORTEST: Final = 6
"""Characters of an op_id that name an import."""

MAX_ITEM: Final = 1 << 20
"""Bytes of a line of a memory, or of a part of a conversation: the longest text and the largest metadata have a tenth
of that."""

_line = msgspec.json.Decoder(Line)


def _no_item(why: str) -> MnemonError:
    sentence = f"this is no line of a memory to import: {why}"
    return MnemonError(
        INVALID_PARAMS,
        sentence,
        hint="memories before it may be imported already",
        outcome="rejected",
    )


def _draft(item: Item, *, no_diff: bool) -> Draft:
    return Draft(
        content=item.content, category=item.category, importance=item.importance, weighed=False, tags=item.tags,
        entities=item.entities, source=item.origin, channel=IMPORTED, scope=Scope(item.user_id, None, item.agent_id),
        created_at=item.created_at, metadata=item.metadata, no_diff=no_diff,
    )  # fmt: skip


def _link(link: ItemLink) -> ImportedLink:
    reason = {"reason": link.reason} if link.reason else None
    metadata, too_large = stored_metadata(reason, None, "host", allow_secret=False)
    if too_large:
        metadata, _ = stored_metadata(None, None, "host", allow_secret=False)
    return ImportedLink(link.other, link.edge_type, link.weight, metadata.text, link.outgoing)


def _look_at(warm: OpenStore, drafts: list[Draft], identity: WriteContext, report: Report) -> None:
    """Decide on memories as their import would, and report that; nothing is written (blocking)."""
    for draft in drafts:
        prepared, snapshot = prepared_draft(warm, draft, identity.now_us), warm.store.snapshot
        similarity = similarity_with(warm, snapshot, cast("Vector | None", prepared.vector))
        outcome = cast("RememberResult", decide(prepared, identity, warm.rules, snapshot, similarity).outcome)
        if outcome.action in ("skipped", "discarded"):
            report.added["memory"] -= 1
            report.known["memory"] += 1
            continue
        report.active += 1
        if outcome.action != "replaced" or (row := snapshot.row_of(outcome.replaced_id or "")) is None:
            continue
        report.contradictions_found += 1
        if len(report.contradictions) < MAX_NAMED:
            here = snapshot.insight(row)
            report.contradictions.append(ImportContradiction(here.id, here.content[:200], draft.content[:200]))


class _DryRunError(MnemonError):
    """A dry run has its report: the transaction is rolled back."""

    def __init__(self, report: Report) -> None:
        super().__init__(INVALID_PARAMS, "a dry run writes nothing", outcome="rejected")
        self.report = report


def _lines(file: IO[bytes], progress: Progress) -> Iterator[bytes]:
    """Yield the lines of an export, without their line breaks. Raises MnemonError(TOO_LARGE) for an endless one."""
    file.seek(0)
    number = done = 0
    while line := file.readline(MAX_LINE + 1):
        number, done = number + 1, done + len(line)
        if len(line) > MAX_LINE:
            sentence = f"line {number:,} has more than {MAX_LINE:,} bytes; nothing was imported"
            raise MnemonError(TOO_LARGE, sentence, outcome="rejected")
        progress.note(done)
        yield line.rstrip(b"\n")


def _next_items(file: IO[bytes]) -> list[Line]:
    """Return what is in the next lines, [] at the end (blocking). Raises MnemonError(INVALID_PARAMS)."""
    found: list[Line] = []
    most = ITEMS_AT_ONCE
    while len(found) < most and (line := file.readline(MAX_ITEM + 1)):
        if not line.endswith(b"\n"):
            raise _no_item(f"it has more than {MAX_ITEM:,} bytes" if len(line) > MAX_ITEM else "it has no end")
        try:
            found.append(_line.decode(line))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _no_item(str(error)) from None
        if not isinstance(found[-1], Item):
            most = EXCHANGES_AT_ONCE
    return found


class ImportHandlers:
    """import.run and import.accept."""

    def __init__(
        self,
        data_dir: Path,
        open_stores: OpenStores,
        identities: Identities,
        settings: StoreSettings,
        projects: Projects,
        read_queue: Callable[[str], Awaitable[object]],
        on_kept: Callable[[str], None] = lambda _: None,
        is_partial: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`on_kept` is called with the name of a store in which exchanges wait to be read, `read_queue` to have them
        read now. `is_partial`: as `ExchangeKeeper` takes it."""
        self._data_dir = data_dir
        self._open_stores = open_stores
        self._identities = identities
        self._settings = settings
        self._exchanges = ExchangeKeeper(identities, projects, on_kept, read_queue, is_partial)
        self._turns = trio.CapacityLimiter(MAX_IMPORTS)

    @handles("import.run", in_task=True)
    async def run(self, call: Call, params: ImportParams) -> ImportResult:
        """Import what a file has. Raises MnemonError: INVALID_PARAMS for an unknown kind or a line that does not fit,
        NOT_FOUND, TOO_LARGE, STORAGE, BUSY; UNAVAILABLE when the client has ended, and of an export nothing is written
        then."""
        if params.kind not in KINDS:
            kinds = f"it imports: {', '.join(KINDS)}"
            raise MnemonError(INVALID_PARAMS, f"there is no import of {params.kind!a}", hint=kinds, outcome="rejected")
        warm = await self._open_stores.use(params.store)
        context = self._identities.of(warm, params, call=from_client(call, tty=params.tty))
        importing = Importing(params, context, Report(), set())
        with await trio.to_thread.run_sync(taken, self._data_dir, params.spool, MAX_BYTES) as file:
            progress = Progress(call, os.fstat(file.fileno()).st_size, shown=params.progress)
            async with self._turns:
                if params.kind == imports.OWN:
                    return await self._restore(warm, importing, partial(_lines, file, progress))
                return await self._import(warm, importing, file, progress)

    async def _make_room(self, warm: OpenStore, params: ImportParams) -> int | None:
        """Raise the maximum of a store if it is too low for as many memories as a request says, and may be raised;
        return it then. Raises MnemonError(INVALID_PARAMS) if it may not."""
        known = await warm.store.read(partial(imports.count_of, kind=params.kind))
        more = max(0, params.memories - known)
        if params.dry_run:
            return None
        if not params.raise_cap:
            _room(warm).refuse(more)
            return None
        return await self._raise_cap(warm.store.name, _room(warm).wanted(more)) if _room(warm).over(more) else None

    # ------------------------------------------------------------ memories of other programs

    async def _import(self, warm: OpenStore, importing: Importing, file: IO[bytes], progress: Progress) -> ImportResult:
        """Remember the memories in a file; keep and queue exchanges. What came before an error stays imported. Raises
        MnemonError."""
        params, store = importing.params, warm.store
        raised = await self._make_room(warm, params)
        before = await store.read(partial(imports.interrupted, kind=params.kind, digest=params.digest))
        if before is not None:
            context = msgspec.structs.replace(importing.context, op_id=before.op_id)
            importing = importing._replace(context=context)
        elif not params.dry_run:
            named = (importing.context.op_id, params.kind, params.digest, importing.context.now)
            await store.rewrite(lambda connection: imports.begin(connection, *named))
        while items := await trio.to_thread.run_sync(_next_items, file):
            warm = await self._open_stores.open(store.name)
            if warm.store is not store:
                sentence = "the store was closed meanwhile; what was read before is imported"
                raise rejected(BUSY, sentence, "repeat the import: it goes on where it stopped")
            await self._import_items(warm, importing, [each for each in items if isinstance(each, Item)])
            if exchanges := [each for each in items if isinstance(each, SessionExchange)]:
                await self._exchanges.keep(warm, importing, exchanges)
            progress.note(file.tell())
        return await self._complete(warm, importing, raised)

    async def _import_items(self, warm: OpenStore, importing: Importing, given: Sequence[Item]) -> None:
        report, kind = importing.report, importing.params.kind
        items = {item.key(kind): item for item in given}
        known = await warm.store.read(partial(imports.known, sources=list(items)))
        new: dict[str, tuple[Draft, list[ItemLink]]] = {}
        for key, item in items.items():
            if key in known or key in importing.seen:
                report.known["memory"] += 1
                continue
            importing.seen.add(key)
            draft = _draft(item, no_diff=importing.params.no_diff)
            if problems := problems_of(msgspec.structs.asdict(draft)):
                report.note_conflict(item.source.split("\n")[0][:80], problems[0].message)
                continue
            new[key] = (draft, item.links)
            if item.links and importing.params.dry_run:
                report.added["edge"] += len(item.links)
            report.added["memory"] += 1
            redacted = redact(item.content)
            report.secrets += bool(redacted.kinds)
            if len(report.samples) < SAMPLES:
                report.samples.append(redacted.text[:200])
        if importing.params.dry_run:
            drafts = [draft for draft, _ in new.values()]
            look = partial(_look_at, warm, drafts, self._identities.own(warm.store.name, "cli"), report)
            await trio.to_thread.run_sync(look, limiter=warm.threads)
        elif new:
            await self._remember(warm, importing, new)

    async def _remember(
        self, warm: OpenStore, importing: Importing, new: dict[str, tuple[Draft, list[ItemLink]]]
    ) -> None:
        now_us, report = self._identities.now_us(), importing.report

        def read() -> list[Prepared]:
            return [prepared_draft(warm, draft, now_us) for draft, _ in new.values()]

        prepared = await trio.to_thread.run_sync(read, limiter=warm.threads)
        waiting = []
        for (key, (_, links)), each in zip(new.items(), prepared, strict=True):
            identity = msgspec.structs.replace(
                self._identities.own(warm.store.name, importing.context.triggered_by), op_id=importing.context.op_id
            )
            waiting.append(
                submit(warm, propose_import(each, identity, warm.rules, key, [_link(link) for link in links]))
            )
        results = [cast("RememberResult", await each) for each in waiting]
        made = [each.id for each in results if each.action == "added" and each.id is not None]
        others = [
            link.other
            for each, (_, links) in zip(results, new.values(), strict=True)
            if each.action == "added"
            for link in links
        ]
        if others:
            found = await warm.store.read(partial(imports.known, sources=set(others)))
            linked = sum(found.get(other) is not None for other in others)
            report.added["edge"] += linked
        report.active += len(made)
        report.known["memory"] += len(results) - len(made)
        warm.store.imports.add(made, importing.context.now_us)

    async def _complete(self, warm: OpenStore, importing: Importing, raised: int | None) -> ImportResult:
        params, context, report = importing.params, importing.context, importing.report
        over = 0
        if params.dry_run:
            over = _room(warm).over(report.active)
            report.added = +report.added  # without zeros
        else:
            report.added["memory"] = report.active
            report.added = +report.added
            now = format_us(self._identities.now_us())

            def work(connection: Connection) -> None:
                if not imports.find(connection, context.op_id)[0].memories and "exchange" not in report.added:
                    imports.drop(connection, context.op_id)
                    return
                imports.finish(connection, context.op_id)
                detail = f"kind={params.kind} memories={report.active}"
                operations.log(connection, "import", None, detail, now, context.op_id)
                if "exchange" in report.added:
                    entry = history.Entry("import")
                    history.append(connection, [entry], context.op_id, context.triggered_by, context.now)

            await warm.store.rewrite(work)
        return warm.marked(_result(warm, importing, over, raised))

    # ------------------------------------------------------------ exports

    async def _restore(
        self, warm: OpenStore, importing: Importing, lines: Callable[[], Iterator[bytes]]
    ) -> ImportResult:
        params, raised = importing.params, None
        if params.dry_run:
            importing = await self._look(warm, importing, lines)
            return warm.marked(_result(warm, importing, _room(warm).over(importing.report.active), None))
        if params.raise_cap:
            wanted = (await self._look(warm, importing, lines)).report.active
            if _room(warm).over(wanted):
                raised = await self._raise_cap(warm.store.name, _room(warm).wanted(wanted))
                warm = await self._open_stores.open(warm.store.name)
        work = partial(_restored, importing=importing, lines=lines, room=_room(warm))
        importing = importing._replace(report=await warm.store.rewrite(work, rows=True))
        if warm.on_missing_vector is not None and importing.report.added:
            warm.on_missing_vector(warm.store.name)
        return warm.marked(_result(warm, importing, 0, raised))

    @staticmethod
    async def _look(warm: OpenStore, importing: Importing, lines: Callable[[], Iterator[bytes]]) -> Importing:
        """Return what would be restored: it is, in a transaction that is rolled back."""

        def work(connection: Connection) -> None:
            raise _DryRunError(_restored(connection, importing, lines, None))

        try:
            await warm.store.rewrite(work)
        except _DryRunError as looked:
            return importing._replace(report=looked.report)
        raise AssertionError("a dry run ends with its report")

    async def _raise_cap(self, store: str, cap: int) -> int:
        await trio.to_thread.run_sync(self._settings.write, store, "lifecycle.max_insights", cap)
        self._open_stores.apply_settings()
        return cap

    @handles("import.accept", in_task=True)
    async def accept(self, call: Call, params: ImportAcceptParams) -> ImportAcceptResult:
        """Accept one import, or all. Raises MnemonError: NOT_FOUND, AMBIGUOUS."""
        warm, now = await self._open_stores.use(params.store), format_us(self._identities.now_us())

        def work(connection: Connection) -> list[Import]:
            chosen = _named(connection, params.operation)
            accepted = [each for each in chosen if each.accepted_at is None and each.memories]
            imports.accept(connection, (each.op_id for each in accepted), now)
            for each in accepted:
                operations.log(connection, "import:accept", None, f"import={each.op_id}", now)
            return accepted

        accepted = await warm.store.rewrite(work)
        memories = sum(each.memories for each in accepted)
        return warm.marked(ImportAcceptResult(accepted=[each.op_id for each in accepted], memories=memories))


def _restored(
    connection: Connection, importing: Importing, lines: Callable[[], Iterator[bytes]], room: _Room | None
) -> Report:
    """Restore an export. Raises MnemonError for a line that does not fit, and if there is no `room`."""
    context = importing.context
    record = Record(
        context.op_id, importing.params.digest, context.now, context.triggered_by, context.by_person, look=room is None
    )
    report = restore(connection, lines(), record)
    if room is not None:
        room.refuse(report.active)
        operations.log(connection, "import", None, f"memories={report.active}", record.now, record.op_id)
    return report


def _room(warm: OpenStore) -> _Room:
    return _Room(warm.config.lifecycle.max_insights, warm.store.snapshot.live)


class _Room(msgspec.Struct, frozen=True):
    """The most active memories that a store keeps (0: any number), and those that it has."""

    cap: int
    live: int

    def over(self, more: int) -> int:
        """Return by how many the maximum would be exceeded."""
        return max(0, self.live + more - self.cap) if self.cap else 0

    def wanted(self, more: int) -> int:
        """Return a maximum with room for as many, and for what follows: the next thousand above a tenth more."""
        return -(-(self.live + more) * 11 // 10_000) * 1000

    def refuse(self, more: int) -> None:
        """Raise MnemonError(INVALID_PARAMS) if there is no room for so many."""
        if self.over(more):
            total = plural(self.live + more, "active memory")
            raise MnemonError(
                INVALID_PARAMS,
                f"the store would have {total}; its maximum is {self.cap:,} (lifecycle.max_insights), so that the least"
                " important ones would be pruned; nothing was imported",
                hint="--raise-cap raises the maximum of this store",
                outcome="rejected",
            )


def _named(connection: Connection, named: str | None) -> list[Import]:
    """Return the import with an op_id that begins like this, or (None) all."""
    found = imports.find(connection, named or "")
    if named is None:
        return found
    if not found or len(named) < SHORTEST:
        raise MnemonError(
            NOT_FOUND, f"no import {named[:64]!a} in this store", hint="`mnemonctl log` shows what was done lately",
            outcome="rejected",
        )  # fmt: skip
    if len(found) > 1:
        sentence = f"{named[:64]!a} is the beginning of {len(found)} imports"
        raise MnemonError(AMBIGUOUS, sentence, hint="write more of the op_id", outcome="rejected")
    return found


def _result(warm: OpenStore, importing: Importing, over_cap: int, raised: int | None) -> ImportResult:
    context, params, report = importing.context, importing.params, importing.report
    waits = format_us(context.now_us + imports.WAITS_US) if report.active and not params.dry_run else None
    counted = {name: getattr(report, name) for name in report.__struct_fields__ if name not in ("active", "enforced")}
    return ImportResult(
        op_id=context.op_id, replayed=False, kind=params.kind, store=warm.store.name, dry_run=params.dry_run,
        memories=report.active, over_cap=over_cap, raised_cap=raised, waits_until=waits, **counted,
    )  # fmt: skip


# ---------------------------------------------------------------- transcripts and conversations
#
# Transcripts of agents' sessions, and conversations, that are imported: each exchange is kept as if a hook had brought
# it in its time.


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
