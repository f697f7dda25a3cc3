"""Whom a request says it is for."""

from __future__ import annotations

from typing import Protocol

from mnemond.model.insight import Scope


class Scoped(Protocol):
    """Parameters that carry the three scope ids."""

    @property
    def user_id(self) -> str | None:
        """None: anybody."""
        ...

    @property
    def session_id(self) -> str | None:
        """None: any, or none."""
        ...

    @property
    def agent_id(self) -> str | None:
        """None: any."""
        ...


def scope_of(params: Scoped) -> Scope:
    """The scope ids of a request."""
    return Scope(params.user_id, params.session_id, params.agent_id)
