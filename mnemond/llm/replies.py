"""Reading a model's reply: the first JSON value in it, however it is wrapped."""

from __future__ import annotations

import json
from typing import Any, Final

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.text.resources import regex

MAX_STARTS: Final = 40
"""Brackets of a reply at which a JSON value is looked for."""

MAX_REPLY: Final = 200_000
"""Characters of a reply that are read; `max_tokens` ends it long before."""

_THOUGHTS: Final = regex(r"\A\s*<think>(?s:.*?)</think>")
"""The reasoning that some models write before their answer."""

_START: Final = regex(r"[{\[]")
_LONE_BACKSLASH: Final = regex(r'\\(?!["\\/bfnrtu])')


class UnreadableError(MnemonError):
    """UNAVAILABLE because the reply of a model is not the JSON that was requested."""


class TruncatedError(UnreadableError):
    """The reply ended at the maximum of tokens; a shorter text may fit. It is never repaired."""


def unreadable(why: str) -> UnreadableError:
    """Return the error for a reply, which is not quoted: it may hold a memory."""
    return UnreadableError(UNAVAILABLE, f"the model's reply {why}", hint="see whether llm.model can write JSON")


def truncated() -> TruncatedError:
    """Return the error for a reply that was cut off."""
    return TruncatedError(
        UNAVAILABLE, "the model's reply reached the maximum of tokens", hint="a shorter text needs a shorter reply"
    )


def first_value(text: str) -> Any:  # noqa: ANN401 - a JSON value
    """Return the first JSON object, or list of objects, in a reply, whatever stands before and after it.

    Raw line breaks in strings and lone backslashes are tolerated. One that has no end is not repaired. Raises
    UnreadableError.
    """
    body, at = _THOUGHTS.sub("", text[:MAX_REPLY]), 0
    for _ in range(MAX_STARTS):
        start = _START.search(body, at)
        if start is None:
            break
        found, at = _decoded(body, start.start())
        if found is None:  # only what follows the failure: within it are parts of a value that has no end
            found, _ = _decoded(_LONE_BACKSLASH.sub(r"\\\\", body[start.start() :]), 0)
        if isinstance(found, dict) or (isinstance(found, list) and all(isinstance(each, dict) for each in found)):
            return _checked(found)
    raise unreadable("holds no JSON")


_decoder: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """Return the value at `at`, None without one, and the place after it or where it fails."""
    try:
        return _decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return None, max(error.pos, at + 1)
    except RecursionError:
        return None, len(text)


def _checked(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Refuse the schema itself, which small models repeat. Raises UnreadableError."""
    if isinstance(value, dict) and isinstance(value.get("properties"), dict) and value.get("type") == "object":
        raise unreadable("repeats the schema instead of filling it")
    return value
