"""Decide whether a new memory repeats, corrects or refines an old one: a decision table as a pure function.

Retiring or dropping a memory that says something of its own is the worst error, and similarity alone cannot prevent
it: contradictions share more words than paraphrases do. So the table only suggests, with three more conditions: a
replacement covers the old text and is about the same thing, and only a verbatim part of an old memory is skipped
(docs/decisions/0006; each can be switched off in `Safeguards`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import msgspec

from mnemond.config.writing import DiffSettings
from mnemond.embed.calibration import REFERENCE
from mnemond.memory.diff_frames import SILENT, ClausePair, judged
from mnemond.memory.diff_rules import (
    OTHER_DAY,
    is_part,
    limits,
    narrower,
    other_occasion,
    other_subject,
    plain_words,
    reports,
    says_otherwise,
)
from mnemond.memory.frame_topics import ANOTHER, CONTRADICTS, REPLACES
from mnemond.text.contrast import change_cues, numbers, polarity
from mnemond.text.frames import frames
from mnemond.text.similarity import Overlap, normalised, overlap, token_set
from mnemond.text.tokens import tokens

# Cosine thresholds.


MEASURED: Final = {
    "minilm_static_256_int8": math.inf,
    "minilm_l6_v2_int8": math.inf,
    "multilingual_e5_small_q4": math.inf,
}
"""Cosines, on the model's own scale, above which no contradiction was measured (docs/decisions/0006); neither of the
built-in models has one.

The static model adds up words without their order, and contradictions are more alike to it (median .96) than
paraphrases (.90). The transformer gives contradictions up to .97, its own figure for a pair moves by up to .05 with
the texts it is computed beside, and where it does not know the characters different texts have a cosine of 1.
The multilingual one was not measured; its unrelated texts have .84, so it has no say either.
"""


class Safeguards(msgspec.Struct, frozen=True):
    """Measured rules beside the settings (docs/decisions/0006); with zeros and False only the table decides.

    `cover`: minimum share of the old words that return in a new text which replaces the old one. `verbatim`: only a
    text that is in an old memory word for word is skipped. `part`: minimum share of the longer text that the other
    must make up for either (half of it for a correction). `cosine_evidence`: minimum token similarity for the cosine to
    count. `raise_override`: the cosine override rises for an embedder that cannot tell a paraphrase from a
    contradiction. `subjects`: a text about something else (sprint 13, not sprint 12; another name) replaces nothing.
    `frames`: what contradicts is decided by what the clauses say (docs/decisions/0028), not by the words they share.
    """

    cover: float = 0.90
    verbatim: bool = True
    part: float = 0.50
    cosine_evidence: float = 0.50
    raise_override: bool = True
    subjects: bool = True
    frames: bool = True


SAFEGUARDS: Final = Safeguards()

LITERAL: Final = Safeguards(
    cover=0.0, verbatim=False, part=0.0, cosine_evidence=0.0, raise_override=False, subjects=False, frames=False
)
"""The published decision table, without additions."""

PUBLISHED: Final = msgspec.structs.replace(LITERAL, raise_override=True)
"""The order of tests of the published table, with thresholds that fit the embedder: without `raise_override` each
built-in model would take contradictions for repetitions, see `MEASURED`."""

BY_PROFILE: Final = {"mnemon": PUBLISHED, "classic": PUBLISHED}
"""Safeguards of the profiles that follow a published algorithm; every other profile has `SAFEGUARDS`."""


NEAR: Final = 0.53
"""Cosine, on the reference scale, from which texts without a common word are about the same thing: see `is_near`."""

NEAR_BY_WORDS: Final = 0.25
"""Token similarity from which texts are about the same thing whose cosine is that of unrelated ones."""


class CosineThresholds(msgspec.Struct, frozen=True):
    """The thresholds of `diff` on the scale of one embedder; an infinite override is never reached. `near`,
    `unrelated`: see `is_near`."""

    override: float
    update: float
    duplicate: float
    near: float = NEAR
    unrelated: float = REFERENCE.unrelated


class DiffRules(msgspec.Struct, frozen=True):
    """The rules of comparing in one store."""

    settings: DiffSettings
    cosines: CosineThresholds
    safeguards: Safeguards = SAFEGUARDS


def cosine_thresholds(
    model: str, settings: DiffSettings, scale: Callable[[float], float], safeguards: Safeguards = SAFEGUARDS
) -> CosineThresholds:
    """Scale `settings` to the embedder `model`; the tag of an Ollama model (":latest") is ignored.

    `scale` maps a threshold of the reference embedder to this one. The cosine of an unmeasured model counts from its
    duplicate threshold on, and only beside word overlap.
    """
    override, duplicate = scale(settings.cosine_override), scale(settings.duplicate)
    if safeguards.raise_override:
        override = max(override, MEASURED.get(model.partition(":")[0], duplicate))
    near, unrelated = scale(NEAR), scale(REFERENCE.unrelated)
    return CosineThresholds(override, scale(settings.update), duplicate, near, unrelated)


def on_reference_scale(cosine: float, rules: DiffRules) -> float:
    """Map a cosine of the embedder to the reference scale, comparable with other rows' similarity.

    Piecewise linear through 0, the update threshold, the duplicate threshold and 1; thresholds map exactly.
    """
    own, reference = rules.cosines, rules.settings
    known = ((0.0, 0.0), (own.update, reference.update), (own.duplicate, reference.duplicate), (1.0, 1.0))
    low, low_is = known[0]
    for high, high_is in known[1:]:
        if cosine <= high:
            return high_is if cosine == high else low_is + (cosine - low) * (high_is - low_is) / (high - low)
        low, low_is = high, high_is
    return 1.0


Action = Literal["DUPLICATE", "CONFLICT", "UPDATE", "ADD"]

GENERAL = "general"
"""The category that is compatible with every other."""

SAME = "the texts are the same, apart from case, spaces and the punctuation around them"

LONGEST = 1.5
"""Maximum ratio of lengths, in tokens, of a duplicate found by its cosine to the old memory."""

_DIGIT = re.compile(r"\d")


class Side(msgspec.Struct, frozen=True, gc=False):
    """One of the two memories, with the features the decision needs; `entities` are canonical names, `said_on` is the
    day it was said (ISO), "" if unknown. `corrects`: it was said to correct something, which counts as a word of change
    in it."""

    text: str
    normalised: str
    tokens: frozenset[str]
    category: str
    entities: frozenset[str]
    numbers: frozenset[str]
    polarity: int
    change_cues: frozenset[str]
    said_on: str = ""
    corrects: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """The relation of a new memory to an old one.

    `suggestion` is the result of the table, `action` the final one: milder where the table would lose something.
    `similarity` decides; it is the token similarity or, where the cosine counts, the cosine on the reference scale;
    `cosine` itself is the embedder's own. `related`: both stay because their categories differ, and are linked.
    `contradicts`: both stay although they contradict each other, so that the older one is named. `clauses`: the older
    and the newer clause that decided, if frames did. `reason` is a sentence without any of the content.
    """

    action: Action
    suggestion: Action
    related: bool
    similarity: float
    token_similarity: float
    cosine: float | None
    novelty: float
    polarity_flip: bool
    number_change: bool
    reason: str
    contradicts: bool = False
    clauses: tuple[str, str] | None = None

    @property
    def held_back(self) -> bool:
        """Return True if both stay against the suggestion."""
        return self.action == "ADD" != self.suggestion


class Match(msgspec.Struct, frozen=True):
    """The verdict on one old row; `created_us` is its creation time in microseconds."""

    id: str
    created_us: int
    verdict: Verdict


class _Pair(msgspec.Struct, frozen=True):
    """Two sides and their comparison; `heard`: the similarity is that of the cosine."""

    old: Side
    new: Side
    shared: Overlap
    similarity: float
    heard: bool
    polarity_flip: bool
    number_change: bool
    announced: bool


DAY = len("2026-05-12")
"""Length of the date in a timestamp."""


def side(text: str, category: str, entities: Iterable[str], said_at: str = "", *, corrects: bool = False) -> Side:
    """Compute the features for `judge`; `said_at` is when it was said (RFC 3339). Linear time."""
    return Side(
        text=text,
        normalised=normalised(text),
        tokens=token_set(text),
        category=category,
        entities=frozenset(entities),
        numbers=numbers(text),
        polarity=polarity(text),
        change_cues=frozenset(change_cues(text)),
        said_on=said_at[:DAY],
        corrects=corrects,
    )


def judge(old: Side, new: Side, cosine: float | None, rules: DiffRules, *, said: ClausePair | None = None) -> Verdict:
    """Apply the first matching test of the table, then the safeguards.

    `cosine` is None where the two have no comparable vectors; one that is not a number counts as none. `said`: what
    their clauses say of each other, if that is known already.
    """
    pair = _compared(old, new, cosine, rules)
    suggestion, why = _suggested(pair, rules)
    taken = _taken(pair, rules, suggestion, said)
    return Verdict(
        action=taken.action,
        suggestion=suggestion,
        related=suggestion == "ADD" and pair.similarity >= rules.settings.update,
        contradicts=taken.contradicts,
        clauses=taken.clauses,
        similarity=pair.similarity,
        token_similarity=pair.shared.lexical,
        cosine=cosine,
        novelty=pair.shared.novelty,
        polarity_flip=pair.polarity_flip,
        number_change=pair.number_change,
        reason=taken.reason or why + taken.objection,
    )


def is_near(verdict: Verdict, rules: DiffRules) -> bool:
    """Return True if two texts are about the same thing: the fewer words they share, the higher their cosine must be,
    in a straight line through `near` for none and `unrelated` for NEAR_BY_WORDS (docs/decisions/0047). Without a cosine
    the words decide alone."""
    if verdict.cosine is None:
        return verdict.token_similarity >= NEAR_BY_WORDS
    own = rules.cosines
    return verdict.cosine >= own.near - (own.near - own.unrelated) * verdict.token_similarity / NEAR_BY_WORDS


def overall(matches: Sequence[Match]) -> Match | None:
    """Return the row that decides: a duplicate first, then the highest similarity, then the newer row.

    A row that stays beside the new one decides only if there is no other. None when there are no rows.
    """
    return max(matches, key=_weight, default=None)


def _weight(match: Match) -> tuple[bool, bool, float, int, str]:
    verdict = match.verdict
    duplicate = verdict.action == "DUPLICATE"
    return duplicate, verdict.action != "ADD", verdict.similarity, match.created_us, match.id


def _compared(old: Side, new: Side, cosine: float | None, rules: DiffRules) -> _Pair:
    shared = overlap(old.tokens, new.tokens, rules.settings.min_tokens)
    similarity, heard = shared.lexical, False
    if old.normalised == new.normalised:
        similarity = 1.0
    elif cosine is not None and cosine >= rules.cosines.override and similarity >= rules.safeguards.cosine_evidence:
        meant = on_reference_scale(cosine, rules)
        if meant > similarity:
            similarity, heard = meant, True
    return _Pair(
        old=old,
        new=new,
        shared=shared,
        similarity=similarity,
        heard=heard,
        polarity_flip=old.polarity != new.polarity,
        number_change=bool(old.numbers and new.numbers) and old.numbers != new.numbers,
        announced=not new.change_cues <= old.change_cues,
    )


def _suggested(pair: _Pair, rules: DiffRules) -> tuple[Action, str]:
    """Return the suggestion of the table and its reason."""
    old, new, alike = pair.old, pair.new, _alike(pair, rules)
    if old.normalised == new.normalised:
        return "DUPLICATE", SAME
    if pair.similarity < rules.settings.update:
        return "ADD", f"{alike}, too little to be about the same thing ({rules.settings.update:.0%} would do)"
    if old.category != new.category and GENERAL not in (old.category, new.category):
        return "ADD", f"{alike}, but one is stored as {old.category}, the other as {new.category}"
    if contrast := _contrast(pair):
        return "CONFLICT", f"{alike}, but {contrast}"
    if pair.similarity > rules.settings.duplicate and _nothing_new(pair, rules):
        return "DUPLICATE", f"{alike}, and the new text adds nothing"
    return "UPDATE", f"{alike}, and neither contradicts the other"


class _Taken(msgspec.Struct, frozen=True):
    """The action for a suggestion. `objection`: what is added to the reason of the table; `reason`: what stands in its
    place. `contradicts`, `clauses`: as in `Verdict`."""

    action: Action
    objection: str = ""
    reason: str = ""
    contradicts: bool = False
    clauses: tuple[str, str] | None = None


def _taken(pair: _Pair, rules: DiffRules, suggestion: Action, said: ClausePair | None) -> _Taken:
    """Return what is done about a suggestion: what the clauses say of each other goes before what their words share."""
    old, new, guards = pair.old, pair.new, rules.safeguards
    occasion = other_occasion(old.text, new.text, old.said_on, new.said_on) if guards.subjects else ""
    if said is None:
        said = judged(old.text, new.text, corrects=new.corrects) if guards.frames else SILENT
    if occasion and not (occasion == OTHER_DAY and said.relation == REPLACES and said.announced):
        return _Taken("ADD", f"; but {occasion}, so both stay" if suggestion != "ADD" else "")
    if old.normalised == new.normalised:
        differing = guards.verbatim and plain_words(old.text) != plain_words(new.text)
        return _Taken("ADD", "; but a mark differs, so both stay") if differing else _Taken(suggestion)
    clauses = (said.old, said.new) if said.relation else None
    if said.relation == REPLACES and not (guards.subjects and _given_apart(old, new)):
        return _Taken("CONFLICT", reason=f"{_alike(pair, rules)}, and {said.because}", clauses=clauses)
    if said.relation in (CONTRADICTS, REPLACES):
        reason = f"{_alike(pair, rules)}, and {said.because}, so both stay"
        return _Taken("ADD", reason=reason, contradicts=True, clauses=clauses)
    return _Taken("ADD") if suggestion == "ADD" else _by_words(pair, rules, suggestion, said)


def _by_words(pair: _Pair, rules: DiffRules, suggestion: Action, said: ClausePair) -> _Taken:
    """Return what is done about a suggestion where no clause contradicts another: nothing is dropped but a repetition,
    nothing replaced but what the new text covers."""
    guards, objection = rules.safeguards, ""
    words, new_words = plain_words(pair.old.text), plain_words(pair.new.text)
    if suggestion == "DUPLICATE":
        part = pair.shared.of_old >= guards.part and is_part(new_words, words) and not limits(words, new_words)
        if not guards.verbatim or part:
            return _Taken("DUPLICATE")
        objection = "; but it is not there word for word"
    if guards.frames and suggestion == "CONFLICT" and (said.relation == ANOTHER or not _adds(pair)):
        because = said.because or "no clause says that the other does not hold"
        return _Taken("ADD", f"{objection}; but {because}, so both stay", contradicts=pair.heard and not said.relation)
    if guards.subjects and (other := _something_else(pair, words, new_words)):
        return _Taken("ADD", f"{objection}; but {other}, so both stay")
    if _replaces(pair, rules):
        if guards.subjects and limits(new_words, words):
            return _Taken("ADD", f"{objection}; but the new text holds in other cases, so both stay")
        return _Taken("CONFLICT" if suggestion == "CONFLICT" else "UPDATE", objection)
    of_old, of_new = pair.shared.of_old, pair.shared.of_new
    return _Taken(
        "ADD",
        (
            f"{objection}; but each says something of its own ({of_old:.0%} of the old words are in the new text,"
            f" {of_new:.0%} of the new ones in the old), so both stay"
        ),
    )


def _given_apart(old: Side, new: Side) -> bool:
    """Return True if both memories were given entities that their texts do not name, and none in common."""
    named = frozenset(name for name in old.entities if name not in old.normalised)
    renamed = frozenset(name for name in new.entities if name not in new.normalised)
    return bool(named) and bool(renamed) and old.entities.isdisjoint(new.entities)


def _adds(pair: _Pair) -> bool:
    """Return True if a contrast by the table only adds to the old text: "step 3 and 4", after "step 3"."""
    return not pair.polarity_flip and pair.old.numbers <= pair.new.numbers


def _contrast(pair: _Pair) -> str:
    """Return why two similar texts contradict each other; "" if they do not."""
    if pair.polarity_flip:
        return "one denies what the other says"
    if pair.number_change:
        return "the numbers differ"
    return "the new text says that something changed" if pair.announced else ""


def _nothing_new(pair: _Pair, rules: DiffRules) -> bool:
    old, new = pair.old, pair.new
    if not pair.heard:
        return pair.shared.novelty <= rules.settings.novelty
    short = len(new.tokens) <= LONGEST * len(old.tokens)
    return short and new.entities <= old.entities and new.numbers <= old.numbers


def _something_else(pair: _Pair, words: list[str], new_words: list[str]) -> str:
    """Return why the new text is about something else than the old one; "" if it may be about the same.

    Names that have nothing in common speak of two things, unless a change from one to the other is announced.
    """
    named, renamed = _without_digits(pair.old.entities), _without_digits(pair.new.entities)
    plain = not pair.announced and not pair.heard
    if plain and named and renamed and named.isdisjoint(renamed):
        return "they name different things"
    if plain and reports(new_words, words):
        return "the new text tells that it was said"
    if plain and any(narrower(pair.old.text, pair.new.text, frame.verb_raw) for frame in frames(pair.old.text)[:1]):
        return "the new text says it of a part"
    return other_subject(words, new_words) or (says_otherwise(words, new_words) if plain else "")


def _replaces(pair: _Pair, rules: DiffRules) -> bool:
    """Return True if the new text covers the old one, so that no more than one statement is retired with it.

    A cosine that counts is sufficient. Otherwise nearly all the old words return, in their order or with little beside
    them, and make up a good part of the new text, and no word is exchanged for another ("the miracles in Mark" are not
    those in Luke).
    """
    if pair.heard or not rules.safeguards.cover:
        return True
    of_old, of_new = pair.shared.of_old, pair.shared.of_new
    if of_new < rules.safeguards.part or (of_old < 1.0 and of_new < 1.0):
        return False
    return of_old >= rules.safeguards.cover and (of_new >= rules.settings.update or _in_order(pair.old.text, pair.new))


def _without_digits(words: frozenset[str]) -> frozenset[str]:
    """Drop words with a digit, such as versions."""
    return frozenset(word for word in words if _DIGIT.search(word) is None)


def _in_order(old: str, new: Side) -> bool:
    """Return True if the words common with `new` come in the same order there."""
    words = iter(tokens(new.text))
    return all(word in words for word in tokens(old) if word in new.tokens)


def _alike(pair: _Pair, rules: DiffRules) -> str:
    """Describe the similarity, rounded down below the threshold so that it does not appear to reach it."""
    share = pair.similarity * 100
    shown = int(share) if pair.similarity < rules.settings.update else round(share)
    return f"they are {shown}% alike in {'meaning' if pair.heard else 'words'}"
