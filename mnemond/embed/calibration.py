"""Calibration: thresholds are stated for a reference model and converted to the scale of other models.

On the reference scale two unrelated memories have a cosine of .35, and a memory and its paraphrase one of .85. Where
those two lie for a model is measured, and thresholds are mapped linearly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.text.resources import regex
from mnemond.text.tokens import PAIRED_SCRIPTS

PAIRS: Final = 500
"""Pairs a median is taken over."""

DROPPED: Final = 0.30
"""Share of the words that a self-paraphrase lacks."""

_PIECE = regex(rf"[{PAIRED_SCRIPTS}]\s*|[^\s{PAIRED_SCRIPTS}]+\s*")


class Calibration(msgspec.Struct, frozen=True):
    """Median cosines of one model: of unrelated memories, and of memories with their paraphrases."""

    unrelated: float
    paraphrase: float


REFERENCE: Final = Calibration(unrelated=0.35, paraphrase=0.85)
"""The scale on which thresholds are stated."""

SHIPPED: Final = {
    "minilm_static_256_int8": Calibration(unrelated=0.494, paraphrase=0.963),
    "minilm_l6_v2_int8": Calibration(unrelated=0.134, paraphrase=0.901),
    "multilingual_e5_small_q4": Calibration(unrelated=0.836, paraphrase=0.977),
    "nomic-embed-text": Calibration(unrelated=0.49, paraphrase=0.92),
}
"""By the model's name. The built-in three are measured: 500 random pairs, each within one store, and 500
self-paraphrases, from 13 English stores of conversations and commit messages (LoCoMo, BEAM, LongMemEval, Tendermint;
8,700 memories, their first 2,000 characters). Within single stores the static model's unrelated pairs lie between
.38 (commit messages) and .70 (one long conversation), and at .83 for Chinese, of which both models know little more
than the characters; so a store's own calibration is better than this table.

nomic-embed-text is not measured but pieced together: its published cut-off for "the same subject" is .74 where
MiniLM's is .58 (mnemon), genuine duplicates begin at .92 (a report on 312 memories), and `unrelated` puts .74 as far
between the two medians as .58 is between those measured for MiniLM above.
"""


def scaled(threshold: float, calibration: Calibration | None) -> float:
    """Convert a threshold from the reference scale to that of a model, in [0, 1]; unchanged without a calibration."""
    if calibration is None:
        return threshold
    span = (calibration.paraphrase - calibration.unrelated) / (REFERENCE.paraphrase - REFERENCE.unrelated)
    return min(1.0, max(0.0, calibration.unrelated + (threshold - REFERENCE.unrelated) * span))


def scaled_high(threshold: float, calibration: Calibration | None) -> float:
    """Convert a threshold above that of a paraphrase, which `scaled` would put at 1 or beyond: it lies as far between
    the model's paraphrase and 1 as it does between that of the reference scale and 1."""
    if calibration is None or threshold <= REFERENCE.paraphrase:
        return scaled(threshold, calibration)
    share = (threshold - REFERENCE.paraphrase) / (1.0 - REFERENCE.paraphrase)
    return calibration.paraphrase + share * (1.0 - calibration.paraphrase)


def unscaled(cosine: float, calibration: Calibration | None) -> float:
    """Convert a cosine of a model to the reference scale, in [0, 1]; the inverse of `scaled`."""
    if calibration is None:
        return cosine
    span = (REFERENCE.paraphrase - REFERENCE.unrelated) / (calibration.paraphrase - calibration.unrelated)
    return min(1.0, max(0.0, REFERENCE.unrelated + (cosine - calibration.unrelated) * span))


def shipped(model: str) -> Calibration | None:
    """Return the calibration in SHIPPED; a tag of the model after a colon (":latest") is ignored."""
    return SHIPPED.get(model.partition(":")[0])


def calibrate(unrelated: Sequence[float], paraphrases: Sequence[float]) -> Calibration:
    """Return the medians of measured cosines.

    Raises MnemonError(UNAVAILABLE) if there is nothing to measure, or if the model (or the sample) cannot tell a
    paraphrase from something else: no threshold would mean anything then.
    """
    if not unrelated or not paraphrases:
        raise _unusable(f"{len(unrelated)} pairs and {len(paraphrases)} paraphrases could be measured")
    found = Calibration(unrelated=median(unrelated), paraphrase=median(paraphrases))
    if not found.paraphrase > found.unrelated:
        raise _unusable(f"paraphrases are no more alike ({found.paraphrase:.3f}) than others ({found.unrelated:.3f})")
    return found


def token_dropout(text: str, share: float = DROPPED, seed: int = 0) -> str:
    """Drop `share` of the words of a text (of its characters if its script has no spaces), rounded down, so that at
    least one is left: a paraphrase of itself. Depends on text, share and seed alone."""
    pieces, own = _PIECE.findall(text), _draw(seed, 0, text)
    lost = set(sorted(range(len(pieces)), key=lambda place: _draw(own, place))[: int(len(pieces) * share)])
    return "".join(piece for place, piece in enumerate(pieces) if place not in lost).strip()


def unrelated_pairs(count: int, wanted: int = PAIRS, seed: int = 0) -> list[tuple[int, int]]:
    """Draw `wanted` pairs of different positions below `count`, with repeats; none for fewer than two positions."""
    if count < 2:
        return []
    pairs = []
    for number in range(wanted):
        left = _draw(seed, 2 * number) % count
        right = _draw(seed, 2 * number + 1) % (count - 1)
        pairs.append((left, right + (right >= left)))
    return pairs


def _draw(seed: int, place: int, text: str = "") -> int:
    """Return a pseudo-random number that depends on the input alone."""
    digest = hashlib.blake2b(f"{seed} {place} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _unusable(why: str) -> MnemonError:
    return MnemonError(
        UNAVAILABLE,
        f"the embedder cannot be calibrated on this store: {why}",
        hint="store more memories on different subjects, then try again; until then shipped values are used",
    )
