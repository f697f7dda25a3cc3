"""`mnemonctl backup -o FILE`: the daemon makes the backup, this client copies it to where its user wants it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from mnemonctl import fast, rpc
from mnemond.commands.grammar import Invocation
from mnemond.commands.output import success
from mnemond.errors import STORAGE, MnemonError
from mnemond.protocol.backups import BackupCreateResult
from mnemond.protocol.daemon import CliRunResult


def carry_out(invocation: Invocation, directory: Path, deadline: float, env_store: str) -> CliRunResult:
    """Make a backup and copy it; `env_store` is $MNEMON_STORE, which --store goes before.

    Raises MnemonError, also when the file is there already: nothing is overwritten.
    """
    target = Path(os.path.abspath(os.path.expanduser(str(invocation.options["file"]))))
    if target.exists():
        raise _refused(target, "it exists already")
    try:
        params = {"store": env_store, **invocation.params} if env_store else invocation.params
        made = rpc.call(directory, "backup.create", params, deadline, BackupCreateResult)
    except OSError as error:
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise rpc.silent(directory, error, "backup.create") from None
    try:
        _copy(Path(made.backup.path), target)
    except OSError as error:
        raise _refused(target, error.strerror or str(error), made.backup.name) from None
    shown = msgspec.structs.replace(made, backup=msgspec.structs.replace(made.backup, path=str(target)))
    return success(invocation.command, shown, invocation.output)


def _copy(source: Path, target: Path) -> None:
    """Copy a file (0600), which appears whole and on the disk, or not at all."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as copy, open(source, "rb") as original:
            shutil.copyfileobj(original, copy)
            copy.flush()
            os.fsync(copy.fileno())
        os.link(draft, target)  # unlike a rename, it takes nobody's place
    finally:
        draft.unlink(missing_ok=True)


def _refused(target: Path, why: str, made: str | None = None) -> MnemonError:
    hint = "name another file" if made is None else f"the backup itself is there: {made}"
    return MnemonError(STORAGE, f"{target} cannot be written: {why}", hint=hint, outcome="rejected")
