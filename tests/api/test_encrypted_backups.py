"""Encrypted backups: made without a secret key, restored from a plaintext that the client sends, never beside one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pyrage
import pytest
import trio

from mnemond.api.types_memories import ForgetParams
from mnemond.api.types_stores import (
    BackupCreateParams,
    BackupListParams,
    BackupRestoreParams,
    BackupVerifyParams,
    StoreRemoveParams,
)
from mnemond.config.settings import BackupSettings, Config
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.model.answers import Backup
from mnemond.store import backups
from mnemond.store.backups import BackupDirectory, drafts, examine, remove_leftovers
from mnemond.store.connection import Connection
from tests.api.factories import CALL, Bench, bench, spooled
from tests.api.test_stores import recalled, remember

KEY = pyrage.x25519.Identity.generate()
OTHER = pyrage.x25519.Identity.generate()
TO = [str(KEY.to_public())]
ENCRYPTED = Config(backup=BackupSettings(encrypt_to=tuple(TO)))
SECRET_TEXT = "the safe opens with a blue door"


async def made(over: Bench, encrypt_to: list[str] | None = None) -> Backup:
    return (await over.backups.create(CALL, BackupCreateParams(encrypt_to=encrypt_to))).backup


def plain_of(backup: Backup) -> bytes:
    return bytes(pyrage.decrypt(Path(backup.path).read_bytes(), [KEY]))


def files_with(directory: Path, text: str) -> list[str]:
    found = [each for each in directory.rglob("*") if each.is_file() and text.encode() in each.read_bytes()]
    return [str(each.relative_to(directory)) for each in found]


async def test_it_holds_what_the_store_held_and_no_plaintext_is_beside_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, None, SECRET_TEXT)
        backup = await made(over, TO)
        assert (backup.encrypted, backup.memories, Path(backup.path).name) == (True, 1, f"{backup.name}.db.age")
        plain = plain_of(backup)
        assert hashlib.sha256(plain).hexdigest() == backup.sha256
        assert files_with(tmp_path / "backups", SECRET_TEXT) == []
        assert sorted(os.listdir(Path(backup.path).parent)) == [f"{backup.name}.db.age", f"{backup.name}.json"]
        assert os.stat(backup.path).st_mode & 0o777 == 0o600
        copy = tmp_path / "copy.db"
        copy.write_bytes(plain)
        connection = Connection(copy, read_only=True)
        try:
            assert connection.rows("PRAGMA integrity_check") == [("ok",)]
            assert connection.pragma("journal_mode") == "delete"
            assert connection.column("SELECT content FROM insights") == [SECRET_TEXT]
        finally:
            connection.close()
        checked = await over.backups.verify(CALL, BackupVerifyParams(backup=backup.name))
        assert (checked.read, checked.backup) == (False, backup)


async def test_it_is_restored_from_what_the_client_decrypted(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, None, SECRET_TEXT)
        backup = await made(over, TO)
        await remember(over, None, "something newer")
        with pytest.raises(MnemonError, match=r"is encrypted; the key is needed to restore it \(--identity FILE\)"):
            await over.backups.restore(CALL, BackupRestoreParams(backup=backup.name, yes=True))
        spool = spooled(tmp_path, plain_of(backup))
        done = await over.backups.restore(CALL, BackupRestoreParams(backup=backup.name, yes=True, spool=spool))
        assert (done.memories, await recalled(over, None, "safe door newer")) == (1, [SECRET_TEXT])
        with pytest.raises(MnemonError) as gone:
            await over.backups.restore(CALL, BackupRestoreParams(backup=backup.name, yes=True, spool=spool))
        assert gone.value.kind is NOT_FOUND
        open_copy = await made(over)
        with pytest.raises(MnemonError, match="is not encrypted; nothing is to be sent for it"):
            await over.backups.restore(CALL, BackupRestoreParams(backup=open_copy.name, yes=True, spool="12345678"))


async def test_another_plaintext_than_it_held_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, None, SECRET_TEXT)
        backup = await made(over, TO)
        other = plain_of(backup).replace(b"blue", b"pink")
        for plain in (other, other[:-4096], b"x"):
            spool = spooled(tmp_path, plain)
            with pytest.raises(MnemonError, match="its checksum is not the one that was noted") as refused:
                await over.backups.restore(CALL, BackupRestoreParams(backup=backup.name, yes=True, spool=spool))
            assert refused.value.kind is STORAGE
        assert await recalled(over, None, "safe door") == [SECRET_TEXT]
        assert sorted(os.listdir(tmp_path / "data")) == ["default"]


async def test_with_the_setting_every_copy_is_encrypted(tmp_path: Path) -> None:
    async with bench(tmp_path, config=ENCRYPTED) as over:
        await remember(over, None, SECRET_TEXT)
        backup = await made(over)
        store = (await over.warm()).store
        await over.safekeeping.scheduled(store, over.clock.now_us())
        spool = spooled(tmp_path, plain_of(backup))
        await over.backups.restore(CALL, BackupRestoreParams(backup=backup.name, yes=True, spool=spool))
        await over.backups.restore(
            CALL, BackupRestoreParams(backup=backup.name, into="b", spool=spooled(tmp_path, plain_of(backup)))
        )
        await over.named.remove(CALL, StoreRemoveParams(name="b", yes=True))
        listed = (await over.backups.list(CALL, BackupListParams())).backups
        assert {each.kind for each in listed} == {"asked", "scheduled", "replaced", "removed"}
        assert all(each.encrypted for each in listed)
        assert files_with(tmp_path / "backups", SECRET_TEXT) == []


async def test_a_lost_store_and_one_put_aside_leave_no_plaintext_in_backups(tmp_path: Path) -> None:
    async with bench(tmp_path, config=ENCRYPTED) as over:
        await remember(over, None, SECRET_TEXT)
        warm = await over.warm()
        shelf = BackupDirectory(tmp_path, 3, TO)
        copied = await warm.store.read(
            lambda connection: shelf.add("default", connection, "asked", over.clock.now_us())
        )
        assert copied[0].encrypted
        await over.stores.close()
        aside = shelf.put_aside("default", over.clock.now_us())
        assert aside is not None
        kept = shelf.add_of_files("default", aside / "mnemon.db", "replaced", over.clock.now_us())
        assert (kept.encrypted, files_with(tmp_path / "backups", SECRET_TEXT)) == (True, [])
        assert os.listdir(tmp_path / "data") == []


async def test_a_recipient_that_is_none_ends_it_before_anything_is_written(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, None, SECRET_TEXT)
        with pytest.raises(MnemonError, match="is no recipient of age") as refused:
            await made(over, ["age1hello"])
        assert refused.value.kind is INVALID_PARAMS
        assert not (tmp_path / "backups").exists()


async def test_a_purge_names_encrypted_backups_as_they_cannot_be_searched(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        gone = await remember(over, None, SECRET_TEXT)
        backup = await made(over, TO)
        done = await over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        assert list(done.backups) == [f"backups/default/{backup.name}.db.age"]


async def test_changes_of_the_file_or_its_plaintext_are_found(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, None, SECRET_TEXT)
        view = await made(over, TO)
        (found,) = BackupDirectory(tmp_path, 1).all()
        assert (examine(found), examine(found, [KEY])) == (None, None)
        assert "none of the identities is one of its recipients" in str(examine(found, [OTHER]))
        another = msgspec.structs.replace(found, sha256="0" * 64)
        assert "its plaintext is not the one that was noted" in str(examine(another, [KEY]))
        content = found.file.read_bytes()
        found.file.write_bytes(content[:5000] + b"\0\0" + content[5002:])
        assert "its checksum is not the one that was noted" in str(examine(found))
        with pytest.raises(MnemonError, match="it is damaged: its checksum"):
            await over.backups.verify(CALL, BackupVerifyParams(backup=view.name))


KILLED = """
import sys, os, signal
from pathlib import Path
from mnemond import encryption
from mnemond.store import verified_copy
from mnemond.store.connection import Connection
source, target, to, step = sys.argv[1:]
recipients = encryption.recipients_of([to])
if step == "copied":
    Connection.real = Connection._copy_into
    def copied(self, copy, pause):
        self.real(copy, pause)
        os.kill(os.getpid(), signal.SIGKILL)
    Connection._copy_into = copied
else:
    encryption_of = encryption.encrypt
    def cut(parts, write, to):
        def few():
            for number, part in enumerate(parts):
                yield part
                if number == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
        encryption_of(few(), write, to)
    encryption.encrypt = cut
verified_copy.make(Path(source), Path(target), recipients=recipients)
"""


@pytest.mark.parametrize("step", [pytest.param("copied", marks=pytest.mark.check_all), "encrypting"])
async def test_a_killed_process_leaves_no_plaintext(tmp_path: Path, step: str) -> None:
    async with bench(tmp_path) as over:
        for number in range(200):
            await remember(over, None, f"{SECRET_TEXT} {number} " + "x" * 800)
        folder = tmp_path / "backups" / "default"
        folder.mkdir(parents=True)
        source = over.stores.path("default")
        run = [
            sys.executable,
            "-c",
            KILLED,
            str(source),
            str(folder / "20260202T024001.000000Z-asked.db.age"),
            *TO,
            step,
        ]
        ended = await trio.to_thread.run_sync(lambda: subprocess.run(run, check=False).returncode)
        assert ended == -signal.SIGKILL
        assert files_with(tmp_path / "backups", SECRET_TEXT) == []
        assert all(each.suffix == ".part" for each in folder.iterdir())
    remove_leftovers(tmp_path)
    assert (list(folder.iterdir()), drafts(tmp_path)) == ([], [])


def test_what_a_killed_process_left_beside_the_stores_goes(tmp_path: Path) -> None:
    left = tmp_path / "data" / f"{backups.COPYING}shop"
    left.mkdir(parents=True)
    (left / "copy.db").write_bytes(b"x")
    assert drafts(tmp_path) == [left]
    remove_leftovers(tmp_path)
    assert not left.exists()
