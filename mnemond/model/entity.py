"""An entity: something that memories speak of, and by which they find each other."""

from __future__ import annotations

from typing import Literal

import msgspec

EntityType = Literal["user", "person", "organization", "location", "tool", "concept", "error", "event", "other"]


class Entity(msgspec.Struct, frozen=True, gc=False):
    """One thing that a text names.

    `name` is its first spelling, as it stood in the text. `canonical` is what equality means: folded, with aliases
    resolved, so that "k8s" and "Kubernetes" are one. `kind` is a guess from the words alone, and no part of equality.
    """

    name: str
    canonical: str
    kind: EntityType
