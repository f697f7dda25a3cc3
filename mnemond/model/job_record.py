"""What is kept of the last run of a background job."""

from __future__ import annotations

from typing import Literal

import msgspec

RunOutcome = Literal["done", "nothing", "stopped"]
"""It changed something; there was nothing to change; or it would have changed too much, and asks."""


class JobRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last run of one job on one store, written in the transaction of its last change.

    `ran_at`: when it began, RFC 3339, by the clock of the machine. `aged_us`: what it aged memories to, see
    `model.ageing`. `changed`: memories, lines or rows; of a job that stopped, how many it would have changed. `op_id`
    names the operation for `undo`, None where there is nothing to take back. `seconds`: until the last change.
    """

    ran_at: str
    aged_us: int
    outcome: RunOutcome
    changed: int = 0
    detail: str = ""
    seconds: float = 0.0
    op_id: str | None = None
