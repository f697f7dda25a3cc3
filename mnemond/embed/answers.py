"""Reading what an embedding server answers: typed, within bounds, and without quoting it."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import msgspec

from mnemond.embed.remote import LARGEST_DIMENSION, TooLongError
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.outbound.client import Reply

T = TypeVar("T")

BYTES_A_NUMBER: Final = 28
"""Of JSON: sign, 17 digits, point, exponent of three digits, comma and blanks."""

BYTES_AROUND: Final = 65_536
"""Of JSON around the vectors."""

TOO_LONG: Final = ("context length", "context size", "too large to process", "maximum context", "too many tokens")
"""How servers say that a text is longer than their model can read (Ollama, llama.cpp, vLLM, OpenAI)."""

EXPLAINED: Final = {
    401: ("refused the key", "set the variable named by embedding.api_key_env"),
    403: ("refused the key", "set the variable named by embedding.api_key_env"),
    404: ("has no such address or model", "see embedding.endpoint and embedding.model"),
    429: ("has had too many requests", "it is asked again later"),
    501: ("does not embed", "start it with embeddings switched on"),
}
"""What to say and what to do, by status."""


class Refusal(NamedTuple):
    """An answer that is not 200. `explained`: the server gave a reason of its own, in JSON."""

    status: int
    explained: bool
    too_long: bool


def room(texts: int) -> int:
    """Bytes the answer to so many texts may have, before its dimension is believed."""
    return BYTES_AROUND + texts * LARGEST_DIMENSION * BYTES_A_NUMBER


def decoded(service: str, body: bytes, kind: type[T]) -> T:
    """`body` as `kind`. Raises MnemonError(UNAVAILABLE), which does not quote it, for anything else (NaN included)."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MnemonError(
            UNAVAILABLE,
            f"{service} answered with {len(body):,} bytes that are not the JSON it should send, or not finite numbers",
            hint="see that embedding.provider names what runs there",
        ) from None


def refusal_of(reply: Reply) -> Refusal:
    """What can be told from an answer that is not 200; its text is looked at and not kept, for it may quote ours."""
    said = reply.body.lower()
    try:
        explained = "error" in msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        explained = False
    return Refusal(reply.status, explained, any(sign.encode() in said for sign in TOO_LONG))


def refused(service: str, refusal: Refusal) -> MnemonError:
    """The error for a refusal."""
    if refusal.too_long:
        return TooLongError(UNAVAILABLE, f"{service} takes no text of this length", hint="shorten it")
    what, hint = EXPLAINED.get(refusal.status, ("failed", "see its log"))
    return MnemonError(UNAVAILABLE, f"{service} {what} (status {refusal.status})", hint=hint)
