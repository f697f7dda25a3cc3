"""Links that are looked for after a write: causes, effects and things under two names, near a memory in the graph.

Rules choose which pairs are read. A model names the relation of each; code decides which links that makes. Without a
model the rules propose links, and a person or an agent accepts them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from mnemond.config.writing import CausalSettings
from mnemond.errors import MnemonError
from mnemond.extract.orders import is_order
from mnemond.index.edges import EDGE_CODES
from mnemond.index.snapshot import Snapshot
from mnemond.llm.reader import items_of
from mnemond.memory.links import refuse_cycle
from mnemond.memory.questions.asking import Question, object_schema
from mnemond.memory.remember import LEAST_WEIGHT, causal_candidates
from mnemond.memory.write import WriteContext
from mnemond.model.changes import AddEdge, ChangeSet
from mnemond.model.memory import Edge, EdgeType, Insight, contradicted
from mnemond.model.outcomes import CausalCandidate, Maintained
from mnemond.model.reviews import OpenReview, ProposedLink
from mnemond.store.meta import links_fact
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import canonical_name
from mnemond.text.prompt_escape import inert

LOOKED_AT: Final = 50
"""Memories within two links that are looked at: the nearest are mostly neighbours in time alone."""

READ: Final = 8
"""Pairs that a model reads of one memory: an answer of a hundred tokens."""

MOST: Final = 3
"""Links that are made or proposed for one memory. An answer with more is believed in nothing: a small model that finds
causes everywhere has not read."""

LONGEST: Final = 300
"""Characters of a memory that a model reads, as for its other questions."""

SHORTEST_NAME: Final = 4
"""Characters of a name that is looked for in a text: shorter ones are words as well."""

MAX_TOKENS: Final = 250
"""Tokens of an answer: `READ` items of some twenty-five."""

Claim = Literal["causes_new", "caused_by_new", "same_thing", "none"]

_SUB_TYPES: Final[dict[EdgeType, str]] = {"causal": "causes", "entity": "same_thing"}


class Near(NamedTuple):
    """A memory near another one, what the two have in common, and a name of one that the other writes without being
    listed for it, None without one. `candidate`: what the rules say about cause and effect."""

    other: Insight
    candidate: CausalCandidate
    names: tuple[str, ...]
    mentioned: str | None
    shares_link: bool

    @property
    def in_common(self) -> str:
        """The reason to read the pair, without a word of either text but a connective."""
        found = []
        if self.candidate.causal_signal is not None:
            found.append(f'"{self.candidate.causal_signal}" in one of them')
        if self.names:
            found.append("a name in common" if len(self.names) == 1 else f"{len(self.names)} names in common")
        if self.mentioned is not None:
            found.append("a name of one in the text of the other")
        if self.candidate.overlap:
            found.append(f"{self.candidate.overlap:.0%} of their words")
        hops = "linked by" if self.candidate.hop == 1 else "two links away, by"
        return f"{', '.join(found)}; {hops} {self.candidate.via_edge}"


def near(snapshot: Snapshot, insight_id: str, settings: CausalSettings) -> list[Near]:
    """Return at most `READ` memories within two links that were there before one and have a cue, a name or words in
    common with it, the most promising first. Memories that contradict it, form a pair with it, or direct a model
    are left out."""
    row = snapshot.row_of(insight_id)
    if row is None:
        return []
    it = snapshot.insight(row)
    if is_order(it.content):
        return []
    linked = {other for other, _, kind, _ in snapshot.links_listed(row) if kind == EDGE_CODES["entity"]}
    found: list[Near] = []
    for each in causal_candidates(snapshot, insight_id, msgspec.structs.replace(settings, max_candidates=LOOKED_AT)):
        at = snapshot.row_of(each.id)
        if at is None or at > row or each.id == it.paired_with:  # a pair is read once, for its later memory
            continue
        other = snapshot.insight(at)
        if each.id in contradicted(it) or it.id in contradicted(other) or is_order(other.content):
            continue
        pair = Near(other, each, _shared(it, other), _mentioned(it, other) or _mentioned(other, it), at in linked)
        if each.causal_signal is not None or pair.names or pair.mentioned or each.overlap >= settings.min_overlap:
            found.append(pair)
    found.sort(key=lambda one: (not one.candidate.is_likely, -len(one.names), -one.candidate.overlap, one.other.id))
    return found[:READ]


def _shared(it: Insight, other: Insight) -> tuple[str, ...]:
    theirs = {canonical_name(name) for name in other.entities}
    return tuple(sorted({name for name in it.entities if canonical_name(name) in theirs}))


def _mentioned(it: Insight, other: Insight) -> str | None:
    """Return a name of `it` that the text of `other` has, written in the same way, without being listed there."""
    listed = {canonical_name(name) for name in other.entities}
    for name in it.entities:
        if len(name) < SHORTEST_NAME or canonical_name(name) in listed or name not in other.content:
            continue
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", other.content):
            return name
    return None


# ---------------------------------------------------------------- by a model


class _Item(msgspec.Struct, frozen=True):
    near: int
    relation: Claim


class Found(NamedTuple):
    """A link to make, with its metadata."""

    edge_type: EdgeType
    source: str
    target: str
    weight: float
    reason: str


def question(it: Insight, around: Sequence[Near]) -> Question[list[Found]]:
    """Return the question how a memory is related to each of those near it; they are numbered from 1."""
    item = object_schema({
        "near": {"type": "integer", "enum": list(range(1, len(around) + 1))},
        "relation": {"type": "string", "enum": list(get_args(Claim))},
    })  # fmt: skip
    return Question(
        "find_links",
        (_shown(it), "\n".join(f"{number}. {_shown(each.other)}" for number, each in enumerate(around, 1))),
        object_schema({"links": {"type": "array", "maxItems": len(around), "items": item}}),
        MAX_TOKENS,
        partial(admitted, it, around),
    )


def _shown(it: Insight) -> str:
    return inert(it.content)[:LONGEST]


def admitted(it: Insight, around: Sequence[Near], value: object) -> list[Found]:
    """Return the links that an answer makes: about numbers that were asked about, once or always the same, and at most
    `MOST` in all. An effect is not earlier than its cause; a thing under two names needs a name in both memories."""
    items, _ = items_of(value, "links", _Item)
    claims: dict[int, set[Claim]] = {}
    for each in items:
        if 1 <= each.near <= len(around):
            claims.setdefault(each.near, set()).add(each.relation)
    clear = {number: next(iter(said)) for number, said in claims.items() if len(said) == 1}
    named = {number: said for number, said in clear.items() if said != "none"}
    if len(named) > MOST:
        return []
    links = [_link(said, it, around[number - 1]) for number, said in sorted(named.items())]
    return [link for link in links if link is not None]


def _link(said: Claim, it: Insight, pair: Near) -> Found | None:
    other = pair.other
    if said == "same_thing":
        if pair.shares_link or not it.entities or not other.entities:
            return None
        return Found("entity", it.id, other.id, LEAST_WEIGHT, pair.in_common)
    cause, effect = (other, it) if said == "causes_new" else (it, other)
    if cause.event_start is not None and effect.event_start is not None and cause.event_start > effect.event_start:
        return None
    weight = min(1.0, max(pair.candidate.overlap, _LEAST_CAUSAL))
    return Found("causal", cause.id, effect.id, weight, pair.in_common)


_LEAST_CAUSAL: Final = 0.15
"""Weight of a causal link between memories with few words in common: the least that the rules give."""


def propose_found(found: Sequence[Found], after: int, model: str, identity: WriteContext) -> Proposal:
    """Propose links that a model found near a memory, in one operation that undo takes back. `after`: the number up to
    which memories were read, which is recorded with it."""
    return identity.proposal(_METHOD, partial(_decide, found, after, model, identity))


_METHOD: Final = "jobs"


def _decide(found: Sequence[Found], after: int, model: str, identity: WriteContext, view: View) -> ChangeSet:
    """Make the links that still can be: both memories in recall, no circle of causes."""
    links = [each for each in found if _is_possible(each, view.snapshot)]
    changes = [AddEdge(edge, audited=True) for each in links for edge in _edges(each, model)]
    change_set = identity.change_set(
        _METHOD,
        tuple(changes),
        Maintained(changed=len(links), op_id=identity.op_id),
        operation="link",
        subject=links[0].source if links else None,
        detail=f"{identity.triggered_by} links={len(links)}",
    )
    return msgspec.structs.replace(change_set, facts=(links_fact(after),))


def _is_possible(link: Found, snapshot: Snapshot) -> bool:
    source, target = snapshot.row_of(link.source), snapshot.row_of(link.target)
    if source is None or target is None:
        return False
    if link.edge_type == "causal":
        try:
            refuse_cycle(snapshot, source, target)
        except MnemonError:
            return False
    return True


def _edges(link: Found, model: str) -> list[Edge]:
    fields = {"sub_type": _SUB_TYPES[link.edge_type], "source": f"llm:{model[:80]}", "reason": link.reason}
    metadata = msgspec.json.encode(fields).decode()
    edge = Edge(link.source, link.target, link.edge_type, link.weight, metadata, created_by="worker")
    if link.edge_type == "causal":
        return [edge]
    return [edge, msgspec.structs.replace(edge, source_id=link.target, target_id=link.source)]


# ---------------------------------------------------------------- by rules


def proposed(it: Insight, around: Sequence[Near]) -> tuple[OpenReview, ...]:
    """Return the links that the rules propose between a memory and those near it, at most `MOST`: a likely cause, or a
    name of one in the text of the other."""
    found = [review for each in around if (review := _proposed(it, each)) is not None]
    return tuple(found[:MOST])


def _proposed(it: Insight, pair: Near) -> OpenReview | None:
    other, candidate = pair.other, pair.candidate
    older, newer = sorted((it, other), key=lambda each: (each.valid_from or each.created_at, each.created_at))
    if candidate.is_likely:
        source = other.id if candidate.suggested_direction == "from_candidate" else it.id
        link = ProposedLink("causal", source, candidate.suggested_sub_type)
    elif pair.mentioned is not None and not pair.shares_link:
        link = ProposedLink("entity", it.id, "mentions")
    else:
        return None
    return OpenReview("link", older.id, newer.id, "LINK", candidate.overlap, pair.in_common, link)


def propose_proposals(asked: tuple[OpenReview, ...], after: int, identity: WriteContext) -> Proposal:
    """Propose to ask about links. `after`: see `propose_found`."""

    def decide(view: View) -> ChangeSet:
        outcome = Maintained(changed=len(asked), op_id=identity.op_id)
        change_set = identity.change_set(_METHOD, (), outcome, operation="", reviews=asked)
        return msgspec.structs.replace(change_set, facts=(links_fact(after),))

    return identity.proposal(_METHOD, decide)
