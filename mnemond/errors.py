"""The errors that users see: each kind has a number on the wire, an exit status and a meaning.

The JSON-RPC layer, the command line and `docs/errors.md` read the table below. Numbers are outside -32768…-32000, which
JSON-RPC 2.0 reserves (section 5.1), except for the five kinds that it defines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Outcome = Literal["rejected", "unknown"]


class Kind(msgspec.Struct, frozen=True):
    """One row of the error table.

    `rpc` is the JSON-RPC code, `exit` the process status of the client; `retryable`: the same request may succeed
    later.
    """

    name: str
    rpc: int
    exit: int
    retryable: bool
    meaning: str


PARSE = Kind("parse_error", -32700, 2, False, "the message is not JSON, or not UTF-8")
INVALID_REQUEST = Kind("invalid_request", -32600, 2, False, "the message is JSON but not a JSON-RPC 2.0 request")
METHOD_NOT_FOUND = Kind("method_not_found", -32601, 2, False, "no such method")
INVALID_PARAMS = Kind("invalid_params", -32602, 2, False, "a parameter is missing, unknown or out of range")
INTERNAL = Kind("internal", -32603, 1, True, "a defect in mnemond; the daemon goes on and its log has the traceback")
NOT_FOUND = Kind("not_found", 1003, 3, False, "no memory, store or file by that name")
BUSY = Kind("busy", 1004, 4, True, "another process holds the store, too many writes wait, or no thread is to be had")
UNAVAILABLE = Kind("unavailable", 1006, 6, True, "something the request depends on is not installed or not answering")
STORAGE = Kind("storage", 1010, 5, True, "the disk or the database refused; `outcome` says whether it may be stored")
AMBIGUOUS = Kind("ambiguous", 1012, 2, False, "the id prefix names more than one memory")
TOO_LARGE = Kind("too_large", 1013, 2, False, "the message is longer, deeper or has more parts than the limit")
TOO_MANY_CONNECTIONS = Kind("too_many_connections", 1014, 4, True, "the daemon holds as many connections as it may")
TIMED_OUT = Kind("timed_out", 1015, 2, True, "no whole message arrived in time")
STOPPING = Kind("stopping", 1016, 4, True, "the daemon is shutting down")
PROTOCOL_VERSION = Kind("protocol_version", 1017, 2, False, "client and daemon speak different protocol versions")
OP_ID_REUSED = Kind("op_id_reused", 1018, 2, False, "this op_id was used before by a different request")
UNSUPPORTED = Kind("unsupported", 1019, 2, False, "this store or file was written by a newer mnemond")
CONFIG = Kind("config", 1020, 2, False, "the configuration cannot be used")
DATA_DIR = Kind("data_dir", 1021, 2, False, "the data directory is not safe to use")
LOCKED = Kind("locked", 1022, 75, True, "another daemon serves this data directory")
UNREACHABLE = Kind("unreachable", 1069, 69, True, "no daemon answers on the socket")

KINDS: tuple[Kind, ...] = (
    PARSE, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL, NOT_FOUND, BUSY, UNAVAILABLE,
    STORAGE, AMBIGUOUS, TOO_LARGE, TOO_MANY_CONNECTIONS, TIMED_OUT, STOPPING, PROTOCOL_VERSION, OP_ID_REUSED,
    UNSUPPORTED, CONFIG, DATA_DIR, LOCKED, UNREACHABLE,
)  # fmt: skip


class FieldProblem(msgspec.Struct, frozen=True):
    """One problem of one field; the message names the field, the limit and the size of the value."""

    field: str
    message: str


class MnemonError(Exception):
    """A failure with a sentence for the user.

    `hint` is what to do next. `outcome` of a failed write is "rejected" if it was certainly not stored, "unknown" if it
    may have been: repeat it with the same op_id. `problems` lists every bad field; `degraded_reason` is that of the
    store; `details` are further members of the error's data.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        hint: str | None = None,
        outcome: Outcome | None = None,
        problems: tuple[FieldProblem, ...] = (),
        degraded_reason: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.outcome = outcome
        self.problems = problems
        self.degraded_reason = degraded_reason
        self.details = details


def rejected(kind: Kind, message: str, hint: str | None = None) -> MnemonError:
    """Build the error for a write, or another change, that certainly was not made."""
    return MnemonError(kind, message, hint=hint, outcome="rejected")


def invalid(problems: list[FieldProblem], hint: str | None = None) -> MnemonError:
    """Return the error for all bad fields of a request (`problems` must not be empty)."""
    message = "; ".join(problem.message for problem in problems)
    return MnemonError(INVALID_PARAMS, message, hint=hint, outcome="rejected", problems=tuple(problems))
