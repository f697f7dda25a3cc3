"""The MCP server that hosts run, over the end of a daemon and the beginning of the next."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.launcher import mcp
from mnemonctl.setup import own_files
from mnemond.errors import TOO_LARGE
from tests.setup.json_files import VALUES

WAIT_S = 30.0
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
ASKED = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "recall", "arguments": {"id": "b"}}}
SILENT_S, PING_S = 1.0, 2.0
"""Seconds in the launcher of `directory`, in the place of its own 4 and 3."""

NOTED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Host:
    """A program that runs the launcher."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [own_files.launcher(directory, "mcp")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,  # `select` sees no buffer
        )  # fmt: skip

    def say(self, *messages: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], WAIT_S)[0], "nothing was said"
        return json.loads(self.process.stdout.readline())

    def notices(self) -> None:
        """Waits until the thread that reads a connection has ended with it."""
        ends = time.monotonic() + WAIT_S
        while len(os.listdir(f"/proc/{self.process.pid}/task")) > 2:  # the first one, and the one that watches
            assert time.monotonic() < ends
            time.sleep(0.005)

    def leave(self) -> tuple[bytes, bytes]:
        """What else it said, and its complaints; it ends well."""
        out, complaints = self.process.communicate(timeout=WAIT_S)
        assert self.process.returncode == 0
        return out, complaints


class Served:
    """One connection, as the daemon has it; a `probe` does not begin with the directory."""

    def __init__(self, listener: socket.socket, *, probe: bool = False) -> None:
        listener.settimeout(WAIT_S)
        self.socket, _ = listener.accept()
        self.socket.settimeout(WAIT_S)
        self.lines = self.socket.makefile("rb")
        if not probe:
            where = {"jsonrpc": "2.0", "method": "hello", "params": {"directory": os.getcwd()}}
            assert self.read() == where  # before anything that depends on it

    def read(self) -> Any:
        return json.loads(self.lines.readline())

    def answer(self, number: object) -> None:
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode() + b"\n")

    def end(self) -> None:
        self.lines.close()
        self.socket.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with the launcher; what would start a daemon leaves a mark instead."""
    root = tmp_path / "m"
    root.mkdir(mode=0o700)
    for file in own_files.launcher_files(root):
        file.write()
        start = repr(tuple(map(os.fsencode, own_files.start_command(root))))
        text = file.text.replace(f"SILENT_S = {mcp.SILENT_S}\n", f"SILENT_S = {SILENT_S}\n")
        text = text.replace(f"PING_S = {mcp.PING_S}\n", f"PING_S = {PING_S}\n")
        program = text.replace(start, repr((b"/usr/bin/touch", os.fsencode(root / "started"))))
        file.path.write_text(program, "utf-8")
    return root


@contextmanager
def listening(directory: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(directory / "sock"))
        listener.listen(4)
        yield listener
    (directory / "sock").unlink()


def test_who_waits_for_an_answer_gets_it_from_the_next_daemon(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        host.say(ASKED)
        first = Served(listener)
        assert first.read() == ASKED
        first.socket.sendall(b'{"jsonrpc":"2.0","id":"a","resu')
        first.end()
        second = Served(listener)
        assert second.read() == ASKED
        second.answer("a")
        assert host.hear()["id"] == "a"
        second.end()
        assert host.leave() == (b"", b"")


def test_a_handshake_is_made_again_and_answered_once(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        host.say(HELLO, NOTED)
        first = Served(listener)
        assert [first.read(), first.read()] == [HELLO, NOTED]
        first.answer(0)
        assert host.hear()["id"] == 0
        first.end()
        host.notices()
        host.say(ASKED)
        second = Served(listener)
        assert [second.read(), second.read()] == [HELLO, ASKED]
        second.answer(0)
        second.answer("a")
        assert host.hear()["id"] == "a"
        host.say({**ASKED, "id": 0})  # the number of the handshake may be taken again
        assert second.read()["id"] == 0
        second.answer(0)
        assert host.hear()["id"] == 0
        second.end()
        assert host.leave() == (b"", b"")


def test_nothing_is_asked_a_third_time(directory: Path) -> None:
    """What ends two daemons might end every one."""
    with listening(directory) as listener:
        host = Host(directory)
        host.say(ASKED)
        for _ in range(2):
            served = Served(listener)
            assert served.read() == ASKED
            served.end()
        told = host.hear()
        assert (told["id"], told["error"]["code"]) == ("a", -32603)
        third = Served(listener)
        host.say({**ASKED, "id": 7})
        assert third.read()["id"] == 7
        third.answer(7)
        assert host.hear()["id"] == 7
        third.end()
        assert host.leave() == (b"", b"")


def test_what_was_cancelled_is_not_asked_again(directory: Path) -> None:
    """No answer to it comes, so it would wait for as long as the host stays."""
    given_up = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a", "reason": "id"}}
    with listening(directory) as listener:
        host = Host(directory)
        host.say(ASKED, {**ASKED, "id": 7}, given_up)
        first = Served(listener)
        assert [first.read()["id"], first.read()["id"], first.read()] == ["a", 7, given_up]
        first.end()
        second = Served(listener)
        assert second.read()["id"] == 7
        second.answer(7)
        assert host.hear()["id"] == 7
        second.end()
        assert host.leave() == (b"", b"")


def test_a_daemon_that_was_stopped_is_started_when_something_is_asked(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        Served(listener).end()
        host.notices()
    host.say(NOTED)
    assert not (directory / "started").exists()
    host.say(ASKED)
    ends = time.monotonic() + WAIT_S
    while not (directory / "started").exists():
        assert time.monotonic() < ends
        time.sleep(0.005)
    with listening(directory) as listener:
        served = Served(listener)
        assert served.read() == ASKED
        served.answer("a")
        assert host.hear()["id"] == "a"
        served.end()
        assert host.leave() == (b"", b"")


CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a", "reason": "{"}}
AGREED = {
    "jsonrpc": "2.0",
    "method": "notifications/subscriptions/acknowledged",
    "params": {"notifications": {}, "_meta": {"io.modelcontextprotocol/subscriptionId": "a"}},
}


@pytest.mark.parametrize("over", [CANCELLED, AGREED])
def test_what_is_answered_no_more_is_not_asked_again(over: dict[str, object], directory: Path) -> None:
    """A daemon that its user stops stays stopped, though a request was cancelled, or a subscription made."""
    with listening(directory) as listener:
        host = Host(directory)
        served = Served(listener)
        host.say(ASKED)
        assert served.read() == ASKED
        if over is CANCELLED:
            host.say(over)
            assert served.read() == over
        else:
            served.socket.sendall(json.dumps(over).encode() + b"\n")
            assert host.hear() == over
        served.end()
        host.notices()
    assert host.leave() == (b"", b"")
    assert not (directory / "started").exists()


def ping_of(served: Served) -> None:
    """The launcher asks whether the daemon is alive."""
    assert served.read() == json.loads(mcp.PING)
    served.answer(1)
    served.end()


def test_a_daemon_that_is_there_and_answers_nothing_is_an_error_within_the_deadline(directory: Path) -> None:
    """As one that was stopped by a signal: the system accepts connections for it."""
    with listening(directory) as listener:
        host = Host(directory)
        begun = time.monotonic()
        host.say(HELLO, ASKED)
        said = [host.hear(), host.hear()]
        assert SILENT_S <= time.monotonic() - begun <= DEADLINE_S
        assert [each["id"] for each in said] == [0, "a"]
        assert all("does not answer" in each["error"]["message"] for each in said)
        served = Served(listener)
        assert [served.read()["id"], served.read()["id"]] == [0, "a"]
        host.say({**ASKED, "id": "b"})
        for number in (0, "a", "b"):  # it goes on after all: what was answered already is dropped
            served.answer(number)
        assert host.hear()["id"] == "b"
        served.end()
        host.process.kill()
        assert host.process.communicate()[0] == b""


DEADLINE_S = mcp.SILENT_S + mcp.PING_S + 2 * mcp.WATCH_S + 3.0
"""Within which a host has an answer; and what a busy machine may need."""


def test_a_request_that_takes_long_is_waited_for_while_the_daemon_answers_pings(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        host.say(ASKED)
        served = Served(listener)
        assert served.read()["id"] == "a"
        ping_of(Served(listener, probe=True))
        served.answer("a")
        assert host.hear() == {"jsonrpc": "2.0", "id": "a", "result": {}}
        served.end()
        host.leave()


def test_a_daemon_that_takes_no_more_of_a_message_does_not_hold_up_the_host(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        listener.settimeout(WAIT_S)
        host.say({**ASKED, "params": "x" * 1_000_000})
        first = Served(listener)  # which reads nothing
        begun = time.monotonic()
        assert "error" in host.hear()
        assert time.monotonic() - begun <= 2 * DEADLINE_S
        first.end()
        host.process.kill()
        host.process.communicate()


def call_of(size: int, where: str) -> dict[str, object]:
    """A call of a tool with an id before its arguments, or behind them."""
    params = {"name": "remember", "arguments": {"content": 'a "quoted", {"id": 7}' + "x" * size, "id": "inner"}}
    call: dict[str, object] = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    return {"id": f"of {where}", **call} if where == "front" else {**call, "id": f"of {where}"}


def test_a_message_of_any_size_is_answered_and_the_session_goes_on(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        served = Served(listener)
        for size in (1 << 20, 1_200_000, 5 << 20):
            for where in ("front", "end"):
                host.say(call_of(size, where))
                told = host.hear()
                assert (told["id"], told["result"]["isError"]) == (f"of {where}", True)
                assert "longer than" in told["result"]["content"][0]["text"]
        host.say({"jsonrpc": "2.0", "id": 4, "method": "prompts/get", "params": "x" * (1 << 20)})
        assert host.hear()["error"]["code"] == TOO_LARGE.rpc
        host.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 1, "data": "x" * (1 << 20)}})
        host.say(ASKED)
        assert served.read() == ASKED  # and nothing before it
        served.answer("a")
        assert host.hear()["id"] == "a"
        served.end()
        out, complaints = host.leave()
        assert (out, complaints.count(b"longer than")) == (b"", 1)


@pytest.mark.check_all
def test_a_stopped_daemon_is_an_error_for_the_host(tmp_path: Path) -> None:
    root = tmp_path / "d"
    root.mkdir(mode=0o700)
    for file in own_files.launcher_files(root):
        file.write()
    daemon = DaemonProcess(root)
    daemon.start()
    host = Host(root)
    host.say(HELLO, NOTED)
    assert "result" in host.hear()
    pid = int((root / "lock").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        host.say({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
        said = host.hear()
        assert (said["id"], "error" in said) == (7, True)
        assert time.monotonic() - begun <= DEADLINE_S
    finally:
        os.kill(pid, signal.SIGCONT)
    host.say({"jsonrpc": "2.0", "id": 8, "method": "tools/list"})
    assert (found := host.hear())["id"] == 8
    assert "tools" in found["result"]
    host.leave()
    daemon.stop()


def test_a_host_that_leaves_while_no_daemon_runs_leaves_nothing(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        Served(listener).end()
        host.notices()
    assert host.leave() == (b"", b"")
    assert not (directory / "started").exists()


def test_what_answers_nobody_is_for_the_log(directory: Path) -> None:
    with listening(directory) as listener:
        host = Host(directory)
        served = Served(listener)
        served.answer(None)
        host.say(ASKED)
        assert served.read() == ASKED
        served.answer("a")
        assert host.hear()["id"] == "a"
        served.end()
        out, complaints = host.leave()
    assert out == b""
    assert complaints.startswith(b'mnemond-mcp: {"jsonrpc": "2.0", "id": null')


def test_a_session_outlives_the_daemon(tmp_path: Path) -> None:
    """The real one, killed while it is asked for nothing."""
    root = tmp_path / "d"
    root.mkdir(mode=0o700)
    for file in own_files.launcher_files(root):
        file.write()

    def use(number: int, name: str, **arguments: str) -> dict[str, object]:
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    daemon = DaemonProcess(root)
    daemon.start()
    host = Host(root)
    host.say(HELLO, NOTED, use(1, "remember", content="Releases happen on Tuesdays"))
    assert [host.hear()["id"], host.hear()["id"]] == [0, 1]
    daemon.stop()
    daemon.start()
    host.say(use(2, "recall", query="when are releases?"))
    assert "Tuesdays" in host.hear()["result"]["content"][0]["text"]
    host.say({"jsonrpc": "2.0", "id": 3, "method": "ping"})
    assert host.hear()["result"] == {}  # as in MCP: the handshake is known to the second daemon
    assert host.leave() == (b"", b"")
    daemon.stop()


@given(
    st.dictionaries(st.sampled_from(["id", "method", "ident", "\\", '"id"', "é"]), VALUES, max_size=5),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_a_member_is_found_as_it_is_written(document: dict[str, Any], indent: int | None, plain: bool) -> None:
    line = json.dumps(document, indent=indent, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    for name in ("id", "method"):
        found = mcp.member(line, json.dumps(name).encode())
        value = document.get(name)
        if name not in document or isinstance(value, dict | list):
            assert found == b""
        else:
            assert found == json.dumps(value, ensure_ascii=plain).encode("utf-8", "surrogatepass")


@given(st.binary(max_size=60), st.sampled_from([b"", b'{"id":', b'{"a":"', b'{"id":"\\', b"[{"]))
def test_nothing_makes_the_search_stumble(data: bytes, begin: bytes) -> None:
    assert mcp.member(begin + data, b'"id"') in begin + data


def test_the_directory_is_told_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / 'an "apollo" \\ \n é'
    place.mkdir()
    monkeypatch.chdir(place)
    assert json.loads(mcp.directory_notice())["params"] == {"directory": str(place)}
    place.rmdir()
    assert mcp.directory_notice() == b""
    unreadable = tmp_path / os.fsdecode(b"\xff")
    unreadable.mkdir()
    monkeypatch.chdir(unreadable)
    assert mcp.directory_notice() == b""
