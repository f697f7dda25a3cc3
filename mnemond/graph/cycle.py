"""Whether a link from cause to effect would close a circle: a way back along the causal links there are."""

from __future__ import annotations

from typing import NamedTuple

from mnemond.index.adjacency import CAUSAL, IN, OUT
from mnemond.index.snapshot import Snapshot


class WayBack(NamedTuple):
    """`rows`: those of a shortest causal chain, both ends included, None when none was found.

    `complete` is false when the search ended before everything was looked at.
    """

    rows: tuple[int, ...] | None
    complete: bool = True


def causal_chain(snapshot: Snapshot, cause: int, effect: int, most: int) -> WayBack:
    """A chain of causal links that leads from one row to another, looking at about `most` rows at most.

    Searched from both ends, the smaller side first: where one of them has few relatives, little is looked at.
    """
    ahead: dict[int, int | None] = {cause: None}
    behind: dict[int, int | None] = {effect: None}
    front, rear = [cause], [effect]
    while front and rear:
        if len(ahead) + len(behind) > most:
            return WayBack(None, complete=False)
        if len(front) <= len(rear):
            front, met = _step(snapshot, front, OUT, ahead, behind)
        else:
            rear, met = _step(snapshot, rear, IN, behind, ahead)
        if met is not None:
            return WayBack((*reversed(_trail(met, ahead)), *_trail(met, behind)[1:]))
    return WayBack(None)


def is_cause(snapshot: Snapshot, cause: int, effect: int) -> bool:
    """Whether there is a causal link from one row to another already."""
    return effect in _relatives(snapshot, cause, OUT)


def _relatives(snapshot: Snapshot, row: int, way: int) -> list[int]:
    """The rows one causal link away, in this direction."""
    links = snapshot.neighbours(row)
    found: list[int] = links["row"][(links["type"] == CAUSAL) & (links["outgoing"] == way)].tolist()
    return found


def _step(
    snapshot: Snapshot, ring: list[int], way: int, seen: dict[int, int | None], other: dict[int, int | None]
) -> tuple[list[int], int | None]:
    """The rows one link further, each noted in `seen` with where it came from; and one that `other` has, if any."""
    following: list[int] = []
    for row in ring:
        for found in _relatives(snapshot, row, way):
            if found in seen:
                continue
            seen[found] = row
            following.append(found)
            if found in other:
                return following, found
    return following, None


def _trail(row: int, came_from: dict[int, int | None]) -> list[int]:
    """From a row back to where the search began."""
    trail = [row]
    while (row_before := came_from[trail[-1]]) is not None:
        trail.append(row_before)
    return trail
