"""Writes: their identity, their rules, and what only a person may do by them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec

from mnemond.config.settings import Config
from mnemond.embed.calibration import Calibration, scaled, shipped
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.extract.orders import is_instruction
from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff import BY_PROFILE, SAFEGUARDS, DiffRules, Safeguards, cosine_thresholds
from mnemond.model.changes import (
    AddInsight,
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RestoreInsight,
    RetireInsight,
    Vector,
)
from mnemond.model.memory import Insight, Trigger, format_us
from mnemond.model.outcomes import Outcome
from mnemond.model.relations import AddLink
from mnemond.model.reviews import ReviewChange
from mnemond.store import relations
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Proposal, View


class WriteContext(msgspec.Struct, frozen=True, kw_only=True):
    """Identity and time of a write. `id` is for a memory that it may create; `now_us` the one time of the whole
    operation, in microseconds. `by_person`: a person at a terminal makes it, who alone may change what is enforced."""

    id: str
    op_id: str
    client_op_id: bool
    now_us: int
    store: str
    request_digest: str
    triggered_by: str = "user"
    by_person: bool = False

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
        """Return a `Proposal` with this identity."""
        decide = decide if self.by_person else partial(_decided_without_a_person, decide)
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
        refused: str = "",
        reviews: tuple[ReviewChange, ...] = (),
    ) -> ChangeSet:
        """Return a `ChangeSet` with this identity."""
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
            refused=refused,
            reviews=reviews,
        )


def _decided_without_a_person(decide: Callable[[View], ChangeSet], view: View) -> ChangeSet:
    """Return what was decided. Raises MnemonError(INVALID_PARAMS) if a memory would be enforced that is not, or one
    that is would be retired, merged, or get another text or other enforced triggers: also by an undo, a restore or an
    import. Neither does anything else join names, or bring back a text that gives orders."""
    change_set = decide(view)
    _check_names_and_orders(change_set, view)
    for change in change_set.changes:
        match change:
            case RetireInsight(id=insight_id) | PurgeInsight(id=insight_id):
                if (had := _row(view.snapshot, insight_id)) is not None and had.is_enforced:
                    raise _needs_a_person(change_set, had.id, "takes a rule that a person enforces out of recall")
            case AddInsight(insight=it) | PutInsight(insight=it) | RestoreInsight(insight=it) if it.when:
                had = _row(view.snapshot, it.id)
                if enforced(it) != (frozenset() if had is None else enforced(had)):
                    raise _needs_a_person(
                        change_set, it.id, "changes which calls of tools a rule asks about or refuses"
                    )
                merges = isinstance(change, PutInsight) and change.revision == "MERGE"
                if had is not None and had.is_enforced and (merges or had.content != it.content):
                    raise _needs_a_person(change_set, it.id, "changes the text of a rule that a person enforces")
    return change_set


def _check_names_and_orders(change_set: ChangeSet, view: View) -> None:
    """Raise MnemonError(INVALID_PARAMS) if two names would become one, or an undo or a restore would bring back a text
    that gives orders: what a person decided, and another took back, is not decided again without one."""
    effect = None
    if any(isinstance(each, AddLink) and _joins(each, view.connection) for each in change_set.knowledge):
        effect = "joins two names"
    for change in change_set.changes:
        if isinstance(change, RestoreInsight) or (isinstance(change, PutInsight) and change_set.undoes is not None):
            had, it = _row(view.snapshot, change.insight.id), change.insight
            if (had is None or had.content != it.content) and is_instruction(it.content):
                effect = "brings back a text that gives orders to a program"
    if effect is not None:
        named = change_set.method.replace(".", " ")
        raise MnemonError(
            INVALID_PARAMS, f"this {effect}, which is taken from a person at a terminal only; nothing was written",
            hint=f"ask the user to run `mnemonctl {named} …` in a terminal", outcome="rejected",
        )  # fmt: skip


def _joins(link: AddLink, connection: Connection) -> bool:
    """Return True for a decision that makes one thing of two: a merge, or an alias that is a thing of its own."""
    if link.kind == "alias":
        return relations.row_named(connection, link.other) not in (None, link.entity_id)
    return link.kind == "same"


def _needs_a_person(change_set: ChangeSet, insight_id: str, effect: str) -> MnemonError:
    named = change_set.method.replace(".", " ")
    return MnemonError(
        INVALID_PARAMS,
        f"this {effect} ({insight_id}), which is taken from a person at a terminal only; nothing was written",
        hint=f"ask the user to run `mnemonctl {named} …` in a terminal; `mnemonctl rules list` shows what is enforced,"
        f" `mnemonctl rules enforce {insight_id[:8]} tell` ends it",
        outcome="rejected",
    )


def _row(snapshot: Snapshot, insight_id: str) -> Insight | None:
    """Return an active memory as it is now."""
    row = snapshot.row_of(insight_id)
    return None if row is None else snapshot.insight(row)


def enforced(it: Insight) -> frozenset[Trigger]:
    """Return the triggers that a person enforced, whether they are on or not."""
    return frozenset(Trigger(each.pattern, each.enforce) for each in it.when if each.enforce != "tell")


class WriteRules(msgspec.Struct, frozen=True):
    """`config` with the cosines of `graph.semantic` on the scale of the store's embedder, and the rules of diff."""

    config: Config
    diff: DiffRules


@lru_cache(maxsize=64)
def write_rules(record: EmbedderRecord | None, config: Config, safeguards: Safeguards | None = None) -> WriteRules:
    """Return the rules for a store, scaled by its own calibration, else by that of its embedder, else unscaled.

    `safeguards` are those of the configured profile unless given.
    """
    if safeguards is None:
        safeguards = BY_PROFILE.get(config.profile, SAFEGUARDS)
    calibration = calibration_of(record)

    def scale(threshold: float) -> float:
        return scaled(threshold, calibration)

    semantic = config.graph.semantic
    semantic = msgspec.structs.replace(semantic, auto=scale(semantic.auto), review=scale(semantic.review))
    graph = msgspec.structs.replace(config.graph, semantic=semantic)
    cosines = cosine_thresholds("" if record is None else record.name, config.diff, scale, safeguards)
    return WriteRules(msgspec.structs.replace(config, graph=graph), DiffRules(config.diff, cosines, safeguards))


def calibration_of(record: EmbedderRecord | None) -> Calibration | None:
    """Return the calibration of a store's embedder; None if unknown."""
    if record is None:
        return None
    if record.unrelated is not None and record.paraphrase is not None:
        return Calibration(record.unrelated, record.paraphrase)
    return shipped(record.name)
