"""Which texts are memories already, word for word."""

from __future__ import annotations

from mnemond.index.snapshot import Snapshot
from mnemond.text.echoes import Known


def known_in(snapshot: Snapshot) -> Known:
    """Whether a normalised text is that of an active memory. Takes a look-up, and nothing of it is kept."""
    return lambda text: bool(text) and bool(snapshot.twins(text))
