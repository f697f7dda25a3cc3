"""A write that is decided under the writer: what it comes to depends on what is stored by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mnemond.index.cosines import Cosines
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import ChangeSet, Vector
from mnemond.store.connection import Connection


class View(NamedTuple):
    """The store as it is between two operations of a batch. For the writer's thread, within one call.

    `snapshot` holds what earlier operations of the batch wrote. `similarity`: cosine of each of its rows with the
    proposal's vector; None when it has none. `connection` answers what the index does not hold.
    """

    snapshot: Snapshot
    similarity: Cosines | None
    connection: Connection


class Proposal(NamedTuple):
    """A write in the making. The first four fields are those of the ChangeSet that `decide` returns.

    `decide` runs in the transaction and must not write; a MnemonError from it refuses this operation alone. `vector`
    (shape (dimension,)) is what it wants compared with every row; of a whole batch that is one matrix product.
    `made_by`: fingerprint of the embedder of every vector it may write, None where it brings none. They are left out
    when the store has another embedder by then.
    """

    op_id: str
    client_op_id: bool
    method: str
    request_digest: str
    decide: Callable[[View], ChangeSet]
    vector: Vector | None = None
    made_by: str | None = None


Write = ChangeSet | Proposal
