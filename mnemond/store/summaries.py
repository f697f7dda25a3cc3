"""The summary of what is known about a user, by which a model judges new memories."""

from __future__ import annotations

from mnemond.store.connection import Connection


def baseline(connection: Connection, user_id: str | None) -> str:
    """Return what is known about a user in summary, by which new memories are judged; "" before there is a summary."""
    return ""
