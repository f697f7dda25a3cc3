"""What the fast path leaves alone: help, the version, `daemon …`, `logs`, a daemon to be started, and errors."""

from __future__ import annotations

import _socket
import errno
import os
import posix
import time
from pathlib import Path

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemond.api.types_admin import CliRunParams, CliRunResult
from mnemond.cli.grammar import Invocation, Output, failure, output_of, parse
from mnemond.cli.output import one_line
from mnemond.errors import INVALID_PARAMS, MnemonError

RETRY_S = 0.02
"""Pause before connecting again to a daemon with a full backlog."""


def run(argv: list[str], deadline: float) -> int:
    """A command line that needs no daemon, or is about it. Returns the exit status."""
    try:
        parsed = parse(facts(argv))
        if isinstance(parsed, CliRunResult):
            return show(parsed)
        if "file" in parsed.options:
            return _backup_into(argv, parsed, deadline)
        if parsed.method is not None:
            return fast.forward(argv, deadline)
        return _by_itself(argv, parsed)
    except fast.InvalidInputError as refused:
        return refuse(argv, refused)
    except MnemonError as error:
        return report(argv, error)


def _by_itself(argv: list[str], invocation: Invocation) -> int:
    """A command that no daemon carries out."""
    name, options, output = invocation.command.name, invocation.options, invocation.output
    directory = files.usable(path_of(fast.data_dir(argv)))
    if name.startswith("config "):
        from mnemonctl import commands as settings

        return show(settings.run_settings(invocation, directory))
    if name == "logs":
        from mnemonctl import logs

        return logs.run(directory, msgspec.convert(options, logs.Options), output)
    if name == "top":
        from mnemonctl import commands as top

        return top.run_top(directory, msgspec.convert(options, top.Options), output)
    if name == "doctor":
        from mnemonctl import doctor

        return show(doctor.run(directory, msgspec.convert(options, doctor.Options), output, os.environ))
    if name == "setup":
        from mnemonctl import commands as agents

        return show(agents.run_agents(directory, options, output, os.environ))
    wait = float(str(options.get("wait", daemon.start_wait(os.environ))))
    if name in ("daemon install", "daemon uninstall"):
        from mnemonctl.service import install as installation

        chosen = msgspec.convert(options, installation.Options)
        return show(installation.run(name, directory, wait, chosen, output))
    return show(daemon.run_daemon(name, directory, wait, output))


def _backup_into(argv: list[str], invocation: Invocation, deadline: float) -> int:
    from mnemonctl import commands as backup_file

    directory = files.usable(path_of(fast.data_dir(argv)))
    daemon.start(directory, daemon.start_wait(os.environ))
    return show(backup_file.run_backup_file(invocation, directory, deadline, os.environ.get("MNEMON_STORE", "")))


def facts(argv: list[str]) -> CliRunParams:
    """What the daemon would be told about this terminal."""
    tty = posix.isatty(1)
    columns = fast.columns() if tty else 80
    color = tty and fast.color()
    return CliRunParams(argv=argv, tty=tty, tty_err=posix.isatty(2), columns=columns, color=color, env_store=None)


def path_of(directory: bytes) -> Path:
    """The data directory as an absolute path: the daemon runs elsewhere."""
    return Path(os.path.abspath(os.fsdecode(directory)))


def show(result: CliRunResult) -> int:
    """Print a result and return its exit status."""
    fast.write(1, result.stdout.encode("utf-8", "backslashreplace"))
    fast.write(2, result.stderr.encode("utf-8", "backslashreplace"))
    return result.exit_code


# ------------------------------------------------------------------ errors


def _output(argv: list[str]) -> Output:
    return output_of(facts(argv))


def report(argv: list[str], error: MnemonError) -> int:
    """Print an error in the form the line asks for and return its exit status."""
    return show(failure(error, _output(argv)))


def refuse(argv: list[str], refused: fast.InvalidInputError) -> int:
    """A command line that cannot be sent."""
    return report(argv, MnemonError(INVALID_PARAMS, refused.message, hint=refused.hint, outcome="rejected"))


def explain(argv: list[str], directory: bytes, error: fast.NoAnswer | fast.UnexpectedReplyError) -> int:
    """No answer, or one in another form than the fast path reads."""
    if isinstance(error, fast.NoAnswer):
        return report(argv, rpc.silent(path_of(directory), error, *_asked(argv)))
    try:
        result = rpc.result_of(error.reply)
        texts = str(result["stdout"]), str(result["stderr"])
        return show(CliRunResult(int(result["exit_code"]), bool(result.get("outdated")), *texts))
    except MnemonError as refusal:
        return report(argv, refusal)
    except (KeyError, ValueError, TypeError, OverflowError):
        return report(argv, rpc.not_understood(error.reply))


def _asked(argv: list[str]) -> tuple[str | None, str | None]:
    """The method that a line asks for, and the op_id that it gives. Standard input was sent and is not needed."""
    parsed = parse(msgspec.structs.replace(facts(argv), stdin="sent"))
    if isinstance(parsed, CliRunResult):
        return None, None
    op_id = parsed.params.get("op_id")
    return parsed.method, op_id if isinstance(op_id, str) else None


# ------------------------------------------------------------------ connecting


def reconnect(argv: list[str], directory: bytes, request: bytes, error: OSError, deadline: float) -> int:
    """The first connection failed, so nothing was sent: start the daemon if none runs, then carry on."""
    try:
        connection, left = _connect(directory, error, deadline)
    except MnemonError as refusal:
        return report(argv, refusal)
    return fast.converse(argv, directory, connection, request, left)


def _connect(directory: bytes, error: OSError, deadline: float) -> tuple[_socket.socket, float]:
    """A connection, and the seconds left for the answer: starting a daemon has a limit of its own."""
    path = files.usable(path_of(directory))
    if error.errno in rpc.NOT_RUNNING:
        daemon.start(path, daemon.start_wait(os.environ))
        return _again(path, directory, deadline), deadline
    if error.errno == errno.EAGAIN:
        return _until(path, directory, deadline)
    raise rpc.unreachable(path, error)


def _again(path: Path, directory: bytes, deadline: float) -> _socket.socket:
    try:
        return fast.connect(directory + b"/sock", deadline)
    except OSError as error:
        raise rpc.unreachable(path, error) from None


def _until(path: Path, directory: bytes, deadline: float) -> tuple[_socket.socket, float]:
    """Connect as soon as the backlog has room; the seconds that are left then."""
    ends, left = time.monotonic() + deadline, deadline
    while True:
        try:
            return fast.connect(directory + b"/sock", left), left
        except OSError as error:
            if error.errno != errno.EAGAIN or left <= RETRY_S:
                raise rpc.unreachable(path, error) from None
        time.sleep(RETRY_S)
        left = max(ends - time.monotonic(), RETRY_S)


def replace_outdated(directory: bytes) -> None:
    """After an answer from a daemon older than this client: restart it, at most once a minute."""
    try:
        replaced = daemon.replace_outdated(path_of(directory))
    except MnemonError as error:
        reason = one_line(" ".join(error.message.split()))
        fast.write(2, f"mnemonctl: the older daemon could not be replaced: {reason}\n".encode())
        return
    if replaced is not None:
        fast.write(2, f"mnemonctl: replaced mnemond {replaced.before} by {replaced.after}\n".encode())
