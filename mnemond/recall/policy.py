"""What the questions to one store go by where they do not say so themselves."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.model.policy import TouchPolicy
from mnemond.recall.profiles import PROFILES_BY_NAME, Profile
from mnemond.recall.published_profiles import RerankPolicy


class ReadPolicy(msgspec.Struct, frozen=True):
    """`own`: the ranking of the store, with the numbers of its configuration; None: the default one. `limit`: results.
    `rerank`: whether they have a second look; `second_look`: by which numbers. `seed`: whether a walk by chance is the
    same for the same words. `touch`: which results count as used."""

    own: Profile | None = None
    limit: int = 10
    rerank: bool = False
    second_look: RerankPolicy = RerankPolicy()
    seed: Literal["query", "random"] = "query"
    touch: TouchPolicy = TouchPolicy()

    @property
    def usual(self) -> str:
        """The name of the ranking that a question gets which names none."""
        return "mnemond" if self.own is None else self.own.name

    def ranking(self, name: str) -> Profile:
        """The ranking of that name: the store's own numbers, else as published."""
        return self.own if self.own is not None and self.own.name == name else PROFILES_BY_NAME[name]


DEFAULT = ReadPolicy()
