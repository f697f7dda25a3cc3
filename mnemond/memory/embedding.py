"""Embedding of stored memories and passages, calibration of a store's embedder, and the switch to another one."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.embed import registry
from mnemond.embed.calibration import PAIRS, Calibration, calibrate, token_dropout, unrelated_pairs
from mnemond.embed.embedder import Embedder, Supply
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, UNAVAILABLE, MnemonError
from mnemond.http import NoAnswerError
from mnemond.index.passages import PieceVectors
from mnemond.index.snapshot import Snapshot
from mnemond.memory.cues import embed_memories, lacks_vector
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet, SetVector, Vector
from mnemond.model.memory import Cue, TextWithCues
from mnemond.model.outcomes import EMBEDDER_KEPT, EmbedRunResult, EmbedSwitchResult, Maintained, Outcome
from mnemond.model.passages import EmbedPassage, Passage
from mnemond.store import embedder_switch, operations
from mnemond.store.connection import Connection
from mnemond.store.embedder_switch import SwitchRecord, read_switch
from mnemond.store.insights import content_hash
from mnemond.store.meta import EmbedderRecord, made_by, read_embedder, write_embedder
from mnemond.store.operations import Proposal, View
from mnemond.text.passages import pieces

FEWEST: Final = 100
"""Minimum number of embedded memories for a calibration. Medians of a few dozen depend on the subjects that happen to
be stored: thresholds scaled by them turned noise into candidates."""


class Text(NamedTuple):
    """A memory to embed."""

    id: str
    content: str
    cues: tuple[Cue, ...] = ()


class Answered(NamedTuple):
    """A text and its vector, None where the embedder knows no word of it."""

    text: Text
    vector: Vector | None


class Measured(NamedTuple):
    """A calibration, and the number of pairs and self-paraphrases behind it."""

    calibration: Calibration
    pairs: int
    paraphrases: int


def record_of(embedder: Embedder) -> EmbedderRecord:
    """Return the stored identity of an embedder."""
    return EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)


def wanted_by(supply: Supply) -> Callable[[], EmbedderRecord | None]:
    """Return a function for the embedder of a new store; an unavailable one is adopted later."""

    def wanted() -> EmbedderRecord | None:
        try:
            found = supply.preferred()
        except MnemonError as error:
            if error.kind is not UNAVAILABLE:
                raise
            return None
        return None if found is None else record_of(found)

    return wanted


def every_text(snapshot: Snapshot) -> list[Text]:
    """Return the texts of all live memories in row order."""
    return [_text(snapshot, row) for row in np.flatnonzero(snapshot.alive()).tolist()]


def texts_without_vector(snapshot: Snapshot) -> list[Text]:
    """Return the texts of all live memories without a vector."""
    return [_text(snapshot, row) for row in snapshot.without_vector().tolist()]


def texts_to_stage(snapshot: Snapshot, staged: Mapping[str, str], without: Container[str]) -> list[Text]:
    """Return the texts of all live memories, except `without`, whose key in `staged` is not that of the present text.

    The store keeps the hash of the text alone, so after a restart memories with cues are staged again.
    """
    texts = (text for text in every_text(snapshot) if text.id not in without)
    return [text for text in texts if staged.get(text.id) != staged_key(text)]


def staged_key(text: Text) -> str:
    """Return what a staged vector is known by: the hash of the text, and one of its cues if it has any."""
    own = content_hash(text.content)
    return f"{own} {content_hash(repr(text.cues))}" if text.cues else own


def _text(snapshot: Snapshot, row: int) -> Text:
    insight = snapshot.insight(row)
    return Text(insight.id, insight.content, insight.cues)


def embed_each(embedder: Embedder, texts: Sequence[Text]) -> tuple[list[Answered], dict[str, MnemonError]]:
    """Embed a batch; return the vectors, and by id the errors of texts refused by a working embedder.

    Blocks. Raises MnemonError(UNAVAILABLE) when the embedder is unavailable.
    """
    try:
        vectors = embed_memories(embedder, [TextWithCues(text.content, text.cues) for text in texts])
        return [Answered(text, vector) for text, vector in zip(texts, vectors, strict=True)], {}
    except NoAnswerError:
        raise
    except MnemonError as error:
        registry.check_available(embedder)
        if len(texts) == 1:
            return [], {texts[0].id: error}
    return _one_by_one(embedder, texts)


def _one_by_one(embedder: Embedder, texts: Sequence[Text]) -> tuple[list[Answered], dict[str, MnemonError]]:
    answered: list[Answered] = []
    refused: dict[str, MnemonError] = {}
    for text in texts:
        found, error = embed_each(embedder, [text])
        answered += found
        refused |= error
    if not answered:  # an embedder that embeds nothing is at fault, not the texts
        raise next(iter(refused.values()))
    return answered, refused


def embed_passages(embedder: Embedder, passages: Sequence[Passage], size: int) -> list[EmbedPassage]:
    """Embed the pieces of passages, `size` at a time. A piece that a working embedder refuses, or of which it knows no
    word, gets zeros. Blocks; raises as `embed_each` does."""
    texts = [[Text(f"{it.id} {n}", each) for n, each in enumerate(pieces(it))] for it in passages]
    flat = [text for each in texts for text in each]
    found: dict[str, Vector | None] = {}
    for at in range(0, len(flat), size):
        answers, _ = embed_each(embedder, flat[at : at + size])
        found |= {answer.text.id: answer.vector for answer in answers}
    return [
        EmbedPassage(it.id, it.text, _together([found.get(text.id) for text in each], embedder.dimension))
        for it, each in zip(passages, texts, strict=True)
    ]


def _together(vectors: Sequence[Vector | None], dimension: int) -> PieceVectors | None:
    if all(each is None for each in vectors):
        return None
    return np.stack([np.zeros(dimension, dtype=np.float32) if each is None else each for each in vectors])


def propose_passages(embedded: Sequence[EmbedPassage], identity: WriteContext, embedder: Embedder) -> Proposal:
    """Propose to write vectors of passages whose text is unchanged."""

    def decide(_: View) -> ChangeSet:
        outcome = Maintained(changed=len(embedded), op_id=identity.op_id)
        change_set = identity.change_set("embed.run", (), outcome, operation="")
        return msgspec.structs.replace(change_set, passages=tuple(embedded))

    return identity.proposal(method="embed.run", decide=decide, made_by=embedder.fingerprint)


def propose(answers: Sequence[Answered], identity: WriteContext, embedder: Embedder, *, anew: bool) -> Proposal:
    """Propose to write vectors of memories whose text is unchanged. Without `anew` only those that have none by then.
    The outcome counts the vectors written."""
    return identity.proposal(
        method="embed.run",
        decide=partial(_decide, answers, identity, record_of(embedder), anew),
        made_by=embedder.fingerprint,
    )


def _decide(
    answers: Sequence[Answered], identity: WriteContext, record: EmbedderRecord, anew: bool, view: View
) -> ChangeSet:
    changes = tuple(
        SetVector(answer.text.id, answer.vector) for answer in answers if _still(view.snapshot, answer.text, anew)
    )
    written = sum(change.vector is not None for change in changes)
    return identity.change_set(
        method="embed.run",
        changes=changes,
        outcome=EmbedRunResult(
            "backfill_complete",
            record.name,
            record.dimension,
            succeeded=written,
            failed=0,
            op_id=identity.op_id,
            replayed=False,
        ),
        operation="",
    )


def _still(snapshot: Snapshot, text: Text, anew: bool) -> bool:
    row = snapshot.row_of(text.id)
    if row is None or snapshot.insight(row).text != (text.content, text.cues):
        return False
    return anew or not snapshot.has_vector(row) or lacks_vector(snapshot, text.id)


def measure(snapshot: Snapshot, embedder: Embedder) -> Measured:
    """Measure the embedder's cosines on a store: between random pairs of its memories, and between memories and
    themselves without 30 % of their words. Deterministic. Blocks.

    Raises MnemonError: INVALID_PARAMS for fewer than FEWEST embedded memories, UNAVAILABLE for an unavailable embedder
    or one that cannot tell a paraphrase from an unrelated text.
    """
    rows = [row for row in np.flatnonzero(snapshot.alive()).tolist() if snapshot.has_vector(row)]
    if len(rows) < FEWEST:
        raise MnemonError(
            INVALID_PARAMS,
            f"{len(rows)} memories of this store are embedded; a calibration needs {FEWEST}",
            hint="store more memories on different subjects; until then shipped values are used",
            outcome="rejected",
        )
    pairs = unrelated_pairs(len(rows))
    unrelated = [_cosine(snapshot.vector(rows[left]), snapshot.vector(rows[right])) for left, right in pairs]
    chosen = [rows[at * len(rows) // PAIRS] for at in range(PAIRS)] if len(rows) > PAIRS else rows
    reduced = embedder.embed([token_dropout(snapshot.insight(row).content) for row in chosen])
    alike = [_cosine(snapshot.vector(row), vector) for row, vector in zip(chosen, reduced, strict=True)]
    compared, paraphrased = (_known(unrelated), _known(alike))
    return Measured(calibrate(compared, paraphrased), len(compared), len(paraphrased))


def _cosine(one: Vector | None, other: Vector | None) -> float | None:
    return None if one is None or other is None else float(np.dot(one, other))


def _known(cosines: Sequence[float | None]) -> list[float]:
    return [cosine for cosine in cosines if cosine is not None]


# The switch to another embedder; the functions run inside the caller's transactions.
#
# Edges and effective importances stay as they are: automatic semantic edges keep the weights of the former embedder,
# and memories written after the cut-over are compared by the new one.


def adopt(connection: Connection, record: EmbedderRecord, now: str) -> bool:
    """Set the embedder of a store that has none; return False if it has one by now."""
    if read_embedder(connection) is not None:
        return False
    write_embedder(connection, record)
    operations.log(connection, "embed.adopt", None, record.name, now)
    return True


def begin(connection: Connection, requested: ChangeSet, record: SwitchRecord) -> Outcome:
    """Record the start of a switch. Raises MnemonError: BUSY during a switch, INVALID_PARAMS when the store has this
    embedder already."""
    if (done := _replayed(connection, requested)) is not None:
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
    embedder_switch.begin(connection, record)
    return _logged(connection, requested, requested.outcome, f"to {record.to.name}")


def drop(connection: Connection, requested: ChangeSet) -> Outcome:
    """Abort the switch. Raises MnemonError(NOT_FOUND) when there is none."""
    if (done := _replayed(connection, requested)) is not None:
        return done
    record = read_switch(connection)
    if record is None:
        raise MnemonError(
            NOT_FOUND, "no switch is under way: there is nothing to abort", hint="see: mnemonctl embed --status",
            outcome="rejected",
        )  # fmt: skip
    count = embedder_switch.clear(connection)
    outcome = EmbedSwitchResult(
        "aborted", record.to.name, EMBEDDER_KEPT, dropped=count, op_id=requested.op_id,
        replayed=False,
    )  # fmt: skip
    return _logged(connection, requested, outcome, f"aborted, {count} vectors dropped")


def cut_over(connection: Connection, record: SwitchRecord, without: Sequence[str] | None, now: str) -> list[str] | None:
    """Finish the switch (see `embedder_switch.cut_over`) and log it."""
    lacking = embedder_switch.cut_over(connection, record, without)
    if lacking == []:
        operations.log(connection, "embed.switch", None, f"{record.to.name} took over", now)
    return lacking


def save_calibration(connection: Connection, requested: ChangeSet, fingerprint: str, measured: Calibration) -> Outcome:
    """Store the calibration of the embedder with this fingerprint. Raises MnemonError(BUSY) when another one took over
    meanwhile."""
    if (done := _replayed(connection, requested)) is not None:
        return done
    record = read_embedder(connection)
    if record is None or record.fingerprint != fingerprint:
        raise MnemonError(
            BUSY, "the store was given another embedder while this one was measured", hint="repeat",
            outcome="rejected",
        )  # fmt: skip
    unrelated, paraphrase = measured.unrelated, measured.paraphrase
    write_embedder(connection, msgspec.structs.replace(record, unrelated=unrelated, paraphrase=paraphrase))
    return _logged(connection, requested, requested.outcome, f"unrelated {unrelated:.3f}, paraphrase {paraphrase:.3f}")


def _replayed(connection: Connection, requested: ChangeSet) -> Outcome | None:
    return operations.replay(connection, requested) if requested.client_op_id else None


def _logged(connection: Connection, requested: ChangeSet, outcome: Outcome, detail: str) -> Outcome:
    """Log the operation, and record its outcome for repeated requests."""
    operations.log(connection, requested.method, None, detail, requested.now)
    if requested.client_op_id:
        operations.record(connection, requested, outcome)
    return outcome
