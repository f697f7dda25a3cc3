"""Open more connections than the limit: held ones stay, others are refused with a reason, and none pile up."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from contextlib import ExitStack

from benchmarks.daemon_process import DaemonProcess
from benchmarks.report import Cell, table
from benchmarks.wire import TIMEOUT_S, Json, RpcError, Wire, request

HELD = 256
"""Connections that are kept open (`server.max_connections`)."""
PING = request(1, "ping", {})


def measure(daemon: DaemonProcess, attempts: int, held: int = HELD) -> Json:
    """Hold connections, try so many more, and see how soon there is room again."""
    before = daemon.usage()
    with ExitStack() as stack:
        wires = [stack.enter_context(daemon.connect()) for _ in range(held)]
        served = sum(_answers(wire) for wire in wires)
        begin = time.perf_counter()
        answers = [_attempt(daemon) for _ in range(attempts)]
        took = time.perf_counter() - begin
        kept = sum(_answers(wire) for wire in wires)
    begin = time.perf_counter()
    while not _welcome(daemon):
        pass
    again = time.perf_counter() - begin
    return {
        "held": held, "served": served, "kept": kept, "attempts": attempts,
        "refused": answers.count("refused"), "answered": answers.count("answered"), "silent": answers.count("silent"),
        "attempts_per_s": attempts / took, "room_again_s": again,
        "rss_growth_mib": daemon.usage().rss_mib - before.rss_mib,
    }  # fmt: skip


def _answers(wire: Wire) -> bool:
    try:
        wire.exchange(PING)
    except (RpcError, OSError):
        return False
    return True


def _attempt(daemon: DaemonProcess) -> str:
    """Return the outcome for one more client."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_S)
        client.connect(str(daemon.socket_path))
        with contextlib.suppress(BrokenPipeError):
            client.sendall(PING)
        try:
            line = client.recv(1 << 16)
        except ConnectionResetError:
            return "silent"
    if not line:
        return "silent"
    return "answered" if "result" in json.loads(line) else "refused"


def _welcome(daemon: DaemonProcess) -> bool:
    with daemon.connect() as wire:
        return _answers(wire)


def render(figures: Json) -> str:
    """A table."""
    rows: list[list[Cell]] = [[name.replace("_", " "), value] for name, value in figures.items()]
    return table("a crowd of clients", ("", ""), rows)
