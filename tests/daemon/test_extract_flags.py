"""Every flag that Mem0's design publishes for extraction, through each way in: Python, the shell, MCP, Mem0's class.

`messages`, `user_id`, `session_id`, `agent_id` and `auto_resolve_conflicts`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemonctl.mem0 import Memory
from mnemond.api.types_extract import MessageParam
from tests.daemon.test_dialects import asked, by_id, by_socket, lines
from tests.daemon.typed import Terminal

OLD, NEW = "I live in Lisbon.", "I live in Porto now."
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

Extract = Callable[..., None]
"""(messages, store=…, and flags) without a result."""

FLAGS = {
    "user_id": "user-id", "session_id": "session-id", "agent_id": "agent-id",
    "auto_resolve_conflicts": "auto-resolve-conflicts",
}  # fmt: skip


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    place = tmp_path_factory.mktemp("daemon")
    (place / "config.toml").write_text('[mcp]\ntools = "full"\n')
    with DaemonProcess(place) as running:
        yield running


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    with Client(data_dir=daemon.data_dir, start=False) as found:
        yield found


@pytest.fixture(params=["python", "shell", "mcp", "mem0"])
def extract(request: pytest.FixtureRequest, daemon: DaemonProcess, client: Client) -> Extract:
    def by_shell(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        switches = {True: "--{}", False: "--no-{}"}
        words = [switches.get(value, f"--{{}}={value}").format(FLAGS[name]) for name, value in flags.items()]
        said = shlex.quote(json.dumps(messages))
        shown = Terminal(daemon.data_dir).type(
            f"echo {said} | mnemonctl extract --messages - --store {store} {shlex.join(words)} -q"
        )
        assert len(shown.split()) == 1, shown

    def by_mcp(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        call = asked(2, "tools/call", name="memory_extract", arguments={"messages": messages, "store": store, **flags})
        begin = [asked(1, "initialize", **HELLO), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        answer = by_id(by_socket(daemon.socket_path, lines(*begin, call)))[2]
        assert answer["isError"] is False, answer

    def by_mem0(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        named = {{"session_id": "run_id"}.get(name, name): value for name, value in flags.items()}
        with Client(data_dir=daemon.data_dir, store=store, start=False) as of_store:
            (found,) = Memory(of_store).add(messages, **named)["results"]
        assert found["id"]

    def by_python(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        client.extract(messages=msgspec.convert(messages, tuple[MessageParam, ...]), store=store, **flags)

    found: dict[str, Extract] = {"python": by_python, "shell": by_shell, "mcp": by_mcp, "mem0": by_mem0}
    return found[request.param]


def stored(client: Client, store: str) -> dict[str, dict[str, str | None]]:
    """The scope of each active memory, by its text."""
    found = client.list(store=store, limit=50, all_sessions=True)
    return {each.content: _scope(client, store, each.id) for each in found.insights}  # type: ignore[union-attr]


def _scope(client: Client, store: str, memory_id: str) -> dict[str, str | None]:
    it = client.get(id=memory_id, store=store).insight
    return {name: value for name in FLAGS if (value := getattr(it, name, None)) is not None}


def turn(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def store(request: pytest.FixtureRequest, daemon: DaemonProcess) -> str:
    name = "".join(char for char in request.node.name if char.isalnum())[-40:]
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    return name


def test_a_scope_is_that_of_the_fact(extract: Extract, client: Client, store: str) -> None:
    scope = {name: f"the-{name[:4]}" for name in ("user_id", "session_id", "agent_id")}
    extract([*turn("Hello!"), {"role": "assistant", "content": "Hi."}, *turn(OLD)], store=store, **scope)
    assert stored(client, store) == {"[User] I live in Lisbon.": scope}


def test_conflicts_are_resolved_as_the_flag_says(extract: Extract, client: Client, store: str) -> None:
    extract(turn(OLD), store=store, user_id="ana")
    extract(turn(NEW), store=store, user_id="ana", auto_resolve_conflicts=False)
    assert set(stored(client, store)) == {"[User] I live in Lisbon.", "[User] I live in Porto now."}
    assert client.reviews(store=store).total == 1
