"""Cues: short texts that say when a memory should come to mind, in the words used then (docs/decisions/0042).

Recall finds a memory by its text and its cues together: one bag of words, one vector. Everything else (comparison with
other memories, entities, quality) reads the text alone, so a memory with cues has two vectors, see `embed_memories`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from mnemond.embed.embedder import Embedder, sentence, unit
from mnemond.errors import AMBIGUOUS, NOT_FOUND, UNAVAILABLE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory.history import Find, active_row
from mnemond.memory.write import WriteContext
from mnemond.model.changes import Change, ChangeSet, PutInsight, Vector
from mnemond.model.memory import MAX_CUE, MAX_CUES, Cue, Insight, Scope, TextWithCues
from mnemond.model.outcomes import CuesApplied
from mnemond.store.operations import Proposal, View
from mnemond.text.secrets import redact
from mnemond.text.similarity import normalised

# Lists of cues.


def given_cues(texts: Iterable[str]) -> tuple[Cue, ...]:
    """Return cleaned texts as cues written with a memory, each once whatever its case."""
    return joined_cues((), (Cue(" ".join(text.split())) for text in texts))


def joined_cues(first: Sequence[Cue], more: Iterable[Cue]) -> tuple[Cue, ...]:
    """Return `first` and those of `more` that say something else, at most `MAX_CUES`.

    Where there are too many, generated ones give way first, then learned ones, of each the oldest.
    """
    known = {normalised(cue.text) for cue in first}
    cues = list(first)
    for cue in more:
        if (key := normalised(cue.text)) and key not in known:
            known.add(key)
            cues.append(cue)
    while len(cues) > MAX_CUES:
        places = {cue.source: at for at, cue in reversed(list(enumerate(cues)))}
        del cues[places.get("generated", places.get("learned", MAX_CUES))]
    return tuple(cues)


def revised_cues(old: Sequence[Cue], texts: Sequence[str]) -> tuple[Cue, ...]:
    """Return the cues of a memory whose cues are given anew: those that were learned and are among them stay so."""
    learned = {cue.text for cue in old if cue.source == "learned"}
    return tuple(Cue(cue.text, "learned") if cue.text in learned else cue for cue in given_cues(texts))


def with_learned(it: Insight, prompt: str) -> tuple[Cue, ...] | None:
    """Return the cues of a memory that was useful for a prompt, by which it is found by a prompt like it; None if it
    has a cue that says the same already, has no room, or the prompt is too long for a cue or holds a secret.

    Its vector is completed by the backfill."""
    text = " ".join(unicodedata.normalize("NFC", prompt).split())
    if not text or len(text) > MAX_CUE or redact(text).kinds:
        return None
    cues = joined_cues(it.cues, [Cue(text, "learned")])
    return None if cues == it.cues else cues


# The write of cues of several memories.


class CuesToApply(msgspec.Struct, frozen=True, kw_only=True):
    """Cleaned cues by id or prefix of a memory."""

    cues: Mapping[str, tuple[str, ...]]
    redacted: tuple[str, ...] = ()
    scope: Scope = Scope()


def propose_cues(wanted: CuesToApply, identity: WriteContext, find: Find) -> Proposal:
    """Propose to give memories cues; vectors follow in the backfill. `find` resolves ids."""
    return identity.proposal("cues.apply", partial(_decide_cues, wanted, identity, find))


def _decide_cues(wanted: CuesToApply, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    changes: dict[str, Change] = {}
    unchanged: list[str] = []
    unknown: list[str] = []
    for name, texts in wanted.cues.items():
        try:
            it = active_row(view, find, name, wanted.scope).insight
        except MnemonError as error:
            if error.kind not in (NOT_FOUND, AMBIGUOUS):
                raise
            unknown.append(name)
            continue
        cues = revised_cues(it.cues, texts)
        if cues == it.cues:
            unchanged.append(it.id)
        else:
            changes[it.id] = PutInsight(msgspec.structs.replace(it, cues=cues, updated_at=identity.now))
    return identity.change_set(
        method="cues.apply",
        changes=tuple(changes.values()),
        outcome=CuesApplied(
            changed=list(changes),
            unchanged=unchanged,
            unknown=unknown,
            redacted=list(wanted.redacted),
            op_id=identity.op_id,
            replayed=False,
        ),
        detail=f"{len(changes)} memories",
        operation="cues" if changes else "",
    )


# Vectors.


def embed_memories(embedder: Embedder, texts: Sequence[TextWithCues]) -> list[Vector | None]:
    """Embed memories; the vector of one with cues has shape (2, dimension): of its text, and of its text with its cues.

    The latter lies between those of the text and of the cues: that is no worse than the vector of both as one text
    (docs/decisions/0042), and leaves no cue out where a model reads only the beginning of a long text.

    None where the embedder knows no word of the text. Blocks, and raises, as `Embedder.embed` does.
    """
    wanted = [text for each in texts for text in _parts(each)]
    made = iter(embedder.embed(wanted))
    return [_stacked([next(made) for _ in _parts(each)]) for each in texts]


def try_embed_memories(embedder: Embedder, texts: Sequence[TextWithCues]) -> tuple[list[Vector | None], str | None]:
    """Return one vector a memory, and why the embedder failed; None if it answered. See `try_embed`."""
    try:
        return embed_memories(embedder, texts), None
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return [None] * len(texts), sentence(error)


def _parts(text: TextWithCues) -> list[str]:
    chosen = [cue.text for cue in text.cues if cue.source != "generated"] or [cue.text for cue in text.cues]
    return [text.content, "\n".join(chosen)] if chosen else [text.content]


def _stacked(vectors: Sequence[Vector | None]) -> Vector | None:
    own = vectors[0]
    if own is None or len(vectors) == 1:
        return own
    between = None if vectors[1] is None else unit(own + vectors[1])
    return np.stack((own, own if between is None else between))


def lacks_vector(snapshot: Snapshot, insight_id: str) -> bool:
    """Return True if a memory was not embedded with its cues."""
    row = snapshot.row_of(insight_id)
    return row is not None and bool(snapshot.insight(row).cues) and not snapshot.has_cued_vector(row)
