"""Giving memories the vectors they lack, and measuring what a cosine means to a store's embedder."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from mnemond.embed import embedders
from mnemond.embed.calibration import PAIRS, Calibration, calibrate, token_dropout, unrelated_pairs
from mnemond.embed.embedder import Embedder
from mnemond.embed.supply import Supply
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import ChangeSet, SetVector, Vector
from mnemond.model.outcomes import Embedded
from mnemond.outbound.client import NoAnswerError
from mnemond.pipelines.identity import Identity
from mnemond.store.insights import content_hash
from mnemond.store.meta import EmbedderRecord
from mnemond.store.proposal import Proposal, View

FEWEST: Final = 100
"""Embedded memories of a store from which on it can be calibrated. Medians of a few dozen follow the subjects that
happen to be stored: thresholds scaled by them made candidates of noise."""


class Text(NamedTuple):
    """What is to be embedded."""

    id: str
    content: str


class Answered(NamedTuple):
    """A text and its vector, which is None where the embedder knows no word of it."""

    text: Text
    vector: Vector | None


class Measured(NamedTuple):
    """A calibration, and how many pairs and self-paraphrases it is made of."""

    calibration: Calibration
    pairs: int
    paraphrases: int


def record_of(embedder: Embedder) -> EmbedderRecord:
    """What a store keeps of its embedder."""
    return EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)


def wanted_by(supply: Supply) -> Callable[[], EmbedderRecord | None]:
    """What tells a new store which embedder it has; one that is not to be had just now is adopted later."""

    def wanted() -> EmbedderRecord | None:
        try:
            found = supply.preferred()
        except MnemonError as error:
            if error.kind is not UNAVAILABLE:
                raise
            return None
        return None if found is None else record_of(found)

    return wanted


# ------------------------------------------------------------ which


def every_text(snapshot: Snapshot) -> list[Text]:
    """Every live memory, in the order of their rows."""
    return [_text(snapshot, row) for row in np.flatnonzero(snapshot.alive()).tolist()]


def texts_without_vector(snapshot: Snapshot) -> list[Text]:
    """Every live memory that was not embedded."""
    return [_text(snapshot, row) for row in snapshot.without_vector().tolist()]


def texts_to_stage(snapshot: Snapshot, staged: Mapping[str, str], without: Container[str]) -> list[Text]:
    """Every live memory, those in `without` excepted, whose text is not the one its staged vector was made of."""
    texts = (text for text in every_text(snapshot) if text.id not in without)
    return [text for text in texts if staged.get(text.id) != content_hash(text.content)]


def _text(snapshot: Snapshot, row: int) -> Text:
    insight = snapshot.insight(row)
    return Text(insight.id, insight.content)


# ------------------------------------------------------------ embedding


def embed_each(embedder: Embedder, texts: Sequence[Text]) -> tuple[list[Answered], dict[str, MnemonError]]:
    """The vectors of a batch, and by id why some texts were refused while others, or the server itself, were well.

    Blocks. Raises MnemonError(UNAVAILABLE) when the embedder is not to be had at all.
    """
    try:
        vectors = embedder.embed([text.content for text in texts])
        return [Answered(text, vector) for text, vector in zip(texts, vectors, strict=True)], {}
    except NoAnswerError:
        raise
    except MnemonError as error:
        embedders.check(embedder)
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
    if not answered:  # it answers and embeds nothing: that is no fault of the texts
        raise next(iter(refused.values()))
    return answered, refused


def propose(answers: Sequence[Answered], identity: Identity, embedder: Embedder, *, anew: bool) -> Proposal:
    """The write of vectors, for the memories that still say what was embedded. Without `anew` only those that have
    none by then. Its outcome counts the vectors written."""
    return identity.proposal(
        method="embed.run",
        decide=partial(_decide, answers, identity, record_of(embedder), anew),
        made_by=embedder.fingerprint,
    )


def _decide(
    answers: Sequence[Answered], identity: Identity, record: EmbedderRecord, anew: bool, view: View
) -> ChangeSet:
    changes = tuple(
        SetVector(answer.text.id, answer.vector) for answer in answers if _still(view.snapshot, answer.text, anew)
    )
    written = sum(change.vector is not None for change in changes)
    return identity.change_set(
        method="embed.run",
        changes=changes,
        outcome=Embedded(identity.op_id, record.name, record.dimension, succeeded=written),
        operation="",
    )


def _still(snapshot: Snapshot, text: Text, anew: bool) -> bool:
    row = snapshot.row_of(text.id)
    if row is None or snapshot.insight(row).content != text.content:
        return False
    return anew or not snapshot.has_vector(row)


# ------------------------------------------------------------ measuring


def measure(snapshot: Snapshot, embedder: Embedder) -> Measured:
    """How the embedder's cosines spread over a store: between random pairs of its memories, and between memories and
    themselves without 30 % of their words (spec 7.3). Equal for equal stores. Blocks.

    Raises MnemonError: INVALID_PARAMS for fewer than FEWEST embedded memories, UNAVAILABLE for an embedder that is not
    to be had, and one that cannot tell a paraphrase from something else.
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
