"""Methods that read a store as lines of text: export.open and export.read."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.recall import filter_of, within
from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.transfers import IDLE_S, watch
from mnemond.api.types_interchange import ExportOpenParams, ExportOpenResult, ExportReadParams, ExportReadResult
from mnemond.errors import BUSY, NOT_FOUND, STORAGE, FieldProblem, MnemonError, invalid, rejected
from mnemond.interchange.export import Exporter, Selection
from mnemond.model.query import Filter
from mnemond.store import meta
from mnemond.store.checksums import reason
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.registry import StoreRegistry
from mnemond.store.verify import open_reader
from mnemond.wire.dispatch import Call, handles

MAX_EXPORTS: Final = 4
"""Exports that are read at the same time, of all stores."""

_NO_FILTER: Final = frozenset({"store", "directory", "now", "redact", "share"})
"""Parameters that do not choose memories."""


class _Reading:
    """One export between two of its portions."""

    def __init__(self, store: str, exporter: Exporter) -> None:
        self.store = store
        self.exporter = exporter
        self.lock = trio.Lock()
        self.read_at = 0.0
        self.number = -1
        self.portion = ("", 0)
        """The portion that was read last, and its number."""
        self.ended = ""
        """Why it has ended; "" until it has."""

    def refuse_when_ended(self) -> None:
        """Raise MnemonError(NOT_FOUND) when it has ended."""
        if self.ended:
            raise _ended(self.ended)

    def close_if_ended(self) -> None:
        """Close the connection when it has ended."""
        if self.ended:
            self.exporter.close()


class ExportHandlers:
    """export.open and export.read. `run` ends exports that are not read."""

    def __init__(
        self, registry: StoreRegistry, open_stores: OpenStores, identities: Identities, projects: Projects
    ) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._projects = projects
        self._threads = trio.CapacityLimiter(1)
        self._readings: dict[str, _Reading] = {}
        registry.on_closed.append(partial(self._end_of, "the store was closed"))
        open_stores.on_clear_caches.append(partial(self._end_of, "memories were purged, or a store was closed", None))

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """End exports that were not read for a while, until cancelled; then all: while one lasts, the log of its store
        cannot be emptied."""
        task_status.started()
        await watch(self._end_idle, partial(self._end_of, "the daemon ends", None))

    def _end_idle(self, late: float) -> None:
        for name, each in list(self._readings.items()):
            if each.read_at < late:
                self._end(name, f"it was not read for {IDLE_S:g} seconds")

    @handles("export.open", in_task=True)
    async def open(self, call: Call, params: ExportOpenParams) -> ExportOpenResult:
        """Begin to read a store, as it is now. Raises MnemonError: INVALID_PARAMS, BUSY, STORAGE, NOT_FOUND."""
        wanted = filter_of(params, self._identities.now_us())
        if wanted.historic:
            problem = "an export is of the memories that are active now; leave as_of, known_at, include_invalid and"
            raise invalid([FieldProblem("status", f"{problem} status out")])
        warm = await self._open_stores.use(params.store)
        asked = await self._projects.asked(params, warm)
        wanted = within(wanted, asked, alone=True)
        if len(self._readings) >= MAX_EXPORTS:
            raise rejected(BUSY, f"{MAX_EXPORTS} exports are being read already", "repeat when one has ended")
        whole = is_whole(params)
        exporter = await self._pinned(warm, None if whole else wanted, redacted=params.redact)
        name = self._identities.nonce()
        reading = self._readings[name] = _Reading(warm.store.name, exporter)
        reading.read_at = trio.current_time()
        result = ExportOpenResult(export=name, store=warm.store.name, whole=whole, expected=exporter.expected)
        if params.share:
            store_id = await warm.store.rewrite(partial(meta.store_id, fresh=self._identities.nonce()))
            result = msgspec.structs.replace(result, store_id=store_id, project=asked.wanted or "", here=asked.here)
        return warm.marked(result)

    async def _pinned(self, warm: OpenStore, wanted: Filter | None, *, redacted: bool) -> Exporter:
        """Open a connection and begin its transaction between two batches of writes, so that filter and rows are of one
        moment."""
        store = warm.store
        connection = await trio.to_thread.run_sync(open_reader, store, limiter=self._threads)

        def pin(_writer: Connection) -> Selection:
            connection.run("BEGIN")
            connection.count("SELECT count(*) FROM meta")  # the first read fixes the state
            if wanted is None:
                return Selection(redacted=redacted)
            snapshot = store.snapshot
            mask = snapshot.visible(wanted)
            rows = snapshot.newest_rows(mask, snapshot.rows, None).tolist()
            return Selection(frozenset(snapshot.insight(row).id for row in rows), redacted)

        try:
            selection = await store.read(pin)
            return await trio.to_thread.run_sync(Exporter, connection, selection, limiter=self._threads)
        except BaseException:
            connection.close()
            raise

    @handles("export.read", in_task=True)
    async def read(self, call: Call, params: ExportReadParams) -> ExportReadResult:
        """Return a portion. Raises MnemonError: NOT_FOUND for an export that has ended, INVALID_PARAMS for a portion
        that is not the next, STORAGE."""
        reading = self._readings.get(params.export)
        if reading is None:
            raise _ended("it was read to its end, or not for a minute, or the daemon was restarted")
        async with reading.lock:
            reading.refuse_when_ended()
            reading.read_at = trio.current_time()
            if params.portion == reading.number + 1:
                await self._advance(params.export, reading)
            elif params.portion != reading.number:
                problem = f"portion {params.portion} is not the next: {reading.number + 1}"
                raise invalid([FieldProblem("portion", problem)])
            text, lines = reading.portion
            return ExportReadResult(text=text, lines=lines)

    async def _advance(self, name: str, reading: _Reading) -> None:
        """Read the next portion; the export ends with the last one, or if that fails. Raises MnemonError."""
        found = None
        try:
            found = await trio.to_thread.run_sync(reading.exporter.next_portion, limiter=self._threads)
            reading.refuse_when_ended()
        except (SqliteError, UnicodeDecodeError) as error:
            raise MnemonError(
                STORAGE, f"the store cannot be read: {reason(error)}", hint="mnemonctl doctor --full names the rows"
            ) from error
        finally:
            if found is None:
                self._end(name, "it was read to its end, or could not be read")
            reading.close_if_ended()
        reading.number, reading.portion = reading.number + 1, found or ("", 0)

    def _end_of(self, why: str, store: str | None) -> None:
        for name, each in list(self._readings.items()):
            if store is None or each.store == store:
                self._end(name, why)

    def _end(self, name: str, why: str) -> None:
        """End an export. While a portion is being read, who reads it closes the connection."""
        reading = self._readings.pop(name, None)
        if reading is None:
            return
        reading.ended = why
        if not reading.lock.locked():
            reading.exporter.close()


def is_whole(params: ExportOpenParams) -> bool:
    """Return True if nothing in a request chooses memories."""
    return all(
        getattr(params, field.name) == field.default
        for field in msgspec.structs.fields(params)
        if field.name not in _NO_FILTER
    )


def _ended(why: str) -> MnemonError:
    return MnemonError(NOT_FOUND, f"there is no such export any more: {why}", hint="begin again: mnemonctl export")
