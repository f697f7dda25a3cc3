"""What can be read by an address: the guide, one memory, the core of a store."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.protocol.mcp.result import Json

MARKDOWN: Final = "text/markdown"

_ADDRESS = re.compile(
    r"mnemon://(?:(?P<guide>guide)|memory/(?P<memory>[^/?#\s]{6,64})|store/(?P<store>[^/?#\s]{1,64})/core)"
)

TEMPLATES: Final[list[Json]] = [
    {
        "uriTemplate": "mnemon://memory/{id}",
        "name": "memory",
        "title": "One memory",
        "description": "Everything known of one memory: its whole text, dates, names and links.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "mnemon://store/{name}/core",
        "name": "core",
        "title": "The core of a store",
        "description": "What matters most in one store.",
        "mimeType": MARKDOWN,
    },
]


class Address(NamedTuple):
    """What an address leads to; neither is given for the guide."""

    memory: str | None
    store: str | None


def parse_uri(uri: str) -> Address:
    """Where an address leads. Raises MnemonError(INVALID_PARAMS), as a resource that is not there does in MCP."""
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        raise missing(uri)
    return Address(found["memory"], found["store"])


def missing(uri: str) -> MnemonError:
    """The error of a resource that is not there."""
    hint = "there are mnemon://guide, mnemon://memory/{id} and mnemon://store/{name}/core"
    return MnemonError(INVALID_PARAMS, "there is no such resource", hint=hint, details={"uri": uri[:200]})


def listed(stores: Iterable[str]) -> list[Json]:
    """What can be read without knowing an id, in the same order every time."""
    cores: list[Json] = [
        {
            "uri": f"mnemon://store/{name}/core",
            "name": f"core-{name}",
            "title": f"Core of {name}",
            "description": "What matters most in this store.",
            "mimeType": MARKDOWN,
        }
        for name in sorted(stores)
    ]
    guide: Json = {
        "uri": "mnemon://guide",
        "name": "guide",
        "title": "Working with this memory",
        "description": "When to recall, what to remember, and how to read the answers.",
        "mimeType": MARKDOWN,
    }
    return [guide, *cores]
