"""A store changes its embedder: begun, given up, finished, and measured. Parts of transactions of the caller's.

Edges and effective importances stay as they are: automatic semantic edges keep the weights of the embedder that found
them, and the memories written after the cut-over are compared by the new one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mnemond.embed.calibration import Calibration
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import Outcome, SwitchDropped
from mnemond.store import operations, oplog, staged
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord, SwitchRecord, made_by, read_embedder, read_switch, write_embedder


def adopt(connection: Connection, record: EmbedderRecord, now: str) -> bool:
    """Give a store that has no embedder one; False when it has one by now."""
    if read_embedder(connection) is not None:
        return False
    write_embedder(connection, record)
    oplog.append(connection, "embed.adopt", None, record.name, now)
    return True


def begin(connection: Connection, asked: ChangeSet, record: SwitchRecord) -> Outcome:
    """Record that a switch is under way. Raises MnemonError: BUSY when there is one, INVALID_PARAMS when the store has
    this embedder already."""
    if (done := _replayed(connection, asked)) is not None:
        return done
    if (other := read_switch(connection)) is not None:
        raise MnemonError(
            BUSY,
            f"a switch to {other.to.name} is under way since {other.started_at}",
            hint="`mnemonctl embed --status` says how far it is; `mnemonctl embed --abort` ends it",
            outcome="rejected",
        )
    if made_by(read_embedder(connection)) == record.to.fingerprint:
        raise MnemonError(
            INVALID_PARAMS,
            f"the store has the embedder {record.to.name} already: there is nothing to switch",
            hint="`mnemonctl embed --all` makes every vector anew",
            outcome="rejected",
        )
    staged.begin(connection, record)
    return _noted(connection, asked, asked.outcome, f"to {record.to.name}")


def drop(connection: Connection, asked: ChangeSet) -> Outcome:
    """Give the switch up. Raises MnemonError(NOT_FOUND) when there is none."""
    if (done := _replayed(connection, asked)) is not None:
        return done
    record = read_switch(connection)
    if record is None:
        raise MnemonError(
            NOT_FOUND, "no switch is under way: there is nothing to abort", hint="see: mnemonctl embed --status",
            outcome="rejected",
        )  # fmt: skip
    count = staged.clear(connection)
    outcome = SwitchDropped(asked.op_id, record.to.name, count)
    return _noted(connection, asked, outcome, f"aborted, {count} vectors dropped")


def cut_over(connection: Connection, record: SwitchRecord, without: Sequence[str] | None, now: str) -> list[str] | None:
    """See `staged.cut_over`; one line of the log says that it happened."""
    lacking = staged.cut_over(connection, record, without)
    if lacking == []:
        oplog.append(connection, "embed.switch", None, f"{record.to.name} took over", now)
    return lacking


def calibrated(connection: Connection, asked: ChangeSet, fingerprint: str, measured: Calibration) -> Outcome:
    """Keep what was measured of the embedder with this fingerprint. Raises MnemonError(BUSY) when another one took
    over meanwhile."""
    if (done := _replayed(connection, asked)) is not None:
        return done
    record = read_embedder(connection)
    if record is None or record.fingerprint != fingerprint:
        raise MnemonError(
            BUSY, "the store was given another embedder while this one was measured", hint="repeat",
            outcome="rejected",
        )  # fmt: skip
    unrelated, paraphrase = measured.unrelated, measured.paraphrase
    write_embedder(connection, msgspec.structs.replace(record, unrelated=unrelated, paraphrase=paraphrase))
    return _noted(connection, asked, asked.outcome, f"unrelated {unrelated:.3f}, paraphrase {paraphrase:.3f}")


def _replayed(connection: Connection, asked: ChangeSet) -> Outcome | None:
    return operations.replay(connection, asked) if asked.client_op_id else None


def _noted(connection: Connection, asked: ChangeSet, outcome: Outcome, detail: str) -> Outcome:
    """A line in the log, and the answer to a repeat."""
    oplog.append(connection, asked.method, None, detail, asked.now)
    if asked.client_op_id:
        operations.record(connection, asked, outcome)
    return outcome
