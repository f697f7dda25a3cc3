"""diff: which stored memories a text repeats, corrects or refines (spec 7.2), found without looking at all of them."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import msgspec
import numpy as np

from mnemond.index.cosines import Cosines
from mnemond.index.postings import Floats
from mnemond.index.selection import top
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.insight import Insight, Scope
from mnemond.model.outcomes import Conflict
from mnemond.model.policy import DiffPolicy
from mnemond.model.timestamp import parse_rfc3339
from mnemond.rank.diff import Match, Side, judge, overall, side
from mnemond.rank.diff_calibration import CosineThresholds
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised, overlap, token_set

LEAST_LIKENESS = 0.5
"""Share of its index terms that the smaller text has in common with a row worth a closer look. The update threshold
is .65 of unstemmed tokens; stems and another list of function words move the share by less than the difference."""

MOST_BY_WORDS = 16
MOST_BY_COSINE = 16
"""Rows looked at closely: so many that contain most of the new text or lie in it, so many of its own size, and so many
of its meaning. Long notes contain any short text; what corrects it is of its size and must not drown among them."""


class Compared(msgspec.Struct, frozen=True):
    """The rows that were looked at, most similar first, and the one that decides, if any."""

    matches: tuple[Match, ...]
    best: Match | None


MOST_CHARACTERS = 48_000
"""Characters of memories whose words are counted for one write, the likeliest first: other writes wait meanwhile."""

NOTHING = Compared((), None)


class Moment(NamedTuple):
    """When something is compared: what was `said_us` then is written down `now_us`, microseconds."""

    said_us: int
    now_us: int


def compare(
    snapshot: Snapshot,
    new: Side,
    scope: Scope,
    similarity: Cosines | None,
    likeness: Floats | None,
    policy: DiffPolicy,
    cosines: CosineThresholds,
    moment: Moment,
    *,
    thorough: bool = False,
) -> Compared:
    """Judge `new` against every row that could repeat or contradict it.

    Only rows whose readers all see the new memory take part: what others know is not theirs to be told, and what is
    for others is not to be replaced. `similarity`: cosine of every row with the new text, `likeness`: what
    Snapshot.likeness says of its terms, shape (rows,); None where there is nothing to go by. Unless
    `thorough`, of the rows that can only stay beside the new one the most similar alone is judged.
    """
    mask = snapshot.comparable(scope)
    rows = _alike(snapshot, new, mask, similarity, likeness, cosines)
    if not thorough:
        rows = _worth_judging(snapshot, rows, new, similarity, policy, cosines)
    matches = [
        _told(snapshot, _match(snapshot, row, new, similarity, policy, cosines), row, scope, moment) for row in rows
    ]
    matches.sort(key=lambda match: (-match.verdict.similarity, -match.created_us, match.id))
    return Compared(tuple(matches), overall(matches))


def to_review(compared: Compared, apart_from: Collection[str], policy: DiffPolicy) -> tuple[Conflict, ...]:
    """Rows that asked for something and were left as they are, for somebody to review, without those named."""
    found = [
        Conflict(match.id, match.verdict.suggestion, round(match.verdict.similarity, 6), match.verdict.reason)
        for match in compared.matches
        if match.verdict.suggestion != "ADD" and match.id not in apart_from
    ]
    return tuple(found[: policy.limit])


def kept_because(old: Insight, scope: Scope, moment: Moment) -> str | None:
    """Why a new memory of this scope may not take the place of `old`, whatever the table says; None when it may. A row
    that others see as well is not the newcomer's to retire; nor is a pinned one, nor one that was said later, nor
    anything by what does not hold yet."""
    if old.pinned:
        return "it is pinned"
    if old.scope != scope:
        return "it is for others as well"
    if moment.said_us > moment.now_us:
        return "the new text does not hold yet"
    return "it was said later" if _valid_us(old) > moment.said_us else None


def _passed_by(old: Insight, moment: Moment) -> str | None:
    """Why a row says nothing about now, so that a text which repeats it is not known already; None when it does."""
    if _valid_us(old) > max(moment.now_us, moment.said_us):
        return "it does not hold yet"
    ends = min((parse_rfc3339(each) for each in (old.invalid_at, old.expires_at) if each is not None), default=None)
    return "it does not hold any more" if ends is not None and ends <= moment.now_us else None


def _valid_us(old: Insight) -> int:
    return parse_rfc3339(old.valid_from or old.created_at)


def side_of(insight: Insight) -> Side:
    """A stored memory, ready to be judged."""
    names = [canonical_name(name) for name in insight.entities]
    return side(insight.content, insight.category, names, insight.created_at)


def _alike(
    snapshot: Snapshot,
    new: Side,
    mask: Mask | None,
    similarity: Cosines | None,
    likeness: Floats | None,
    cosines: CosineThresholds,
) -> list[int]:
    found = dict.fromkeys(row for row in snapshot.twins(new.normalised) if mask is None or mask[row])
    if likeness is not None:
        found |= dict.fromkeys(_top(likeness, LEAST_LIKENESS, mask, MOST_BY_WORDS))
        found |= dict.fromkeys(_of_its_size(snapshot, likeness, len(new.tokens), mask))
    if similarity is not None:
        found |= dict.fromkeys(_heard(similarity, cosines.override, mask))
    return list(found)


def _worth_judging(
    snapshot: Snapshot,
    rows: list[int],
    new: Side,
    similarity: Cosines | None,
    policy: DiffPolicy,
    cosines: CosineThresholds,
) -> list[int]:
    """Rows that may come to more than "both stay", and of the others the one that shares most. Words are counted for
    a tenth of what it takes to judge a row."""
    judged: list[int] = []
    nearest, shared_most, left = -1, -1.0, MOST_CHARACTERS
    for row in rows:
        insight = snapshot.insight(row)
        left -= len(insight.content)
        if left < 0:
            break
        shared = overlap(token_set(insight.content), new.tokens, policy.min_tokens).lexical
        heard = similarity is not None and similarity[row] >= cosines.override
        if shared >= policy.update or heard or normalised(insight.content) == new.normalised:
            judged.append(row)
        elif shared > shared_most:
            nearest, shared_most = row, shared
    return judged if judged or nearest < 0 else [nearest]


def _of_its_size(snapshot: Snapshot, likeness: Floats, size: int, mask: Mask | None) -> list[int]:
    """The rows that share the largest part of both texts together (Jaccard, estimated), best first."""
    wanted = likeness >= LEAST_LIKENESS
    if mask is not None:
        wanted &= mask
    rows = wanted.nonzero()[0]
    breadths = snapshot.breadths[rows]
    shared = likeness[rows] * np.minimum(breadths, np.float32(size))
    together = np.maximum(breadths + np.float32(size) - shared, np.float32(1.0))
    return [row for row, _ in top(rows, shared / together, MOST_BY_WORDS)]


def _top(scores: Floats, least: float, mask: Mask | None, k: int) -> list[int]:
    """The k rows with the highest scores of at least `least`, best first, of equal ones the newer row."""
    wanted = scores >= least
    if mask is not None:
        wanted &= mask
    rows = wanted.nonzero()[0]
    return [row for row, _ in top(rows, scores[rows], k)]


def _heard(similarity: Cosines, least: float, mask: Mask | None) -> list[int]:
    """The rows with the largest cosines of at least `least`, best first, of equal ones the newer row."""
    return [row for row, _ in similarity.best_between(least, math.inf, MOST_BY_COSINE, mask)]


def _match(
    snapshot: Snapshot,
    row: int,
    new: Side,
    similarity: Cosines | None,
    policy: DiffPolicy,
    cosines: CosineThresholds,
) -> Match:
    insight = snapshot.insight(row)
    cosine = similarity[row] if similarity is not None and snapshot.has_vector(row) else None
    return Match(insight.id, parse_rfc3339(insight.created_at), judge(side_of(insight), new, cosine, policy, cosines))


def _told(snapshot: Snapshot, match: Match, row: int, scope: Scope, moment: Moment) -> Match:
    """`match`, with a reason that says so where remember leaves a row beside what the table would replace it with. A
    row that says nothing about now has no say."""
    verdict, old = match.verdict, snapshot.insight(row)
    if verdict.action == "ADD":
        return match
    passed = _passed_by(old, moment)
    kept = passed or (None if verdict.action == "DUPLICATE" else kept_because(old, scope, moment))
    if kept is None:
        return match
    told = msgspec.structs.replace(verdict, reason=f"{verdict.reason}; but {kept}, so both stay")
    if passed:
        told = msgspec.structs.replace(told, action="ADD")
    return msgspec.structs.replace(match, verdict=told)
