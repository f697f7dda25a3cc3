"""The real daemon, spoken to as hosts do: a program between pipes and the socket that knows nothing of either."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.wire.hooks.recorded import CONTEXT, Recorded, recorded

WAIT_S = 30.0
VERSION = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}

Talk = Callable[[bytes], list[Any]]


def netcat() -> str | None:
    """A netcat that can half-close."""
    found = shutil.which("nc")
    if found is None:
        return None
    said = subprocess.run([found, "-h"], capture_output=True, text=True, check=False, timeout=WAIT_S)
    return found if "-N" in said.stdout + said.stderr else None


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture(params=["socket", "nc"])
def talk(request: pytest.FixtureRequest, daemon: DaemonProcess) -> Talk:
    """Everything that is answered to these bytes and the end of the input."""
    if request.param == "socket":
        return lambda data: by_socket(daemon.socket_path, data)
    program = netcat()
    if program is None:
        pytest.skip("no netcat with -N")

    def by_netcat(data: bytes) -> list[Any]:
        done = subprocess.run(
            [program, "-N", "-U", str(daemon.socket_path)], input=data, capture_output=True, check=True, timeout=WAIT_S
        )
        assert done.stderr == b""
        return [json.loads(line) for line in done.stdout.splitlines()]

    return by_netcat


def by_socket(path: Path, data: bytes) -> list[Any]:
    """As netcat does it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_S)
        client.connect(str(path))

        def send() -> None:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        sender.join()
    return [json.loads(line) for line in answer.splitlines()]


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def asked(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def modern(number: int, method: str, **params: object) -> dict[str, object]:
    return asked(number, method, **params, _meta=VERSION)


def by_id(replies: list[Any]) -> dict[int, Any]:
    return {reply["id"]: reply.get("result", reply.get("error")) for reply in replies}


@pytest.mark.parametrize("one", recorded()[::7], ids=lambda one: f"{one.host}-{one.event}")
@pytest.mark.parametrize("ending", [b"", b"\n"], ids=["bare", "line"])
def test_it_is_a_whole_hook_command(one: Recorded, ending: bytes, talk: Talk) -> None:
    (answer,) = talk(one.message + ending)
    nothing = {"cancel": False, "contextModification": "", "errorMessage": ""} if one.host == "cline" else {}
    assert without_words(answer) in (nothing, one.says)  # a session that begins is told what memory is


def without_words(answer: Any) -> Any:
    """An answer with CONTEXT for what memory says in it."""
    if isinstance(answer, dict):
        return {name: without_words(value) for name, value in answer.items()}
    return CONTEXT if isinstance(answer, str) and answer.startswith("mnemond ") else answer


def test_a_payload_of_four_megabytes_is_no_trouble(talk: Talk) -> None:
    payload = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_response": {"stdout": "x" * (4 << 20)}}
    assert talk(json.dumps(payload).encode()) == [{}]


def test_it_is_a_whole_server_of_sessions(talk: Talk) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "codex", "version": "0.169"}}
    content = "Chose SQLite as storage because the team lacks Redis experience"
    begin = [asked(1, "initialize", **hello), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    first = by_id(talk(lines(*begin, asked(2, "tools/list"), asked(3, "ping"), remembering(4, content))))
    assert first[1]["protocolVersion"] == "2025-06-18"
    assert [tool["name"] for tool in first[2]["tools"]][:2] == ["recall", "remember"]
    assert first[3] == {}
    assert first[4]["isError"] is False
    second = by_id(talk(lines(*begin, asked(2, "tools/call", name="recall", arguments={"query": "why SQLite?"}))))
    assert content in second[2]["content"][0]["text"]


def remembering(number: int, content: str) -> dict[str, object]:
    return asked(number, "tools/call", name="remember", arguments={"content": content})


def test_it_is_a_whole_server_without_sessions(talk: Talk) -> None:
    listening = modern(7, "subscriptions/listen", notifications={"toolsListChanged": True})
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    replies = talk(
        lines(
            modern(1, "server/discover"), listening, cancelled,
            modern(2, "tools/call", name="status", arguments={}), modern(3, "resources/read", uri="mnemon://guide"),
            asked(4, "tools/list", _meta={**VERSION, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}),
        )
    )  # fmt: skip
    (acknowledged,) = [reply for reply in replies if "method" in reply]
    assert acknowledged["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 7}
    found = by_id([reply for reply in replies if "id" in reply])
    assert set(found) == {1, 2, 3, 4}
    assert all(found[number]["resultType"] == "complete" for number in (1, 2, 3))
    assert found[4]["code"] == -32022


def test_all_four_share_one_connection(talk: Talk) -> None:
    replies = talk(
        lines(
            asked(1, "ping"),
            {"hook_event_name": "SessionStart", "session_id": "s"},
            modern(2, "tools/list"),
            asked(3, "initialize", protocolVersion="2024-11-05", capabilities={}),
            asked(4, "ping"),
            {"a": 1},
            asked(5, "hello"),
        )
    )
    answers = {reply.get("id", "hook"): reply for reply in replies}
    assert set(answers) == {1, "hook", 2, 3, 4, None, 5}
    assert answers[1]["result"] == {"ok": True}
    assert "error" not in answers["hook"]
    assert answers[4]["result"] == {}
    assert answers[None]["error"]["code"] == -32600
    assert answers[5]["result"]["name"] == "mnemond"


def test_notifications_of_mcp_are_never_answered(talk: Talk) -> None:
    silent = [
        {"jsonrpc": "2.0", "method": method, "params": {"x": 1}}
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/progress", "tools/list",
                       "tools/call", "subscriptions/listen", "resources/list", "initialize")
    ]  # fmt: skip
    assert [reply["id"] for reply in talk(lines(*silent, asked(9, "hello")))] == [9]
