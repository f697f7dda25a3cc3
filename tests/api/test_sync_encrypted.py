"""Sync of files that are encrypted for recipients: no text of a memory is in the directory, and none is written there
unencrypted later without a person having said so."""

from __future__ import annotations

import os
import shutil
import signal
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pyrage
import pytest
import trio

from mnemonctl import sync
from mnemonctl.sync import Keys
from mnemond import encryption
from mnemond.api.types_changes import UpdateParams
from mnemond.api.types_memories import ForgetParams
from mnemond.api.types_sync import SyncOpenParams, SyncStatusParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from tests.api.factories import CALL
from tests.api.test_sync import TARGET, files_of, two
from tests.interchange.test_export import remember

KEY, OTHER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
TO, TO_OTHER = str(KEY.to_public()), str(OTHER.to_public())
SECRET = Keys((TO,), identities=[KEY])
READS = Keys(identities=[KEY])
CANARY = "zanzibar"
TEXT = f"The word {CANARY} is here"


def all_files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file())


def is_in(path: Path, word: str = CANARY) -> bool:
    """Return True if a word is in a file of a directory, or in its name."""
    return any(word.encode() in each.read_bytes() or word in each.name for each in all_files(path))


async def test_files_that_one_device_encrypts_are_read_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        key = await remember(one.over, TEXT)
        wrote = await one.sync(shared, monkeypatch, SECRET)
        assert (wrote.publish, wrote.encrypted) == ("00000001.jsonl.age", 1)
        assert not is_in(shared)
        assert [(each.name, encryption.is_encrypted(each.read_bytes())) for each in all_files(shared)] == [
            ("00000001.jsonl.age", True), ("device.json.age", True)
        ]  # fmt: skip
        assert {each.stat().st_mode & 0o777 for each in all_files(shared)} == {0o600}
        got = await other.sync(shared, monkeypatch, SECRET)
        assert (got.added, got.unread_found) == (1, 0)
        assert await other.texts() == [TEXT]
        for machine in (one, other):  # what was encrypted is recognised by its bytes
            again = await machine.sync(shared, monkeypatch, READS)
            assert (again.publish, again.remove, again.added, again.encrypted) == (None, [], 0, 1)
        await one.over.changes.update(CALL, UpdateParams(id=key, content=f"{TEXT}, and more"))
        assert (await one.sync(shared, monkeypatch)).publish == "00000002.jsonl.age", "the recipients are remembered"
        assert not is_in(shared)
        assert (await other.sync(shared, monkeypatch, READS)).changed == 1


async def test_plain_text_is_written_only_if_a_person_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await remember(other.over, TEXT)
        await one.sync(shared, monkeypatch, SECRET)
        with pytest.raises(MnemonError, match="files there are encrypted") as caught:
            await other.sync(shared, monkeypatch, READS)
        assert caught.value.hint is not None
        assert "--encrypt-to none" in caught.value.hint
        assert not is_in(shared)
        assert (await other.syncs.status(CALL, SyncStatusParams())).targets == [], "nothing of it was noted"
        assert (await other.sync(shared, monkeypatch, Keys(plain=True, identities=[KEY]))).added == 1
        assert is_in(shared)
        await remember(other.over, "The second of all")
        assert (await other.sync(shared, monkeypatch, READS)).publish == "00000002.jsonl", "it is remembered"
        await one.sync(shared, monkeypatch, Keys(plain=True))
        assert {each.suffix for each in all_files(shared)} == {".jsonl", ".json"}


async def test_a_restored_store_does_not_go_on_in_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store knows nothing of what was encrypted since its backup; the directory has files of its device."""
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, TEXT)
        await one.sync(shared, monkeypatch, SECRET)
        (folder,) = {each.parent for each in all_files(shared)}
        await remember(other.over, "Another stays")
        await other.sync(tmp_path / "2", monkeypatch)
        device = (await other.syncs.status(CALL, SyncStatusParams())).device
        folder.rename(folder.parent / str(device))
        with pytest.raises(MnemonError, match="files there are encrypted"):
            await other.sync(shared, monkeypatch)
        assert not is_in(shared, "Another")


async def test_a_client_that_cannot_encrypt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, _ = await two(stack, tmp_path)
        begun = SyncOpenParams(target=TARGET, label="x", recipients=(TO,))
        await one.syncs.open(CALL, begun)
        one.syncs._end_of("default")
        with pytest.raises(MnemonError, match="this client cannot encrypt"):
            await one.syncs.open(CALL, SyncOpenParams(target=TARGET, label="x"))
        with pytest.raises(MnemonError, match="recipients are named, and that nothing is") as caught:
            await one.syncs.open(CALL, msgspec.structs.replace(begun, plain=True))
        assert caught.value.kind is INVALID_PARAMS


LATER = pytest.mark.check_all


@pytest.mark.parametrize(
    ("harm", "secret", "why"),
    [("none", Keys((TO,)), "is encrypted; name the secret key that decrypts it: --identity FILE"),
     ("none", Keys((TO,), identities=[OTHER]), "none of the identities is one of its recipients; name another with"),
     pytest.param("cut", SECRET, "it was cut off or changed; wait until all of it was carried here", marks=LATER),
     ("flipped", SECRET, "it was cut off or changed"),
     pytest.param("text", SECRET, "its header is damaged", marks=LATER)],
)  # fmt: skip
async def test_what_cannot_be_decrypted_is_named_and_not_noted_as_read(
    harm: str, secret: Keys, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        for number in range(60):
            await remember(one.over, f"Guest {number} likes {CANARY} {'tea ' * 400}number {number}")
        await one.sync(shared, monkeypatch, SECRET)
        (file,) = shared.rglob("*.jsonl.age")
        good = file.read_bytes()
        assert len(good) > 2 * 65_536
        bad = {"none": good, "cut": good[:-20_000], "text": b"{}\n" * 9}
        flipped = bytearray(good)
        flipped[-9] ^= 1
        file.write_bytes(bad.get(harm, bytes(flipped)))
        found = await other.sync(shared, monkeypatch, secret)
        assert (found.added, found.refused_found, found.unread_found) == (0, 0, 1)
        assert found.unread[0].startswith(f"{file.parent.name}/{file.name} ")
        assert why in found.unread[0]
        assert await other.texts() == []
        file.write_bytes(good)
        assert (await other.sync(shared, monkeypatch, SECRET)).added == 60


async def test_an_encryption_that_was_interrupted_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, TEXT)
        await one.sync(shared, monkeypatch)

        def stop(*_: object, **_fields: object) -> None:
            raise OSError(28, "No space left on device")

        for name in ("replace", "unlink"):
            with monkeypatch.context() as patch:
                patch.setattr(os, name, stop)
                with pytest.raises((MnemonError, OSError)):
                    await one.sync(shared, patch, SECRET)
            one.syncs._end_of("default")
            assert is_in(shared)
        await one.sync(shared, monkeypatch)
        assert not is_in(shared)
        assert (await one.sync(shared, monkeypatch)).publish is None
        assert (await other.sync(shared, monkeypatch, SECRET)).added == 1


async def test_a_purge_travels_through_encrypted_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        gone = await remember(one.over, TEXT)
        for machine in (one, other):
            await machine.sync(shared, monkeypatch, SECRET)
        await one.over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        assert (await one.sync(shared, monkeypatch)).remove == ["00000001.jsonl.age"]
        assert (await other.sync(shared, monkeypatch, READS)).purged == 1
        text = b"".join(pyrage.decrypt(each.read_bytes(), [KEY]) for each in all_files(shared))
        assert CANARY.encode() not in text


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
async def test_no_object_of_a_repository_has_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = tmp_path / "remote.git"
    git = ["git", f"--git-dir={remote}"]
    await trio.run_process([*git, "init", "--quiet", "--bare"])
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        await remember(one.over, TEXT)
        await one.sync(remote, monkeypatch, SECRET)
        assert (await other.sync(remote, monkeypatch, SECRET)).added == 1
        await remember(other.over, f"Another {CANARY}")
        await other.sync(remote, monkeypatch, READS)
        assert (await one.sync(remote, monkeypatch, READS)).added == 1
    read = [*git, "cat-file", "--batch", "--batch-all-objects"]
    objects = (await trio.run_process(read, capture_stdout=True)).stdout
    assert objects.count(encryption.MAGIC.rstrip()) == 4, "two files of records, two with a name"
    assert CANARY.encode() not in objects


def test_a_client_that_is_killed_leaves_no_text(tmp_path: Path) -> None:
    """kill -9 while a file is written; the next sync removes what is left of it."""

    def portions() -> Iterator[bytes]:
        for _ in range(40):
            yield f"{CANARY}\n".encode() * 4_000
        os.kill(os.getpid(), signal.SIGKILL)
        yield b""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that earlier tests left waiting
        child = os.fork()
    if not child:
        with sync._directory(tmp_path) as folder:
            sync._Folder(folder).write("a" * 16, "00000001.jsonl.age", portions(), encryption.recipients_of([TO]))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    (left,) = all_files(tmp_path)
    assert left.stat().st_size > 500_000
    assert not is_in(tmp_path)
    with sync._directory(tmp_path) as folder:
        sync._Folder(folder).remove_drafts("a" * 16)
    assert all_files(tmp_path) == []


async def test_no_plain_file_of_an_encrypted_one_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, _ = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, TEXT)
        await one.sync(shared, monkeypatch)
        (plain,) = files_of(shared)
        draft = plain.with_name(f".{plain.name}.4711.part")
        shutil.copy(plain, draft)
        await one.sync(shared, monkeypatch, SECRET)
        assert not is_in(shared)
        assert not draft.exists()
