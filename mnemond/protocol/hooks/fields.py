"""The members of a payload, read without ever minding their types."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mnemond.protocol.envelope import MALFORMED
from mnemond.protocol.halves import without_halves

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)
_number = msgspec.json.Decoder(float)
_elements = msgspec.json.Decoder(list[msgspec.Raw])


class Fields:
    """What a payload holds by name; later layers go before earlier ones."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, msgspec.Raw]) -> None:
        self._members = members

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def text(self, *names: str, most: int) -> str:
        """The first of these that is a text with anything in it, cut to `most` characters; else empty."""
        for name in names:
            if (raw := self._members.get(name)) is not None and (found := text_of(raw)):
                return found[:most]
        return ""

    def true(self, *names: str) -> bool:
        """Whether one of these is true."""
        return any(bytes(self._members.get(name, b"")) == b"true" for name in names)

    def false(self, name: str) -> bool:
        """Whether this is false, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"false"

    def null(self, name: str) -> bool:
        """Whether this is said to be nothing, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"null"

    def number(self, name: str) -> float | None:
        """The number of that name."""
        try:
            return _number.decode(self._members.get(name, b""))
        except MALFORMED:
            return None

    def first(self, name: str, most: int) -> str:
        """The first item of a list of texts; empty where there is none."""
        try:
            items = _elements.decode(self._members.get(name, b""))
        except MALFORMED:
            return ""
        return text_of(items[0])[:most] if items else ""

    def with_layer(self, name: str) -> Fields:
        """These, and before them what the object of that name holds."""
        inner = members_of(self._members.get(name, b""))
        return self if inner is None else Fields({**self._members, **inner})


def members_of(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """The members of a JSON object; None for anything else."""
    try:
        return _members.decode(raw)
    except MALFORMED:
        return None


def mended(message: bytes) -> bytes:
    """The same without bytes that are no UTF-8 and without halves of characters."""
    return without_halves(message.decode("utf-8", "replace").encode())


def text_of(raw: msgspec.Raw) -> str:
    """A JSON text; empty for anything else."""
    try:
        return _text.decode(raw)
    except MALFORMED:
        return ""
