"""Summaries that a model gets as context: of a conversation so far, and of what is known about a user."""

from __future__ import annotations

from mnemond.store.connection import Connection


def rolling(connection: Connection, conversation_id: str) -> str:
    """Return the summary of a conversation, "" if it has none."""
    sql = "SELECT summary FROM rolling_summaries WHERE conversation_id = ?"
    return str(connection.value(sql, (conversation_id,)) or "") if conversation_id else ""


def baseline(connection: Connection, user_id: str | None) -> str:
    """Return what is known about a user in summary, by which new memories are judged; "" before there is a summary."""
    return ""
