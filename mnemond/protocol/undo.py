"""Parameters and result of undo."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.remembering import ConflictView
from mnemond.protocol.types import MAX_NAME, OpId, Params, Result, StoreName


class UndoParams(Params, frozen=True, kw_only=True):
    """`operation` is the op_id of what is to be taken back, or any unique beginning of it from six characters on;
    without it, the newest operation that can be taken back and is no undo itself. `op_id` names this write."""

    operation: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)] | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class UndoneView(msgspec.Struct, frozen=True):
    """What became of one memory: active again, with its former value, out of recall, or linked as before. `conflicts`:
    memories that it repeats or contradicts now, left as they are for review."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: list[ConflictView]


class UndoResult(Result, frozen=True, kw_only=True):
    """The operation `undone` was taken back, a call of `method` (null where that is no longer known); `op_id` takes
    this back in turn.

    Links are counted. `edges_missing` could not be put back: the memory at their other end is out of recall.
    `embed_error` says why a memory that has its former text again has no vector.
    """

    status: Literal["undone"]
    undone: str
    method: str | None
    memories: list[UndoneView]
    edges_restored: int
    edges_removed: int
    edges_missing: int
    embed_error: str | None
    op_id: str
    replayed: bool
