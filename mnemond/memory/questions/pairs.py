"""Pairs of memories: which wait for a decision, what a model is asked about them, and what is done without a person.

The judge is `diff.judge`. A pair that it leaves open stays in recall and becomes a review. An answer to a review, from
a model, is carried out only if the gates here admit it; a person's answer passes no gate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import Moment, kept_because, side_of
from mnemond.memory.diff import GENERAL, DiffRules, Match, Verdict, judge
from mnemond.memory.diff_frames import opposed, other_slot
from mnemond.memory.merged_text import unkept
from mnemond.memory.questions.asking import Question, object_schema
from mnemond.model.memory import MAX_CONTENT, Insight, parse_rfc3339
from mnemond.model.reviews import OpenReview, Resolution, ReviewKind
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised, token_set

ASKING: Final = ("host", "llm")
"""Modes in which something answers reviews, so that pairs without a contradiction are asked about as well."""

MOST_RETIRED: Final = 20
"""Memories that one run of extraction may retire unasked (design of the resolver; a run that goes wrong for a whole
graph is known from other systems)."""

MOST_RETIRED_SHARE: Final = 0.05
"""The same as a share of the store, as for prune."""

LEAST_RETIRED: Final = 3
"""Memories that a run may retire in a store so small that the share is less: a first session corrects itself."""


class Allowance:
    """The memories that one run may still replace. Used by one thread at a time."""

    def __init__(self, live: int) -> None:
        """`live`: memories in the store."""
        self.most = min(MOST_RETIRED, max(LEAST_RETIRED, math.floor(live * MOST_RETIRED_SHARE)))
        self._retired: set[str] = set()

    def admits(self, ids: Collection[str]) -> bool:
        """Return True, and count these memories, if the run may retire them as well. Those counted before are not
        counted again, as a batch of writes may be decided twice."""
        together = self._retired.union(ids)
        if len(together) > self.most:
            return False
        self._retired = together
        return True


# Pairs that wait.


def opened(
    matches: Iterable[Match], newcomer: Insight, snapshot: Snapshot, settings: ExtractionSettings, most: int,
    apart_from: Collection[str] = (),
) -> tuple[OpenReview, ...]:  # fmt: skip
    """Return the reviews of a new memory: at most `most` of those in `matches` that stay beside it in doubt.

    A contradiction is always asked about; a repetition or an addition that the rules hold back only if something
    answers. Memories of other readers are not: both may hold.
    """
    asking = settings.resolver in ASKING
    found: list[OpenReview] = []
    for match in matches:
        row = snapshot.row_of(match.id)
        if row is None or match.id in apart_from or len(found) == most:
            continue
        asked = _asked(snapshot.insight(row), newcomer, match.verdict, asking=asking)
        found += [] if asked is None else [asked]
    return tuple(found)


def _asked(old: Insight, new: Insight, verdict: Verdict, *, asking: bool) -> OpenReview | None:
    suggestion = resolution_of(verdict)
    if old.scope != new.scope or suggestion == "COEXIST":
        return None
    if not verdict.contradicts and not (asking and may_be_one(old, new)):
        return None
    kind: ReviewKind = "conflict" if suggestion == "SUPERSEDE" else "merge"
    older, newer = sorted((old, new), key=said_at)
    return OpenReview(kind, older.id, newer.id, suggestion, round(verdict.similarity, 6), verdict.reason)


def may_be_one(old: Insight, new: Insight) -> bool:
    """Return True if two memories name the same thing and each says something that the other does not."""
    shared = {canonical_name(name) for name in old.entities} & {canonical_name(name) for name in new.entities}
    mine, theirs = token_set(new.content), token_set(old.content)
    return bool(shared) and _same_category(old, new) and not (mine <= theirs or theirs <= mine)


def resolution_of(verdict: Verdict) -> Resolution:
    """Return what a verdict comes to, also where the rules hold it back: spec 8, 10.1."""
    if verdict.contradicts or "CONFLICT" in (verdict.action, verdict.suggestion):
        return "SUPERSEDE"
    if "DUPLICATE" in (verdict.action, verdict.suggestion):
        return "DUPLICATE"
    if verdict.action == "UPDATE":
        return "SUPERSEDE"  # the new text holds all of the old one
    return "MERGE" if verdict.suggestion == "UPDATE" else "COEXIST"


def acted_on(verdict: Verdict) -> Resolution:
    """Return what the rules do about a verdict by themselves."""
    return "COEXIST" if verdict.action == "ADD" else resolution_of(verdict)


# Gates.


def needs_a_person(kind: ReviewKind, resolution: Resolution, config: Config) -> bool:
    """Return True for a decision that no agent takes: that two names are one, or two memories that a search found, so
    that what proposes a merge does not make it. Of memories, settings that leave this to programs allow it."""
    if kind == "names":
        return resolution == "MERGE"
    by_setting = config.consolidation.auto_merge or config.extraction.resolver == "host"
    return kind == "merge" and resolution in JOINING and not by_setting


JOINING: Final = ("MERGE", "DUPLICATE", "SUPERSEDE")
"""Resolutions after which one of two memories is out of recall."""


def not_asked(older: Insight, newer: Insight) -> str | None:
    """Return why the claim of a model that one memory replaces another is not even asked about, None if it is."""
    if older.pinned or older.is_enforced:
        return "a person chose it"
    if older.scope != newer.scope:
        return "they are for different readers"
    if not _same_category(older, newer):
        return "they are of different categories"
    if said_at(newer) <= said_at(older):
        return "neither is newer"
    return "they tell of different days" if dated_apart(older, newer) else None


def refusal(resolution: Resolution, older: Insight, newer: Insight, rules: DiffRules, now_us: int) -> str | None:
    """Return why a machine's answer about two memories is not carried out, None if it is: spec 8, 10.2, and the gates
    of the design. Both stay then."""
    if resolution == "COEXIST":
        return None
    if older.pinned or newer.pinned:
        return "one of them is pinned"
    if older.scope != newer.scope:
        return "they are for different readers"
    if resolution == "SUPERSEDE":
        return _not_superseded(older, newer, rules, now_us)
    if opposed(older.content, newer.content) is not None:
        return "they contradict each other"
    if resolution == "DUPLICATE":
        return None if repeats(older, newer) else "the newer one says something that the older does not"
    return None if _same_category(older, newer) else "they are of different categories"


def _not_superseded(older: Insight, newer: Insight, rules: DiffRules, now_us: int) -> str | None:
    if said_at(newer) <= said_at(older):
        return "neither is newer"
    if dated_apart(older, newer):
        return "they tell of different days"
    if why := kept_because(older, newer.scope, Moment(parse_rfc3339(said_at(newer)[0]), now_us)):
        return why
    verdict = judge(side_of(older), side_of(newer), None, rules)
    if verdict.action in ("CONFLICT", "UPDATE"):
        return None
    if not verdict.contradicts:
        return "they do not say different things of the same subject"
    return other_slot(older.content, newer.content, verdict.clauses)


def dated_apart(one: Insight, other: Insight) -> bool:
    """Return True if both texts tell of dates that do not overlap: two events, of which none ends the other."""
    if one.event_start is None or other.event_start is None:
        return False
    return (one.event_end or one.event_start) < other.event_start or (
        other.event_end or other.event_start
    ) < one.event_start


def repeats(older: Insight, newer: Insight) -> bool:
    """Return True if nothing is lost with the newer text: no word, number or name of it is missing in the older."""
    if normalised(older.content) == normalised(newer.content):
        return True
    missing = unkept(older.content, [newer.content], newer.entities)
    return not missing and token_set(newer.content) <= token_set(older.content)


def kept_text(proposed: str, older: Insight, newer: Insight) -> list[str]:
    """Return the numbers and names of two memories that a proposed common text lacks; none: it may be stored."""
    return unkept(proposed, [older.content, newer.content], (*older.entities, *newer.entities))


def _same_category(old: Insight, new: Insight) -> bool:
    return old.category == new.category or GENERAL in (old.category, new.category)


def said_at(it: Insight) -> tuple[str, str]:
    """Return the order of memories by when they were said."""
    return it.valid_from or it.created_at, it.created_at


# The questions.


MAX_TOKENS: Final = 40
"""Tokens of an answer that names a relation."""

MAX_MERGED_TOKENS: Final = 400
"""Tokens of a text that joins two memories."""

Relation = Literal["same", "newer_replaces_older", "adds_detail", "unrelated"]

MEANS: Final[Mapping[Relation, Resolution]] = {
    "same": "DUPLICATE", "newer_replaces_older": "SUPERSEDE", "adds_detail": "MERGE", "unrelated": "COEXIST",
}  # fmt: skip

RELATION_SCHEMA: Final = object_schema({"relation": {"type": "string", "enum": list(MEANS)}})
TEXT_SCHEMA: Final = object_schema({"text": {"type": "string", "maxLength": MAX_CONTENT}})


def relation_question(
    kind: ReviewKind, older: Insight, newer: Insight, rules: DiffRules, now_us: int
) -> Question[Resolution | None]:
    """Return the question how two memories are related; its check gives what is carried out, None if that is left to
    people."""

    def check(value: object) -> Resolution | None:
        relation = value.get("relation") if isinstance(value, dict) else value
        resolution = next((means for name, means in MEANS.items() if name == relation), None)
        if resolution is None or (resolution == "COEXIST" and kind == "conflict"):
            return None  # the rules found a contradiction: the model alone does not take that back
        return resolution if refusal(resolution, older, newer, rules, now_us) is None else None

    return Question("classify_conflict", (older.content, newer.content), RELATION_SCHEMA, MAX_TOKENS, check)


def merge_question(older: Insight, newer: Insight) -> Question[str | None]:
    """Return the question for one text in the place of two memories; None for one that cannot be stored, or lacks a
    number or a name of theirs: the rules join them then."""

    def check(value: object) -> str | None:
        text = value.get("text") if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_CONTENT or "\0" in text:
            return None
        return None if kept_text(text, older, newer) else text.strip()

    return Question("merge_facts", (older.content, newer.content), TEXT_SCHEMA, MAX_MERGED_TOKENS, check)
