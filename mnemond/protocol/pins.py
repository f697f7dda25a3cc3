"""Parameters and result of pin."""

from __future__ import annotations

from typing import Literal

from mnemond.protocol.types import IdOrPrefix, Name, OpId, Params, Result, StoreName


class PinParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters; `unpin` takes the pin out again."""

    id: IdOrPrefix
    unpin: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class PinResult(Result, frozen=True, kw_only=True):
    """Whether the memory is pinned now; `changed` is false when it was so before."""

    id: str
    status: Literal["pinned", "unpinned"]
    message: str
    changed: bool
    op_id: str
    replayed: bool
