"""Methods about stores and their backups."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio
from msgspec import UNSET

from mnemond.api import types_stores
from mnemond.api.embed_worker import EmbeddingWorker
from mnemond.api.requests import is_person
from mnemond.api.spool import taken
from mnemond.api.store_access import OpenStores
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, FieldProblem, MnemonError, invalid
from mnemond.model.answers import Backup
from mnemond.store.backups import BackupService, Enforced, wrong_note
from mnemond.store.insights import enforced_triggers
from mnemond.store.registry import StoreRegistry, check_name
from mnemond.store.shared_log import Cursor
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import NoParams, StoreParams, plural

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
"""Names of environment variables."""

MAX_PLAINTEXT: Final = 16 << 30
"""Bytes of a backup that was decrypted to be restored."""


def refuse_busy(worker: EmbeddingWorker, name: str) -> None:
    """Raise MnemonError(BUSY) during a requested embedding run or a switch. Reads and writes are no reason to refuse:
    they finish before the store is closed."""
    if worker.has_active_run(name):
        raise MnemonError(
            BUSY,
            f'memories of the store "{name}" are being embedded',
            hint="`mnemonctl embed --status` says how far it is; repeat when it is done",
            outcome="rejected",
        )


class BackupHandlers:
    """backup.create, backup.list, backup.verify, backup.restore."""

    def __init__(
        self,
        registry: StoreRegistry,
        open_stores: OpenStores,
        worker: EmbeddingWorker,
        safekeeping: BackupService,
        data_dir: Path,
    ) -> None:
        self._stores = registry
        self._open_stores = open_stores
        self._worker = worker
        self._safekeeping = safekeeping
        self._data_dir = data_dir

    @handles("backup.create", in_task=True)
    async def create(self, call: Call, params: types_stores.BackupCreateParams) -> types_stores.BackupCreateResult:
        """Back up a store while it is in use. Raises MnemonError: NOT_FOUND, STORAGE, and INVALID_PARAMS or UNAVAILABLE
        if it cannot be encrypted."""
        name = self._stores.resolve(params.store)
        warm = await self._open_stores.open(name)
        made = await self._safekeeping.back_up(name, params.encrypt_to or ())
        result = types_stores.BackupCreateResult(backup=made.backup, dropped=made.dropped)
        return warm.marked(result)

    @handles("backup.list", in_task=True)
    async def list(self, call: Call, params: types_stores.BackupListParams) -> types_stores.BackupListResult:
        """List backups, newest first."""
        found = await self._safekeeping.list(_checked(params.store))
        return types_stores.BackupListResult(backups=found)

    @handles("backup.verify", in_task=True)
    async def verify(self, call: Call, params: types_stores.BackupVerifyParams) -> types_stores.BackupVerifyResult:
        """Read every page of a backup, or compare the bytes of one that is encrypted with its note. Raises MnemonError:
        NOT_FOUND, AMBIGUOUS, STORAGE, UNSUPPORTED."""
        backup = await self._safekeeping.find(params.backup, _checked(params.store))
        if backup.encrypted:
            if (wrong := await self._safekeeping.examine(backup)) is not None:
                hint = "`mnemonctl backup list` shows others; `mnemonctl backup` makes one"
                raise MnemonError(STORAGE, f"{backup.name}: {wrong}", hint=hint)
            return types_stores.BackupVerifyResult(backup=backup, read=False)
        facts = await self._safekeeping.verify(backup)
        if facts.unreadable:
            raise MnemonError(
                STORAGE,
                f"rows of {backup.name} that cannot be read: {facts.unreadable:,} ({', '.join(facts.unreadable_rows)});"
                " all others can",
                hint="it can be restored, without them; `mnemonctl backup list` shows others",
            )
        if (wrong := wrong_note(backup, facts)) is not None:
            raise MnemonError(
                STORAGE,
                f"{backup.name}: {wrong}. All pages and rows of the backup itself can be read:"
                f" {plural(facts.memories, 'memory')}, {facts.retired:,} out of recall",
                hint="`mnemonctl backup` makes one with a note that is right; if the numbers are what you expect, this"
                " one can be restored: `mnemonctl backup restore NAME --into ANOTHER` shows it",
            )
        shown = msgspec.structs.replace(backup, memories=facts.memories, retired=facts.retired, sha256=facts.sha256)
        return types_stores.BackupVerifyResult(backup=shown)

    @handles("backup.restore", in_task=True)
    async def restore(self, call: Call, params: types_stores.BackupRestoreParams) -> types_stores.BackupRestoreResult:
        """Replace or create a store from a backup.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS, INVALID_PARAMS, BUSY, STORAGE, UNSUPPORTED.
        """
        backup = await self._safekeeping.find(params.backup, _checked(params.store))
        into = check_name(params.into or backup.store)
        refuse_busy(self._worker, into)
        if self._stores.exists(into) and not params.yes:
            raise MnemonError(
                INVALID_PARAMS,
                f'this replaces the store "{into}" by what it was at {backup.created_at}; it needs yes (--yes)',
                hint="what it is now becomes a backup first; or name another store with into (--into)",
                outcome="rejected",
            )
        if backup.encrypted != (params.spool is not None):
            raise MnemonError(
                INVALID_PARAMS,
                f"{backup.name} is encrypted; the key is needed to restore it (--identity FILE)"
                if backup.encrypted
                else f"{backup.name} is not encrypted; nothing is to be sent for it",
                hint=f"mnemonctl backup restore {backup.name} --identity FILE" if backup.encrypted else None,
                outcome="rejected",
            )

        async def admit(enforced: Enforced) -> None:
            if not is_person(call):
                await self._refuse_enforcing(backup, enforced, into)

        if params.spool is None:
            done = await self._safekeeping.restore(backup, into, admit)
        else:
            with await trio.to_thread.run_sync(taken, self._data_dir, params.spool, MAX_PLAINTEXT) as plain:
                done = await self._safekeeping.restore(backup, into, admit, plain)
        await self._open_stores.open(into)
        return types_stores.BackupRestoreResult(
            store=into,
            backup=backup.name,
            memories=done.memories,
            before=None if done.before is None else done.before.name,
            kept=None if done.aside is None else str(done.aside),
        )

    async def _refuse_enforcing(self, backup: Backup, enforced: Enforced, into: str) -> None:
        """Raise MnemonError(INVALID_PARAMS) if rules would be enforced that the store does not enforce now, or not
        those that it does, in the same words."""
        changed = enforced
        if self._stores.exists(into):
            with suppress(MnemonError):  # of a store that cannot be read nothing is known
                warm = await self._open_stores.open(into)
                changed ^= await warm.store.read(enforced_triggers)
        if changed:
            raise MnemonError(
                INVALID_PARAMS,
                f"{backup.name} does not enforce the same rules, in the same words, as the store does now: they are"
                " taken from a person at a terminal only; nothing was changed",
                hint=f"ask the user to run it in a terminal: mnemonctl backup restore {backup.name}",
                outcome="rejected",
            )


def _log_of(params: types_stores.StoreCreateParams) -> Cursor | None:
    """Return the log of a new store, None for a local one. Raises MnemonError(INVALID_PARAMS)."""
    if params.backend is None and params.dsn_env is None:
        if params.visibility is not None:
            raise _only_shared("visibility is of shared stores; give backend and dsn_env (--backend, --dsn-env) too")
        return None
    if params.backend is None or params.dsn_env is None:
        problem = "backend and dsn_env (--backend, --dsn-env) belong together"
        raise invalid([FieldProblem("dsn_env" if params.dsn_env is None else "backend", problem)])
    if _VARIABLE.fullmatch(params.dsn_env) is None:
        # The value is not repeated: it may be a connection string with a password.
        problem = "dsn_env is not the name of an environment variable; a connection string is not taken here"
        hint = "put it into the environment of the daemon, for instance MNEMOND_DSN, and give --dsn-env MNEMOND_DSN"
        raise invalid([FieldProblem("dsn_env", problem)], hint)
    return Cursor(params.backend, params.dsn_env, params.name)


def _only_shared(problem: str) -> MnemonError:
    return invalid([FieldProblem("visibility", problem)])


def _checked(name: str | None) -> str | None:
    return None if name is None else check_name(name)


class StoreHandlers:
    """store.list, store.create, store.set, store.path, store.remove."""

    def __init__(
        self, registry: StoreRegistry, open_stores: OpenStores, worker: EmbeddingWorker, safekeeping: BackupService
    ) -> None:
        self._stores = registry
        self._open_stores = open_stores
        self._worker = worker
        self._safekeeping = safekeeping

    @handles("store.list")
    async def list(self, call: Call, params: NoParams) -> types_stores.StoreListResult:
        """List all stores."""
        active, source = self._stores.active()
        shared = {each.name: each.shared.visibility for each in self._stores.open_stores() if each.shared}
        names = self._stores.names()
        entries = [types_stores.StoreEntry(name, name == active, shared.get(name) or UNSET) for name in names]
        return types_stores.StoreListResult(stores=entries, active=active, source=source)

    @handles("store.create", in_task=True)
    async def create(self, call: Call, params: types_stores.StoreCreateParams) -> types_stores.StoreCreateResult:
        """Create a store. Raises MnemonError for an invalid name, a directory that cannot be written, or a log that
        cannot be used."""
        path = self._stores.path(params.name)
        created = await self._stores.create(params.name, _log_of(params), params.visibility)
        shared = None if (store := self._stores.warm(params.name)) is None else store.shared
        return types_stores.StoreCreateResult(
            name=params.name, path=str(path), created=created, shared=None if shared is None else shared.standing
        )

    @handles("store.set", in_task=True)
    async def set(self, call: Call, params: types_stores.StoreSetParams) -> types_stores.StoreSetResult:
        """Set the active store, or the visibility of a shared one. Raises MnemonError: NOT_FOUND, STORAGE; UNAVAILABLE,
        INVALID_PARAMS for a visibility that cannot be set."""
        name, (previous, _) = check_name(params.name), self._stores.active()
        if params.visibility is not None:
            warm = await self._open_stores.open(name)
            if warm.store.shared is None:
                raise _only_shared(f'the store "{name}" is not shared: it is seen by you alone')
            await warm.store.show(params.visibility)
            return types_stores.StoreSetResult(name=name, previous=previous, visibility=params.visibility)
        await trio.to_thread.run_sync(partial(self._stores.activate, name))
        return types_stores.StoreSetResult(name=name, previous=previous)

    @handles("store.path")
    async def path(self, call: Call, params: StoreParams) -> types_stores.StorePathResult:
        """Return the path of a store. Raises MnemonError(NOT_FOUND)."""
        name = self._stores.resolve(params.store)
        return types_stores.StorePathResult(
            name=name, path=str(self._stores.find(name)), exists=self._stores.exists(name)
        )

    @handles("store.remove", in_task=True)
    async def remove(self, call: Call, params: types_stores.StoreRemoveParams) -> types_stores.StoreRemoveResult:
        """Remove a store after a last backup. Raises MnemonError: NOT_FOUND, INVALID_PARAMS, BUSY, STORAGE."""
        name = check_name(params.name)
        self._stores.find_directory(name)
        self._stores.refuse_active(name)
        refuse_busy(self._worker, name)
        if not params.yes:
            raise await self._unsure(name)
        removed = await self._safekeeping.remove(name, purge=params.purge)
        return types_stores.StoreRemoveResult(
            name=name,
            backup=None if removed.backup is None else removed.backup.name,
            purged=params.purge,
            kept=None if removed.aside is None else str(removed.aside),
        )

    async def _unsure(self, name: str) -> MnemonError:
        """Return the error of a request without `yes`, with the number of memories that would be removed."""
        try:
            holds = f" with its {plural((await self._open_stores.open(name)).store.snapshot.live, 'memory')}"
        except MnemonError as error:
            if error.kind is BUSY:
                raise
            holds = ", which cannot be opened"
        return MnemonError(
            INVALID_PARAMS,
            f'this removes the store "{name}"{holds}; it needs yes (--yes)',
            hint="a last backup is made first, from which `mnemonctl backup restore` brings it back",
            outcome="rejected",
        )
