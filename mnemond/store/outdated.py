"""Writes whose vectors were made before the store was switched to another embedder, and are committed after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from mnemond.model.changes import AddInsight, Change, ChangeSet, PutInsight, RestoreInsight, SetVector
from mnemond.model.outcomes import Embedded, Merged, Outcome, Remembered, Restored, Revised
from mnemond.store.meta import EmbedderRecord
from mnemond.store.proposal import View, Write

SWITCHED = "the store was given another embedder meanwhile; this memory is embedded again in the background"


def is_outdated(write: Write, embedder: EmbedderRecord | None) -> bool:
    """Whether a write brings vectors that cannot be compared with the store's."""
    if isinstance(write, ChangeSet) or write.made_by is None:
        return False
    return embedder is None or write.made_by != embedder.fingerprint


def with_fitting_vectors(write: Write, embedder: EmbedderRecord | None) -> Write:
    """`write`, without its vectors where they do not fit: what it says is kept, and embedded again later."""
    if isinstance(write, ChangeSet) or not is_outdated(write, embedder):
        return write
    return write._replace(decide=partial(_decide, write.decide), vector=None)


def _decide(decide: Callable[[View], ChangeSet], view: View) -> ChangeSet:
    decided = decide(view)
    changes = tuple(_bare(change) for change in decided.changes if not isinstance(change, SetVector))
    return msgspec.structs.replace(decided, changes=changes, outcome=_told(decided.outcome))


def _bare(change: Change) -> Change:
    if isinstance(change, AddInsight | PutInsight | RestoreInsight):
        return msgspec.structs.replace(change, vector=None)
    return change


def _told(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Remembered | Revised | Merged | Restored) and outcome.embedded:
        return msgspec.structs.replace(outcome, embedded=False, embed_error=SWITCHED)
    if isinstance(outcome, Embedded):
        return msgspec.structs.replace(outcome, succeeded=0)
    return outcome
