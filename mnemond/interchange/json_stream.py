"""Large JSON documents that are, or contain, one long array: its elements are read one after another."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final

import msgspec

from mnemond.interchange.items import NotReadableError

ARRAYS: Final = ("results", "memories", "observations")
"""Names of the array that is read element by element, in a document that is an object."""

MAX_ELEMENT: Final = 32 << 20
"""Characters of an element, and of any other value: a ChatGPT conversation of a year has some megabytes."""

_CHUNK: Final = 1 << 18
"""Characters that are read at once."""

_json = json.JSONDecoder()
_any = msgspec.json.Decoder()

Open = Callable[[], IO[bytes]]


class Elements:
    """The elements of the array, read anew by each iteration. Raises NotReadableError, OSError."""

    def __init__(self, open_: Open) -> None:
        self._open = open_

    def __iter__(self) -> Iterator[Any]:
        with io.TextIOWrapper(self._open(), encoding="utf-8-sig") as text:
            for _, element, inside in _Reader(text).values():
                if inside:
                    yield element


def streamed_document(open_: Open) -> Elements | Mapping[str, object]:
    """Return a document that is an array, or an object of which one of ARRAYS is an array, with `Elements` in place of
    that array and None for every other value before it.

    `open_` gives the file, as often as it is read. Raises NotReadableError for another document, OSError.
    """
    elements = Elements(open_)
    names: dict[str, object] = {}
    with io.TextIOWrapper(open_(), encoding="utf-8-sig") as text:
        for name, _, inside in _Reader(text).values():
            if inside:
                return elements if name is None else {**names, name: elements}
            if name is not None:
                names[name] = None
    raise NotReadableError("it has no memories in a list")


class _Reader:
    """A part of the text, which is extended until the next value is whole."""

    def __init__(self, text: IO[str]) -> None:
        self._source = text
        self._text, self._at, self._ended = "", 0, False

    def values(self) -> Iterator[tuple[str | None, Any, bool]]:
        """Yield the name of each value of an object (None in an array), the value, and whether it is an element of the
        array. Raises NotReadableError."""
        try:
            match self._next():
                case "[":
                    for element in self._elements():
                        yield None, element, True
                case "{":
                    yield from self._members()
                case _:
                    raise NotReadableError("it is no JSON, and no markdown")
            if self._peek():
                raise self._broken()
        except UnicodeDecodeError:
            raise NotReadableError("it is no UTF-8") from None
        except RecursionError:
            raise NotReadableError("it is nested too deeply") from None

    def _members(self) -> Iterator[tuple[str | None, Any, bool]]:
        if self._peek() == "}":
            self._next()
            return
        while True:
            name = self._value()
            if not isinstance(name, str) or self._next() != ":":
                raise self._broken()
            if name in ARRAYS and self._peek() == "[":
                self._next()
                for element in self._elements():
                    yield name, element, True
            else:
                yield name, self._value(), False
            if self._goes_on("}"):
                return

    def _elements(self) -> Iterator[Any]:
        if self._peek() == "]":
            self._next()
            return
        while True:
            yield self._value()
            if self._goes_on("]"):
                return

    def _goes_on(self, closing: str) -> bool:
        """Read what follows a value; return True for the end."""
        following = self._next()
        if following not in (",", closing):
            raise self._broken()
        return following == closing

    def _next(self) -> str:
        found = self._peek()
        self._at += 1
        return found

    def _peek(self) -> str:
        """Return the next character that is no space; "" at the end."""
        while True:
            while self._at < len(self._text):
                if (found := self._text[self._at]) not in " \t\r\n":
                    return found
                self._at += 1
            if self._ended:
                return ""
            self._extend()

    def _value(self) -> Any:  # noqa: ANN401 - any JSON
        self._peek()
        while True:
            try:
                end = _json.raw_decode(self._text, self._at)[1]  # the value is let go of before it is made again
            except ValueError:
                end = len(self._text)  # it may only be cut off
                if self._ended:
                    raise self._broken() from None
            if end < len(self._text) or self._ended:
                break
            if len(self._text) - self._at > MAX_ELEMENT:
                raise NotReadableError(f"a value in it has more than {MAX_ELEMENT:,} characters, or is no JSON")
            self._extend()
        part, self._at = self._text[self._at : end], end
        try:
            return _any.decode(part)
        except msgspec.MsgspecError:
            raise self._broken() from None

    def _extend(self) -> None:
        """Read as much again as waits, so that a long value is tried a few times only."""
        rest = self._text[self._at :]
        more = self._source.read(max(_CHUNK, len(rest)))
        self._text, self._at, self._ended = rest + more, 0, not more

    @staticmethod
    def _broken() -> NotReadableError:
        return NotReadableError("it is no JSON, and no markdown")
