"""What every write has besides its content: who asks, when, and under which name."""

from __future__ import annotations

import msgspec

from mnemond.model.timestamp import format_us


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is for a memory that the write may create; `now_us` the one time of the whole operation, in microseconds."""

    id: str
    op_id: str
    client_op_id: bool
    now_us: int
    store: str
    request_digest: str
    triggered_by: str = "user"

    @property
    def now(self) -> str:
        """`now_us` as RFC 3339."""
        return format_us(self.now_us)
