"""What is known of a memory besides its text, as small factors on a score (spec 11.6). Each is off by default."""

from __future__ import annotations

import msgspec


class BusinessRules(msgspec.Struct, frozen=True):
    """Factors; 1 is off. `recent`: made within `recent_days`; `important`: importance of at least `important_from`;
    `own_scope`: meant for exactly whom the question is for; `pinned`."""

    recent: float = 1.0
    recent_days: float = 7.0
    important: float = 1.0
    important_from: int = 4
    own_scope: float = 1.0
    pinned: float = 1.0


OFF = BusinessRules()

SPECIFIED = BusinessRules(recent=1.05, important=1.05, own_scope=1.05, pinned=1.10)
"""All of them, with the factors of spec 11.6."""

MOST = 1.0
"""No score is lifted above it."""


class Standing(msgspec.Struct, frozen=True):
    """What the rules ask of a memory: its age in days, at the time of the question; from 1 to 5 how important it is."""

    age_days: float
    importance: int
    own_scope: bool
    pinned: bool


def lifted(score: float, standing: Standing, rules: BusinessRules) -> float:
    """`score` (0…1) times the factor of every rule that holds, at most 1. A memory of the future is not recent."""
    factor = 1.0
    if 0.0 <= standing.age_days <= rules.recent_days:
        factor *= rules.recent
    if standing.importance >= rules.important_from:
        factor *= rules.important
    if standing.own_scope:
        factor *= rules.own_scope
    if standing.pinned:
        factor *= rules.pinned
    return score if factor == 1.0 else min(MOST, score * factor)
