"""The vectors of facts: all at once, because an embedder is asked once for many as fast as for one."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import UNKNOWN_WORDS, try_embed
from mnemond.model.changes import Vector
from mnemond.pipelines.extraction import FactWrite


def embedded(embedder: Embedder | None, writes: Sequence[FactWrite], lacking: str | None) -> list[FactWrite]:
    """Facts with their vectors: one by one where all at once fails and the first alone does not (spec 9, phase 1c).

    `lacking` says why there is no embedder. What would be discarded is not embedded. Blocks as the embedder does.
    """
    if embedder is None:
        return [each.embedded(None, lacking) for each in writes]
    wanted = [each for each in writes if not each.prepared.discarded]
    made = iter(_made(embedder, wanted) if wanted else [])
    return [each if each.prepared.discarded else next(made) for each in writes]


def _made(embedder: Embedder, wanted: Sequence[FactWrite]) -> list[FactWrite]:
    vectors, error = try_embed(embedder, [each.content for each in wanted])
    if error is None or len(wanted) == 1 or try_embed(embedder, [wanted[0].content])[1] is not None:
        return [each.embedded(vector, error or _lack(vector)) for each, vector in zip(wanted, vectors, strict=True)]
    singly = [try_embed(embedder, [each.content]) for each in wanted]
    return [each.embedded(one[0], why or _lack(one[0])) for each, (one, why) in zip(wanted, singly, strict=True)]


def _lack(vector: Vector | None) -> str | None:
    return UNKNOWN_WORDS if vector is None else None
