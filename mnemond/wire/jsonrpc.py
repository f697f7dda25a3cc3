"""JSON-RPC 2.0: one message becomes requests, a result or an error becomes one line of bytes."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final, Literal

import msgspec

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError

MAX_BATCH = 100
"""Requests in one batch; a larger batch is refused as a whole."""

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects in a message."""

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
        """Return True if the request has no id, so that it gets no reply."""
        return self.id is _ABSENT

    @property
    def arguments(self) -> msgspec.Raw | None:
        """The parameters as JSON, or None if there are none."""
        return None if self.params is _ABSENT else self.params


class Refused(msgspec.Struct, frozen=True, gc=False):
    """A message, or an element of a batch, that is not a valid request; it is answered with `error`, but for a
    response, which is not answered at all."""

    error: MnemonError
    id: msgspec.Raw = NO_ID
    is_response: bool = False


class Foreign(Refused, frozen=True, gc=False, kw_only=True):
    """An object without `jsonrpc`, which may be a message of another protocol. Refused if it is of none.

    `whole`: all of it is there and may be decoded, though that may fail. Else only its beginning is to be read.
    """

    message: bytes
    whole: bool


# ---------------------------------------------------------------- reading

_request = msgspec.json.Decoder(Request)
_batch = msgspec.json.Decoder(list[msgspec.Raw])
_id = msgspec.json.Decoder(str | int | float | None)

decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
decode_text = msgspec.json.Decoder(str).decode


def parse(message: bytes) -> Request | Refused | list[Request | Refused]:
    """Return the call in a message, or the list of calls of a batch. Never raises for anything a client can send.

    A lone surrogate becomes U+FFFD: JavaScript sends the escape of one for a text that it cut, and a refusal could not
    name the request, so that its sender would wait for an answer.
    """
    if too_deep(message):
        return perhaps_foreign(message, Refused(_too_deep_error()), whole=False)
    if not message.isascii() and not _is_utf8(message):
        return perhaps_foreign(message, Refused(MnemonError(errors.PARSE, "the message is not UTF-8")))
    parsed = _parse(message)
    if isinstance(parsed, Refused) and parsed.error.kind is errors.PARSE:
        message = replace_lone_surrogates(message)
        parsed = _parse(message)
    return perhaps_foreign(message, parsed) if isinstance(parsed, Refused) else parsed


def perhaps_foreign(message: bytes, refused: Refused, *, whole: bool = True) -> Refused:
    """Return a Foreign if the message is an object that does not name JSON-RPC, else `refused`. `message` may be only
    the beginning of one; it is not `whole` then."""
    if message[:1] != b"{":
        return refused
    if refused.error.kind is errors.INVALID_REQUEST:
        if "jsonrpc" in decode_members(message):
            return refused
        if (key := repeated_key(message)) is not None:
            return Refused(repeated_key_error(key))
    return Foreign(refused.error, refused.id, message=message, whole=whole)


def _is_utf8(message: bytes) -> bool:
    """Return True if all of the message is UTF-8; the decoder looks only at the texts that it keeps."""
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse(message: bytes) -> Request | Refused | list[Request | Refused]:
    if message[:1] != b"[":
        return _parse_one(message)
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


def _parse_one(message: bytes | msgspec.Raw) -> Request | Refused:
    try:
        request = _request.decode(message)
        if request.id is not _ABSENT:
            _id.decode(request.id)
        if request.params is not _ABSENT and memoryview(request.params)[0] not in b"{[":
            return _explain(message)
    except MALFORMED:
        return _explain(message)
    if (key := repeated_key(message)) is not None:
        return Refused(repeated_key_error(key), NO_ID if request.id is _ABSENT else request.id)
    return request


def _explain(message: bytes | msgspec.Raw) -> Refused:
    """Name what is wrong with a message that is not a request, and the request to answer if it has a valid id."""
    try:
        members = decode_members(message)
    except msgspec.ValidationError:
        return Refused(MnemonError(errors.INVALID_REQUEST, "a request must be a JSON object"))
    except MALFORMED as error:
        return Refused(_not_json(error))
    request_id = members.get("id", NO_ID)
    valid_id = _is_id(request_id)
    if _text_or_none(members.get("jsonrpc", NO_ID)) != "2.0":
        sentence = 'jsonrpc must be "2.0"'
    elif "method" not in members and "id" in members and ("result" in members) != ("error" in members):
        return Refused(MnemonError(errors.INVALID_REQUEST, "this is a response"), is_response=True)
    elif _text_or_none(members.get("method", NO_ID)) is None:
        sentence = "method must be a string"
    elif not valid_id:
        sentence = "id must be a string, a number or null"
    else:
        sentence = "params must be an object or an array"
    return Refused(MnemonError(errors.INVALID_REQUEST, sentence), request_id if valid_id else NO_ID)


def _text_or_none(raw: msgspec.Raw) -> str | None:
    try:
        return decode_text(raw)
    except MALFORMED:
        return None


def _is_id(raw: msgspec.Raw) -> bool:
    try:
        _id.decode(raw)
    except MALFORMED:
        return False
    return True


def _not_json(error: Exception) -> MnemonError:
    """The decoder's own sentence: it names the byte and never repeats what was sent."""
    return (
        _too_deep_error()
        if isinstance(error, RecursionError)
        else MnemonError(errors.PARSE, f"the message is not JSON: {error}")
    )


# ---------------------------------------------------------------- keys that an object has twice
#
# Decoders disagree about which of the two counts: what one program checked may not be what another one does.

_anything = msgspec.json.Decoder()


class _RepeatedKeyError(Exception):
    pass


def repeated_key(message: bytes | msgspec.Raw) -> str | None:
    """Return a key that an object in valid JSON has twice, at any depth; None if there is none.

    What is the same after decoding and encoding has none: two microseconds for a request. Only JSON that is written in
    an unusual way, with escapes that are not needed, say, is decoded a second time.
    """
    with suppress(*MALFORMED):  # a number that has no place in 64 bits
        if _encoder.encode(_anything.decode(message)) == msgspec.json.format(message, indent=-1):
            return None
    try:
        _pairwise(bytes(message).decode())
    except _RepeatedKeyError as error:
        return str(error)
    except MALFORMED:
        return None  # whatever decodes it finds that out
    return None


def _pairwise(text: str) -> None:
    import json  # 5 ms, and hardly ever needed

    def check(pairs: list[tuple[str, object]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)

    json.loads(text, object_pairs_hook=check, parse_int=str, parse_float=str)


def repeated_key_error(key: str) -> MnemonError:
    """Return the error for a message with a repeated key."""
    return MnemonError(
        errors.INVALID_REQUEST,
        f"an object has the key {key[:40]!a} twice, and it is not clear which one is meant",
        hint="send each key once",
        outcome="rejected",
    )


# ---------------------------------------------------------------- before decoding: depth, lone surrogates

_BRACKETS_AND_QUOTES = b'[{]}"'
_STEPS = bytes.maketrans(_BRACKETS_AND_QUOTES, bytes((1, 1, 255, 255, 0)))  # as signed bytes: up, down, a quote
_ALL_ELSE = bytes(code for code in range(256) if code not in _BRACKETS_AND_QUOTES)


def too_deep(message: bytes, limit: int = MAX_DEPTH) -> bool:
    """Return True if arrays and objects nest more than `limit` levels, in linear time: some 12 ms for the worst 1 MiB.

    For text that is not JSON only the part before the first error is judged correctly; decoding ends there.
    """
    if message.count(b"[") + message.count(b"{") <= limit:
        return False
    # Within a run of backslashes the first pair is the first escape, so pairs go first; the quotes that remain after
    # that are the ends of strings.
    bare = message.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in message else message
    return _max_depth(bare.translate(_STEPS, _ALL_ELSE)) > limit


def _max_depth(steps: bytes) -> int:
    import numpy as np  # 50 ms, which mnemonctl should not pay for the other parts of the protocol

    each = np.frombuffer(steps, dtype=np.int8)
    in_string = np.logical_xor.accumulate(each == 0)
    return int(np.where(in_string, np.int8(0), each).cumsum(dtype=np.int32).max(initial=0))


def _too_deep_error() -> MnemonError:
    return MnemonError(errors.TOO_LARGE, f"the message nests more than {MAX_DEPTH} levels deep")


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(_HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW)


def replace_lone_surrogates(message: bytes) -> bytes:
    """Return the same JSON with U+FFFD in the place of each escape of a lone surrogate, which no decoder accepts.
    Programs that cut a text by UTF-16 units send them."""
    return _LONE_SURROGATE.sub(_replacement, message)


def _replacement(found: re.Match[bytes]) -> bytes:
    """U+FFFD, unless the backslash of the escape is itself escaped."""
    message, begin = found.string, found.start()
    while message[begin - 1 : begin] == b"\\":
        begin -= 1
    return found[0] if (found.start() - begin) % 2 else rb"\ufffd"


# ---------------------------------------------------------------- writing

_encoder = msgspec.json.Encoder()

_BUFFER_BYTES = 1024
"""Initial size of the buffer for encoding: most replies are shorter."""


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


def encode_result(request_id: msgspec.Raw, result: object) -> bytes:
    """Return one reply, without its newline. Raises UnicodeEncodeError, TypeError or RecursionError for a result that
    JSON cannot hold; nothing that was decoded from JSON is of that kind."""
    return b"".join((b'{"jsonrpc":"2.0","id":', request_id, b',"result":', _encode(result), b"}"))


def encode_error(request_id: msgspec.Raw, error: MnemonError) -> bytes:
    """Return one error reply, without its newline. Always succeeds: lone surrogates (of a file name, say) are
    escaped."""
    kind = error.kind
    problems = tuple(FieldProblem(clean(problem.field), clean(problem.message)) for problem in error.problems)
    hint = None if error.hint is None else clean(error.hint)
    reason = error.degraded_reason
    degraded = () if reason is None else (True, clean(reason))
    data = _ErrorData(kind.name, hint, kind.retryable, error.outcome, problems, *degraded)
    with_details = data if error.details is None else {**msgspec.to_builtins(data), **error.details}
    body = _encode(_Error(kind.rpc, clean(error.message), with_details))
    return b"".join((b'{"jsonrpc":"2.0","id":', request_id, b',"error":', body, b"}"))


def _encode(value: object) -> bytearray:
    """JSON. Not in the encoder's own buffer: when it cannot grow, because memory ran out, msgspec 0.22 ends the process
    where this raises MemoryError. It costs .1 µs."""
    buffer = bytearray(_BUFFER_BYTES)
    _encoder.encode_into(value, buffer)
    return buffer


def batch_pieces(replies: list[bytes]) -> list[bytes]:
    """Return the reply to a batch, without its newline, in pieces: joining many megabytes would copy them once more."""
    pieces = [b","] * (2 * len(replies) + 1)
    pieces[0], pieces[-1] = b"[", b"]"
    pieces[1::2] = replies
    return pieces


def clean(text: str) -> str:
    """Return the text with everything escaped that UTF-8 cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
