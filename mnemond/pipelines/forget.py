"""forget: an insight leaves recall; its row and its history stay."""

from __future__ import annotations

from mnemond.model.changes import ChangeSet, RetireInsight
from mnemond.model.outcomes import Forgotten
from mnemond.model.timestamp import format_us


def plan(
    insight_id: str, op_id: str, *, client_op_id: bool, now_us: int, request_digest: str, triggered_by: str = "user"
) -> ChangeSet:
    """The change set that retires an active insight. The writer refuses it when the insight is not active any more."""
    return ChangeSet(
        op_id=op_id,
        client_op_id=client_op_id,
        method="forget",
        now=format_us(now_us),
        changes=(RetireInsight(insight_id, "forgotten"),),
        outcome=Forgotten(insight_id, op_id),
        request_digest=request_digest,
        triggered_by=triggered_by,
    )
