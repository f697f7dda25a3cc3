"""A workload with every kind of change and of transaction a store knows, in batches; some of it is refused."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from mnemond.model.changes import (
    Change,
    ChangeSet,
    CountUse,
    PutInsight,
    QueuedExchange,
    QueueExchange,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
    SettleFact,
    SetVector,
)
from mnemond.model.memory import Insight
from mnemond.model.passages import DropPassage, EmbedPassage, KeepPassage, Passage, PassageChange, RestorePassage
from mnemond.store import embedder_switch, exchanges
from mnemond.store.connection import Connection
from mnemond.store.embedder_switch import StagedRow, SwitchRecord
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Write
from tests.faults.remembering import changing, identity, linking, remembering, workload
from tests.store.factories import DIMENSION, insight_id, vector_of

OTHER = EmbedderRecord("other", DIMENSION, "other-1")
SWITCH = SwitchRecord("test", OTHER, identity(60).now)

Step = Callable[[Engine], object]
"""One call of the engine. A batch gives its results."""


def _insight(number: int, content: str) -> Insight:
    now = identity(number).now
    return Insight(id=insight_id(number), content=content, created_at=now, updated_at=now)


def all_batches() -> list[list[Write]]:
    """Everything that goes through the queue of a store."""
    return workload() + _further()


def _further() -> list[list[Write]]:
    """What the workload of writes through the pipeline leaves out."""
    renewed = _insight(19, "Bob has given up coffee, and tea")
    noted = changing(33, CountUse(insight_id(18), 2, identity(33).now), SetImportance(insight_id(18), 0.25))
    return [
        [changing(30, PutInsight(renewed, embedded=True, vector=vector_of(30), mentions=(), queries=("who drinks?",)))],
        [changing(31, RetireInsight(insight_id(19), "expired", invalid_at=identity(31).now))],
        [changing(32, RestoreInsight(renewed, vector_of(32)), SetVector(insight_id(19))), noted],
        [changing(34, RetireInsight(insight_id(7000), "forgotten")), linking(35, 18, 19)],
        [changing(36, RemoveEdge(insight_id(18), insight_id(19), "causal", audited=True))],
        [changing(37, RetireInsight(insight_id(7000), "forgotten"))],
        [changing(38, RetireInsight(insight_id(18), "superseded", insight_id(19)), SetVector(insight_id(19)))],
        [_with_fact(changing(39, CountUse(insight_id(19), 1, identity(39).now)))],
        [_queueing(40, "a prompt"), _queueing(40, "the same again"), _queueing(41, "another")],
        [_saying(43, EmbedPassage("passage-41", "another", np.stack([vector_of(41)])), DropPassage("passage-40"))],
        [_saying(44, RestorePassage("passage-40")), _saying(45, DropPassage("passage-41", "expired"))],
    ]


def _with_fact(write: Write) -> Write:
    """A row of the table of facts becomes true with the write."""
    assert isinstance(write, ChangeSet)
    return msgspec.structs.replace(write, facts=(("dry", "yes"),))


def _queueing(number: int, prompt: str) -> Write:
    """A turn that waits to be read."""
    said = QueuedExchange(host="test", at_us=identity(number).now_us, prompt=prompt, key=str(number))
    write = changing(number)
    assert isinstance(write, ChangeSet)
    passage = Passage(id=f"passage-{number}", said_at=identity(number).now, host="test", prompt=prompt)
    queue = (QueueExchange(f"{write.op_id}-{prompt}", said),)
    return msgspec.structs.replace(write, queue=queue, passages=(KeepPassage(passage, str(number)),), operation="")


def _saying(number: int, *changes: PassageChange) -> Write:
    """Something happens to what is kept of sessions."""
    write = changing(number)
    assert isinstance(write, ChangeSet)
    return msgspec.structs.replace(write, passages=changes)


def _plan(connection: Connection) -> None:
    (first, *_) = exchanges.oldest(connection, 1)
    assert exchanges.begin(connection, first.number)
    assert exchanges.plan(connection, first, "[1]")


def _settling() -> Write:
    """A fact is remembered, and leaves the queue with that."""
    write = changing(42, CountUse(insight_id(19), 1, identity(42).now))
    assert isinstance(write, ChangeSet)
    return msgspec.structs.replace(write, queue=(SettleFact(1, "[1]", None),))


def _committing(batch: list[Write]) -> Step:
    return lambda engine: engine.commit(batch)


def _rewriting(work: Callable[[Connection], object]) -> Step:
    return lambda engine: engine.rewrite(work)


def _stage(connection: Connection) -> None:
    rows = connection.rows("SELECT id, content FROM insights WHERE status = 'active' ORDER BY id")
    embedder_switch.stage(
        connection, SWITCH, [StagedRow(str(row[0]), str(row[1]), vector_of(at)) for at, row in enumerate(rows)]
    )


def steps() -> list[Step]:
    """In order; a checkpoint is due after every third."""
    found: list[Step] = []
    for batch in all_batches():
        found.append(_committing(batch))
        if len(found) % 3 == 0:
            found.append(lambda engine: engine.checkpoint_if_due())
    found += [_rewriting(_plan), _committing([_settling(), _settling()])]
    found.append(_rewriting(lambda connection: embedder_switch.begin(connection, SWITCH)))
    found.append(_rewriting(_stage))
    found.append(_rewriting(lambda connection: embedder_switch.cut_over(connection, SWITCH, [])))
    found.append(_committing([remembering(61, "Written after the switch", vector_of(61))]))
    return found


def kinds(batches: list[list[Write]]) -> set[type[Change]]:
    """Kinds of change that stand in change sets made by hand."""
    found: set[type[Change]] = set()
    for batch in batches:
        for write in batch:
            found |= {type(change) for change in getattr(write, "changes", ())}
    return found
