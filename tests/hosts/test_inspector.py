"""The MCP inspector: what it reads in each era, and what it has to say about our schemas (`--strict`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hosts import programs
from tests.hosts.agents import FACT
from tests.hosts.home import ended, home, without_network
from tests.hosts.stdio import WAYS, Way, server

pytestmark = pytest.mark.hosts

OPENING = {"legacy": "initialize", "auto": "server/discover", "modern": "server/discover"}
"""Its first word by the era that it is told."""

ASKED = (
    ("initialize", (), "mnemond"),
    ("tools/list", ("--strict",), "alwaysLoad"),
    ("tools/call", ("--tool-name", "remember", "--tool-args-json", json.dumps({"content": FACT})), "Remembered"),
    ("tools/call", ("--tool-name", "recall", "--tool-args-json", '{"query":"release"}'), FACT),
    ("resources/list", (), "mnemon://guide"),
    ("resources/templates/list", (), "mnemon://memory/{id}"),
    ("resources/read", ("--uri", "mnemon://store/default/core"), FACT),
    ("prompts/list", (), "review"),
    ("prompts/get", ("--prompt-name", "brief"), FACT),
)
"""A method, what it is asked with, and what has to be in the answer."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", OPENING)
def test_it_finds_nothing_wrong(era: str, way: Way, tmp_path: Path) -> None:
    tool = str(programs.program("mcp-inspector"))
    with home(tmp_path) as at:
        program, *arguments = server(way, at)
        config = tmp_path / "servers.json"
        entry = {"command": program, "args": arguments, "protocolEra": era}
        config.write_text(json.dumps({"mcpServers": {"mnemond": entry}}), encoding="utf-8")
        environ = {**at.environ(), "MCP_INSPECTOR_SECRET_STORE": "memory"}
        begin = [*without_network(), tool, "--cli", "--config", str(config), "--server", "mnemond", "--format", "json"]
        for method, more, expected in ASKED:
            status, stdout, stderr = ended([*begin, "--method", method, *more], environ, at.work)
            assert status == 0, (method, stdout, stderr)
            assert expected in stdout
        assert at.tap.methods()[0] == OPENING[era]


def test_it_is_told_of_a_mistake(tmp_path: Path) -> None:
    tool = str(programs.program("mcp-inspector"))
    with home(tmp_path) as at:
        program, *arguments = server("launcher", at)
        config = tmp_path / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"mnemond": {"command": program, "args": arguments}}}), "utf-8")
        environ = {**at.environ(), "MCP_INSPECTOR_SECRET_STORE": "memory"}
        asked = ["--method", "tools/call", "--tool-name", "recall", "--tool-args-json", '{"limit":3}']
        command = [*without_network(), tool, "--cli", "--config", str(config), "--server", "mnemond", *asked]
        status, stdout, stderr = ended(command, environ, at.work)
    assert status != 0
    assert "query" in stdout + stderr
