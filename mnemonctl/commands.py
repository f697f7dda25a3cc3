"""`mnemonctl setup` on a terminal: where things are on this machine, and how its user is asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import fast, rpc
from mnemonctl.setup import command
from mnemonctl.setup.host import SetupEnvironment
from mnemond.api.types_admin import BackupCreateResult, CliRunResult, TopResult
from mnemond.cli.admin import render_top
from mnemond.cli.grammar import Invocation, Output, success
from mnemond.cli.output import one_line
from mnemond.config import loading
from mnemond.config.loading import FILE, Sources
from mnemond.errors import CONFIG, INVALID_PARAMS, STORAGE, MnemonError
from mnemond.store.registry import check as checked
from mnemond.store.registry import is_valid


def setup_environment(directory: Path, environ: Mapping[str, str]) -> SetupEnvironment:
    """This user's home and environment."""
    return SetupEnvironment(Path(environ.get("HOME") or os.path.expanduser("~")), environ, directory)


def run_agents(
    directory: Path, options: Mapping[str, object], output: Output, environ: Mapping[str, str]
) -> CliRunResult:
    """`mnemonctl setup`. Raises MnemonError."""
    chosen = msgspec.convert(options, command.Options)
    if options.get("readonly") and not chosen.dry_run:
        message = "setup writes, and --readonly was given; nothing was written"
        raise MnemonError(STORAGE, message, hint="--dry-run shows what it would do", outcome="rejected")
    on_terminal = os.isatty(0) and os.isatty(2)
    return command.run(setup_environment(directory, environ), chosen, output, ask if on_terminal else None)


def ask(text: str) -> bool:
    """Show what would be done and wait for an answer; anything but yes is no."""
    fast.write(2, f"{text}\nDo this? [y/N] ".encode("utf-8", "backslashreplace"))
    answer = os.read(0, 1000)
    return answer.strip().lower() in (b"y", b"yes")


# `mnemonctl backup -o FILE`: the daemon makes the backup, this client copies it to where its user wants it.


def run_backup_file(invocation: Invocation, directory: Path, deadline: float, env_store: str) -> CliRunResult:
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


# `mnemonctl config path` and `config check`: about files, so no daemon is needed, and none has to be able to start.


def run_settings(invocation: Invocation, directory: Path) -> CliRunResult:
    """Raises MnemonError."""
    store = invocation.options.get("store")
    name = None if store is None else checked(str(store))
    if invocation.command.name == "config path":
        path = _file(directory, name)
        return _answer(invocation, {"path": str(path), "exists": path.exists()}, one_line(str(path)))
    return _check(invocation, directory, name)


def _check(invocation: Invocation, directory: Path, store: str | None) -> CliRunResult:
    if len(invocation.words) > 1:
        raise MnemonError(INVALID_PARAMS, f"config check takes one file ({len(invocation.words)} were given)")
    if invocation.words:
        file = Path(os.path.abspath(os.path.expanduser(invocation.words[0])))
        if not file.is_file():
            raise MnemonError(CONFIG, f"there is no file {file}", hint="without FILE, config.toml is checked")
        loading.load(file)
        return _fine(invocation, [file])
    layers = loading.read(Sources(_file(directory, None), os.environ))
    loading.resolve(layers)
    own = [_file(directory, store)] if store is not None else _files_of_stores(directory)
    for path in own:
        loading.resolve(layers, path)
    return _fine(invocation, [path for path in (_file(directory, None), *own) if path.exists()])


def _files_of_stores(directory: Path) -> list[Path]:
    found = directory.glob(f"data/*/{FILE}")
    return sorted(path for path in found if is_valid(path.parent.name))


def _file(directory: Path, store: str | None) -> Path:
    return directory / FILE if store is None else directory / "data" / store / FILE


def _fine(invocation: Invocation, checked_files: list[Path]) -> CliRunResult:
    names = [str(path) for path in checked_files]
    text = "\n".join(f"fine: {one_line(name)}" for name in names) or "fine: there is no file, and every default counts"
    return _answer(invocation, {"ok": True, "files": names}, text)


def _answer(invocation: Invocation, facts: dict[str, object], text: str) -> CliRunResult:
    output = invocation.output
    return CliRunResult(0, False, output.json(facts) if output.form == "json" else f"{text}\n", "")


# `mnemonctl top`: ask the daemon what it does, again and again. It is not started for this.


CLEAR: Final = "\x1b[H\x1b[2J"
"""Home, and erase the screen (ECMA-48)."""

USUAL_S: Final = 1.0


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    once: bool = False
    interval: float = USUAL_S


def run_top(directory: Path, options: Options, output: Output) -> int:
    """Print until Ctrl-C or the reader leaves; with `once` a single time. Raises MnemonError, KeyboardInterrupt."""
    while True:
        result = look(directory, options.interval)
        if output.form == "json":
            text = output.json(result)
        else:
            live = output.tty and not options.once
            text = (CLEAR if live else "") + render_top(result, output.style)
        if not _printed(text) or options.once:
            return 0


def _printed(text: str) -> bool:
    """Whether somebody is there to read it. Raises Unwritten when it cannot be written otherwise."""
    view = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        return False
    except OSError as error:
        raise fast.OutputError(error.strerror) from None
    return True


def look(directory: Path, interval_s: float) -> TopResult:
    """What the daemon did in so many seconds from now. Raises MnemonError when none answers."""
    deadline = fast.DEADLINE_S + interval_s
    try:
        return rpc.call(directory, "top", {"interval_s": interval_s}, deadline, TopResult)
    except OSError as error:
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise rpc.silent(directory, error, "top") from None
