"""How deeply a message is nested, found out before anything decodes it."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects (spec 13: caps)."""

_BRACKETS_AND_QUOTES = b'[{]}"'
_STEPS = bytes.maketrans(_BRACKETS_AND_QUOTES, bytes((1, 1, 255, 255, 0)))  # as signed bytes: up, down, a quote
_ALL_ELSE = bytes(code for code in range(256) if code not in _BRACKETS_AND_QUOTES)


def too_deep(message: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether arrays and objects nest more than `limit` levels; linear in the length of the message, some 12 ms for
    1 MiB of the worst. Of what is not JSON only the part before its first fault is judged rightly; decoding ends there.
    """
    if message.count(b"[") + message.count(b"{") <= limit:
        return False
    # Within a run of backslashes the first pair is the first escape, so pairs go first; the quotes that remain after
    # that are the ends of strings.
    bare = message.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in message else message
    return _deepest(bare.translate(_STEPS, _ALL_ELSE)) > limit


def _deepest(steps: bytes) -> int:
    import numpy as np  # 50 ms, which the command line should not pay for the other parts of the protocol

    each = np.frombuffer(steps, dtype=np.int8)
    in_string = np.logical_xor.accumulate(each == 0)
    return int(np.where(in_string, np.int8(0), each).cumsum(dtype=np.int32).max(initial=0))


# Halves of characters: programs that cut a text by UTF-16 units send the escape of half of one, which no decoder
# takes.


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(_HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW)


def replace_lone_surrogates(message: bytes) -> bytes:
    """The same JSON with U+FFFD in the place of each escape of half a character."""
    return _HALF.sub(_replaced, message)


def _replaced(found: re.Match[bytes]) -> bytes:
    """An escape behind an odd number of backslashes is none."""
    message, begin = found.string, found.start()
    while message[begin - 1 : begin] == b"\\":
        begin -= 1
    return found[0] if (found.start() - begin) % 2 else rb"\ufffd"


# JSON-RPC 2.0: one message becomes requests, results and errors become one line of bytes.


MAX_BATCH = 100
"""Requests in one batch; more are refused as a whole."""

MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, ValueError)
"""Everything that decoding bytes from outside can raise."""

NO_ID: Final = msgspec.Raw(b"null")
_ABSENT: Final = msgspec.Raw(b"")


class Request(msgspec.Struct, frozen=True, gc=False):
    """One call. `id` and `params` are kept as they came; `params` is an array or an object, if it is there."""

    jsonrpc: Literal["2.0"]
    method: str
    id: msgspec.Raw = _ABSENT
    params: msgspec.Raw = _ABSENT

    @property
    def notification(self) -> bool:
        """Whether the caller wants no answer."""
        return self.id is _ABSENT

    @property
    def arguments(self) -> msgspec.Raw | None:
        """The parameters as JSON, or None when there are none."""
        return None if self.params is _ABSENT else self.params


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Something that is no request; it is answered all the same."""

    error: MnemonError
    id: msgspec.Raw = NO_ID


class Foreign(Refused, frozen=True, gc=False, kw_only=True):
    """An object that is no JSON-RPC: somebody may know what it is; nobody does, and it is answered as refused.

    `whole`: all of it is there and may be decoded, though that may fail. Else only its beginning should be looked at.
    """

    message: bytes
    whole: bool


class _ErrorData(msgspec.Struct, frozen=True):
    code: str
    hint: str | None
    retryable: bool
    outcome: str | None
    problems: tuple[FieldProblem, ...]
    degraded: bool | msgspec.UnsetType = msgspec.UNSET
    degraded_reason: str | msgspec.UnsetType = msgspec.UNSET


class _Error(msgspec.Struct, frozen=True):
    code: int
    message: str
    data: _ErrorData | dict[str, object]


_request = msgspec.json.Decoder(Request)
_batch = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text = msgspec.json.Decoder(str)
_id = msgspec.json.Decoder(str | int | float | None)
_encoder = msgspec.json.Encoder()

_BUFFER_BYTES = 1024
"""With which encoding begins: most replies are shorter."""


def parse(message: bytes) -> Request | Refused | list[Request | Refused]:
    """The call in a message, or the list of calls of a batch. Never raises for anything a client can send.

    Half a character becomes U+FFFD: JavaScript sends the escape of one for a text that it cut, and a refusal could not
    say of which request, so that its sender would wait.
    """
    if too_deep(message):
        error = MnemonError(errors.TOO_LARGE, f"the message nests more than {MAX_DEPTH} levels deep")
        return perhaps_foreign(message, Refused(error), whole=False)
    if not message.isascii() and not _is_utf8(message):
        return perhaps_foreign(message, Refused(MnemonError(errors.PARSE, "the message is not UTF-8")))
    parsed = _parsed(message)
    if isinstance(parsed, Refused) and parsed.error.kind is errors.PARSE:
        message = replace_lone_surrogates(message)
        parsed = _parsed(message)
    return perhaps_foreign(message, parsed) if isinstance(parsed, Refused) else parsed


def _parsed(message: bytes) -> Request | Refused | list[Request | Refused]:
    return _parse_batch(message) if message[:1] == b"[" else _parse_one(message)


def perhaps_foreign(message: bytes, refused: Refused, *, whole: bool = True) -> Refused:
    """`refused`, unless the message may be an object that does not even say that it is JSON-RPC. `message` may be the
    beginning of one; it is not `whole` then."""
    if message[:1] != b"{":
        return refused
    if refused.error.kind is errors.INVALID_REQUEST and "jsonrpc" in _members.decode(message):
        return refused
    return Foreign(refused.error, refused.id, message=message, whole=whole)


def _is_utf8(message: bytes) -> bool:
    """The decoder looks only at the text that it keeps; this looks at all of it."""
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse_one(message: bytes | msgspec.Raw) -> Request | Refused:
    try:
        request = _request.decode(message)
        if request.id is not _ABSENT:
            _id.decode(request.id)
        if request.params is not _ABSENT and memoryview(request.params)[0] not in b"{[":
            return _explain(message)
    except MALFORMED:
        return _explain(message)
    return request


def _parse_batch(message: bytes) -> Refused | list[Request | Refused]:
    try:
        calls = _batch.decode(message)
    except MALFORMED as error:
        return Refused(_not_json(error))
    if not calls:
        return Refused(MnemonError(errors.INVALID_REQUEST, "a batch must hold at least one request; this one is empty"))
    if len(calls) > MAX_BATCH:
        sentence = f"the batch holds {len(calls)} requests; the limit is {MAX_BATCH}"
        return Refused(MnemonError(errors.TOO_LARGE, sentence, hint="send several smaller batches"))
    return [_parse_one(call) for call in calls]


def _explain(message: bytes | msgspec.Raw) -> Refused:
    """Say what is wrong with a message that is no request, and to whom."""
    try:
        members = _members.decode(message)
    except msgspec.ValidationError:
        return Refused(MnemonError(errors.INVALID_REQUEST, "a request must be a JSON object"))
    except MALFORMED as error:
        return Refused(_not_json(error))
    sentence = _fault(members)
    answered = members.get("id", NO_ID)
    return Refused(MnemonError(errors.INVALID_REQUEST, sentence), answered if _fits(_id, answered) else NO_ID)


def _fault(members: dict[str, msgspec.Raw]) -> str:
    version = members.get("jsonrpc")
    if version is None or not _fits(_text, version) or _text.decode(version) != "2.0":
        return 'jsonrpc must be "2.0"'
    if not _fits(_text, members.get("method", NO_ID)):
        return "method must be a string"
    if not _fits(_id, members.get("id", NO_ID)):
        return "id must be a string, a number or null"
    return "params must be an object or an array"


def _fits(
    decoder: msgspec.json.Decoder[str] | msgspec.json.Decoder[str | int | float | None], raw: msgspec.Raw
) -> bool:
    try:
        decoder.decode(raw)
    except MALFORMED:
        return False
    return True


def _not_json(error: Exception) -> MnemonError:
    """The decoder's own words: they name the byte and never repeat what was sent."""
    if isinstance(error, RecursionError):
        return MnemonError(errors.TOO_LARGE, f"the message nests more than {MAX_DEPTH} levels deep")
    return MnemonError(errors.PARSE, f"the message is not JSON: {error}")


def encode_result(request_id: msgspec.Raw, result: object) -> bytes:
    """One reply, without its newline. Raises UnicodeEncodeError, TypeError or RecursionError for a result that JSON
    cannot hold; nothing that was decoded from JSON is of that kind."""
    return b"".join((b'{"jsonrpc":"2.0","id":', request_id, b',"result":', _encoded(result), b"}"))


def encode_error(request_id: msgspec.Raw, error: MnemonError) -> bytes:
    """One error reply, without its newline. It always succeeds: lone surrogates (of a file name, say) are escaped."""
    kind = error.kind
    problems = tuple(FieldProblem(clean(problem.field), clean(problem.message)) for problem in error.problems)
    hint = None if error.hint is None else clean(error.hint)
    reason = error.degraded_reason
    degraded = () if reason is None else (True, clean(reason))
    data = _ErrorData(kind.name, hint, kind.retryable, error.outcome, problems, *degraded)
    told = data if error.details is None else {**msgspec.to_builtins(data), **error.details}
    body = _encoded(_Error(kind.rpc, clean(error.message), told))
    return b"".join((b'{"jsonrpc":"2.0","id":', request_id, b',"error":', body, b"}"))


def _encoded(value: object) -> bytearray:
    """JSON. The encoder's own buffer is not used: when it cannot grow, because memory ran out, msgspec 0.22 ends the
    process where this raises MemoryError. It costs .1 µs."""
    buffer = bytearray(_BUFFER_BYTES)
    _encoder.encode_into(value, buffer)
    return buffer


def batch_pieces(replies: list[bytes]) -> list[bytes]:
    """The reply to a batch, without its newline, in pieces: joining many megabytes would copy them once more."""
    pieces = [b","] * (2 * len(replies) + 1)
    pieces[0], pieces[-1] = b"[", b"]"
    pieces[1::2] = replies
    return pieces


def clean(text: str) -> str:
    """The text with everything escaped that UTF-8 cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
