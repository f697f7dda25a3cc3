"""Methods that write memories from lines: import.open, import.send, import.finish and import.accept.

The client reads the file and sends its lines in portions: no path ever comes from a client. Lines of an export wait in
a file without a name until all are there, and are restored in one transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast

import msgspec
import trio

from mnemond.api.import_exchanges import SAMPLES, ExchangeKeeper, Progress
from mnemond.api.projects import Projects
from mnemond.api.remember import prepared_draft, similarity_with
from mnemond.api.requests import Identities, from_client, submit
from mnemond.api.settings import StoreSettings
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.transfers import Transfer, Transfers
from mnemond.api.types_interchange import (
    ImportAcceptParams,
    ImportAcceptResult,
    ImportConflict,
    ImportContradiction,
    ImportFinishParams,
    ImportFinishResult,
    ImportOpenParams,
    ImportOpenResult,
    ImportSendParams,
    ImportSendResult,
)
from mnemond.errors import AMBIGUOUS, BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, MnemonError, rejected
from mnemond.interchange.items import Item, ItemLink
from mnemond.interchange.recognise import KINDS
from mnemond.interchange.restore import MAX_NAMED, Contradiction, Record, Report, restore
from mnemond.interchange.sessions import ENDING, Line, SessionExchange
from mnemond.memory.draft import Draft, WriteContext, problems_of
from mnemond.memory.importing import ImportedLink, propose_import
from mnemond.memory.links import stored_metadata
from mnemond.memory.remember import Prepared, decide
from mnemond.model.changes import Vector
from mnemond.model.memory import IMPORTED, Scope, format_us
from mnemond.model.outcomes import Queued, RememberResult
from mnemond.store import imports, operations, relations
from mnemond.store.connection import Connection
from mnemond.store.imports import Import
from mnemond.store.registry import StoreRegistry
from mnemond.text.secrets import redact
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import plural

MAX_IMPORTS: Final = 2
"""Imports at the same time, of all stores."""

MAX_CHARACTERS: Final = 1 << 31
"""Characters of one import: they wait on the disk until all are there."""

MAX_LINE: Final = 32 << 20
"""Bytes of a line: an operation that moved every link of a well-connected memory has some megabytes."""

SHORTEST: Final = 6
"""Characters of an op_id that name an import."""


MAX_ITEM: Final = 1 << 18
"""Characters of a line of a memory, or of a part of a conversation: the longest text and the largest metadata have a
tenth of that."""

_line = msgspec.json.Decoder(Line)


def _no_item(why: str) -> MnemonError:
    sentence = f"this is no line of a memory to import: {why}"
    return MnemonError(INVALID_PARAMS, sentence, hint="what was sent before is imported", outcome="rejected")


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
            report.contradictions.append(Contradiction(here.id, here.content[:200], draft.content[:200]))


class _DryRunError(MnemonError):
    """A dry run has its report: the transaction is rolled back."""

    def __init__(self, report: Report) -> None:
        super().__init__(INVALID_PARAMS, "a dry run writes nothing", outcome="rejected")
        self.report = report


class _Receiving(Transfer):
    """One import between two of its messages."""

    def __init__(
        self, store: str, client: int, directory: Path, params: ImportOpenParams, context: WriteContext
    ) -> None:
        super().__init__(store, client)
        self.params = params
        self.context = context
        self._directory = directory
        self._rest = ""
        self.report = Report()
        self.seen: set[str] = set()
        """Sources of this import so far, keys of its exchanges, and marks of its sessions."""
        self.progress = Progress(params.kind.removesuffix(ENDING), self.report, context, params.dry_run, self.seen)
        self.raised: int | None = None

    def take(self, text: str) -> None:
        """Append a part of the lines (blocking)."""
        self.append(text.encode(), self._directory)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, without their line breaks. Raises MnemonError(TOO_LARGE) for an endless one."""
        if self.spool is None:
            return
        self.spool.seek(0)
        number = 0
        while line := self.spool.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                sentence = f"line {number:,} has more than {MAX_LINE:,} bytes; nothing was imported"
                raise MnemonError(TOO_LARGE, sentence, outcome="rejected")
            yield line.rstrip(b"\n")

    def items(self, text: str) -> list[Line]:
        """Return what is in the lines that are complete with this part. Raises MnemonError(INVALID_PARAMS)."""
        complete, _, self._rest = (self._rest + text).rpartition("\n")
        if len(self._rest) > MAX_ITEM:
            raise _no_item(f"a line has more than {MAX_ITEM:,} characters")
        try:
            return [_line.decode(line) for line in complete.split("\n") if line]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _no_item(str(error)) from None

    def refuse_rest(self) -> None:
        """Raise MnemonError(INVALID_PARAMS) if the last line has no end."""
        if self._rest:
            raise _no_item("the last line has no end")


def _gone() -> MnemonError:
    return MnemonError(
        NOT_FOUND, "there is no such import any more: its client was silent for a minute, or the daemon was restarted;"
        " nothing was written", hint="begin again: mnemonctl import", outcome="rejected",
    )  # fmt: skip


class ImportHandlers:
    """import.open, import.send, import.finish and import.accept. `run` ends imports that are left."""

    def __init__(
        self,
        registry: StoreRegistry,
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
        self._open_stores = open_stores
        self._identities = identities
        self._settings = settings
        self._exchanges = ExchangeKeeper(identities, projects, on_kept, read_queue, is_partial)
        self._imports: Transfers[_Receiving] = Transfers(_gone)
        self.run = self._imports.run
        registry.on_closed.append(self._imports.end_of)

    @handles("import.open", in_task=True)
    async def open(self, call: Call, params: ImportOpenParams) -> ImportOpenResult:
        """Begin an import. Raises MnemonError: INVALID_PARAMS for an unknown kind, BUSY, NOT_FOUND, STORAGE."""
        if params.kind not in KINDS:
            kinds = f"it imports: {', '.join(KINDS)}"
            raise MnemonError(INVALID_PARAMS, f"there is no import of {params.kind!a}", hint=kinds, outcome="rejected")
        warm = await self._open_stores.use(params.store)
        self._imports.end_left()
        if len(self._imports) >= MAX_IMPORTS:
            raise rejected(BUSY, f"{MAX_IMPORTS} imports are running already", "repeat when one has ended")
        context = self._identities.of(warm, params, call=from_client(call, tty=params.tty))
        continued, raised = False, None
        if params.kind != imports.OWN:
            raised = await self._make_room(warm, params)
            before = await warm.store.read(partial(imports.interrupted, kind=params.kind, digest=params.digest))
            if before is not None:
                context, continued = msgspec.structs.replace(context, op_id=before.op_id), True
            elif not params.dry_run:
                named = (context.op_id, params.kind, params.digest, context.now)
                await warm.store.rewrite(lambda connection: imports.begin(connection, *named))
        name = self._identities.nonce()
        receiving = _Receiving(warm.store.name, call.peer_pid, warm.store.path.parent, params, context)
        receiving.raised = raised
        self._imports.begin(name, receiving)
        return warm.marked(
            ImportOpenResult(import_id=name, op_id=context.op_id, store=warm.store.name, continued=continued)
        )

    async def _make_room(self, warm: OpenStore, params: ImportOpenParams) -> int | None:
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

    @handles("import.send", in_task=True)
    async def send(self, call: Call, params: ImportSendParams) -> ImportSendResult:
        """Take the next part. Raises MnemonError: NOT_FOUND, TOO_LARGE."""
        receiving = self._imports.of(params.import_id)
        async with receiving.lock:
            if receiving.received + len(params.text) > MAX_CHARACTERS:
                self._imports.end(params.import_id)
                sentence = f"an import has at most {MAX_CHARACTERS:,} characters; nothing was written"
                raise MnemonError(TOO_LARGE, sentence, hint="import it in several parts", outcome="rejected")
            receiving.received += len(params.text)
            if receiving.params.kind == imports.OWN:
                await trio.to_thread.run_sync(receiving.take, params.text)
            else:
                await self._import(await self._open_stores.open(receiving.store), receiving, params.text)
            receiving.heard_at = trio.current_time()
        return ImportSendResult(received=receiving.received)

    @handles("import.finish", in_task=True)
    async def finish(self, call: Call, params: ImportFinishParams) -> ImportFinishResult:
        """Complete an import. Raises MnemonError: NOT_FOUND, INVALID_PARAMS for a line that does not fit, STORAGE."""
        receiving = self._imports.of(params.import_id)
        async with receiving.lock:
            try:
                warm = await self._open_stores.open(receiving.store)
                if receiving.params.kind == imports.OWN:
                    return await self._restore(warm, receiving)
                return await self._complete(warm, receiving)
            finally:
                self._imports.end(params.import_id)

    # ------------------------------------------------------------ memories of other programs

    async def _import(self, warm: OpenStore, receiving: _Receiving, text: str) -> None:
        """Remember the memories in a part of the lines; keep and queue exchanges. Raises MnemonError: INVALID_PARAMS
        for any other line, BUSY."""
        lines = receiving.items(text)
        await self._import_items(warm, receiving, [each for each in lines if isinstance(each, Item)])
        if exchanges := [each for each in lines if isinstance(each, SessionExchange)]:
            await self._exchanges.keep(warm, receiving.progress, exchanges)

    async def _import_items(self, warm: OpenStore, receiving: _Receiving, given: Sequence[Item]) -> None:
        report, kind = receiving.report, receiving.params.kind
        items = {item.key(kind): item for item in given}
        known = await warm.store.read(partial(imports.known, sources=list(items)))
        new: dict[str, tuple[Draft, list[ItemLink]]] = {}
        for key, item in items.items():
            if key in known or key in receiving.seen:
                report.known["memory"] += 1
                continue
            receiving.seen.add(key)
            draft = _draft(item, no_diff=receiving.params.no_diff)
            if problems := problems_of(msgspec.structs.asdict(draft)):
                report.note_conflict(item.source.split("\n")[0][:80], problems[0].message)
                continue
            new[key] = (draft, item.links)
            if item.links and receiving.params.dry_run:
                report.added["edge"] += len(item.links)
            report.added["memory"] += 1
            redacted = redact(item.content)
            report.secrets += bool(redacted.kinds)
            if len(report.samples) < SAMPLES:
                report.samples.append(redacted.text[:200])
        if receiving.params.dry_run:
            drafts = [draft for draft, _ in new.values()]
            look = partial(_look_at, warm, drafts, self._identities.own(warm.store.name, "cli"), report)
            await trio.to_thread.run_sync(look, limiter=warm.threads)
        elif new:
            await self._remember(warm, receiving, new)

    async def _remember(
        self, warm: OpenStore, receiving: _Receiving, new: dict[str, tuple[Draft, list[ItemLink]]]
    ) -> None:
        now_us, report = self._identities.now_us(), receiving.report

        def read() -> list[Prepared]:
            return [prepared_draft(warm, draft, now_us) for draft, _ in new.values()]

        prepared = await trio.to_thread.run_sync(read, limiter=warm.threads)
        waiting = []
        for (key, (_, links)), each in zip(new.items(), prepared, strict=True):
            identity = msgspec.structs.replace(
                self._identities.own(warm.store.name, receiving.context.triggered_by), op_id=receiving.context.op_id
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
        warm.store.imports.add(made, receiving.context.now_us)

    async def _complete(self, warm: OpenStore, receiving: _Receiving) -> ImportFinishResult:
        params, context, report = receiving.params, receiving.context, receiving.report
        receiving.refuse_rest()
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
                operations.log(connection, "import", None, detail, now)
                if "exchange" in report.added:
                    relations.apply(
                        connection, context.change_set("import", (), Queued(kept=True, op_id=context.op_id))
                    )

            await warm.store.rewrite(work)
        return warm.marked(_result(receiving, report, over, receiving.raised))

    # ------------------------------------------------------------ exports

    async def _restore(self, warm: OpenStore, receiving: _Receiving) -> ImportFinishResult:
        params, raised = receiving.params, None
        if params.dry_run:
            report = await self._look(warm, receiving)
            over = _room(warm).over(report.active)
            return warm.marked(_result(receiving, report, over, None))
        if params.raise_cap:
            wanted = (await self._look(warm, receiving)).active
            if _room(warm).over(wanted):
                raised = await self._raise_cap(warm.store.name, _room(warm).wanted(wanted))
                warm = await self._open_stores.open(receiving.store)
        report = await warm.store.rewrite(partial(_restored, receiving=receiving, room=_room(warm)), rows=True)
        if warm.on_missing_vector is not None and report.added:
            warm.on_missing_vector(warm.store.name)
        return warm.marked(_result(receiving, report, 0, raised))

    @staticmethod
    async def _look(warm: OpenStore, receiving: _Receiving) -> Report:
        """Return what would be restored: it is, in a transaction that is rolled back."""

        def work(connection: Connection) -> None:
            raise _DryRunError(_restored(connection, receiving, None))

        try:
            await warm.store.rewrite(work)
        except _DryRunError as looked:
            return looked.report
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


def _restored(connection: Connection, receiving: _Receiving, room: _Room | None) -> Report:
    """Restore what was received. Raises MnemonError for a line that does not fit, and if there is no `room`."""
    context = receiving.context
    record = Record(
        context.op_id, receiving.params.digest, context.now, context.triggered_by, context.by_person, look=room is None
    )
    report = restore(connection, receiving.lines(), record)
    if room is not None:
        room.refuse(report.active)
        operations.log(connection, "import", None, f"memories={report.active}", record.now)
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


def _result(receiving: _Receiving, report: Report, over_cap: int, raised: int | None) -> ImportFinishResult:
    context, params = receiving.context, receiving.params
    waits = None
    if report.active and not params.dry_run:
        waits = format_us(context.now_us + imports.WAITS_US)
    return ImportFinishResult(
        op_id=context.op_id,
        replayed=False,
        kind=params.kind,
        store=receiving.store,
        dry_run=params.dry_run,
        memories=report.active,
        added=report.added,
        known=report.known,
        ignored=report.ignored,
        conflicts=[ImportConflict(each.id, each.why) for each in report.conflicts],
        conflicts_found=report.conflicts_found,
        secrets=report.secrets,
        samples=report.samples,
        over_cap=over_cap,
        raised_cap=raised,
        waits_until=waits,
        contradictions=tuple(
            ImportContradiction(each.id, each.content, each.imported) for each in report.contradictions
        ),
        contradictions_found=report.contradictions_found,
    )
