"""What waits in the queue of a real daemon becomes memories, once, however the daemon ends."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Wire, request
from mnemond.model.changes import QueuedExchange
from mnemond.store import exchanges
from mnemond.store.connection import Connection
from tests.daemon.test_dialects import by_socket
from tests.daemon.typed import Terminal
from tests.faults.test_kill9 import PATIENCE_S, kill

NOW = "2026-02-02T00:00:00.000000Z"
NAMES = [f"{first}{second}" for first in ("Kestrel", "Larkspur", "Foxglove", "Bramble") for second in ("air", "dale")]


def queue(home: Path) -> None:
    """Turns that an earlier daemon was told of. Nobody has the store open."""
    connection = Connection(home / "data" / "default" / "mnemon.db")
    for number, name in enumerate(NAMES):
        said = QueuedExchange(
            host="codex", at_us=1_770_000_000_000_000 + number, conversation_id=f"c{number}", key=f"k{number}",
            prompt=f"We decided to use {name} for service number {number}. I always want {name} to be pinned.",
        )  # fmt: skip
        assert exchanges.enqueue(connection, f"00000000-0000-4000-8000-{number:012}", said, NOW)
    connection.close()


def stored(wire: Wire) -> list[str]:
    return sorted(each["content"] for each in wire.call("list", limit=100)["insights"])


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose store has a queue, and no daemon."""
    home = tmp_path_factory.mktemp("queued")
    with DaemonProcess(home) as daemon, daemon.connect() as wire:
        wire.call("remember", content="The garden needs water")
    queue(home)
    return home


@pytest.fixture
def home(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "home", ignore=shutil.ignore_patterns("sock"))


def test_it_is_read_and_recalled(home: Path) -> None:
    with DaemonProcess(home) as daemon, daemon.connect() as wire:
        assert wire.call("status")["pending_exchanges"] == len(NAMES)
        assert "8 exchanges to be read" in Terminal(home).type("mnemonctl status")
        assert wire.call("jobs.run", name="extract")["detail"] == f"exchanges read: {len(NAMES)}"
        assert wire.call("status")["pending_exchanges"] == 0
        best = wire.call("recall", query="what did we decide for service number 5?")["results"][0]["insight"]
        assert NAMES[5] in best["content"]
        found = stored(wire)
        assert wire.call("jobs.run", name="extract")["outcome"] == "nothing"
        assert stored(wire) == found


def test_killed_while_it_reads_every_fact_is_there_once(home: Path) -> None:
    daemon = DaemonProcess(home)
    daemon.start()
    with daemon.connect() as asking, daemon.connect() as looking:
        asking.post(request(1, "jobs.run", {"name": "extract"}))
        deadline = time.monotonic() + PATIENCE_S
        while looking.call("status")["total_insights"] < 3 and time.monotonic() < deadline:
            pass
        kill(daemon)
    with DaemonProcess(home) as again, again.connect() as wire:
        wire.call("jobs.run", name="extract")
        status, found = wire.call("status"), stored(wire)
        assert (status["pending_exchanges"], status["failed_exchanges"]) == (0, 0)
        assert len(set(found)) == len(found)
        assert all(any(name in each for each in found) for name in NAMES)
        assert wire.call("verify")["ok"]
    db = Connection(home / "data" / "default" / "mnemon.db", read_only=True)
    assert db.row("SELECT count(*), count(DISTINCT op_id) FROM memory_operations WHERE op_id LIKE '%/%'"
                  " AND operation_type = 'CREATE'") == (len(found) - 1,) * 2  # fmt: skip
    db.close()


def test_killed_before_it_is_read_an_exchange_is_on_record_once(tmp_path: Path) -> None:
    """It was on the disk when the hook was answered; the hook's repetition changes nothing."""

    def claude(daemon: DaemonProcess, event: str, **fields: object) -> None:
        said = {"session_id": "first", "cwd": "/home/ada/apollo", "hook_event_name": event, "prompt_id": "1", **fields}
        by_socket(daemon.socket_path, json.dumps(said).encode())

    daemon = DaemonProcess(tmp_path)
    daemon.start()
    answer = "The cause was a stale lock; deleting it fixed the deploy."
    with daemon.connect() as wire:
        for _ in range(2):
            claude(daemon, "UserPromptSubmit", prompt="Why does the deploy hang?")
            claude(daemon, "Stop", last_assistant_message=answer)
        assert wire.call("status")["passages"] == 1
        kill(daemon)
    with DaemonProcess(tmp_path) as again, again.connect() as wire:
        claude(again, "UserPromptSubmit", prompt="Why does the deploy hang?")
        claude(again, "Stop", last_assistant_message=answer)
        wire.call("jobs.run", name="extract")
        assert wire.call("status")["passages"] == 1
        assert wire.call("verify")["ok"]
    db = Connection(tmp_path / "data" / "default" / "mnemon.db", read_only=True)
    assert db.rows("SELECT prompt, answer FROM passages") == [("Why does the deploy hang?", answer)]
    db.close()


def test_what_one_session_decides_the_next_one_is_told(tmp_path: Path) -> None:
    def claude(event: str, session: str, **fields: object) -> dict[str, Any]:
        (answer,) = by_socket(
            daemon.socket_path,
            json.dumps({"session_id": session, "cwd": "/home/ada/apollo", "hook_event_name": event, **fields}).encode(),
        )
        return cast("dict[str, Any]", answer)

    with DaemonProcess(tmp_path) as daemon, daemon.connect() as wire:
        prompt = "We decided to use Kestrelair for the billing service."
        for _ in range(2):
            claude("UserPromptSubmit", "first", prompt_id="1", prompt=prompt)
            assert claude("Stop", "first", prompt_id="1", last_assistant_message="Noted, thanks!") == {}
        claude("PostCompact", "first", trigger="auto", compact_summary="Ada moves billing to another service.")
        deadline = time.monotonic() + PATIENCE_S
        while wire.call("status")["pending_exchanges"] < 2 and time.monotonic() < deadline:
            pass
        assert wire.call("jobs.run", name="extract")["detail"] == "exchanges read: 2"
        decided, summary = sorted(wire.call("list")["insights"], key=lambda it: it["category"], reverse=True)
        assert (decided["category"], decided["project"], decided["source"]) == ("decision", "apollo", "user")
        assert (summary["category"], summary["content"]) == ("context", "Ada moves billing to another service.")
        brief = json.dumps(claude("SessionStart", "second", source="startup"))
        assert "Kestrelair for the billing service" in brief
