"""The tables `messages` and `rolling_summaries`: what was said last in each conversation, and what it was about so far.

A message waits until the summary of its conversation covers it, and is deleted in that transaction. Everything here
derives from conversations and may be dropped: a purge of a memory drops all of it, since a text may have the words of
the memory in any form; one that is forgotten or replaced takes the sentences with it that say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.model.changes import KEPT_DAYS, RetireInsight
from mnemond.model.memory import DAY_US, Insight, Scope, format_us
from mnemond.store import insights
from mnemond.store.connection import Connection, Value
from mnemond.text.similarity import overlap, repeats, token_set

EVERY: Final = 10
"""Messages after which a conversation is summed up (the published number of S4)."""

MAX_WAITING: Final = 40
"""Messages of one conversation that wait, the newest: where the job does not run, a summary begins with these."""

MAX_MESSAGES: Final = 2_000
"""Messages of a store that wait: with 2,000 characters each 4 MB."""

MAX_SUMMARIES: Final = 500
"""Summaries of a store, those that changed last."""

RULES: Final = "rules"
"""`generator` of a summary that no model made."""


class Conversation(NamedTuple):
    """A conversation by its id and those for whom its facts are, "" for everybody: two users may choose the same id."""

    id: str
    user_id: str = ""
    session_id: str = ""
    agent_id: str = ""


def conversation_of(conversation_id: str | None, scope: Scope) -> Conversation:
    """Return a conversation as its facts are scoped; its project is not part of what it is."""
    return Conversation(conversation_id or "", scope.user_id or "", scope.session_id or "", scope.agent_id or "")


class Spoken(msgspec.Struct, frozen=True):
    """A message that waits. `role`: "user" or "assistant"."""

    number: int
    role: str
    content: str
    created_at: str
    project: str = ""


class RollingSummary(msgspec.Struct, frozen=True):
    """The summary of a conversation up to the message with the number `upto`, one sentence a line.

    `generator`: "rules", or the model's name; `reason`: why the rules made it although a model is configured.
    """

    conversation: Conversation
    text: str
    upto: int
    updated_at: str
    project: str = ""
    generator: str = RULES
    reason: str = ""


_IS_OF: Final = "conversation_id = ?1 AND user_id IS ?2 AND session_id IS ?3 AND agent_id IS ?4"
_SAME: Final = "conversation_id = ?1 AND user_id = ?2 AND session_id = ?3 AND agent_id = ?4"


def _of_messages(it: Conversation) -> tuple[str, str | None, str | None, str | None]:
    """Return the values of _IS_OF: the table `messages` has null for everybody."""
    return it.id, it.user_id or None, it.session_id or None, it.agent_id or None


def add(
    connection: Connection, conversation: Conversation, project: str, messages: Sequence[tuple[str, str]], said_at: str
) -> None:
    """Append messages, (role, text), to a conversation, and drop the oldest beyond the limits."""
    of = _of_messages(conversation)
    for role, content in messages:
        connection.run(
            "INSERT INTO messages(conversation_id, user_id, session_id, agent_id, role, content, created_at, project)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (*of, role, content, said_at, project or None),
        )
    connection.run(
        f"DELETE FROM messages WHERE {_IS_OF} AND id <="  # noqa: S608 - constants
        f" (SELECT id FROM messages WHERE {_IS_OF} ORDER BY id DESC LIMIT 1 OFFSET ?5)",
        (*of, MAX_WAITING),
    )
    connection.run(
        "DELETE FROM messages WHERE id <= (SELECT id FROM messages ORDER BY id DESC LIMIT 1 OFFSET ?)", (MAX_MESSAGES,)
    )


def due(connection: Connection) -> list[Conversation]:
    """Return the conversations that have EVERY messages or more that no summary covers, the first of them first."""
    rows = connection.rows(
        "SELECT conversation_id, coalesce(user_id, ''), coalesce(session_id, ''), coalesce(agent_id, '') FROM messages"
        " GROUP BY 1, 2, 3, 4 HAVING count(*) >= ? ORDER BY min(id)",
        (EVERY,),
    )
    return [Conversation(*row) for row in rows]


def waiting(connection: Connection, conversation: Conversation) -> list[Spoken]:
    """Return the messages of a conversation that no summary covers, the oldest first."""
    rows = connection.rows(
        f"SELECT id, role, content, created_at, coalesce(project, '') FROM messages WHERE {_IS_OF}"  # noqa: S608
        " ORDER BY id",
        _of_messages(conversation),
    )
    return [Spoken(*row) for row in rows]


_KEY: Final = "conversation_id, user_id, session_id, agent_id"
_COLUMNS: Final = (
    f"{_KEY}, summary, upto_message_id, updated_at, coalesce(project, ''), generator, coalesce(reason, '')"
)


def rolling_summary(connection: Connection, conversation: Conversation) -> RollingSummary | None:
    """Return the summary of a conversation; None without one."""
    return next(iter(_read(connection, _SAME, conversation)), None)


def newest(connection: Connection, beginning: str) -> list[RollingSummary]:
    """Return the summaries of conversations whose ids begin like this, that which changed last first."""
    return _read(connection, "substr(conversation_id, 1, ?) = ?", (len(beginning), beginning))


def _read(connection: Connection, which: str, values: tuple[Value, ...]) -> list[RollingSummary]:
    rows = connection.rows(
        f"SELECT {_COLUMNS} FROM rolling_summaries WHERE {which} ORDER BY updated_at DESC, {_KEY}",  # noqa: S608
        values,
    )
    return [RollingSummary(Conversation(*row[:4]), *row[4:]) for row in rows]


def put(
    connection: Connection, before: RollingSummary | None, covered: Sequence[Spoken], summary: RollingSummary
) -> bool:
    """Replace the summary `before` of a conversation by one that covers these messages, which are deleted.

    Return False, changing nothing, if something of it was purged, forgotten or replaced since it was read.
    """
    if rolling_summary(connection, summary.conversation) != before:
        return False
    held = {each.number: each for each in waiting(connection, summary.conversation)}
    if any(held.get(each.number) != each for each in covered):
        return False
    connection.run(
        f"DELETE FROM messages WHERE {_IS_OF} AND id <= ?5",  # noqa: S608 - constants
        (*_of_messages(summary.conversation), summary.upto),
    )
    connection.run(
        f"INSERT INTO rolling_summaries({_KEY}, summary, upto_message_id, updated_at, project, generator,"
        f" reason) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT({_KEY}) DO UPDATE SET summary = excluded.summary,"
        " upto_message_id = excluded.upto_message_id, updated_at = excluded.updated_at, project = excluded.project,"
        " generator = excluded.generator, reason = excluded.reason",
        (
            *summary.conversation, summary.text, summary.upto, summary.updated_at, summary.project or None,
            summary.generator, summary.reason or None,
        ),
    )  # fmt: skip
    connection.run(
        f"DELETE FROM rolling_summaries WHERE ({_KEY}) IN"  # noqa: S608 - constants
        f" (SELECT {_KEY} FROM rolling_summaries ORDER BY updated_at DESC, {_KEY} LIMIT -1 OFFSET ?)",
        (MAX_SUMMARIES,),
    )
    return True


# What must not stay.


def purge(connection: Connection) -> None:
    """Drop every message that waits and every summary."""
    connection.run("DELETE FROM messages")
    connection.run("DELETE FROM rolling_summaries")


def leave_out(connection: Connection, gone: Insight, change: RetireInsight) -> None:
    """Take what a memory said out of the conversation it came from, if it was forgotten or replaced; a forgotten one
    out of every other conversation that repeats it, too. A model's summary, which may say it in any words, goes as a
    whole if the memory was forgotten."""
    if change.status == "forgotten":
        for number, content in connection.rows("SELECT id, content FROM messages"):
            if repeats(content, gone.content):
                connection.run("DELETE FROM messages WHERE id = ?", (number,))
        for found in newest(connection, ""):
            _leave_out_of(connection, found, gone, None)
    elif change.status == "superseded" and gone.conversation_id is not None and change.successor is not None:
        for found in _read(connection, "conversation_id = ?", (gone.conversation_id,)):
            _leave_out_of(connection, found, gone, change.successor)


def _leave_out_of(connection: Connection, found: RollingSummary, gone: Insight, successor: str | None) -> None:
    """Take the lines that say what a memory said out of a summary, but for those that are nearer to its successor."""
    newer = None if successor is None else insights.read(connection, successor)
    lines = found.text.split("\n")
    kept = [
        line
        for line in lines
        if not repeats(line, gone.content)
        or (newer is not None and _alike(line, newer.content) >= _alike(line, gone.content))
    ]
    by_model = found.generator != RULES
    if by_model and newer is None and (found.conversation.id == gone.conversation_id or len(kept) < len(lines)):
        kept = []
    if not kept:
        connection.run(f"DELETE FROM rolling_summaries WHERE {_SAME}", found.conversation)  # noqa: S608 - constants
    elif len(kept) < len(lines):
        connection.run(
            f"UPDATE rolling_summaries SET summary = ?5 WHERE {_SAME}",  # noqa: S608 - constants
            (*found.conversation, "\n".join(kept)),
        )


def _alike(one: str, other: str) -> float:
    return overlap(token_set(one), token_set(other)).jaccard


def count_expired(connection: Connection, now_us: int) -> int:
    """Count messages and summaries that nothing was added to for KEPT_DAYS."""
    before = format_us(now_us - KEPT_DAYS * DAY_US)
    return connection.count("SELECT count(*) FROM messages WHERE created_at < ?", (before,)) + connection.count(
        "SELECT count(*) FROM rolling_summaries WHERE updated_at < ?", (before,)
    )


def expire(connection: Connection, now_us: int) -> None:
    """Delete messages and summaries that nothing was added to for KEPT_DAYS."""
    before = format_us(now_us - KEPT_DAYS * DAY_US)
    connection.run("DELETE FROM messages WHERE created_at < ?", (before,))
    connection.run("DELETE FROM rolling_summaries WHERE updated_at < ?", (before,))
