"""Field types that several messages share."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_NAME = 200
"""Characters of a source, conversation, session, user or agent id (the same bound as an entity's name, chapter 07)."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
OpId = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
StoreName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
IdOrPrefix = Annotated[str, msgspec.Meta(min_length=6, max_length=64)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every method's parameters: unknown fields are refused."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every object result: while a store is degraded, the result says so."""

    degraded: bool | msgspec.UnsetType = msgspec.UNSET
    degraded_reason: str | msgspec.UnsetType = msgspec.UNSET
