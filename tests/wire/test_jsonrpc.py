"""Requests in, replies out: JSON-RPC 2.0 without any transport."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError
from mnemond.wire.jsonrpc import (
    MALFORMED,
    MAX_BATCH,
    NO_ID,
    Foreign,
    Refused,
    Request,
    batch_pieces,
    clean,
    encode_error,
    encode_result,
    parse,
    repeated_key,
)
from tests.tables import each_row

CALL = b'{"jsonrpc":"2.0","method":"ping","id":%s}'


def refused(message: bytes) -> Refused:
    parsed = parse(message)
    assert isinstance(parsed, Refused)
    return parsed


@each_row("id_", [b"1", b"-0", b"1.50", b'"a\\u0041"', b"null", b"123456789012345678901234567890", b'""'])
def test_ids_come_back_as_they_were_written(id_: bytes) -> None:
    request = parse(CALL % id_)
    assert isinstance(request, Request)
    assert not request.notification
    assert encode_result(request.id, 1) == b'{"jsonrpc":"2.0","id":%s,"result":1}' % id_


@each_row("id_", [b"true", b"[1]", b'{"a":1}', b"1e999"])
def test_other_ids_are_refused(id_: bytes) -> None:
    answer = refused(CALL % id_)
    assert (answer.error.kind, bytes(answer.id)) == (errors.INVALID_REQUEST, b"null")
    assert answer.error.message == "id must be a string, a number or null"


@each_row("message", [CALL % b'"\xff"', CALL % b'1,"\xed\xa0\x80":1', CALL % b'1,"params":["\xc0\x80"]'])
def test_every_byte_of_a_message_must_be_utf8(message: bytes) -> None:
    answer = refused(message)
    assert (answer.error.kind, bytes(answer.id)) == (errors.PARSE, b"null")
    assert isinstance(parse(CALL % b'"\xc3\xa9"'), Request)


@each_row(
    ("message", "kind", "id_", "sentence"),
    [
        (b'{"jsonrpc":"2.0","method":1,"id":7}', errors.INVALID_REQUEST, b"7", "method must be a string"),
        (b'{"jsonrpc":"2.0","id":7}', errors.INVALID_REQUEST, b"7", "method must be a string"),
        (b'{"method":"ping","id":"x"}', errors.INVALID_REQUEST, b'"x"', 'jsonrpc must be "2.0"'),
        (b'{"jsonrpc":2.0,"method":"ping"}', errors.INVALID_REQUEST, b"null", 'jsonrpc must be "2.0"'),
        (b'{"jsonrpc":"1.0","method":"ping"}', errors.INVALID_REQUEST, b"null", 'jsonrpc must be "2.0"'),
        (CALL[:-1] % b"1" + b',"params":"bar"}', errors.INVALID_REQUEST, b"1", "params must be an object or an array"),
        (CALL[:-1] % b"1" + b',"params":null}', errors.INVALID_REQUEST, b"1", "params must be an object or an array"),
        (b"1", errors.INVALID_REQUEST, b"null", "a request must be a JSON object"),
        (b"[]", errors.INVALID_REQUEST, b"null", "empty"),
        (b'{"jsonrpc":"2.0","method":"ping"', errors.PARSE, b"null", "not JSON"),
        (b'{"jsonrpc":"2.0",,}', errors.PARSE, b"null", "not JSON"),
        (b"[1,", errors.PARSE, b"null", "not JSON"),
        (rb'{"id":7,"jsonrpc":"2.0","params":["\ud83d"]}', errors.INVALID_REQUEST, b"7", "method must be a string"),
        (b'{"\xff":1}', errors.PARSE, b"null", "not UTF-8"),
        (b"\xef\xbb\xbf{}", errors.PARSE, b"null", "not JSON"),
        (b"[" * 65, errors.TOO_LARGE, b"null", "64 levels"),
        (b"[" + b"1," * MAX_BATCH + b"1]", errors.TOO_LARGE, b"null", f"{MAX_BATCH + 1} requests"),
    ],
)
def test_what_is_no_request_is_explained(message: bytes, kind: errors.Kind, id_: bytes, sentence: str) -> None:
    answer = refused(message)
    assert (answer.error.kind, bytes(answer.id)) == (kind, id_)
    assert sentence in answer.error.message


@each_row(
    ("sent", "read"),
    [
        (rb"a \ud83d", "a \ufffd"),
        (rb"\uDC00\ud83d\uDE00 \uD83D\ud83d", "\ufffd\U0001f600 \ufffd\ufffd"),
        (rb"\ud83d C:\\ud83d \\\ud83d", "\ufffd C:\\ud83d \\\ufffd"),
        (rb"C:\\ud83d", "C:\\ud83d"),
    ],
)
def test_half_a_character_is_no_reason_to_let_a_caller_wait(sent: bytes, read: str) -> None:
    message = CALL[:-1] % b'"a"' + b',"params":{"query":"%b"}}' % sent
    for found in (parse(message), parse(b"[%b]" % message)):
        request = found[0] if isinstance(found, list) else found
        assert isinstance(request, Request)
        assert bytes(request.id) == b'"a"'
        assert msgspec.json.decode(request.params) == {"query": read}


def test_a_request_without_id_is_a_notification() -> None:
    request = parse(b'{"jsonrpc":"2.0","method":"ping","extra":[1]}')
    assert isinstance(request, Request)
    assert request.notification
    assert request.arguments is None


def test_a_batch_keeps_its_order_and_its_bad_parts() -> None:
    batch = parse(b"[" + CALL % b"1" + b",1," + CALL % b"2" + b"]")
    assert isinstance(batch, list)
    assert [bytes(each.id) for each in batch] == [b"1", b"null", b"2"]
    assert [isinstance(each, Request) for each in batch] == [True, False, True]
    assert b"".join(batch_pieces([b"1", b"2"])) == b"[1,2]"
    assert b"".join(batch_pieces([b"{}"])) == b"[{}]"


def test_the_recursion_guard_of_the_decoder_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.wire.jsonrpc.too_deep", lambda _: False)
    for message in (b"[" * 200_000, b'{"params":' * 200_000):
        assert refused(message).error.kind is errors.TOO_LARGE


def test_an_error_carries_everything_a_client_needs() -> None:
    error = MnemonError(
        errors.STORAGE, "the disk is full", hint="make room", outcome="unknown", problems=(FieldProblem("a", "b"),)
    )
    assert json.loads(encode_error(NO_ID, error)) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": errors.STORAGE.rpc,
            "message": "the disk is full",
            "data": {
                "code": "storage",
                "hint": "make room",
                "retryable": True,
                "outcome": "unknown",
                "problems": [{"field": "a", "message": "b"}],
            },
        },
    }


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters(categories=("Cs", "Lu"))))
def test_errors_can_always_be_encoded(message: str, hint: str) -> None:
    error = MnemonError(errors.CONFIG, message, hint=hint, problems=(FieldProblem(hint, message),))
    decoded = json.loads(encode_error(NO_ID, error))
    assert decoded["error"]["message"] == clean(message)
    assert b"\n" not in encode_error(NO_ID, error)


NASTY = st.sampled_from(
    [
        b"NaN",
        b"Infinity",
        b"1e999",
        b'"\\ud800"',
        b'"\xed\xa0\x80"',
        b"9" * 300,
        b"-" + b"9" * 5000,
        b'"\\u0000"',
        b"1e-999",
    ]
)
SCALARS = st.one_of(NASTY, st.integers().map(lambda n: b"%d" % n), st.text().map(lambda s: json.dumps(s).encode()))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: b"[" + b",".join(items) + b"]")
        | st.lists(st.tuples(st.text().map(lambda s: json.dumps(s).encode()), inner), max_size=3).map(
            lambda pairs: b"{" + b",".join(b"%b:%b" % pair for pair in pairs) + b"}"
        )
    ),
    max_leaves=8,
)


@given(VALUES)
def test_whatever_came_in_can_go_out(raw: bytes) -> None:
    """A reply made of received values cannot fail to encode: lone surrogates, NaN and infinities do not come in, and
    integers of any size that do come in go out. So no write is acknowledged with an error of the encoder."""
    try:
        value = msgspec.json.decode(raw)
    except MALFORMED:
        return
    assert msgspec.json.decode(msgspec.json.encode(value)) == value
    assert "null" in encode_result(NO_ID, value).decode("utf-8")


@given(st.binary(max_size=60) | VALUES | st.tuples(VALUES, st.binary(max_size=3)).map(b"".join))
def test_parse_never_raises(message: bytes) -> None:
    parsed = parse(message)
    for each in parsed if isinstance(parsed, list) else [parsed]:
        if isinstance(each, Refused):
            json.loads(encode_error(each.id, each.error))


# Keys that an object has twice.


@each_row(
    ("message", "key", "id_"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"daemon.stop"}', "method", b"1"),
        (b'{"jsonrpc":"2.0","id":1,"method":"remember","params":{"content":"a","content":"b"}}', "content", b"1"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"metadata":{"a":[{"b":1,"b":1}]}}}', "b", b"1"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"\\u0061":2}}', "a", b"1"),
        (b'{ "jsonrpc" : "2.0", "method":"x", "params": {"a":1e2, "a" : 2} }', "a", b"null"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"9" * 400 + b',"b":1,"b":2}}', "b", b"1"),
        (b'{"hook_event_name":"Stop","hook_event_name":"SessionStart"}', "hook_event_name", b"null"),
    ],
)
def test_a_key_that_is_there_twice_is_refused(message: bytes, key: str, id_: bytes) -> None:
    found = parse(message)
    assert isinstance(found, Refused)
    assert not isinstance(found, Foreign)
    assert (found.error.kind, bytes(found.id)) == (errors.INVALID_REQUEST, id_)
    assert f"an object has the key '{key}' twice" in found.error.message


def test_of_a_batch_only_the_request_with_the_repeated_key_is_refused() -> None:
    found = parse(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"id":3,"method":"ping"}]')
    assert isinstance(found, list)
    assert [isinstance(each, Refused) for each in found] == [False, True]


@each_row(
    "message",
    [
        b'{"a":1,"b":{"a":1,"c":[{"a":1},{"a":1}]}}', b'{"a":"\\u00e9\\/"}', b'{"a": 1.50, "b": 1e400}',
        b'{"a":"\xc3\xa9"}',
        b'{"a":' + b"9" * 5000 + b"}", b"[]", b'"a:a"', b"{", b'{"\\"":1,"\\\\\\"":2}',
    ],
)  # fmt: skip
def test_what_has_each_key_once_has_none(message: bytes) -> None:
    assert repeated_key(message) is None


SCALARS = st.one_of(st.none(), st.text(max_size=4), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 2]))
def test_any_document_is_judged_as_it_is(document: object, plain: bool, indent: int | None) -> None:
    text = json.dumps(document, ensure_ascii=not plain, indent=indent)
    assert repeated_key(text.encode("utf-8", "replace")) is None
    doubled = f'{{"k": {text}, "other": [{{"x": 1, "k": 2, "x": {text}}}]}}'
    assert repeated_key(doubled.encode("utf-8", "replace")) == "x"
