"""What a memory that comes back, or has a former text again, repeats or contradicts among those that are active.

Nobody compared the two: the one was out of recall when the other was remembered. Both stay, whoever asked for that
wants it so; but recall would show both, so that is told.
"""

from __future__ import annotations

from collections.abc import Collection

from mnemond.index.cosines import Cosines
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight
from mnemond.model.outcomes import Conflict
from mnemond.model.timestamp import parse_rfc3339
from mnemond.pipelines.compare import Moment, compare, side_of, to_review
from mnemond.pipelines.limits import Limits
from mnemond.text.tokens import index_terms


def at_odds(
    snapshot: Snapshot,
    it: Insight,
    similarity: Cosines | None,
    limits: Limits,
    now_us: int,
    apart_from: Collection[str] = (),
) -> tuple[Conflict, ...]:
    """Memories beside which `it` is to be looked at again, most similar first. `similarity`: cosine of every row with
    it, None without a vector. `apart_from`: ids that are told already, or leave."""
    terms = set(index_terms(it.content))
    likeness = snapshot.likeness(terms) if terms else None
    moment = Moment(parse_rfc3339(it.valid_from or it.created_at), now_us)
    policy = limits.policy.diff
    found = compare(snapshot, side_of(it), it.scope, similarity, likeness, policy, limits.cosines, moment)
    return to_review(found, {it.id, *apart_from}, policy)
