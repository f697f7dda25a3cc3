"""The method backup.send: the plaintext of an encrypted backup, on its way from the client, which has the key, to the
store that is restored from it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import trio

from mnemond.api.transfers import Transfer, Transfers
from mnemond.api.types_admin import BackupSendParams, BackupSendResult
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, MnemonError, rejected
from mnemond.store.files import make_directory
from mnemond.wire.dispatch import Call, handles

MAX_UPLOADS: Final = 2
"""Backups on their way at the same time."""

MAX_BYTES: Final = 16 << 30
"""Bytes of one."""


def _gone() -> MnemonError:
    sentence = "there is no such upload any more: nothing was sent for a minute, or the daemon was restarted"
    return rejected(NOT_FOUND, sentence, "begin again: mnemonctl backup restore")


class BackupUploads:
    """What was sent lies in files without a name beside the stores, and is gone with them or with this process."""

    def __init__(self, data_dir: Path, nonce: Callable[[], str]) -> None:
        self._directory = data_dir / "data"
        self._nonce = nonce
        self._uploads: Transfers[Transfer] = Transfers(_gone)
        self.run = self._uploads.run

    def _append(self, upload: Transfer, content: bytes) -> None:
        make_directory(self._directory)
        upload.append(content, self._directory)

    @handles("backup.send", in_task=True)
    async def send(self, call: Call, params: BackupSendParams) -> BackupSendResult:
        """Take the next part. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, BUSY, TOO_LARGE; OSError."""
        try:
            content = base64.b64decode(params.content, validate=True)
        except ValueError as error:
            raise rejected(INVALID_PARAMS, f"content is no base64: {error}") from None
        if params.upload is None:
            self._uploads.end_left()
            if len(self._uploads) >= MAX_UPLOADS:
                raise rejected(BUSY, f"{MAX_UPLOADS} backups are being sent already", "repeat when one is restored")
            name = self._nonce()
            begun = Transfer("", call.peer_pid)
            await trio.to_thread.run_sync(self._append, begun, b"")
            self._uploads.begin(name, begun)
        else:
            name = params.upload
        upload = self._uploads.of(name)
        async with upload.lock:
            if upload.received + len(content) > MAX_BYTES:
                self._uploads.end(name)
                raise rejected(TOO_LARGE, f"a backup has at most {MAX_BYTES >> 30} GiB; nothing was restored")
            await trio.to_thread.run_sync(self._append, upload, content)
            upload.received += len(content)
        return BackupSendResult(upload=name, received=upload.received)

    @contextmanager
    def taken(self, name: str) -> Iterator[IO[bytes]]:
        """Give the whole content of an upload to be restored; it is discarded at the end. Raises MnemonError."""
        upload = self._uploads.of(name)
        if upload.lock.locked():
            raise rejected(BUSY, "a part of the upload is being received", "repeat it")
        self._uploads.take(name)
        assert upload.spool is not None, "it was made when the upload began"  # noqa: S101
        with upload.spool as file:
            file.seek(0)
            yield file
