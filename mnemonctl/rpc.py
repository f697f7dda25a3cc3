"""One JSON-RPC call over the daemon's socket, and the errors of a connection in words."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from mnemonctl import fast, files
from mnemond.api.registry import METHODS
from mnemond.errors import INTERNAL, KINDS, STORAGE, UNREACHABLE, MnemonError
from mnemond.wire.params import SPOOL, Access

T = TypeVar("T")
_BY_CODE = {kind.rpc: kind for kind in KINDS}

NOT_RUNNING = frozenset({errno.ENOENT, errno.ECONNREFUSED})
"""Errors of connecting to a data directory whose daemon does not run."""


PROGRESS = b'{"jsonrpc":"2.0","method":"progress",'
"""Beginning of a notification that comes before a reply."""


class NotRunningError(MnemonError):
    """No daemon listens (UNREACHABLE)."""


class NoReplyError(MnemonError):
    """The request was sent and no complete reply came back (UNREACHABLE)."""


def socket_path(directory: Path) -> Path:
    """Return where the daemon of a data directory listens."""
    return directory / "sock"


def call(
    directory: Path, method: str, params: Mapping[str, object], into: type[T], deadline: float = fast.DEADLINE_S,
    watcher: fast.Watcher | None = None,
) -> T:  # fmt: skip
    """Return the result of `method` as an `into`, which may leave out fields. `watcher` is given notifications.

    Raises MnemonError: NotRunningError, NoReplyError, the daemon's own error, INTERNAL for a reply of another form.
    """
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    try:
        connection = fast.connect(os.fsencode(socket_path(directory)), deadline)
    except OSError as error:
        raise unreachable(directory, error) from None
    try:
        reply = fast.exchange(connection, json.dumps(message).encode() + b"\n", deadline, watcher)
    except fast.NoAnswer as error:
        raise no_reply(directory, error, method) from None
    try:
        return msgspec.convert(result_of(reply), into)
    except msgspec.ValidationError:
        raise not_understood(reply) from None


@contextmanager
def spooled(directory: Path, parts: Iterable[bytes] = ()) -> Iterator[tuple[str, IO[bytes]]]:
    """Make a file of these parts, which one call names: the daemon reads it, or writes what is then read here. Give its
    name, and the file. Raises MnemonError."""
    path = directory / SPOOL
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix="", dir=path)
    except OSError as error:
        raise _not_spooled(path, error) from None
    try:
        with open(descriptor, "rb") as file:
            for part in parts:
                view = memoryview(part)
                try:
                    while view:
                        view = view[os.write(descriptor, view) :]
                except OSError as error:
                    raise _not_spooled(path, error) from None
            file.seek(0)
            yield os.path.basename(name), file
    finally:
        with suppress(OSError):  # usually the daemon did it
            os.unlink(name)


def _not_spooled(path: Path, error: OSError) -> MnemonError:
    sentence = f"{path} cannot be written: {error.strerror}; nothing was sent"
    hint = "content is handed to the daemon there, and needs as much room for a moment"
    return MnemonError(STORAGE, sentence, hint=hint, outcome="rejected")


def result_of(reply: bytes) -> dict[str, Any]:
    """Return the result in a reply. Raises the error in it."""
    try:
        document = json.loads(reply)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and isinstance(document.get("result"), dict):
        result: dict[str, Any] = document["result"]
        return result
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict):
        raise error_in(error)
    raise not_understood(reply)


# ------------------------------------------------------------------ errors


def not_understood(reply: bytes) -> MnemonError:
    """Return the error for a reply of an unknown form."""
    return MnemonError(
        INTERNAL,
        f"mnemond answered something this client does not understand ({len(reply):,} bytes)",
        hint="Client and daemon may be of different versions: mnemonctl daemon restart",
    )


def error_in(error: Mapping[str, Any]) -> MnemonError:
    """Return the error of a reply as it was raised in the daemon."""
    data = error.get("data")
    details: dict[str, Any] = data if isinstance(data, dict) else {}
    code, outcome, hint = error.get("code"), details.get("outcome"), details.get("hint")
    kind = _BY_CODE.get(code, INTERNAL) if isinstance(code, int) else INTERNAL
    return MnemonError(
        kind,
        str(error.get("message", kind.meaning)),
        hint=None if hint is None else str(hint),
        outcome=outcome if outcome in ("rejected", "unknown") else None,
    )


def _if_suspended(directory: Path) -> tuple[str, str] | None:
    """Return (message, hint) if a signal has suspended the daemon, which then answers nothing."""
    if (pid := files.suspended(directory)) is None:
        return None
    return (
        f"mnemond (pid {pid}) is suspended by a signal (state T), so it answers nothing",
        f"Let it go on: kill -CONT {pid}; or end it: kill -KILL {pid} (whatever was acknowledged is kept)",
    )


def unreachable(directory: Path, error: OSError) -> MnemonError:
    """Return the error for a connection that failed: why, and what to do instead."""
    path = socket_path(directory)
    reason = error.strerror or str(error)
    if error.errno in NOT_RUNNING:
        message = f"no daemon is running at {path} ({reason})"
        return NotRunningError(UNREACHABLE, message, hint="Start it: mnemonctl daemon start")
    message = f"cannot reach mnemond at {path} ({reason})"
    hint = "See: mnemonctl daemon status"
    if error.errno == errno.EPERM:
        message += ": blocked by the agent sandbox"
        hint = "Use the mnemond MCP tools instead: they run outside of it."
    elif error.errno == errno.EACCES:
        message += ": an agent sandbox blocks the socket, or it is not yours"
        hint = "Inside a sandbox use the mnemond MCP tools or hooks instead; they run outside of it."
    elif error.errno == errno.EAGAIN:
        message = f"mnemond at {path} accepts no connections: too many are waiting"
        hint = "Try again; if it stays so: mnemonctl daemon restart"
        message, hint = _if_suspended(directory) or (message, hint)
    return MnemonError(UNREACHABLE, message, hint=hint)


def no_reply(directory: Path, error: fast.NoAnswer, method: str | None, op_id: str | None = None) -> NoReplyError:
    """Return the error for a request without a reply: if it writes, its outcome is unknown.

    `method` is None for a request whose method is unknown.
    """
    access = Access.WRITE if method is None else METHODS[method].access
    if access is Access.READ:
        hint = "It only reads, so try again; if it stays so, see: mnemonctl daemon status"
    elif access is Access.CONTROL:
        hint = "See: mnemonctl daemon status"
    elif op_id is not None:
        hint = (
            f"It may have been stored or not: repeat it with the same op_id (--op-id {op_id}), then it is stored once."
        )
    else:
        hint = (
            "It may have been stored or not: `mnemonctl log` shows what was done lately."
            " A write that has an --op-id can be repeated, and is stored once."
        )
    message = f"{error} (socket {socket_path(directory)})"
    if suspended := _if_suspended(directory):
        reason, remedy = suspended
        message = f"{reason}; {message}"
        hint = f"{remedy}. {hint}" if access is Access.WRITE else remedy
    return NoReplyError(
        UNREACHABLE,
        message,
        hint=hint,
        outcome="unknown" if access is Access.WRITE else None,
    )
