"""Variants of the ranking for an ablation: without one part, or with one more way to follow links."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import cast
from unittest.mock import patch

import msgspec

from benchmarks.wire import Json
from mnemond.config.reading import AnchorSettings, PriorSettings, TraversalSettings
from mnemond.recall.profiles import MEMORY_LAYER, MNEMON, MNEMOND, MNEMOSYNE, PROFILES_BY_NAME, Profile
from mnemond.recall.ranking import Ranking

NEVER = 2.0
"""A cosine that no two vectors have."""

EVERY_ROW = 1_000_000


@dataclass(frozen=True)
class Variant:
    """`profile` replaces the one of its name; `asks` is in every query. `instead`: replacements in the code by dotted
    names. `indexes`: memories are indexed differently too."""

    name: str
    profile: Profile = MNEMOND
    asks: Json = field(default_factory=dict)
    instead: dict[str, object] = field(default_factory=dict)
    indexes: bool = False

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """The product as this variant has it, until the context is left."""
        with ExitStack() as stack:
            stack.enter_context(patch.dict(PROFILES_BY_NAME, {self.profile.name: self.profile}))
            for name, other in self.instead.items():
                stack.enter_context(patch(name, other))
            yield


def _ranking(part: str | None = None, **numbers: object) -> Profile:
    """The default with other numbers, in a part of the ranking or in the ranking itself."""
    own = MNEMOND.ranking
    changed = (
        _replace(own, **numbers) if part is None else _replace(own, **{part: _replace(getattr(own, part), **numbers)})
    )
    return msgspec.structs.replace(MNEMOND, ranking=cast("Ranking", changed))


def _replace(struct: msgspec.Struct, **numbers: object) -> msgspec.Struct:
    return msgspec.structs.replace(struct, **numbers)


def _profile(profile: Profile = MNEMOND, **numbers: object) -> Profile:
    return cast("Profile", _replace(profile, **numbers))


def _settings(profile: Profile = MNEMOND, **sections: object) -> Profile:
    """A ranking with other sections of `retrieval`."""
    return _profile(profile, settings=_replace(profile.settings, **sections))


def _one(*_: object) -> float:
    return 1.0


def _zero(*_: object) -> float:
    return 0.0


def _nothing(*_: object) -> list[str]:
    return []


def _none(*_: object) -> set[tuple[int, int]]:
    return set()


INDEX, ASKING = "mnemond.index.bm25.", "mnemond.recall.question."

STAGES: tuple[Variant, ...] = (
    Variant("all of it"),
    Variant("keyword alone", asks={"anchors": frozenset({"keyword"})}),
    Variant("vector alone", asks={"anchors": frozenset({"vector"})}),
    Variant("- context", _ranking("context", near=0.0, far=0.0, answer=0.0, spread=1.0)),
    Variant("- answers take their question", _ranking("context", answer=0.0)),
    Variant("- relatives in meaning", _ranking("shortlisting", soft=0.0)),
    Variant("- rare words in the vector", instead={ASKING + "_talk": _zero}),
    Variant("rare words in the vector of notes, too", instead={ASKING + "_talk": _one}),
    Variant("- speaker, and asking", _ranking("bonuses", speaker=0.0, question=0.0)),
    Variant("- asking", _ranking("bonuses", question=0.0)),
    Variant("- adjacency", _ranking("bonuses", adjacency=0.0)),
    Variant("- date", _ranking("bonuses", when=0.0, precise=0.0)),
    Variant("- precise date", _ranking("bonuses", precise=0.0)),
    Variant("- window", _ranking("bonuses", window=0.0)),
    Variant("- brief", _ranking("bonuses", brief=0.0)),
    Variant("- assistant", _ranking("bonuses", assistant=0.0)),
    Variant("- newer fact by numbers", _ranking("updating", cosine=NEVER)),
    Variant("- newer fact by statements", instead={"mnemond.recall.corrections._by_statements": _none}),
    Variant("- speaker share", instead={"mnemond.recall.two_stage.speaker_share": _one}),
    Variant("- opening", instead={INDEX + "OPENING_SHARE": 0.0}, indexes=True),
    Variant("- day of a memory", instead={INDEX + "day_terms": _nothing}, indexes=True),
    Variant(
        "- names inside words",
        instead={INDEX + "inner_terms": _nothing, ASKING + "inner_terms": _nothing},
        indexes=True,
    ),
    Variant("every row a candidate", _ranking("shortlisting", rows=EVERY_ROW)),
)
"""The default without one part."""

WITH_NAMES = MNEMOND.anchors | {"entity"}
WITH_NEW = MNEMOND.anchors | {"recency"}
AROUND: tuple[Variant, ...] = tuple(
    Variant(f"{name.rpartition('.')[2].lower()} {value:g}", instead={name: value})
    for name, values in {
        "mnemond.recall.default_profile.BASE": (0.25, 0.75),
        "mnemond.recall.ranking.TRUST_WITHOUT_MEANING": (0.5, 0.9),
        "mnemond.recall.two_stage.MIN_SPREAD": (0.1, 0.5),
    }.items()
    for value in values
)
"""Other values of numbers outside of the ranking."""

MORE: tuple[Variant, ...] = (
    Variant("+ hard windows", _profile(hard_windows=True)),
    Variant("+ a second look at the words", asks={"rerank": True}),
    *(Variant(f"+ names, worth {worth:g}", _profile(named=worth), {"anchors": WITH_NAMES}) for worth in (0.25, 1.0)),
    *(Variant(f"+ the newest, worth {worth:g}", _profile(new=worth), {"anchors": WITH_NEW}) for worth in (0.25, 1.0)),
    Variant("names alone", asks={"anchors": frozenset({"entity"})}),
    Variant("+ questions noted with it", _settings(anchors=AnchorSettings(hypothetical=True))),
    *(Variant(f"+ prior, {weight:g}", _settings(prior=PriorSettings(weight=weight))) for weight in (0.1, 0.5)),
)
"""Features that are off by default."""

LINKS: tuple[Variant, ...] = tuple(
    Variant(f"+ {mode}, {worth:g}", _profile(graph=worth), {"mode": mode})
    for mode in ("beam", "ppr", "probabilistic")
    for worth in (0.5, 1.0, 2.0)
)
"""Links followed from what was found, and what they count for."""

PUBLISHED: tuple[Variant, ...] = (
    Variant("mnemon", MNEMON, {"profile": "mnemon"}),
    Variant("mnemon, windows soft", _profile(MNEMON, hard_windows=False), {"profile": "mnemon"}),
    Variant(
        "mnemon, mean of a path", _settings(MNEMON, traversal=TraversalSettings(mode="beam")), {"profile": "mnemon"}
    ),
    Variant("mnemon, no links", MNEMON, {"profile": "mnemon", "mode": "none"}),
    Variant("mnemosyne", MNEMOSYNE, {"profile": "mnemosyne"}),
    Variant("mem0", MEMORY_LAYER, {"profile": "mem0"}),
)
"""The published rankings, and the first without what hurts it most."""

VARIANTS: tuple[Variant, ...] = STAGES + AROUND + MORE + LINKS + PUBLISHED
