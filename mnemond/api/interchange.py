"""The method that reads a store as lines of text: export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Final

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.recall import filter_of, within
from mnemond.api.requests import Identities, Progress
from mnemond.api.spool import taken
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_interchange import ExportParams, ExportResult
from mnemond.errors import BUSY, STORAGE, FieldProblem, MnemonError, invalid, rejected
from mnemond.interchange import export
from mnemond.interchange.export import Selection
from mnemond.model.query import Filter
from mnemond.store import meta
from mnemond.store.checksums import reason
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.verify import open_reader
from mnemond.wire.dispatch import Call, handles

MAX_EXPORTS: Final = 4
"""Exports that are written at the same time, of all stores."""

_NO_FILTER: Final = frozenset({"store", "directory", "now", "redact", "share", "spool", "progress"})
"""Parameters that do not choose memories."""


class ExportHandlers:
    """export."""

    def __init__(self, data_dir: Path, open_stores: OpenStores, identities: Identities, projects: Projects) -> None:
        self._data_dir = data_dir
        self._open_stores = open_stores
        self._identities = identities
        self._projects = projects
        self._turns = trio.CapacityLimiter(MAX_EXPORTS)
        self._ended = 0
        """How often all exports were ended: while one lasts, the log of its store cannot be emptied."""
        open_stores.on_clear_caches.append(self._end)

    def _end(self) -> None:
        self._ended += 1

    @handles("export", in_task=True)
    async def export(self, call: Call, params: ExportParams) -> ExportResult:
        """Write a store, as it is now, into a file. Raises MnemonError: INVALID_PARAMS, STORAGE, NOT_FOUND; BUSY when
        memories were purged meanwhile."""
        wanted = filter_of(params, self._identities.now_us())
        if wanted.historic:
            problem = "an export is of the memories that are active now; leave as_of, known_at, include_invalid and"
            raise invalid([FieldProblem("status", f"{problem} status out")])
        warm = await self._open_stores.use(params.store)
        asked = await self._projects.asked(params, warm)
        wanted = within(wanted, asked, alone=True)
        whole = is_whole(params)
        file = await trio.to_thread.run_sync(taken, self._data_dir, params.spool, 0)
        try:
            with file:
                async with self._turns:
                    ended = self._ended
                    connection, selection = await self._pinned(warm, None if whole else wanted, redacted=params.redact)
                    with closing(connection), closing(export.portions(connection, selection)) as portions:
                        expected = await trio.to_thread.run_sync(export.count, connection, selection)
                        progress = Progress(call, expected, shown=params.progress)
                        lines = await self._write(file, portions, progress, ended)
        except (SqliteError, UnicodeDecodeError) as error:
            raise MnemonError(
                STORAGE, f"the store cannot be read: {reason(error)}", hint="mnemonctl doctor --full names the rows"
            ) from error
        except OSError as error:
            hint = "an export needs as much room in the data directory for a moment"
            raise MnemonError(STORAGE, f"the export cannot be written: {error.strerror}", hint=hint) from error
        result = ExportResult(store=warm.store.name, whole=whole, lines=lines)
        if params.share:
            store_id = await warm.store.rewrite(partial(meta.store_id, fresh=self._identities.nonce()))
            result = msgspec.structs.replace(result, store_id=store_id, project=asked.wanted or "", here=asked.here)
        return warm.marked(result)

    async def _write(
        self, file: IO[bytes], portions: Iterator[tuple[bytes, int]], progress: Progress, ended: int
    ) -> int:
        """Write all lines; return their number. Raises MnemonError, OSError, SqliteError, UnicodeDecodeError."""

        def write_next() -> int:
            text, count = next(portions, (b"", 0))
            file.write(text)
            return count

        lines = 0
        while count := await trio.to_thread.run_sync(write_next):
            if self._ended != ended:
                raise rejected(BUSY, "memories were purged, or a store was closed, while it was exported", "repeat it")
            lines += count
            progress.note(lines)
        await trio.to_thread.run_sync(file.flush)
        return lines

    async def _pinned(self, warm: OpenStore, wanted: Filter | None, *, redacted: bool) -> tuple[Connection, Selection]:
        """Open a connection and begin its transaction between two batches of writes, so that filter and rows are of one
        moment."""
        store = warm.store
        connection = await trio.to_thread.run_sync(open_reader, store)

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
            return connection, await store.read(pin)
        except BaseException:
            connection.close()
            raise


def is_whole(params: ExportParams) -> bool:
    """Return True if nothing in a request chooses memories."""
    return all(
        getattr(params, field.name) == field.default
        for field in msgspec.structs.fields(params)
        if field.name not in _NO_FILTER
    )
