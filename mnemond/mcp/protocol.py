"""Revisions of MCP, and which of them a request is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from mnemond.errors import INVALID_PARAMS, FieldProblem, Kind, MnemonError, invalid
from mnemond.wire.jsonrpc import MALFORMED
from mnemond.wire.params import MAX_VERSION, SERVER_VERSION, Params, decode_params

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


# One request in MCP: its era, and its parameters read one by one, since clients add members of their own.


P = TypeVar("P", bound=Params)

_OWN: Final = "io.modelcontextprotocol/"
VERSION: Final = f"{_OWN}protocolVersion"
CAPABILITIES: Final = f"{_OWN}clientCapabilities"
SERVER_INFO: Final = f"{_OWN}serverInfo"
SUBSCRIPTION: Final = f"{_OWN}subscriptionId"

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)


class McpRequest:
    """Who asks in which era, and what."""

    __slots__ = ("_members", "era")

    def __init__(self, raw: msgspec.Raw | bytes | None, *, modern: bool = False) -> None:
        """A request that names no revision is from a session, unless its method is `modern`.

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
        """A parameter that has to be there. Raises MnemonError(INVALID_PARAMS)."""
        return _string(name, self._members.get(name, b""))

    def optional(self, name: str) -> str | None:
        """A text that may be missing; None for anything else, too."""
        try:
            return _text.decode(self._members.get(name, b""))
        except MALFORMED:
            return None

    def raw(self, name: str) -> bytes:
        """A parameter as it is written; empty for one that is not there."""
        return bytes(self._members.get(name, b""))

    def given(self) -> bytes:
        """The member `arguments`, as an object in which a null is as good as nothing. Raises
        MnemonError(INVALID_PARAMS) for anything else."""
        given = self._members.get("arguments", b"")
        members = {} if bytes(given) in (b"", b"null") else _object("arguments", given)
        return joined({name: raw for name, raw in members.items() if bytes(raw) != b"null"})

    def arguments(self, kind: type[P]) -> P:
        """The same, decoded. Raises MnemonError(INVALID_PARAMS)."""
        return decode_params(kind, self.given())


def joined(members: Mapping[str, msgspec.Raw]) -> bytes:
    """The object with these members."""
    pairs = (b"%b:%b" % (msgspec.json.encode(name), bytes(raw)) for name, raw in members.items())
    return b"{" + b",".join(pairs) + b"}"


def _object(name: str, raw: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    try:
        return _members.decode(raw)
    except MALFORMED:
        raise invalid([FieldProblem(name, f"{name} must be an object")]) from None


def _string(name: str, raw: msgspec.Raw | bytes) -> str:
    try:
        return _text.decode(raw)
    except MALFORMED:
        raise invalid([FieldProblem(name, f"{name} must be a string")]) from None


# Results as each era wants them.


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


# The prompts that a user can pick in a host.


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
"""By name, in the order in which they are listed."""

BRIEF: Final = """\
This is what matters most in memory. Take it into account from now on; do not repeat it. Say in at most five lines \
what bears on the work at hand, and ask what I want to do.

"""

REVIEW: Final = """\
These memories matter least. Go through them with me. For each say in one line whether you would keep it, correct it \
(`update`) or let it go (`forget`), and why; then wait for my answer before you change anything.

"""


def prompt(description: str, text: str) -> Json:
    """What prompts/get returns, apart from what its era adds."""
    return {"description": description, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


# What can be read by an address: the guide, one memory, the core of a store.


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
