"""Requests of both eras."""

from __future__ import annotations

import json

import msgspec
import pytest

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.mcp.protocol import (
    CAPABILITIES,
    LEGACY,
    MODERN,
    VERSION,
    Era,
    McpRequest,
    cacheable,
    complete,
    negotiate,
    prompt,
    tool_error,
    tool_result,
)
from mnemond.mcp.tools import RecallArguments
from mnemond.wire.jsonrpc import NO_ID, encode_error
from tests.tables import each_row

META = {VERSION: MODERN, CAPABILITIES: {}}


def opened(params: object, *, modern: bool = False) -> McpRequest:
    return McpRequest(msgspec.Raw(json.dumps(params).encode()), modern=modern)


def refusal(params: object, *, modern: bool = False) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        opened(params, modern=modern)
    return caught.value


def test_a_request_that_names_its_revision_is_modern() -> None:
    assert opened({"_meta": META}).era is Era.MODERN
    assert opened({"_meta": {**META, "io.modelcontextprotocol/clientInfo": 5, "progressToken": 1}}).era is Era.MODERN


@each_row("params", [{}, {"_meta": {}}, {"_meta": {"progressToken": 3}}, {"name": "x"}])
def test_any_other_is_from_a_session(params: object) -> None:
    assert opened(params).era is Era.LEGACY
    assert McpRequest(None).era is Era.LEGACY


@each_row("params", [[], 5, "x", {"_meta": 5}, {"_meta": {VERSION: 5}}, {"_meta": {VERSION: MODERN}}])
def test_what_is_malformed_is_told(params: object) -> None:
    assert refusal(params).kind is INVALID_PARAMS


def test_a_method_of_the_modern_protocol_needs_its_meta() -> None:
    assert VERSION in refusal({}, modern=True).message


@each_row("version", ["2030-01-01", "", "2025-06-18", "x" * 500])
def test_another_revision_is_told_which_there_are(version: str) -> None:
    error = refusal({"_meta": {VERSION: version, CAPABILITIES: {}}})
    told = json.loads(encode_error(NO_ID, error))["error"]
    assert told["code"] == -32022
    assert told["data"]["supported"] == [MODERN]
    assert told["data"]["requested"] == version[:64]
    assert told["data"]["code"] == "unsupported_protocol_version"


def test_a_handshake_ends_with_what_both_speak() -> None:
    assert [negotiate(version) for version in LEGACY] == list(LEGACY)
    assert negotiate("2030-01-01") == negotiate(None) == negotiate(MODERN) == LEGACY[0]


def test_parameters_are_read_one_by_one() -> None:
    asked = opened({"name": "recall", "extra": 1, "arguments": {"query": "q", "category": None}})
    assert (asked.text("name"), asked.optional("name"), asked.optional("extra")) == ("recall", "recall", None)
    assert asked.arguments(RecallArguments) == RecallArguments(query="q")
    with pytest.raises(MnemonError, match="extra must be a string"):
        asked.text("extra")


@each_row(
    ("given", "sentence"),
    [
        ({}, "query is missing"),
        ({"arguments": None}, "query is missing"),
        ({"arguments": 5}, "arguments must be an object"),
        ({"arguments": {"query": "q", "lmit": 3}}, "did you mean"),
        ({"arguments": {"query": "q", "limit": 99}}, "allowed are 1 to 5"),
        ({"arguments": {"query": ""}}, "allowed are 1 to 8000"),
        ({"arguments": {"query": "q", "category": "x"}}, "must be one of"),
    ],
)
def test_bad_arguments_are_explained(given: object, sentence: str) -> None:
    with pytest.raises(MnemonError, match=sentence) as caught:
        opened(given).arguments(RecallArguments)
    assert caught.value.kind is INVALID_PARAMS


def test_results_say_to_modern_clients_alone_how_they_may_be_kept() -> None:
    assert complete(Era.LEGACY, {"a": 1}) == cacheable(Era.LEGACY, {"a": 1}, 5, "private") == {"a": 1}
    modern = cacheable(Era.MODERN, {"a": 1}, 5, "private")
    assert (modern["resultType"], modern["ttlMs"], modern["cacheScope"], modern["a"]) == ("complete", 5, "private", 1)
    assert "io.modelcontextprotocol/serverInfo" in str(modern["_meta"])
    assert set(complete(Era.MODERN, {})) == {"resultType", "_meta"}


def test_what_tools_and_prompts_say_is_text() -> None:
    assert tool_result("a") == {"content": [{"type": "text", "text": "a"}], "isError": False}
    assert tool_error("a") == {"content": [{"type": "text", "text": "a"}], "isError": True}
    told = prompt("d", "t")
    assert told["messages"] == [{"role": "user", "content": {"type": "text", "text": "t"}}]
