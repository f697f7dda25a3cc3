"""The part of the client that imports libraries: commands it runs itself, starting the daemon, and errors."""

from __future__ import annotations

import _socket
import errno
import os
import posix
import time
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli import completion, mnemon
from mnemond.cli.admin import DoctorOptions, LogsOptions, TopOptions
from mnemond.cli.grammar import Invocation, failure, output_of, parse
from mnemond.cli.output import one_line
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.wire.listener import unwritable

_TRANSFERS = frozenset({"export", "import.run", "sync.open"})
"""Methods that the client always has a part in: it reads or writes the files."""

OF_CLIENT = frozenset({"file", "format", "encrypt_to", "identity"})
"""Options with which the client has a part in a command that the daemon runs otherwise."""

RETRY_S = 0.02
"""Pause before connecting again to a daemon with a full backlog."""


def finish(done: int | fast.Unfinished) -> int:
    """Finish a command line that the fast path left; return the exit status."""
    while isinstance(done, fast.Unfinished):
        done = _continued(done)
    return done


def _continued(it: fast.Unfinished) -> int | fast.Unfinished:
    if it.code is not None:
        replace_outdated(it.directory)
        return it.code
    match it.error:
        case None:
            return complete(it.argv) if it.argv[:1] == [fast.COMPLETE] else run(it.argv, it.deadline)
        case fast.InvalidInputError():
            return report_invalid(it.argv, it.error)
        case fast.NoAnswer() | fast.UnexpectedReplyError():
            return report_reply(it.argv, it.directory, it.error)
        case OSError():
            return reconnect(it)
        case _:
            raise it.error


def run(argv: list[str], deadline: float) -> int | fast.Unfinished:
    """Run a command that the client has a part in, or show help; return the exit status."""
    try:
        params = terminal_params(argv)
        if params.program == fast.ALIAS:
            return show(CliRunResult(0, False, mnemon.answer(params), ""))
        parsed = parse(params)
        if isinstance(parsed, CliRunResult):
            return show(parsed)
        by_client = parsed.method in _TRANSFERS or not parsed.options.keys().isdisjoint(OF_CLIENT)
        by_client = by_client or (parsed.method == "sync.status" and len(parsed.words) > 1)  # it looks into a directory
        if parsed.method is not None and not by_client:
            return fast.forward(argv, deadline)
        return _run_here(argv, parsed, deadline)
    except fast.InvalidInputError as error:
        return report_invalid(argv, error)
    except MnemonError as error:
        return report(argv, error)


def complete(argv: list[str]) -> int:
    """Print the candidates that need no daemon."""
    shell, *typed = argv[1:] or [""]
    words = completion.words_of(shell, typed)
    if words is not None:
        fast.write(1, completion.answer(shell, completion.wanted(words)).encode("utf-8", "backslashreplace"))
    return 0


def _run_here(argv: list[str], invocation: Invocation, deadline: float) -> int:
    name, options, output = invocation.command.name, invocation.options, invocation.output
    directory = files.usable(path_of(fast.data_dir(argv)))
    group = name.partition(" ")[0]
    if group in _WITH_DAEMON:
        daemon.start(directory, daemon.start_wait(os.environ))
        return show(_run_with_daemon(group, invocation, directory, deadline))
    match group:
        case "browse":
            from mnemonctl.browse import command as browse

            browse.require_terminal()
            daemon.start(directory, daemon.start_wait(os.environ))
            return browse.run(options, directory, os.environ.get("MNEMON_STORE", ""))
        case "config":
            from mnemonctl import commands

            return show(commands.run_config(invocation, directory))
        case "prompts":
            from mnemonctl import prompts

            return show(prompts.run(invocation, directory, os.environ))
        case "top":
            from mnemonctl import commands

            return commands.run_top(directory, msgspec.convert(options, TopOptions), output)
        case "logs":
            from mnemonctl import logs

            return logs.run(directory, msgspec.convert(options, LogsOptions), output)
        case "doctor":
            from mnemonctl import doctor

            return show(doctor.run(directory, msgspec.convert(options, DoctorOptions), output, os.environ))
        case "setup":
            from mnemonctl.setup import command

            code = show(command.run_here(directory, options, output, os.environ))
            kinds = [] if code else command.sessions_to_import(options, output, os.environ)
            form = "--json" if output.form == "json" else "--text"
            line = ["import", "--yes", form, "--data-dir", str(directory), "--from"]
            return code or max((finish(run([*line, each], deadline)) for each in kinds), default=0)
        case _:
            from mnemonctl import daemon_commands

            return show(daemon_commands.run(name, directory, options, output))


_WITH_DAEMON: Final = frozenset({"backup", "cues", "export", "import", "share", "sync", "viz"})
"""Commands that work through a daemon from the first step on."""


def _run_with_daemon(group: str, invocation: Invocation, directory: Path, deadline: float) -> CliRunResult:
    store = os.environ.get("MNEMON_STORE", "")
    match group:
        case "backup":
            from mnemonctl import commands

            return commands.run_backup(invocation, directory, deadline, store)
        case "export":
            from mnemonctl import transfer

            return transfer.run_export(invocation, directory, deadline, store)
        case "import":
            from mnemonctl import transfer

            return transfer.run_import(invocation, directory, deadline, store)
        case "share":
            from mnemonctl import share

            return share.run(invocation, directory, deadline, store)
        case "sync":
            from mnemonctl import background_sync, sync

            if invocation.options.get("every"):
                return background_sync.run(invocation, directory, deadline, store)
            return sync.run(invocation, directory, deadline, store)
        case "cues":
            from mnemonctl import commands

            return commands.run_cues_file(invocation, directory, deadline, store)
        case _:
            from mnemonctl.viz import command as viz

            return viz.run(invocation, directory, deadline, store)


def terminal_params(argv: list[str]) -> CliRunParams:
    """Return what the daemon would get to know about this terminal."""
    tty = posix.isatty(1)
    columns = fast.columns() if tty else 80
    color = tty and fast.color()
    return CliRunParams(
        argv=argv, tty=tty, tty_err=posix.isatty(2), columns=columns, color=color, env_store=None,
        directory=fast.working_directory() or None, program="mnemon" if fast.is_alias() else "mnemonctl",
    )  # fmt: skip


def path_of(directory: bytes) -> Path:
    """Return the data directory as an absolute path: the daemon has another working directory."""
    return Path(os.path.abspath(os.fsdecode(directory)))


def show(result: CliRunResult) -> int:
    """Print a result and return its exit status."""
    fast.write(1, result.stdout.encode("utf-8", "backslashreplace"))
    fast.write(2, result.stderr.encode("utf-8", "backslashreplace"))
    return result.exit_code


# ------------------------------------------------------------------ errors


def report(argv: list[str], error: MnemonError) -> int:
    """Print an error in the format that the command line selects; return its exit status."""
    return show(failure(error, output_of(terminal_params(argv))))


def report_invalid(argv: list[str], error: fast.InvalidInputError) -> int:
    """Report a command line that cannot be sent."""
    return report(argv, MnemonError(INVALID_PARAMS, error.message, hint=error.hint, outcome="rejected"))


def report_reply(argv: list[str], directory: bytes, error: fast.NoAnswer | fast.UnexpectedReplyError) -> int:
    """Report that no reply came, or read one in another form than the fast path does."""
    if isinstance(error, fast.NoAnswer):
        return report(argv, rpc.no_reply(path_of(directory), error, *_method_and_op_id(argv)))
    try:
        result = rpc.result_of(error.reply)
        texts = str(result["stdout"]), str(result["stderr"])
        return show(CliRunResult(int(result["exit_code"]), bool(result.get("outdated")), *texts))
    except MnemonError as refusal:
        return report(argv, refusal)
    except (KeyError, ValueError, TypeError, OverflowError):
        return report(argv, rpc.not_understood(error.reply))


def _method_and_op_id(argv: list[str]) -> tuple[str | None, str | None]:
    if fast.is_alias():
        return None, None
    parsed = parse(msgspec.structs.replace(terminal_params(argv), stdin="sent"))  # it was read, and is not needed here
    if isinstance(parsed, CliRunResult):
        return None, None
    op_id = parsed.params.get("op_id")
    return parsed.method, op_id if isinstance(op_id, str) else None


# ------------------------------------------------------------------ connecting


def reconnect(it: fast.Unfinished) -> int | fast.Unfinished:
    """Finish a command whose first connection failed, so that nothing was sent. Start the daemon if none runs."""
    assert isinstance(it.error, OSError)  # noqa: S101
    try:
        connection, left = _connect(it.directory, it.error, it.deadline)
    except MnemonError as refusal:
        return report(it.argv, refusal)
    return fast.finish(it.argv, it.directory, connection, it.request, left)


def _connect(directory: bytes, error: OSError, deadline: float) -> tuple[_socket.socket, float]:
    """Return a connection, and the seconds left for the reply: starting a daemon has a limit of its own."""
    path = files.usable(path_of(directory))
    if error.errno in rpc.NOT_RUNNING:
        if path.is_dir() and unwritable(path) is not None:
            return daemon.connect_to_reader(path, daemon.start_wait(os.environ)), deadline
        daemon.start(path, daemon.start_wait(os.environ))
    elif error.errno != errno.EAGAIN:
        raise rpc.unreachable(path, error)
    ends, left = time.monotonic() + deadline, deadline
    while True:
        try:
            return fast.connect(directory + b"/sock", left), left
        except OSError as again:
            if again.errno != errno.EAGAIN or left <= RETRY_S:
                raise rpc.unreachable(path, again) from None
        time.sleep(RETRY_S)  # the backlog is full
        left = max(ends - time.monotonic(), RETRY_S)


def replace_outdated(directory: bytes) -> None:
    """Restart a daemon that is older than this client, after its reply; at most once a minute."""
    try:
        replaced = daemon.replace_outdated(path_of(directory))
    except MnemonError as error:
        reason = one_line(" ".join(error.message.split()))
        fast.write(2, f"mnemonctl: the older daemon could not be replaced: {reason}\n".encode())
        return
    if replaced is not None:
        fast.write(2, f"mnemonctl: replaced mnemond {replaced.before} by {replaced.after}\n".encode())
