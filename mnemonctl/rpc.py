"""One JSON-RPC call over the daemon's socket, for the parts of the client that are not in a hurry."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mnemonctl import fast
from mnemond import errors
from mnemond.api.registry import METHODS
from mnemond.errors import INTERNAL, KINDS, UNREACHABLE, MnemonError
from mnemond.wire.params import Access

T = TypeVar("T")
_BY_CODE = {kind.rpc: kind for kind in KINDS}

SANDBOXED = frozenset({errno.EPERM, errno.EACCES})
NOT_RUNNING = frozenset({errno.ENOENT, errno.ECONNREFUSED})


def socket_path(directory: Path) -> Path:
    """Where the daemon of a data directory listens."""
    return directory / "sock"


def call(directory: Path, method: str, params: dict[str, object], deadline: float, into: type[T]) -> T:
    """The result of `method`, as far as `into` names its fields. Raises OSError when nothing can be connected to,
    fast.NoAnswer, and MnemonError when the daemon refuses or answers what nobody understands."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    connection = fast.connect(os.fsencode(socket_path(directory)), deadline)
    reply = fast.exchange(connection, json.dumps(message).encode() + b"\n", deadline)
    try:
        return msgspec.convert(result_of(reply), into)
    except msgspec.ValidationError:
        raise not_understood(reply) from None


def result_of(reply: bytes) -> dict[str, Any]:
    """The result in a reply; raises the error in it."""
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


def not_understood(reply: bytes) -> MnemonError:
    """The answer has no form this client knows."""
    return MnemonError(
        INTERNAL,
        f"mnemond answered something this client does not understand ({len(reply):,} bytes)",
        hint="Client and daemon may be of different versions: mnemonctl daemon restart",
    )


def error_in(error: dict[str, Any]) -> MnemonError:
    """What the daemon refuses with, as it is raised there."""
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


def unreachable(directory: Path, error: OSError) -> MnemonError:
    """Why nothing can be connected to, in words, and what to do instead."""
    path = socket_path(directory)
    reason = error.strerror or str(error)
    if error.errno == errno.EPERM:
        return MnemonError(
            UNREACHABLE,
            f"cannot reach mnemond at {path} ({reason}): blocked by the agent sandbox",
            hint="Use the mnemond MCP tools instead: they run outside of it.",
        )
    if error.errno in SANDBOXED:
        return MnemonError(
            UNREACHABLE,
            f"cannot reach mnemond at {path} ({reason}): an agent sandbox blocks the socket, or it is not yours",
            hint="Inside a sandbox use the mnemond MCP tools or hooks instead; they run outside of it.",
        )
    if error.errno in NOT_RUNNING:
        return MnemonError(
            UNREACHABLE, f"no daemon is running at {path} ({reason})", hint="Start it: mnemonctl daemon start"
        )
    if error.errno == errno.EAGAIN:
        return MnemonError(
            UNREACHABLE,
            f"mnemond at {path} accepts no connections: too many are waiting",
            hint="Try again; if it stays so: mnemonctl daemon restart",
        )
    return MnemonError(UNREACHABLE, f"cannot reach mnemond at {path} ({reason})", hint="See: mnemonctl daemon status")


def silent(directory: Path, error: fast.NoAnswer, method: str | None, op_id: str | None = None) -> MnemonError:
    """No answer came back to `method` (None: to what, nobody can tell): whether a write was stored is unknown."""
    reads = method is not None and METHODS[method].access is Access.READ
    return MnemonError(
        errors.UNREACHABLE,
        f"{error} (socket {socket_path(directory)})",
        hint=_READS_ONLY if reads else _UNNAMED if op_id is None else _NAMED.format(op_id),
        outcome=None if reads else "unknown",
    )


_READS_ONLY = "It only reads, so try again; if it stays so, see: mnemonctl daemon status"
_NAMED = "It may have been stored or not: repeat it with the same op_id (--op-id {}), then it is stored once."
_UNNAMED = (
    "It may have been stored or not: `mnemonctl log` shows what was done lately."
    " A write that has an --op-id can be repeated, and is stored once."
)
