"""diff: which stored memories a text repeats, corrects or refines (spec 7.2), found without looking at all of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from mnemond.config.settings import CommitmentSettings, RedundancySettings
from mnemond.index.arrays import Floats, Mask
from mnemond.index.selection import top
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines, leading
from mnemond.memory.decay import accumulated
from mnemond.memory.diff import DiffRules, Match, Side, judge, overall, side
from mnemond.memory.diff_rules import edge_similarity, is_redundant, pair_weight, redundancy
from mnemond.model.answers import DiffMatch, DiffResult, DiffThresholds
from mnemond.model.changes import AddEdge, Change, PutInsight, RestoreInsight, RetireInsight
from mnemond.model.memory import DAY_US, Edge, Insight, Scope, parse_rfc3339
from mnemond.model.outcomes import Conflict, Redundancy
from mnemond.model.query import Filter
from mnemond.text.caches import text_cache
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised, overlap, token_set

MIN_LIKENESS = 0.5
"""Share of its index terms that the smaller text has in common with a row worth a closer look. The update threshold
is .65 of unstemmed tokens; stems and another list of function words move the share by less than the difference."""

MAX_BY_WORDS = 16
MAX_BY_COSINE = 16
"""Rows looked at closely: so many that contain most of the new text or lie in it, so many of its own size, and so many
of its meaning. Long notes contain any short text; what corrects it is of its size and must not drown among them."""


class Compared(msgspec.Struct, frozen=True):
    """The rows that were looked at, most similar first, and the one that decides, if any."""

    matches: tuple[Match, ...]
    best: Match | None


MAX_CHARACTERS = 48_000
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
    rules: DiffRules,
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
    rows = _alike(snapshot, new, mask, similarity, likeness, rules.cosines.override)
    if not thorough:
        rows = _worth_judging(snapshot, rows, new, similarity, rules)
    matches = [_told(snapshot, _match(snapshot, row, new, similarity, rules), row, scope, moment) for row in rows]
    matches.sort(key=lambda match: (-match.verdict.similarity, -match.created_us, match.id))
    return Compared(tuple(matches), overall(matches))


def diff_result(snapshot: Snapshot, found: Compared, rules: DiffRules) -> DiffResult:
    """What was compared as the answer of diff."""
    settings, override = rules.settings, rules.cosines.override
    return DiffResult(
        suggestion="ADD" if found.best is None else found.best.verdict.action,
        matches=[_diff_match(snapshot, match) for match in found.matches[: settings.limit]],
        thresholds=DiffThresholds(
            settings.update,
            settings.duplicate,
            settings.novelty,
            round(override, 6) if math.isfinite(override) else None,
        ),
    )


def _diff_match(snapshot: Snapshot, match: Match) -> DiffMatch:
    row, verdict = snapshot.row_of(match.id), match.verdict
    return DiffMatch(
        id=match.id,
        content="" if row is None else snapshot.insight(row).content,
        token_similarity=round(verdict.token_similarity, 6),
        cosine_similarity=None if verdict.cosine is None else round(verdict.cosine, 6),
        similarity=round(verdict.similarity, 6),
        novelty=round(verdict.novelty, 6),
        polarity_flip=verdict.polarity_flip,
        number_change=verdict.number_change,
        suggestion=verdict.action,
        reason=verdict.reason,
    )


def to_review(compared: Compared, apart_from: Collection[str], most: int) -> list[Conflict]:
    """Rows that asked for something and were left as they are, at most `most`, for review, without those named."""
    found = [
        Conflict(match.id, match.verdict.suggestion, round(match.verdict.similarity, 6), match.verdict.reason)
        for match in compared.matches
        if match.verdict.suggestion != "ADD" and match.id not in apart_from
    ]
    return found[:most]


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
    override: float,
) -> list[int]:
    found = dict.fromkeys(row for row in snapshot.twins(new.normalised) if mask is None or mask[row])
    if likeness is not None:
        found |= dict.fromkeys(_top(likeness, MIN_LIKENESS, mask, MAX_BY_WORDS))
        found |= dict.fromkeys(_of_its_size(snapshot, likeness, len(new.tokens), mask))
    if similarity is not None:
        found |= dict.fromkeys(_heard(similarity, override, mask))
    return list(found)


def _worth_judging(
    snapshot: Snapshot,
    rows: list[int],
    new: Side,
    similarity: Cosines | None,
    rules: DiffRules,
) -> list[int]:
    """Rows that may come to more than "both stay", and of the others the one that shares most. Words are counted for
    a tenth of what it takes to judge a row."""
    judged: list[int] = []
    nearest, shared_most, left = -1, -1.0, MAX_CHARACTERS
    for row in rows:
        insight = snapshot.insight(row)
        left -= len(insight.content)
        if left < 0:
            break
        shared = overlap(token_set(insight.content), new.tokens, rules.settings.min_tokens).lexical
        heard = similarity is not None and similarity[row] >= rules.cosines.override
        if shared >= rules.settings.update or heard or normalised(insight.content) == new.normalised:
            judged.append(row)
        elif shared > shared_most:
            nearest, shared_most = row, shared
    return judged if judged or nearest < 0 else [nearest]


def _of_its_size(snapshot: Snapshot, likeness: Floats, size: int, mask: Mask | None) -> list[int]:
    """The rows that share the largest part of both texts together (Jaccard, estimated), best first."""
    wanted = likeness >= MIN_LIKENESS
    if mask is not None:
        wanted &= mask
    rows = wanted.nonzero()[0]
    breadths = snapshot.columns.breadth[rows]
    shared = likeness[rows] * np.minimum(breadths, np.float32(size))
    together = np.maximum(breadths + np.float32(size) - shared, np.float32(1.0))
    return [row for row, _ in top(rows, shared / together, MAX_BY_WORDS)]


def _top(scores: Floats, least: float, mask: Mask | None, k: int) -> list[int]:
    """The k rows with the highest scores of at least `least`, best first, of equal ones the newer row."""
    wanted = scores >= least
    if mask is not None:
        wanted &= mask
    rows = wanted.nonzero()[0]
    return [row for row, _ in top(rows, scores[rows], k)]


def _heard(similarity: Cosines, least: float, mask: Mask | None) -> list[int]:
    """The rows with the largest cosines of at least `least`, best first, of equal ones the newer row."""
    return [row for row, _ in similarity.best_between(least, math.inf, MAX_BY_COSINE, mask)]


def _match(
    snapshot: Snapshot,
    row: int,
    new: Side,
    similarity: Cosines | None,
    rules: DiffRules,
) -> Match:
    insight = snapshot.insight(row)
    cosine = similarity[row] if similarity is not None and snapshot.has_vector(row) else None
    return Match(insight.id, parse_rfc3339(insight.created_at), judge(side_of(insight), new, cosine, rules))


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


# Redundancy: a new memory that repeats another is paired with it, and the pair is strengthened (spec 7.4, 8).


MAX_LOOKED_AT = 8
"""Rows by meaning, and as many by words, whose redundancy is worked out. RS rises with the cosine and with what the
keywords share (spec 7.4); a row that is among the first of neither can only be highest where many are nearly as high,
and then it matters little which of them becomes the partner."""


REMEMBERED_KEYWORDS = 4096
"""Memories whose keywords are kept as a set: newcomers are compared with the same ones again and again."""


class Paired(msgspec.Struct, frozen=True):
    """What pairing came to: the newcomer as it is now, changes to others, and what to tell."""

    newcomer: Insight
    changes: tuple[Change, ...]
    told: Redundancy | None


class _Nearest(msgspec.Struct, frozen=True):
    row: int
    score: float
    cosine: float | None
    jaccard: float


def pair(
    snapshot: Snapshot,
    newcomer: Insight,
    similarity: Cosines | None,
    likeness: Floats | None,
    settings: CommitmentSettings,
    now_us: int,
) -> Paired:
    """Pair a newcomer with the row it repeats most, if it repeats any.

    A row that has a partner already keeps the older of the two: the newcomer pairs with that one and takes over the
    boost, so of three reports of one thing the first and the last stay a pair.
    """
    if not settings.redundancy.enabled:
        return Paired(newcomer, (), None)
    nearest = _nearest(snapshot, newcomer, similarity, likeness, settings.redundancy)
    if nearest is None or not is_redundant(nearest.score, settings.redundancy):
        score = 0.0 if nearest is None else round(nearest.score, 6)
        return Paired(newcomer, (), Redundancy(score, redundant=False, paired_with=None, boost_days=0.0))
    return _join(snapshot, newcomer, nearest, settings, now_us)


def _join(
    snapshot: Snapshot, newcomer: Insight, nearest: _Nearest, settings: CommitmentSettings, now_us: int
) -> Paired:
    met = snapshot.insight(nearest.row)
    former = partner_of(snapshot, met)
    older, let_go = (met, None) if former is None else _by_age(met, former)
    boost = _boost(older, let_go, settings.redundancy, now_us)
    now = newcomer.updated_at
    kept = msgspec.structs.replace(
        older, paired_with=newcomer.id, boost_days=max(older.boost_days, boost), last_boosted_at=now
    )
    changes: list[Change] = [PutInsight(kept, "PAIR")]
    if let_go is not None:
        changes.append(PutInsight(msgspec.structs.replace(let_go, paired_with=None), "PAIR"))
    linking = settings.edge_similarity
    weight = round(pair_weight(edge_similarity(nearest.cosine, nearest.jaccard, linking), linking), 6)
    ends = ((newcomer.id, older.id), (older.id, newcomer.id))
    changes += [AddEdge(Edge(source, target, "semantic", weight, PAIR, "auto", boost, now)) for source, target in ends]
    joined = msgspec.structs.replace(newcomer, paired_with=older.id, boost_days=boost, last_boosted_at=now)
    told = Redundancy(round(nearest.score, 6), redundant=True, paired_with=older.id, boost_days=round(boost, 6))
    return Paired(joined, tuple(changes), told)


PAIR = '{"sub_type":"pair"}'


def partner_of(snapshot: Snapshot, insight: Insight) -> Insight | None:
    """The active memory that one is paired with."""
    row = None if insight.paired_with is None else snapshot.row_of(insight.paired_with)
    return None if row is None else snapshot.insight(row)


def parted(snapshot: Snapshot, leaving: Insight) -> list[Change]:
    """What becomes of the partner of a memory that leaves recall: it is on its own again."""
    partner = partner_of(snapshot, leaving)
    if partner is None or partner.paired_with != leaving.id:
        return []
    return [PutInsight(msgspec.structs.replace(partner, paired_with=None), "PAIR")]


Return = RestoreInsight | PutInsight | RetireInsight


def mutual(snapshot: Snapshot, changes: Sequence[Return]) -> tuple[list[Return], list[Change]]:
    """`changes`, where no memory keeps a partner that is not its own any more, and what becomes of those other memories
    that lose their partner by them."""
    after = {_id(change): None if isinstance(change, RetireInsight) else change.insight for change in changes}

    def settled(change: Return) -> Return:
        if isinstance(change, RetireInsight) or change.insight.paired_with is None:
            return change
        it, other_id = change.insight, change.insight.paired_with
        other = after[other_id] if other_id in after else partner_of(snapshot, it)
        if other is not None and other.paired_with == it.id:
            return change
        return msgspec.structs.replace(change, insight=msgspec.structs.replace(it, paired_with=None))

    others: list[Change] = []
    for insight_id, it in after.items():
        row = snapshot.row_of(insight_id)
        left = None if row is None else snapshot.insight(row)
        if left is None or left.paired_with in after or (it is not None and it.paired_with == left.paired_with):
            continue
        others += parted(snapshot, left)
    return [settled(change) for change in changes], others


def _id(change: Return) -> str:
    return change.id if isinstance(change, RetireInsight) else change.insight.id


def _by_age(one: Insight, other: Insight) -> tuple[Insight, Insight]:
    first, second = sorted((one, other), key=lambda each: (each.created_at, each.id))
    return first, second


def _boost(older: Insight, let_go: Insight | None, settings: RedundancySettings, now_us: int) -> float:
    """The pair's boost in days: what the old pair had, carried over, and what the gap since then adds (spec 7.5)."""
    since = older.last_boosted_at or older.created_at
    gap_days = (now_us - parse_rfc3339(since)) / DAY_US
    return accumulated(max(older.boost_days, 0.0 if let_go is None else let_go.boost_days), gap_days, settings)


def _nearest(
    snapshot: Snapshot,
    newcomer: Insight,
    similarity: Cosines | None,
    likeness: Floats | None,
    settings: RedundancySettings,
) -> _Nearest | None:
    words = _keyword_set(newcomer.keywords)
    best: _Nearest | None = None
    for row, cosine in _worth_a_look(snapshot, newcomer, similarity, likeness).items():
        jaccard = _jaccard(words, _keyword_set(snapshot.insight(row).keywords))
        score = redundancy(cosine, jaccard, settings)
        if best is None or score > best.score:
            best = _Nearest(row, score, cosine, jaccard)
    return best


def _worth_a_look(
    snapshot: Snapshot, newcomer: Insight, similarity: Cosines | None, likeness: Floats | None
) -> dict[int, float | None]:
    """Rows the newcomer may repeat, those most like it by either signal, and their cosines: 0 where a row has no
    vector, None for all where the newcomer has none."""
    mask = snapshot.visible(Filter(scope=newcomer.scope))
    rows: dict[int, float | None] = {}
    if similarity is not None:
        rows |= similarity.highest(MAX_LOOKED_AT, mask)
    if likeness is not None:
        alike = leading(likeness, MAX_LOOKED_AT, mask)
        more = [row for row, _ in top(alike, likeness[alike], MAX_LOOKED_AT) if row not in rows]
        rows |= (
            dict.fromkeys(more)
            if similarity is None
            else zip(more, similarity.of(np.array(more, dtype=np.int64)).tolist(), strict=True)
        )
    return rows


@text_cache(maxsize=REMEMBERED_KEYWORDS)
def _keyword_set(keywords: str) -> frozenset[str]:
    return frozenset(keywords.split())


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    together = len(one) + len(other) - shared
    return shared / together if together else 0.0
