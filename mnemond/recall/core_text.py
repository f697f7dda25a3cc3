"""The text of a core summary: which memories of a user it lists, in which words, and which of its lines still hold.

Everything but the clusters is ranked by one order: what must never be lost (importance 5, or pinned), then importance,
then category, then the score of four factors (docs/decisions/0053). Of several wordings of one statement, and of a fact
and its correction, only one is listed. For a thread: some 500 texts are read.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.config.writing import CoreSummarySettings
from mnemond.extract.orders import is_attack, is_order
from mnemond.extract.prose import sentences as split
from mnemond.index.arrays import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.memory import core_subset
from mnemond.memory.core_summary import Draft, holds, source_of
from mnemond.memory.questions.asking import Question, object_schema
from mnemond.model.core import (
    SECTIONS,
    CoreLine,
    CoreScore,
    CoreSummary,
    Section,
    joined,
)
from mnemond.model.memory import SUMMARIZED, Insight, contradicting, is_same_project
from mnemond.model.query import Filter
from mnemond.recall.brief import NEVER_LOST, TRIFLE, USUAL, is_instruction
from mnemond.recall.corrections import correcting_pairs
from mnemond.recall.result_order import distinct
from mnemond.text.entity_shapes import kind_of
from mnemond.text.prompt_escape import inert
from mnemond.text.resources import regex
from mnemond.text.secrets import redact
from mnemond.text.similarity import normalised, overlap, token_set
from mnemond.text.tokens import index_terms, word_count

_NUMBER: Final = regex(r"\d+(?:[.,:]\d+){0,4}")

CANDIDATES: Final = 400
"""Memories whose words are counted, the best by the order without them; the best of each cluster come beside them."""

LISTED: Final = 160
"""Memories that are compared with each other: 500 words have room for some 70 of them."""

LINE_WORDS: Final = 40
"""Words of a memory in a line."""

LINE_CHARACTERS: Final = 400
"""Characters of it: a word may be a path or a hash."""

DIGITS: Final = 6
"""Decimals of a stored score."""

FIXES: Final = frozenset({"problem-solution", "learning-failure", "corrective-feedback"})
"""Trigger types of memories about problems."""

CATEGORY_RANK: Final = {"preference": 5, "decision": 4, "fact": 3, "insight": 2, "context": 1, "general": 0}
"""Of equally important memories those come first that say most about a person."""

MAX_TOKENS: Final = 1_200
"""Tokens of a model's answer: 500 words in a script of two tokens a word, and JSON around them."""

ATTRIBUTED: Final = 0.8
"""Share of the words of a memory in a line that was given, from which it is a source of the line."""

CORE_SCHEMA: Final = object_schema({"summary": {"type": "string", "maxLength": 4_000}})


def eligible(snapshot: Snapshot, user: str | None, now_us: int) -> Rows:
    """Return the rows that a summary of a user may rest on, ascending: what is valid, for that user or for everybody,
    in every session and for every agent; no summaries, and no trifles."""
    mask = snapshot.visible(Filter(now_us=now_us, clock_us=now_us))
    columns = snapshot.columns
    rows = np.arange(snapshot.rows) if mask is None else np.flatnonzero(mask)
    if snapshot.has_channel(SUMMARIZED):
        rows = rows[~snapshot.of_channel(SUMMARIZED)[rows]]
    known = snapshot.parts.table.names.users.find(user) if user is not None else None
    of_user = columns.user[rows] == 0
    if known is not None:
        of_user |= columns.user[rows] == known
    kept = of_user & (columns.agent[rows] == 0) & (columns.importance[rows] > TRIFLE)
    named = snapshot.parts.table.names.categories
    told = [code for each in ("preference", "decision") if (code := named.find(each)) is not None]
    kept &= (columns.importance[rows] >= USUAL) | np.isin(columns.category[rows], told)
    found: Rows = rows[kept]
    return found


def users_of(snapshot: Snapshot) -> list[str | None]:
    """Return the users that active memories are for, None for those without a user id."""
    codes = np.unique(snapshot.columns.user[snapshot.alive()]).tolist()
    names = snapshot.parts.table.names.users.values()
    return [names[code] for code in codes]


class _Ranked(NamedTuple):
    """Candidates, the best first, with their clusters (-1 for none) and scores."""

    rows: list[int]
    labels: list[int]
    scores: list[CoreScore]


def drafted(
    snapshot: Snapshot,
    user: str | None,
    settings: CoreSummarySettings,
    boosted: Mapping[str, int],
    now_us: int,
) -> Generator[None, None, Draft]:
    """Return a version by the rules. `boosted`: links of memories that pairing boosted, by their ids. Yields between
    steps of some ten milliseconds."""
    rows = eligible(snapshot, user, now_us)
    ranked = yield from _ranked(snapshot, rows, settings, boosted, now_us)
    ranked = _distinct(snapshot, ranked)
    yield
    places = range(len(ranked.rows))
    chosen = core_subset.subset(
        places, ranked.labels, snapshot.columns.created_us[ranked.rows].tolist() if places else [],
        k=settings.clustering_k, extra=settings.extra_nodes, most=settings.max_subset_nodes,
    )  # fmt: skip
    why = dict.fromkeys(chosen.of_clusters, "cluster") | dict.fromkeys(chosen.extra, "score")
    ordered = [*sorted(why), *(place for place in places if place not in why)]
    insights = [snapshot.insight(row) for row in ranked.rows]
    lines = _fitting([_line(insights[place]) for place in ordered], settings.max_words)
    listed = {line.sources[0].id for line in lines}
    scores = [
        msgspec.structs.replace(it, chosen=why.get(place, "room"))
        for place, it in enumerate(ranked.scores)
        if it.id in listed
    ]
    return Draft(user=user, lines=tuple(lines), scores=tuple(scores))


def _ranked(
    snapshot: Snapshot, rows: Rows, settings: CoreSummarySettings, boosted: Mapping[str, int], now_us: int
) -> Generator[None, None, _Ranked]:
    if not len(rows):
        return _Ranked([], [], [])
    columns = snapshot.columns
    labels = np.full(len(rows), -1, np.int64)
    embedded = np.flatnonzero(snapshot.dense.present[rows])
    if len(embedded):
        labels[embedded] = yield from core_subset.clusters(
            snapshot.dense.matrix[rows[embedded]], settings.clustering_k, settings.seed
        )
    weights = settings.weights()
    counts = np.zeros(len(rows))
    if boosted:
        at = {snapshot.row_of(each): count for each, count in boosted.items()}
        counts[:] = [at.get(row, 0) for row in rows.tolist()]
    factors = [
        core_subset.connectivity(columns.degree[rows], len(rows)),
        core_subset.boost(counts),
        core_subset.recency(now_us - columns.created_us[rows], settings.recency_half_life_days),
        np.zeros(len(rows)),
    ]
    rough = core_subset.weighted(factors, weights)
    best = _order(snapshot, rows, rough)
    _, first = np.unique(labels[best], return_index=True)
    chosen = np.unique(np.concatenate([best[:CANDIDATES], best[first]]))
    yield
    factors = [each[chosen] for each in factors]
    factors[3] = np.array([_information(snapshot, int(row), settings, len(rows)) for row in rows[chosen]])
    scores = core_subset.weighted(factors, weights)
    ordered = _order(snapshot, rows[chosen], scores)
    table = np.round(np.stack([scores, *factors]), DIGITS)[:, ordered].T.tolist()
    best_rows, best_labels = rows[chosen][ordered].tolist(), labels[chosen][ordered].tolist()
    return _Ranked(
        best_rows,
        best_labels,
        [
            CoreScore(snapshot.insight(row).id, score, links, boost, recency, words, None if label < 0 else label)
            for row, label, (score, links, boost, recency, words) in zip(best_rows, best_labels, table, strict=True)
        ],
    )


def _order(snapshot: Snapshot, rows: Rows, scores: core_subset.Floats) -> Rows:
    """Return the positions of rows, the best first; of equals the newer."""
    columns = snapshot.columns
    names = snapshot.parts.table.names.categories.values()
    rank = np.array([CATEGORY_RANK.get(str(name), 0) for name in names])
    importance = columns.importance[rows]
    kept = (importance >= NEVER_LOST) | (columns.pinned[rows] != 0)
    keys = (rows, columns.created_us[rows], np.round(scores, 9), rank[columns.category[rows]], importance, kept)
    found: Rows = np.lexsort(keys)[::-1]
    return found


def _information(snapshot: Snapshot, row: int, settings: CoreSummarySettings, total: int) -> float:
    if settings.entropy_mode == "binned":
        vector = snapshot.vector(row)
        return 0.0 if vector is None else core_subset.evenness(vector)
    terms = dict.fromkeys(index_terms(snapshot.insight(row).content))
    return core_subset.rarity(snapshot.document_frequencies(terms), total)


def _distinct(snapshot: Snapshot, ranked: _Ranked) -> _Ranked:
    """Leave out other wordings of what comes before, what was corrected since, and texts that attack their reader."""
    found = distinct(snapshot, ranked.rows, len(ranked.rows), wordings=True)
    insights = [snapshot.insight(row) for row in ranked.rows]
    places = [place for place in found.places if not is_attack(insights[place].content)][:LISTED]
    of = {insights[place].id: place for place in places}
    of |= {each: place for place in places for each in found.also.get(place, ())}
    every = [insights[place] for place in places]
    age = np.argsort(np.argsort([it.created_at for it in every], kind="stable"), kind="stable").tolist()
    pairs = {(places[new], places[old]) for new, old in correcting_pairs(every, age)}
    noted = ((of.get(insights[new].id), of.get(insights[old].id)) for new, old in contradicting(insights))
    older = {old for new, old in (*pairs, *noted) if new is not None and old is not None and new != old}
    kept = [place for place in places if place not in older]
    rows, labels, scores = ranked
    return _Ranked([rows[at] for at in kept], [labels[at] for at in kept], [scores[at] for at in kept])


def section_of(it: Insight) -> Section:
    """Return the heading that a memory is listed under."""
    if it.category == "decision":
        return "Decisions"
    if it.trigger_type in FIXES or it.category == "insight":
        return "Recurring problems and fixes"
    if is_instruction(it.content):
        return "Working style"
    if it.category == "preference":
        return "Preferences"
    if any(kind_of(each) == "tool" for each in it.entities):
        return "Tools and technologies"
    return "Facts"


def _line(it: Insight) -> CoreLine:
    text = inert(it.content[: 2 * LINE_CHARACTERS])
    words = text.split(" ")
    short = " ".join(words[:LINE_WORDS])
    if len(short) > LINE_CHARACTERS:
        short = short[:LINE_CHARACTERS].rpartition(" ")[0] or short[:LINE_CHARACTERS]
    whole = short == text and len(it.content) <= 2 * LINE_CHARACTERS
    return CoreLine(short if whole else f"{short}…", section_of(it), (source_of(it),))


def _fitting(lines: Sequence[CoreLine], most: int) -> list[CoreLine]:
    """Return the lines that have room, the first ones preferred, under their headings in order."""
    left = most
    sections = set[Section]()
    kept: list[tuple[int, CoreLine]] = []
    for place, line in enumerate(lines):
        size = word_count(line.text) + (0 if line.section in sections else word_count(line.section))
        if size <= left:
            left -= size
            sections.add(line.section)
            kept.append((place, line))
    kept.sort(key=lambda it: (SECTIONS.index(it[1].section), it[0]))
    return [line for _, line in kept]


# By a model.


def question(draft: Draft, before: CoreSummary | None, snapshot: Snapshot, most: int) -> Question[tuple[str, str]]:
    """Return what a model is asked: to go on from its own summary, if all that this rests on still holds and is in the
    draft as well; else to begin anew, so that nothing outdated is read again."""
    listed = [f"- {line.section}: {line.text}" for line in draft.lines]
    ids = {source.id for line in draft.lines for source in line.sources}
    goes_on = (
        before is not None
        and before.by_model
        and all(holds(line, snapshot) for line in before.lines)
        and ids.issuperset(before.source_ids)
    )
    if before is None or not goes_on:
        check = partial(answered, "\n".join(listed), most)
        return Question("generate_core_summary", ("\n".join(listed), str(most)), CORE_SCHEMA, MAX_TOKENS, check)
    known = set(before.source_ids)
    new = [
        text for text, line in zip(listed, draft.lines, strict=True) if not known.issuperset(s.id for s in line.sources)
    ]
    values = (inert_lines(before.text), "\n".join(new) or "(none)", str(most))
    check = partial(answered, "\n".join((before.text, *listed)), most)
    return Question("update_core_summary", values, CORE_SCHEMA, MAX_TOKENS, check)


def inert_lines(text: str) -> str:
    """Return a text line by line as data for a model."""
    return "\n".join(map(inert, text.splitlines()))


def answered(said: str, most: int, value: object) -> tuple[str, str]:
    """Return the first sentences of a model's summary that have room in `most` words, one a line, and ""; or "" and why
    it is not taken: it is no text, gives orders to its reader, or has numbers that are not in `said`, which it was
    given."""
    text = value.get("summary") if isinstance(value, dict) else value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        return "", "the model's answer has no summary"
    if is_order(text) or is_attack(text):
        return "", "the model's summary gives orders to its reader"
    lines = [inert(each) for line in redact(text).text.splitlines() for each in split(line.strip())]
    kept = []
    for line in filter(None, lines):
        if word_count(line) > most:
            break
        kept.append(line)
        most -= word_count(line)
    if not kept:
        return "", "the first sentence of the model's summary is too long"
    if made_up := set(_NUMBER.findall("\n".join(kept))) - set(_NUMBER.findall(said)):
        return "", f"the model's summary has numbers that are in nothing it was given: {len(made_up)}"
    return "\n".join(kept), ""


# A text that was given.


def given_lines(text: str, snapshot: Snapshot, rows: Rows) -> tuple[CoreLine, ...]:
    """Return the lines of a text that a person gave, each with the memories, of `rows`, whose words are in it: if one
    of them changes, the line is left out."""
    found: list[CoreLine] = []
    for each in filter(None, map(str.strip, text.splitlines())):
        plain, words = normalised(each), token_set(each)
        terms = set(index_terms(each))
        near = rows[snapshot.likeness(terms)[rows] >= ATTRIBUTED / 2] if terms else rows[:0]
        sources = [it for row in near.tolist() if _says(plain, words, it := snapshot.insight(row))]
        found.append(CoreLine(inert(each), "", tuple(map(source_of, sources))))
    return tuple(found)


def _says(plain: str, words: frozenset[str], it: Insight) -> bool:
    if normalised(it.content) in plain:
        return True
    shared = overlap(token_set(it.content), words)
    return shared.shared > 1 and shared.of_old >= ATTRIBUTED


# What is shown.


class Shown(NamedTuple):
    """The lines of a version that hold, and how many do not. `text` is that of a model only if every line holds."""

    lines: tuple[CoreLine, ...]
    left_out: int
    text: str


NONE_SHOWN: Final = Shown((), 0, "")


def shown(
    core: CoreSummary | None, snapshot: Snapshot, project: str | None = None, without: Collection[str] = ()
) -> Shown:
    """Return what a reader is shown of a summary: lines whose sources are as they were, are for every project or this
    one (None: any; "": none), and are not among the memories `without`."""
    if core is None:
        return NONE_SHOWN
    kept = tuple(line for line in core.lines if holds(line, snapshot) and _admits(line, snapshot, project, without))
    if not kept:
        return Shown((), len(core.lines), "")
    whole = len(kept) == len(core.lines)
    return Shown(kept, len(core.lines) - len(kept), core.text if whole and core.by_model else joined(kept))


def _admits(line: CoreLine, snapshot: Snapshot, project: str | None, without: Collection[str]) -> bool:
    for source in line.sources:
        row = snapshot.row_of(source.id)
        own = None if row is None else snapshot.insight(row).scope.project
        elsewhere = own is not None and project is not None and not (project and is_same_project(own, project))
        if source.id in without or elsewhere:
            return False
    return True


def beside(core: CoreSummary | None, snapshot: Snapshot, project: str | None, told: Collection[str]) -> str:
    """Return a summary on one line for a context that has the memories `told`: their lines are left out, but a model's
    text, which repeats none of them word by word, is whole or not there."""
    found = shown(core, snapshot, project)
    if core is None or not found.lines:
        return ""
    if core.by_model and not found.left_out:
        return " ".join(found.text.split())
    sections: dict[str, list[str]] = {}
    for line in found.lines:
        if not any(source.id in told for source in line.sources):
            sections.setdefault(line.section, []).append(line.text)
    return " ".join(f"{name}: {'; '.join(each)}." if name else "; ".join(each) for name, each in sections.items())
