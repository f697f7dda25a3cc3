"""The official Python SDK of MCP as a client, under trio, in every era."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemond.mcp.tools import tools
from tests.hosts import programs
from tests.hosts.agents import FACT, QUESTION
from tests.hosts.home import ended, home, without_network
from tests.hosts.stdio import WAYS, Way, server

pytestmark = pytest.mark.hosts

OPENING = {"auto": "server/discover", "legacy": "initialize", "2026-07-28": "tools/list"}
"""Its first word by its mode."""

CLIENT = """
import json, sys
import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def main(mode, fact, question, program, *arguments):
    server = StdioServerParameters(command=program, args=list(arguments))
    async with Client(stdio_client(server), mode=mode) as client:
        told = {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        kept = await client.call_tool("remember", {"content": fact, "category": "decision"})
        told["remember"] = kept.content[0].text
        told["recall"] = (await client.call_tool("recall", {"query": question})).content[0].text
        told["status"] = (await client.call_tool("status", {})).structured_content
        told["resources"] = [str(each.uri) for each in (await client.list_resources()).resources]
        told["templates"] = len((await client.list_resource_templates()).resource_templates)
        told["core"] = (await client.read_resource("mnemon://store/default/core")).contents[0].text
        told["prompts"] = [each.name for each in (await client.list_prompts()).prompts]
        told["brief"] = (await client.get_prompt("brief", {})).messages[0].content.text
        told["failed"] = (await client.call_tool("forget", {"id": "ffffffff"})).is_error
        try:
            await client.call_tool("nothing", {})
        except Exception as error:
            told["unknown"] = str(error)
    print(json.dumps(told))

anyio.run(main, *sys.argv[1:], backend="trio")
"""
"""Run by the interpreter that has the SDK."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", OPENING)
def test_it_finds_everything(mode: str, way: Way, tmp_path: Path) -> None:
    python = str(programs.python())
    with home(tmp_path) as at:
        command = [*without_network(), python, "-c", CLIENT, mode, FACT, QUESTION, *server(way, at)]
        status, stdout, stderr = ended(command, at.environ(), at.work)
        assert status == 0, stderr
        assert at.tap.methods()[0] == OPENING[mode]
    told: dict[str, Any] = json.loads(stdout)
    assert told["tools"] == list(tools())
    assert told["remember"].startswith("Remembered: ")
    assert FACT in told["recall"]
    assert told["status"]["memories"] == 1
    assert told["resources"] == ["mnemon://guide", "mnemon://skill", "mnemon://store/default/core"]
    assert told["templates"] == 2
    assert FACT in told["core"]
    assert FACT in told["brief"]
    assert told["prompts"] == ["brief", "review"]
    assert told["failed"] is True
    assert "there is no tool" in told["unknown"]
