"""Revisions of MCP, and which of them a request is in."""

from __future__ import annotations

from enum import Enum
from typing import Final

from mnemond.errors import Kind, MnemonError
from mnemond.protocol.version import MAX_VERSION

MODERN: Final = "2026-07-28"
"""Stateless: each request says its revision. Whatever comes later is asked for as this."""

LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""A session begins with a handshake, newest first."""

SUPPORTED: Final = (MODERN,)
"""What a request may name. Those with a handshake are no versions of a single request; a client that has nothing newer
asks for one by `initialize`, and those that know both do so when this list does not suit them."""

UNSUPPORTED_VERSION: Final = Kind(
    "unsupported_protocol_version", -32022, 2, False, "this revision of MCP is not spoken here"
)
"""Its number is MCP's own, so it is no row of the table of mnemond's errors."""


class Era(Enum):
    """How a request is answered."""

    MODERN = "modern"
    LEGACY = "legacy"


def check_version(version: str) -> None:
    """Raises MnemonError(UNSUPPORTED_VERSION), which tells the revisions that there are, for any other."""
    if version not in SUPPORTED:
        raise MnemonError(
            UNSUPPORTED_VERSION,
            "this revision of MCP is not supported",
            hint=f"supported are {', '.join(SUPPORTED)}; earlier ones begin with initialize",
            details={"supported": list(SUPPORTED), "requested": version[:MAX_VERSION]},
        )


def agreed(version: str | None) -> str:
    """The revision of a session whose client asked for `version`: that one, or else the newest with a handshake."""
    return version if version in LEGACY else LEGACY[0]
