"""Small commands that the client runs itself: `backup` with files and keys, `cues --apply FILE`, `config path`,
`config check`, `top`."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import IO, Final

import msgspec

from mnemonctl import fast, keys, rpc
from mnemond import encryption
from mnemond.api.types_changes import MemoryCues
from mnemond.api.types_daemon import CliRunResult, TopResult
from mnemond.api.types_stores import BackupCreateResult, BackupListResult, BackupRestoreResult, BackupVerifyResult
from mnemond.cli.admin import TopOptions, render_top
from mnemond.cli.grammar import Invocation, Output, failure, success
from mnemond.cli.output import one_line
from mnemond.config import loading
from mnemond.config.loading import FILE, Sources
from mnemond.config.regular_files import open_regular, read_regular
from mnemond.errors import CONFIG, INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.model.answers import Backup
from mnemond.model.outcomes import CuesApplied
from mnemond.store import registry
from mnemond.wire.params import plural

# ------------------------------------------------------------------ backup -o FILE, --encrypt-to, --identity


def run_backup(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Run a `backup` that names a file or a key. `store` is used unless --store is given. Raises MnemonError."""
    params: dict[str, object] = {"store": store, **invocation.params} if store else dict(invocation.params)
    params.pop("identity", None)
    if (named := invocation.options.get("encrypt_to")) is not None:
        params["encrypt_to"] = keys.recipients(msgspec.convert(named, list[str]))
    match invocation.method:
        case "backup.create" if "file" in invocation.options:
            return _backup_into_file(invocation, directory, deadline, params)
        case "backup.create":
            made = rpc.call(directory, "backup.create", params, BackupCreateResult, deadline)
            return success(invocation.command, made, invocation.output)
        case "backup.verify":
            checked = _verified(directory, params, str(invocation.options["identity"]), deadline)
            return success(invocation.command, checked, invocation.output)
    restored = _restored(directory, params, str(invocation.options["identity"]), deadline)
    return success(invocation.command, restored, invocation.output)


def _verified(directory: Path, params: dict[str, object], identity: str, deadline: float) -> BackupVerifyResult:
    checked = rpc.call(directory, "backup.verify", params, BackupVerifyResult, deadline)
    backup = checked.backup
    if not backup.encrypted:
        return checked
    digest = hashlib.sha256()
    with _plaintext(backup, identity) as plain:
        for part in encryption.parts_of(plain):
            digest.update(part)
    if digest.hexdigest() != backup.sha256:
        sentence = f"{backup.name} is damaged: its plaintext is not the one that was noted when it was made"
        raise MnemonError(STORAGE, sentence, hint="do not rely on it: `mnemonctl backup list` shows others")
    return BackupVerifyResult(backup=backup)


def _restored(directory: Path, params: dict[str, object], identity: str, deadline: float) -> BackupRestoreResult:
    """Decrypt a backup, hand it to the daemon, and let it be restored."""
    known = rpc.call(directory, "backup.list", {"store": params.get("store")}, BackupListResult, deadline).backups
    found = [each for each in known if each.name.startswith(str(params["backup"]))]
    if len(found) == 1 and found[0].encrypted:
        with (
            _plaintext(found[0], identity) as plain,
            rpc.spooled(directory, encryption.parts_of(plain)) as (name, _),
        ):
            return rpc.call(directory, "backup.restore", {**params, "spool": name}, BackupRestoreResult, deadline)
    return rpc.call(directory, "backup.restore", params, BackupRestoreResult, deadline)


def _plaintext(backup: Backup, identity: str) -> IO[bytes]:
    try:
        file = open(open_regular(backup.path, os.O_RDONLY), "rb")  # noqa: SIM115 - the stream closes it
    except OSError as error:
        raise MnemonError(STORAGE, f"{backup.path} cannot be read: {error.strerror}", outcome="rejected") from None
    return encryption.decrypted(file, keys.identities(identity), backup.name)


def _backup_into_file(
    invocation: Invocation, directory: Path, deadline: float, params: dict[str, object]
) -> CliRunResult:
    """Let the daemon make a backup and copy it to a file. Raises MnemonError, also if the file exists: nothing is
    overwritten."""
    from mnemonctl import transfer  # with what it imports it is for this command alone

    target = transfer.target_of(str(invocation.options["file"]), directory)
    if os.path.lexists(target):
        raise transfer.not_writable(target, "it exists already")
    result = rpc.call(directory, "backup.create", params, BackupCreateResult, deadline)
    try:
        with open(result.backup.path, "rb") as file:
            transfer.write_file(target, encryption.parts_of(file), replace=False)
    except OSError as error:
        hint = f"the backup itself is there: {result.backup.name}"
        raise transfer.not_writable(target, error.strerror or str(error), hint) from None
    shown = msgspec.structs.replace(result, backup=msgspec.structs.replace(result.backup, path=str(target)))
    return success(invocation.command, shown, invocation.output)


# ------------------------------------------------------------------ cues --apply FILE


def run_cues_file(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Read a file of cues, or standard input, and let the daemon apply it. `store` is used unless --store is given.

    Memories that are not there are named, with the exit status of that; the others have been given their cues. Raises
    MnemonError for a file that cannot be read or says something else.
    """
    name = str(invocation.options["file"])
    memories = _cues_of(name)
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    result = rpc.call(
        directory, "cues.apply", {**params, "memories": msgspec.to_builtins(memories)}, CuesApplied, deadline
    )
    done = success(invocation.command, result, invocation.output)
    if not result.unknown:
        return done
    ids = plural(len(result.unknown), "id")
    sentence = f"{ids} of {name} without a memory: {', '.join(result.unknown)}"
    hint = "all others were applied; `mnemonctl cues --missing` names the memories that have none"
    missed = failure(MnemonError(NOT_FOUND, sentence, hint=hint), invocation.output)
    return msgspec.structs.replace(done, exit_code=missed.exit_code, stderr=done.stderr + missed.stderr)


def _cues_of(name: str) -> list[MemoryCues]:
    """Return the memories of a document with one list of them, or the list itself."""
    try:
        content = fast.read_stdin().encode() if name == "-" else _content(Path(os.path.expanduser(name)))
        found = msgspec.json.decode(content, type=_CuesFile | list[MemoryCues])
    except msgspec.MsgspecError as error:
        hint = f"it must be what `mnemonctl cues --missing --json` prints, such as {_CUES}"
        raise MnemonError(
            INVALID_PARAMS, f"{name} is no list of cues: {error}", hint=hint, outcome="rejected"
        ) from error
    except OSError as error:
        raise MnemonError(
            INVALID_PARAMS, f"{name} cannot be read: {error.strerror or error}", hint="name a file, or - for standard"
            " input", outcome="rejected",
        ) from error  # fmt: skip
    return found.memories if isinstance(found, _CuesFile) else found


def _content(path: Path) -> bytes:
    content = read_regular(path, fast.MAX_MESSAGE)
    if len(content) > fast.MAX_MESSAGE:
        raise OSError(errno.EFBIG, f"it has more than {fast.MAX_MESSAGE:,} bytes")
    return content


class _CuesFile(msgspec.Struct):
    memories: list[MemoryCues]


_CUES: Final = '{"memories": [{"id": "1a2b3c4d", "cues": ["can I just commit this"]}]}'


# ------------------------------------------------------------------ config path, config check


def run_config(invocation: Invocation, directory: Path) -> CliRunResult:
    """Run one of them, without a daemon: the configuration may keep one from starting. Raises MnemonError."""
    named = invocation.options.get("store")
    store = None if named is None else registry.check_name(str(named))
    if invocation.command.name == "config path":
        path = _file(directory, store)
        return _result(invocation, {"path": str(path), "exists": path.exists()}, one_line(str(path)))
    files = _checked_files(invocation.words, directory, store)
    text = "\n".join(f"fine: {one_line(path)}" for path in files) or "fine: there is no file; the defaults apply"
    return _result(invocation, {"ok": True, "files": files}, text)


def _checked_files(words: list[str], directory: Path, store: str | None) -> list[str]:
    """Check the file in `words`, else those of the data directory, or of one store; return their paths."""
    if len(words) > 1:
        raise MnemonError(INVALID_PARAMS, f"config check takes one file ({len(words)} were given)")
    if words:
        file = Path(os.path.abspath(os.path.expanduser(words[0])))
        if not file.is_file():
            raise MnemonError(CONFIG, f"there is no file {file}", hint="without FILE, config.toml is checked")
        loading.load(file)
        return [str(file)]
    if store is not None:
        of_stores = [_file(directory, store)]
    else:
        of_stores = sorted(
            path for path in directory.glob(f"data/*/{FILE}") if registry.is_valid_name(path.parent.name)
        )
    layers = loading.read(Sources(_file(directory, None), os.environ))
    loading.resolve(layers)
    for path in of_stores:
        loading.resolve(layers, path)
    return [str(path) for path in (_file(directory, None), *of_stores) if path.exists()]


def _file(directory: Path, store: str | None) -> Path:
    return directory / FILE if store is None else directory / "data" / store / FILE


def _result(invocation: Invocation, facts: dict[str, object], text: str) -> CliRunResult:
    output = invocation.output
    return CliRunResult(0, False, output.json(facts) if output.form == "json" else f"{text}\n", "")


# ------------------------------------------------------------------ top

CLEAR: Final = "\x1b[H\x1b[2J"
"""Home, and erase the screen (ECMA-48)."""


def run_top(directory: Path, options: TopOptions, output: Output) -> int:
    """Show what the daemon does until Ctrl-C or the reader leaves; with `once` a single time. A daemon is not started.

    Returns the exit status. Raises MnemonError, KeyboardInterrupt, fast.OutputError.
    """
    live = output.tty and not options.once
    while True:
        params = {"interval_s": options.interval}
        result = rpc.call(directory, "top", params, TopResult, fast.DEADLINE_S + options.interval)
        if output.form == "json":
            text = output.json(result)
        else:
            text = (CLEAR if live else "") + render_top(result, output.style)
        if not _printed(text) or options.once:
            return 0


def _printed(text: str) -> bool:
    """Print; return False if the reader has left. Raises fast.OutputError."""
    view = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        return False
    except OSError as error:
        raise fast.OutputError(error.strerror) from None
    return True
