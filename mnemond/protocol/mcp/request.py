"""One request in MCP: its era, and its parameters read one by one, since clients add members of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from mnemond.errors import FieldProblem, invalid
from mnemond.protocol.decode import decode_params
from mnemond.protocol.envelope import MALFORMED
from mnemond.protocol.mcp.versions import Era, check_version
from mnemond.protocol.types import Params

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
