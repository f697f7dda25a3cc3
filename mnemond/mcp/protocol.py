"""MCP: its revisions, requests, results, prompts and resources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final, Literal, TypeVar

import msgspec

from mnemond.errors import INVALID_PARAMS, FieldProblem, Kind, MnemonError, invalid
from mnemond.wire.jsonrpc import MALFORMED, decode_members, decode_text
from mnemond.wire.params import MAX_NAME, MAX_VERSION, SERVER_VERSION, Params, decode_params

# ---------------------------------------------------------------- revisions

MODERN: Final = "2026-07-28"
"""Stateless: each request names its revision. Later ones are requested as this."""

LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""A session begins with a handshake; newest first."""

SUPPORTED: Final = (MODERN,)
"""Revisions that a request may name. Those with a handshake are not named by single requests; a client that has nothing
newer sends `initialize`, and one that knows both does so if this list does not suit it."""

UNSUPPORTED_VERSION: Final = Kind(
    "unsupported_protocol_version", -32022, 2, False, "this revision of MCP is not supported"
)
"""The number is defined by MCP, so it is not in the table of mnemond's errors."""


class Era(Enum):
    """How a request is answered."""

    MODERN = "modern"
    LEGACY = "legacy"


def check_version(version: str) -> None:
    """Raise MnemonError(UNSUPPORTED_VERSION), with the supported revisions, for any other."""
    if version not in SUPPORTED:
        raise MnemonError(
            UNSUPPORTED_VERSION,
            "this revision of MCP is not supported",
            hint=f"supported are {', '.join(SUPPORTED)}; earlier ones begin with initialize",
            details={"supported": list(SUPPORTED), "requested": version[:MAX_VERSION]},
        )


def negotiate(version: str | None) -> str:
    """Return the revision of a session: the one that the client requests, or else the newest with a handshake."""
    return version if version in LEGACY else LEGACY[0]


# ---------------------------------------------------------------- requests, to which clients add members of their own

P = TypeVar("P", bound=Params)

_PREFIX: Final = "io.modelcontextprotocol/"
VERSION: Final = f"{_PREFIX}protocolVersion"
CAPABILITIES: Final = f"{_PREFIX}clientCapabilities"
SERVER_INFO: Final = f"{_PREFIX}serverInfo"
SUBSCRIPTION: Final = f"{_PREFIX}subscriptionId"


class McpRequest:
    """The era and the parameters of a request."""

    __slots__ = ("_members", "era")

    def __init__(self, raw: msgspec.Raw | bytes | None, *, modern: bool = False) -> None:
        """A request without a revision belongs to a session, unless its method is `modern`.

        Raises MnemonError: INVALID_PARAMS, or UNSUPPORTED_VERSION.
        """
        self._members = {} if raw is None else _object("params", raw)
        meta = _object("_meta", self._members.get("_meta", b"{}"))
        if VERSION in meta:
            self.era = Era.MODERN
            check_version(_string(VERSION, meta[VERSION]))
            _object(CAPABILITIES, meta.get(CAPABILITIES, b""))
        elif modern:
            raise invalid([FieldProblem("_meta", f"_meta must have {VERSION}")])
        else:
            self.era = Era.LEGACY

    def text(self, name: str) -> str:
        """Return a required parameter. Raises MnemonError(INVALID_PARAMS)."""
        return _string(name, self._members.get(name, b""))

    def optional(self, name: str) -> str | None:
        """Return an optional text; None for a value of another type, too."""
        try:
            return decode_text(self._members.get(name, b""))
        except MALFORMED:
            return None

    def raw(self, name: str) -> bytes:
        """Return a parameter as JSON; empty if it is absent."""
        return bytes(self._members.get(name, b""))

    def arguments_json(self) -> bytes:
        """Return the member `arguments`, an object or the text of one, without members that are null. Raises
        MnemonError(INVALID_PARAMS) for anything else."""
        raw = self.raw("arguments")
        if raw[:1] == b'"':
            raw = _string("arguments", raw).strip().encode()
        members = {} if raw in (b"", b"null", b"[]") else _object("arguments", raw)
        pairs = (
            b"%b:%b" % (msgspec.json.encode(name), bytes(value))
            for name, value in members.items()
            if bytes(value) != b"null"
        )
        return b"{" + b",".join(pairs) + b"}"

    def arguments(self, kind: type[P]) -> P:
        """Return the same, decoded. Raises MnemonError(INVALID_PARAMS)."""
        return decode_params(kind, self.arguments_json())


def _object(name: str, raw: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    try:
        return decode_members(raw)
    except MALFORMED:
        raise invalid([FieldProblem(name, f"{name} must be an object")]) from None


def _string(name: str, raw: msgspec.Raw | bytes) -> str:
    try:
        return decode_text(raw)
    except MALFORMED:
        raise invalid([FieldProblem(name, f"{name} must be a string")]) from None


# ---------------------------------------------------------------- results

SERVER: Final = {"name": "mnemond", "version": SERVER_VERSION}

HOUR_MS: Final = 3_600_000
"""Time for which a client may cache what changes only with a release."""

Scope = Literal["public", "private"]
Json = dict[str, object]


def complete(era: Era, body: Json) -> Json:
    """Return a result that is not cached."""
    if era is Era.LEGACY:
        return body
    return {"resultType": "complete", **body, "_meta": {SERVER_INFO: SERVER}}


def cacheable(era: Era, body: Json, ttl_ms: int = HOUR_MS, scope: Scope = "public") -> Json:
    """Return a result that may be cached for `ttl_ms`, for other users too if its scope is public."""
    if era is Era.LEGACY:
        return body
    return complete(era, {**body, "ttlMs": ttl_ms, "cacheScope": scope})


def tool_result(text: str) -> Json:
    """Return the result of a tool: text alone. Hosts show a model structured content instead of text if there are
    both."""
    return {"content": [{"type": "text", "text": text}], "isError": False}


def tool_error(text: str) -> Json:
    """Return the result of a tool that failed; the model sees it and may correct its call."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


# ---------------------------------------------------------------- prompts that a user can pick in a host

_STORE: Final[Json] = {"name": "store", "description": "Named store; the active one unless given.", "required": False}

PROMPTS: Final[dict[str, Json]] = {
    "brief": {
        "name": "brief",
        "title": "Brief me from memory",
        "description": "What matters most in memory, for the beginning of a session.",
        "arguments": [_STORE],
    },
    "review": {
        "name": "review",
        "title": "Review what matters least",
        "description": "The least important memories, to be kept, corrected or forgotten.",
        "arguments": [_STORE],
    },
}
"""By name, in the order of prompts/list."""

BRIEF: Final = """\
This is what matters most in memory. Take it into account from now on; do not repeat it. Say in at most five lines \
what bears on the work at hand, and ask what I want to do.

"""

REVIEW: Final = """\
These memories matter least. Go through them with me. For each say in one line whether you would keep it, correct it \
(`update`) or let it go (`forget`), and why; then wait for my answer before you change anything.

"""


def prompt(description: str, text: str) -> Json:
    """Return the result of prompts/get, without the members of its era."""
    return {"description": description, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


# ---------------------------------------------------------------- resources: texts, one memory, the core of a store

MARKDOWN: Final = "text/markdown"

_ADDRESS = re.compile(
    r"mnemon://(?:guide|(?P<skill>skill)|memory/(?P<memory>[^/?#\s]{6,64})|store/(?P<store>[^/?#\s]{1,64})/core"
    r"|entity/(?P<entity>[^/?#\s]{1,2400})|relations/(?P<relations>[^/?#\s]{1,2400}))"
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
        "description": "What is known of the user in summary, and what else matters most in one store.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "mnemon://entity/{name}",
        "name": "entity",
        "title": "One person or thing",
        "description": "All that is known of a person or a thing: its names, relations in time, and memories.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "mnemon://relations/{name}",
        "name": "relations",
        "title": "Relations of one person or thing",
        "description": "What a person or a thing is related to, now and before.",
        "mimeType": MARKDOWN,
    },
]


class Address(msgspec.Struct, frozen=True):
    """The memory, the store, or the name of a person or a thing of an address; the guide and the skill have none.
    `relations`: the relations of the name alone."""

    memory: str | None
    store: str | None
    skill: bool = False
    name: str | None = None
    relations: bool = False


def parse_uri(uri: str) -> Address:
    """Return the parts of an address. Raises MnemonError(INVALID_PARAMS), as MCP requires for an unknown resource."""
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        raise no_such_resource(uri)
    named = found["entity"] or found["relations"]
    name = None if named is None else _decoded(named)
    if name is not None and len(name) > MAX_NAME:
        raise no_such_resource(uri)
    return Address(found["memory"], found["store"], found["skill"] is not None, name, found["relations"] is not None)


def _decoded(text: str) -> str:
    """Return a part of an address with its percent-encoding resolved (RFC 3986, 2.1)."""
    return _ENCODED.sub(lambda found: bytes([int(found[1], 16)]), text.encode()).decode("utf-8", "replace")


_ENCODED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")


def no_such_resource(uri: str) -> MnemonError:
    """Return the error of an unknown resource."""
    hint = (
        "there are mnemon://guide, mnemon://skill, mnemon://memory/{id}, mnemon://store/{name}/core,"
        " mnemon://entity/{name} and mnemon://relations/{name}"
    )
    return MnemonError(INVALID_PARAMS, "there is no such resource", hint=hint, details={"uri": uri[:200]})


TEXTS: Final[tuple[Json, ...]] = (
    {
        "uri": "mnemon://guide",
        "name": "guide",
        "title": "Working with this memory",
        "description": "When to recall, what to remember.",
        "mimeType": MARKDOWN,
    },
    {
        "uri": "mnemon://skill",
        "name": "skill",
        "title": "Tools and commands of this memory",
        "description": "Tools and commands, and how to read their answers.",
        "mimeType": MARKDOWN,
    },
)
"""Texts that a user may edit (`hooks/prompt_files.py`)."""


def resources(stores: Iterable[str]) -> list[Json]:
    """Return the resources whose address needs no id, in a stable order."""
    cores: list[Json] = [
        {
            "uri": f"mnemon://store/{name}/core",
            "name": f"core-{name}",
            "title": f"Core of {name}",
            "description": "What is known of the user in summary, and what else matters most in this store.",
            "mimeType": MARKDOWN,
        }
        for name in sorted(stores)
    ]
    return [*TEXTS, *cores]
