"""Comparison of a text with the stored memories: which ones it repeats, corrects or refines, and pairing."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.writing import CommitmentSettings, RedundancySettings
from mnemond.index.arrays import Floats, Mask, top
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines, leading
from mnemond.memory.decay import accumulated
from mnemond.memory.diff import Action, DiffRules, Match, Side, Verdict, is_near, judge, overall, side
from mnemond.memory.diff_frames import AGAINST, SILENT, ClausePair, former_terms, judged
from mnemond.memory.diff_rules import edge_similarity, is_redundant, pair_weight, redundancy
from mnemond.memory.wordings import is_wording
from mnemond.model.answers import DiffMatch, DiffResult, DiffThresholds
from mnemond.model.changes import AddEdge, Change, PutInsight, RestoreInsight, RetireInsight
from mnemond.model.memory import DAY_US, SUMMARIZED, Edge, Insight, Scope, parse_rfc3339
from mnemond.model.outcomes import Conflict, Redundancy
from mnemond.model.query import Filter
from mnemond.text.caches import text_cache
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised, overlap, token_set

MIN_LIKENESS = 0.5
"""Minimum share of the smaller text's index terms in common with a row for a closer look. The update threshold is .65
of unstemmed tokens; stems and another list of function words move the share by less than the difference."""

MAX_BY_WORDS = 16
MAX_BY_COSINE = 16
"""Rows examined: the maximum number of those that contain most of the new text or lie in it, of those of similar size,
and of those of similar meaning. Long notes contain any short text; its correction is of its size and must not drown
among them."""


class Compared(msgspec.Struct, frozen=True):
    """The examined rows, most similar first, and the one that decides, if any."""

    matches: tuple[Match, ...]
    best: Match | None


MAX_CHARACTERS = 48_000
"""Characters of memories whose words are counted for one write, the likeliest first; other writes wait meanwhile."""

NO_MATCHES = Compared((), None)


class Moment(NamedTuple):
    """Times at which the new text was said and is written, in microseconds."""

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

    Only rows whose readers all see the new memory take part: the outcome must not reveal other memories, and those for
    other readers must not be replaced. `similarity`: cosine of every row with the new text, `likeness`: the result of
    Snapshot.likeness for its terms, shape (rows,); None if unknown. Unless `thorough`, only the most similar of the
    rows that can only stay beside the new one is judged.
    """
    mask = snapshot.comparable(scope)
    rows = _alike(snapshot, new, mask, similarity, likeness, rules.cosines.override)
    if not thorough:
        rows = _worth_judging(snapshot, rows, new, similarity, rules)
    known = SILENT if not thorough and len(rows) == 1 and not _may_speak(snapshot, rows[0], new, rules) else None
    matches = [_match(snapshot, row, new, similarity, rules, scope, moment, said=known) for row in rows]
    if rules.safeguards.frames:
        # Rows with few words in common count only if their clauses say something about the same thing.
        for row in _worth_reading(snapshot, new, mask, similarity, likeness, frozenset(rows)):
            said = judged(snapshot.insight(row).content, new.text, corrects=new.corrects)
            if said.relation in AGAINST:
                matches.append(_match(snapshot, row, new, similarity, rules, scope, moment, said=said))
    matches.sort(key=lambda match: (-match.verdict.similarity, -match.created_us, match.id))
    return Compared(tuple(matches), overall(matches))


def diff_result(snapshot: Snapshot, found: Compared, rules: DiffRules) -> DiffResult:
    """Convert a comparison to the response of diff."""
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
    """Return at most `most` rows, other than `apart_from`, that the new text contradicts or would replace or
    repeat, but that stay as they are, for review."""
    found = [
        Conflict(match.id, _named_as(match.verdict), round(match.verdict.similarity, 6), match.verdict.reason)
        for match in compared.matches
        if (match.verdict.contradicts or match.verdict.action != "ADD") and match.id not in apart_from
    ]
    return found[:most]


def _named_as(verdict: Verdict) -> Action:
    return "CONFLICT" if verdict.contradicts and verdict.suggestion in ("ADD", "UPDATE") else verdict.suggestion


def kept_because(old: Insight, scope: Scope, moment: Moment) -> str | None:
    """Return why a new memory of this scope may not replace `old`, whatever the table suggests; None when it may.

    A row for other readers is kept, and so are a pinned one, a rule that a person enforces and one said later; a text
    not yet valid replaces nothing.
    """
    if old.pinned:
        return "it is pinned"
    if old.is_enforced:
        return "it is a rule that a person enforces"
    if old.scope != scope:
        return "it is for others as well"
    if moment.said_us > moment.now_us:
        return "the new text does not hold yet"
    return "it was said later" if _valid_us(old) > moment.said_us else None


NOT_YET, NO_MORE = "it does not hold yet", "it does not hold any more"


def _passed_by(old: Insight, moment: Moment) -> str | None:
    """Return why a row is not valid now, so that a repetition of it is no duplicate; None when it is valid."""
    if _valid_us(old) > max(moment.now_us, moment.said_us):
        return NOT_YET
    ends = min((parse_rfc3339(each) for each in (old.invalid_at, old.expires_at) if each is not None), default=None)
    return NO_MORE if ends is not None and ends <= moment.now_us else None


def _valid_us(old: Insight) -> int:
    return parse_rfc3339(old.valid_from or old.created_at)


def side_of(insight: Insight) -> Side:
    """Convert a stored memory for `judge`."""
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
        wanted = likeness >= MIN_LIKENESS
        if mask is not None:
            wanted &= mask
        rows = wanted.nonzero()[0]
        found |= dict.fromkeys(row for row, _ in top(rows, likeness[rows], MAX_BY_WORDS))
        found |= dict.fromkeys(_of_its_size(snapshot, likeness, len(new.tokens), rows))
    if similarity is not None:
        found |= dict.fromkeys(row for row, _ in similarity.best_between(override, math.inf, MAX_BY_COSINE, mask))
    return list(found)


def _worth_judging(
    snapshot: Snapshot,
    rows: list[int],
    new: Side,
    similarity: Cosines | None,
    rules: DiffRules,
) -> list[int]:
    """Return the rows that may come to more than "both stay", or the most similar of the others. Counting words takes
    a tenth of the time of judging a row."""
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


MAX_READ = 2
"""Rows of each kind whose clauses are read although they share few words with the new text: by words, by meaning, by
the state that it ends. Reading one takes a tenth of a millisecond."""

MAX_BRIEF = (14, 24)
"""Words, or pairs of Chinese characters, of a text that is compared by its clauses where few words are shared: some
thirty words with those that say nothing, more than 19 of 20 statements of one thing have. Longer texts with few words
in common speak of different things."""

MIN_SHARED = 0.2
"""Minimum share of the smaller text's index terms in common with such a row: one word of five. Of the pairs of
characters of Chinese, one is enough: a name has no more."""

MIN_MEANT = 0.55
"""Cosine, on the embedder's own scale, from which a row is read: fewer than one of a hundred pairs of sentences at
random has as much with the static model, and nineteen of twenty contradictions (docs/decisions/0006)."""


def _worth_reading(
    snapshot: Snapshot,
    new: Side,
    mask: Mask | None,
    similarity: Cosines | None,
    likeness: Floats | None,
    known: frozenset[int],
) -> list[int]:
    """Return other rows that may say something else of the same thing: "The lead is Ana", before "Bob leads it now"."""
    found: dict[int, None] = {}
    if not _is_brief(new.text, new.tokens):
        return []
    if likeness is not None:
        least = MIN_SHARED if new.text.isascii() else 0.0
        found |= dict.fromkeys(_leading(likeness, least, mask, known))
        if terms := former_terms(new.text):
            found |= dict.fromkeys(_leading(snapshot.likeness(set(terms)), 0.0, mask, known))
    if similarity is not None:
        near = similarity.best_between(MIN_MEANT, math.inf, MAX_READ + len(known), mask)
        found |= dict.fromkeys([row for row, _ in near if row not in known][:MAX_READ])
    return [row for row in found if _is_brief(text := snapshot.insight(row).content, token_set(text))]


def _may_speak(snapshot: Snapshot, row: int, new: Side, rules: DiffRules) -> bool:
    """Return True if the clauses of a row are worth reading: it shares most words, or both texts are brief."""
    text = snapshot.insight(row).content
    tokens = token_set(text)
    shared = overlap(tokens, new.tokens, rules.settings.min_tokens)
    if shared.lexical >= rules.settings.update:
        return True
    return _is_brief(text, tokens) and _is_brief(new.text, new.tokens)


def _is_brief(text: str, tokens: frozenset[str]) -> bool:
    return len(tokens) <= MAX_BRIEF[not text.isascii()]


def _leading(likeness: Floats, least: float, mask: Mask | None, known: frozenset[int]) -> list[int]:
    """Return the rows of `mask` with the largest likeness above `least`, at most `MAX_READ` beside those in `known`."""
    most = MAX_READ + len(known)
    best = leading(likeness, most, mask)
    ranked = top(best, likeness[best], most)
    return [row for row, share in ranked if share > least and row not in known][:MAX_READ]


def _of_its_size(snapshot: Snapshot, likeness: Floats, size: int, rows: npt.NDArray[np.intp]) -> list[int]:
    """Return the best of `rows` by estimated Jaccard similarity with the new text."""
    breadths = snapshot.columns.breadth[rows]
    shared = likeness[rows] * np.minimum(breadths, np.float32(size))
    together = np.maximum(breadths + np.float32(size) - shared, np.float32(1.0))
    return [row for row, _ in top(rows, shared / together, MAX_BY_WORDS)]


def _match(
    snapshot: Snapshot,
    row: int,
    new: Side,
    similarity: Cosines | None,
    rules: DiffRules,
    scope: Scope,
    moment: Moment,
    *,
    said: ClausePair | None = None,
) -> Match:
    """Judge a row. The reason says so if remember keeps a row that the table would replace.

    A row that is not valid now never decides. A row that stays although the new text denies it is contradicted, unless
    it has ended (it is not recalled beside the new text), or the two are hardly about the same thing.
    """
    old = snapshot.insight(row)
    cosine = similarity[row] if similarity is not None and snapshot.has_vector(row) else None
    verdict = judge(side_of(old), new, cosine, rules, said=said)
    if verdict.action == "ADD" and not verdict.contradicts:
        return Match(old.id, parse_rfc3339(old.created_at), verdict)
    passed = _passed_by(old, moment)
    kept = passed or (None if verdict.action == "DUPLICATE" else kept_because(old, scope, moment))
    denied = verdict.contradicts or (verdict.action == "CONFLICT" and kept is not None)
    contradicts = denied and passed != NO_MORE and is_near(verdict, rules)
    if verdict.action != "ADD" and kept is not None:
        reason, action = f"{verdict.reason}; but {kept}, so both stay", "ADD" if passed else verdict.action
        verdict = msgspec.structs.replace(verdict, reason=reason, action=action)
    verdict = msgspec.structs.replace(verdict, contradicts=contradicts)
    return Match(old.id, parse_rfc3339(old.created_at), verdict)


# Redundancy (Mnemosyne): a new memory that repeats another is paired with it, and the pair is boosted.


MAX_LOOKED_AT = 8
"""Rows by meaning, and as many by words, whose redundancy score is computed. It rises with the cosine and with the
shared keywords; a row that is among the first of neither can only be highest where many are nearly as high, and then
it matters little which of them becomes the partner."""


class Paired(msgspec.Struct, frozen=True):
    """The result of pairing: the new memory, changes to others, and the redundancy to report."""

    newcomer: Insight
    changes: tuple[Change, ...]
    redundancy: Redundancy | None


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
    """Pair a new memory with the row it repeats most, if it repeats any.

    If that row already has a partner, the new memory pairs with the older of the two and takes over the boost, so that
    of three reports of one thing the first and the last are a pair. The newer of the two stays as well, or with `evict`
    = supersede leaves recall if it is a wording of the new memory that may be replaced.
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
    older, released = (met, None) if former is None else by_age(met, former)
    # The boost of the former pair is carried over, and the gap since then adds to it.
    gap_days = (now_us - parse_rfc3339(older.last_boosted_at or older.created_at)) / DAY_US
    carried = max(older.boost_days, 0.0 if released is None else released.boost_days)
    boost = accumulated(carried, gap_days, settings.redundancy)
    now = newcomer.updated_at
    kept = msgspec.structs.replace(
        older, paired_with=newcomer.id, boost_days=max(older.boost_days, boost), last_boosted_at=now
    )
    changes: list[Change] = [PutInsight(kept, "PAIR")]
    leaves = released is not None and _gives_way(released, newcomer, settings.redundancy, now_us)
    if released is not None:
        changes.append(
            RetireInsight(released.id, "superseded", successor=newcomer.id, invalid_at=newcomer.valid_from)
            if leaves
            else PutInsight(msgspec.structs.replace(released, paired_with=None), "PAIR")
        )
    linking = settings.edge_similarity
    weight = round(pair_weight(edge_similarity(nearest.cosine, nearest.jaccard, linking), linking), 6)
    ends = ((newcomer.id, older.id), (older.id, newcomer.id))
    changes += [AddEdge(Edge(source, target, "semantic", weight, PAIR, "auto", boost, now)) for source, target in ends]
    joined = msgspec.structs.replace(newcomer, paired_with=older.id, boost_days=boost, last_boosted_at=now)
    report = Redundancy(
        round(nearest.score, 6),
        redundant=True,
        paired_with=older.id,
        boost_days=round(boost, 6),
        retired=released.id if released is not None and leaves else None,
    )
    return Paired(joined, tuple(changes), report)


def _gives_way(released: Insight, newcomer: Insight, settings: RedundancySettings, now_us: int) -> bool:
    """Return True if the newer of a pair may be retired for a new memory that says the same to the same readers."""
    if settings.evict == "keep" or not is_wording(released, newcomer):
        return False
    return kept_because(released, newcomer.scope, Moment(_valid_us(newcomer), now_us)) is None


PAIR = '{"sub_type":"pair"}'


def partner_of(snapshot: Snapshot, insight: Insight) -> Insight | None:
    """Return the active memory that one is paired with."""
    row = None if insight.paired_with is None else snapshot.row_of(insight.paired_with)
    return None if row is None else snapshot.insight(row)


def parted(snapshot: Snapshot, leaving: Insight) -> list[Change]:
    """Return the change that unpairs the partner of a memory that leaves recall."""
    partner = partner_of(snapshot, leaving)
    if partner is None or partner.paired_with != leaving.id:
        return []
    return [PutInsight(msgspec.structs.replace(partner, paired_with=None), "PAIR")]


Return = RestoreInsight | PutInsight | RetireInsight


def mutual(snapshot: Snapshot, changes: Sequence[Return]) -> tuple[list[Return], list[Change]]:
    """Make pairs mutual: return `changes` without partners that are paired otherwise by now, and the changes to other
    memories that lose their partner."""
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


def by_age(one: Insight, other: Insight) -> tuple[Insight, Insight]:
    """Return the older and the newer of two memories."""
    first, second = sorted((one, other), key=lambda each: (each.created_at, each.id))
    return first, second


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
        if snapshot.insight(row).channel == SUMMARIZED:  # it repeats others, and is no partner of one
            continue
        jaccard = _jaccard(words, _keyword_set(snapshot.insight(row).keywords))
        score = redundancy(cosine, jaccard, settings)
        if best is None or score > best.score:
            best = _Nearest(row, score, cosine, jaccard)
    return best


def _worth_a_look(
    snapshot: Snapshot, newcomer: Insight, similarity: Cosines | None, likeness: Floats | None
) -> dict[int, float | None]:
    """Return the rows most similar to a new memory by either signal and their cosines: 0 where a row has no vector,
    None for all where the new memory has none."""
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


@text_cache(maxsize=4096)
def _keyword_set(keywords: str) -> frozenset[str]:
    return frozenset(keywords.split())


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    together = len(one) + len(other) - shared
    return shared / together if together else 0.0
