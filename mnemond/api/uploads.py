"""The method backup.send: the plaintext of an encrypted backup, on its way from the client, which has the key, to the
store that is restored from it."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import trio

from mnemond.api.types_admin import BackupSendParams, BackupSendResult
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, rejected
from mnemond.store.files import make_directory
from mnemond.wire.dispatch import Call, handles

IDLE_S: Final = 60.0
"""Seconds without a message after which what was sent is discarded."""

MAX_UPLOADS: Final = 2
"""Backups on their way at the same time."""

MAX_BYTES: Final = 16 << 30
"""Bytes of one."""


class _Upload:
    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.received = 0
        self.heard_at = trio.current_time()
        self.lock = trio.Lock()


class BackupUploads:
    """What was sent lies in files without a name beside the stores, and is gone with them or with this process."""

    def __init__(self, data_dir: Path, nonce: Callable[[], str]) -> None:
        self._directory = data_dir / "data"
        self._nonce = nonce
        self._uploads: dict[str, _Upload] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Discard what was left, until cancelled; then all."""
        task_status.started()
        try:
            while True:
                await trio.sleep(IDLE_S / 2)
                late = trio.current_time() - IDLE_S
                for name, each in list(self._uploads.items()):
                    if each.heard_at < late and not each.lock.locked():
                        self._discard(name)
        finally:
            for name in list(self._uploads):
                self._discard(name)

    def _unnamed_file(self) -> IO[bytes]:
        make_directory(self._directory)
        return tempfile.TemporaryFile(dir=self._directory)

    def _discard(self, name: str) -> None:
        self._uploads.pop(name).file.close()

    def _of(self, name: str) -> _Upload:
        if (found := self._uploads.get(name)) is None:
            sentence = "there is no such upload any more: nothing was sent for a minute, or the daemon was restarted"
            raise rejected(NOT_FOUND, sentence, "begin again: mnemonctl backup restore")
        found.heard_at = trio.current_time()
        return found

    @handles("backup.send", in_task=True)
    async def send(self, call: Call, params: BackupSendParams) -> BackupSendResult:
        """Take the next part. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, BUSY, TOO_LARGE; OSError."""
        try:
            content = base64.b64decode(params.content, validate=True)
        except ValueError as error:
            raise rejected(INVALID_PARAMS, f"content is no base64: {error}") from None
        if params.upload is None:
            if len(self._uploads) >= MAX_UPLOADS:
                raise rejected(BUSY, f"{MAX_UPLOADS} backups are being sent already", "repeat when one is restored")
            name = self._nonce()
            self._uploads[name] = _Upload(await trio.to_thread.run_sync(self._unnamed_file))
        else:
            name = params.upload
        upload = self._of(name)
        async with upload.lock:
            if upload.received + len(content) > MAX_BYTES:
                self._discard(name)
                raise rejected(TOO_LARGE, f"a backup has at most {MAX_BYTES >> 30} GiB; nothing was restored")
            await trio.to_thread.run_sync(upload.file.write, content)
            upload.received += len(content)
        return BackupSendResult(upload=name, received=upload.received)

    @contextmanager
    def taken(self, name: str) -> Iterator[IO[bytes]]:
        """Give the whole content of an upload to be restored; it is discarded at the end. Raises MnemonError."""
        upload = self._of(name)
        if upload.lock.locked():
            raise rejected(BUSY, "a part of the upload is being received", "repeat it")
        del self._uploads[name]
        with upload.file:
            upload.file.seek(0)
            yield upload.file
