"""The memory an operation is about, as the writer finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight, Scope
from mnemond.pipelines.successor import last_successor
from mnemond.store import insights
from mnemond.store.proposal import View

Find = Callable[[Snapshot, str], Insight]
"""The active memory that an id, or the beginning of one, names. Raises MnemonError when there is not exactly one."""


class Present(NamedTuple):
    """An active memory and its row in the snapshot it was looked up in."""

    row: int
    insight: Insight


def active_row(view: View, find: Find, id_or_prefix: str, scope: Scope) -> Present:
    """An active memory that a reader of this scope may see.

    Raises MnemonError(NOT_FOUND), which says of a retired memory what became of it, and what `find` raises.
    """
    try:
        found = find(view.snapshot, id_or_prefix)
    except MnemonError as error:
        raise _told(view, id_or_prefix, error) from None
    row = view.snapshot.row_of(found.id)
    if row is None or not admits(scope, found):
        raise hidden(id_or_prefix)
    return Present(row, found)


def hidden(id_or_prefix: str) -> MnemonError:
    """The error for a memory that is not for whoever asks."""
    return MnemonError(
        NOT_FOUND,
        f"no active memory with id {id_or_prefix[:64]!a} is meant for this user, session or agent",
        hint="leave --user, --session and --agent out, or give those the memory was stored with",
        outcome="rejected",
    )


def admits(scope: Scope, it: Insight) -> bool:
    """Whether a memory is for the user, session and agent given; one that names nobody is for everyone."""
    theirs = it.scope
    pairs = (
        (scope.user_id, theirs.user_id),
        (scope.session_id, theirs.session_id),
        (scope.agent_id, theirs.agent_id),
    )
    return all(wanted is None or has is None or wanted == has for wanted, has in pairs)


def _told(view: View, id_or_prefix: str, error: MnemonError) -> MnemonError:
    """`error`, with what became of the memory when it was one once."""
    ids = insights.ids_beginning(view.connection, id_or_prefix.casefold(), 2) if error.kind is NOT_FOUND else []
    retired = insights.read(view.connection, ids[0]) if len(ids) == 1 else None
    if retired is None:
        return error
    return MnemonError(
        NOT_FOUND,
        f"memory {retired.id} is not active: it is {retired.status}",
        hint=_way_on(retired, last_successor(view.connection, retired)),
        outcome="rejected",
    )


def _way_on(retired: Insight, successor: Insight) -> str:
    """What to do instead. What took the place of a memory may itself have been replaced, or have left recall."""
    back = f"`mnemonctl restore {retired.id}"
    if successor.status == "active":
        return f"{successor.id} stands in its place now: name that one; {back} --force` brings this one back beside it"
    if retired.superseded_by is not None:
        return f"what took its place is out of recall as well; {back}` brings this one back"
    return f"{back}` brings it back; `mnemonctl list` shows the active ones"
