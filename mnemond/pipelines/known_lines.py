"""Which texts are memories already, word for word."""

from __future__ import annotations

from mnemond.index.snapshot import Snapshot
from mnemond.text.echoes import Known
from mnemond.text.similarity import normalised


def known_in(snapshot: Snapshot) -> Known:
    """Whether a normalised text is that of an active memory. Takes a look-up, and nothing of it is kept."""

    def known(text: str) -> bool:
        return bool(text) and any(normalised(snapshot.insight(row).content) == text for row in snapshot.twins(text))

    return known
