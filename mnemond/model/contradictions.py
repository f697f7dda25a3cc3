"""Contradictions between memories that both stay: the newer one notes the ids of the older ones in its metadata.

The entry is a list of objects, which only the store itself writes, so that no client can forge it and an update of the
metadata keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from mnemond.model.memory import Insight

NAME: Final = "contradicts"
"""Key of the entry."""

_MARK: Final = f'"{NAME}":[{{"id":"'
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(dict[str, Any])


def noting(metadata: str, ids: Collection[str]) -> str:
    """Return metadata (a JSON object) with these older memories noted; as it was without any."""
    if not ids:
        return metadata
    entries = _decoder.decode(metadata) | {NAME: [{"id": each} for each in ids]}
    return _encoder.encode(entries).decode()


def without_notes(metadata: str, ids: Collection[str]) -> str:
    """Return metadata without the notes of these memories, after it was decided that both hold."""
    if _MARK not in metadata:
        return metadata
    fields = _decoder.decode(metadata)
    left = [each for each in fields.pop(NAME) if not (isinstance(each, dict) and each.get("id") in ids)]
    return _encoder.encode(fields | ({NAME: left} if left else {})).decode()


def noted(insight: Insight) -> tuple[str, ...]:
    """Return the ids of the memories, stored before it, that a memory contradicts."""
    if _MARK not in insight.metadata:
        return ()
    found = _decoder.decode(insight.metadata).get(NAME)
    entries = found if isinstance(found, list) else []
    return tuple(each["id"] for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str))


def among(insights: Sequence[Insight]) -> list[tuple[int, int]]:
    """Return the places of the newer and the older of each two memories of which one notes that it contradicts the
    other. The later statement is the newer one, also where the earlier one was stored after it."""
    places = {insight.id: place for place, insight in enumerate(insights)}
    found = [
        (place, places[each]) for place, insight in enumerate(insights) for each in noted(insight) if each in places
    ]
    return [(one, other) if _since(insights[one]) >= _since(insights[other]) else (other, one) for one, other in found]


def _since(insight: Insight) -> str:
    return insight.valid_from or insight.created_at
