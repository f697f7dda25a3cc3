"""What every write has besides its content: who asks, when, and under which name."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mnemond.model.changes import Change, ChangeSet, Vector
from mnemond.model.outcomes import Outcome
from mnemond.model.timestamp import format_us
from mnemond.store.proposal import Proposal, View


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

    def proposal(
        self,
        method: str,
        decide: Callable[[View], ChangeSet],
        vector: Vector | None = None,
        made_by: str | None = None,
    ) -> Proposal:
        """A write under this name; what it needs beside that is said at `Proposal`."""
        return Proposal(self.op_id, self.client_op_id, method, self.request_digest, decide, vector, made_by)

    def change_set(
        self,
        method: str,
        changes: tuple[Change, ...],
        outcome: Outcome,
        *,
        detail: str = "",
        operation: str | None = None,
        subject: str | None = None,
        undoes: str | None = None,
    ) -> ChangeSet:
        """What a write under this name came to; the parts are those of `ChangeSet`."""
        return ChangeSet(
            op_id=self.op_id,
            client_op_id=self.client_op_id,
            method=method,
            now=self.now,
            changes=changes,
            outcome=outcome,
            request_digest=self.request_digest,
            triggered_by=self.triggered_by,
            detail=detail,
            operation=operation,
            subject=subject,
            undoes=undoes,
        )
