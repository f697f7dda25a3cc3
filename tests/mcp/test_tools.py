"""What hosts and models are told of the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mnemond.api.types_changes import LinkParams
from mnemond.errors import MnemonError
from mnemond.mcp import protocol, tools
from mnemond.mcp.protocol import Address
from mnemond.model.memory import CATEGORIES
from tests.tables import each_row

PORTABLE = {"type", "description", "properties", "required", "items", "enum", "default", "minimum", "maximum"}
"""Keywords of JSON Schema that every host understands: no references, no compositions. Every session pays for each."""

DECLARED: dict[str, dict[str, Any]] = {
    name: json.loads(msgspec.json.encode(tool)) for name, tool in tools.tools("full").items()
}


def keywords(schema: dict[str, Any]) -> Iterator[str]:
    """Every keyword of a schema and of those in it."""
    yield from schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from keywords(inner)


def test_there_are_seven_always_in_the_same_order() -> None:
    assert list(tools.tools()) == ["recall", "remember", "related", "link", "forget", "update", "status"]
    assert list(tools.tools("full")) == [
        *tools.CORE,
        "memory_extract",
        "search",
        "get",
        "list",
        "restore",
        "entity",
        "entities",
        "relations",
        "reviews",
        "communities",
        "consolidate",
        "summarize",
        "resolve",
        "feedback",
    ]
    assert [json.loads(msgspec.json.encode(tool)) for tool in tools.tools("full").values()] == list(DECLARED.values())
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name) and tool["name"] == name for name, tool in DECLARED.items())


@each_row("name", list(tools.tools("full")))
def test_schemas_are_plain_objects(name: str) -> None:
    tool = DECLARED[name]
    schema = tool["inputSchema"]
    assert schema["type"] == "object"
    assert set(keywords({k: v for k, v in schema.items() if k != "properties"})) <= PORTABLE
    for prop in schema["properties"].values():
        assert set(keywords(prop)) <= PORTABLE
        assert isinstance(prop["type"], str)
    assert set(schema.get("required", [])) <= set(schema["properties"])
    assert tool["description"]


def test_every_hint_is_given_and_true() -> None:
    hints = {name: tool["annotations"] for name, tool in DECLARED.items()}
    assert all(
        set(each) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} for each in hints.values()
    )
    reading = {
        "recall",
        "related",
        "status",
        "search",
        "get",
        "list",
        "reviews",
        "communities",
        "entity",
        "entities",
        "relations",
    }
    assert {name for name, each in hints.items() if each["readOnlyHint"]} == reading
    assert {name for name, each in hints.items() if each["destructiveHint"]} == {"forget", "update", "resolve"}
    assert {name for name, each in hints.items() if each["openWorldHint"]} == set()


def test_two_are_always_loaded() -> None:
    always = {name for name, tool in DECLARED.items() if tool.get("_meta") == {"anthropic/alwaysLoad": True}}
    assert always == {"recall", "remember"}


def test_choices_are_those_of_the_methods_behind() -> None:
    recall = DECLARED["recall"]["inputSchema"]["properties"]
    assert set(recall["category"]["enum"]) == set(CATEGORIES)
    link = DECLARED["link"]["inputSchema"]["properties"]["type"]["enum"]
    for kind in link:
        msgspec.convert({"source_id": "aaaaaa", "target_id": "bbbbbb", "type": kind}, LinkParams)
    assert len(link) == 4
    assert recall["limit"]["maximum"] == tools.MAX_RECALLED


@each_row(
    ("uri", "address"),
    [
        ("mnemon://guide", Address(None, None)),
        ("mnemon://skill", Address(None, None, skill=True)),
        ("mnemon://memory/aaaaaaaa-0000", Address("aaaaaaaa-0000", None)),
        ("mnemon://store/office/core", Address(None, "office")),
    ],
)
def test_addresses_lead_somewhere(uri: str, address: Address) -> None:
    assert protocol.parse_uri(uri) == address


@each_row(
    "uri",
    ["", "mnemon://", "mnemon://memory/abc", "mnemon://memory/a/b/c/d", "mnemon://store/office", "file:///etc/passwd",
     "mnemon://store/../core/core", "mnemon://guide?x", "mnemon://memory/" + "a" * 65, "mnemon://memory/abc def"],
)  # fmt: skip
def test_or_are_refused(uri: str) -> None:
    with pytest.raises(MnemonError) as caught:
        protocol.parse_uri(uri)
    assert caught.value.kind.rpc == -32602
    assert caught.value.details == {"uri": uri}
