"""Results as each era wants them."""

from __future__ import annotations

from typing import Final, Literal

from mnemond.protocol.mcp.request import SERVER_INFO
from mnemond.protocol.mcp.versions import Era
from mnemond.protocol.version import SERVER_VERSION

SERVER: Final = {"name": "mnemond", "version": SERVER_VERSION}

HOUR_MS: Final = 3_600_000
"""How long what only a new release changes may be kept by a client."""

Scope = Literal["public", "private"]
Json = dict[str, object]


def complete(era: Era, body: Json) -> Json:
    """A result that need not be kept."""
    if era is Era.LEGACY:
        return body
    return {"resultType": "complete", **body, "_meta": {SERVER_INFO: SERVER}}


def cacheable(era: Era, body: Json, ttl_ms: int = HOUR_MS, scope: Scope = "public") -> Json:
    """A result that may be kept for so long, and whether others than its user may be shown it."""
    if era is Era.LEGACY:
        return body
    return complete(era, {**body, "ttlMs": ttl_ms, "cacheScope": scope})


def said(text: str) -> Json:
    """What a tool returns: text alone. Hosts show a model structured content instead of text where there is both."""
    return {"content": [{"type": "text", "text": text}], "isError": False}


def failed(text: str) -> Json:
    """What a tool returns that could not do it: the model is shown this, and may mend it."""
    return {"content": [{"type": "text", "text": text}], "isError": True}
