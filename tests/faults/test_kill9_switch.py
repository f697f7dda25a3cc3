"""kill -9 in the middle of a switch of embedders: the store serves its old vectors, and the next daemon goes on."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Json, Wire
from tests.embed import ollama_fake
from tests.embed.servers import Answer, Request
from tests.faults.test_kill9 import PATIENCE_S, kill

MEMORIES = 45
OLLAMA = '[embedding]\nprovider = "ollama"\nendpoint = "{url}"\n'


class Gate:
    """Lets so many requests for vectors through, then holds the others until it is opened."""

    def __init__(self, fake: ollama_fake.Ollama, allowed: int) -> None:
        self._fake = fake
        self._left = allowed
        self._open = threading.Event()
        self.held = threading.Event()

    def __call__(self, request: Request) -> Answer:
        self._left -= 1
        if self._left < 0:
            self.held.set()
            self._open.wait(PATIENCE_S)
        return self._fake._embed(request.json)

    def open(self) -> None:
        self._open.set()


def status_when(wire: Wire, is_so: str) -> Json:
    """`embed.status` once it names this model."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found: Json = wire.call("embed.status")
        if found["model"] == is_so:
            return found
    raise AssertionError(f"the store was not switched to {is_so}: {found}")


@pytest.fixture(scope="module")
def fake() -> Iterator[ollama_fake.Ollama]:
    with ollama_fake.running() as running:
        yield running


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, fake: ollama_fake.Ollama) -> Path:
    """A data directory whose daemon was killed with 20 vectors of the new model staged."""
    data_dir = tmp_path_factory.mktemp("killed")
    kill_half_way(data_dir, fake)
    return data_dir


@pytest.fixture
def home(killed: Path, tmp_path: Path, fake: ollama_fake.Ollama) -> Path:
    """What the killed daemon left, for one test alone."""
    fake.rules = {}
    fake.server.requests.clear()
    return shutil.copytree(killed, tmp_path / "home", ignore=shutil.ignore_patterns("sock"))


def kill_half_way(data_dir: Path, fake: ollama_fake.Ollama) -> None:
    with DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        for number in range(MEMORIES):
            wire.call("remember", content=f"the garden needs water on day {number}", no_diff=True)
    (data_dir / "config.toml").write_text(OLLAMA.format(url=fake.url))
    gate = Gate(fake, allowed=2)
    fake.rules = {"/api/embed": gate}
    daemon = DaemonProcess(data_dir)
    daemon.start()
    with daemon.connect() as wire:
        begun = wire.call("embed.switch", provider="ollama")
        assert (begun["status"], begun["total"]) == ("switching", MEMORIES)
        assert gate.held.wait(PATIENCE_S)
        seen = wire.call("embed.status")
        assert (seen["model"], seen["switch"]["done"], seen["embedded"]) == ("minilm_static_256_int8", 20, MEMORIES)
        assert wire.call("recall", query="water for the garden")["meta"]["embedding"] == "minilm_static_256_int8"
        kill(daemon)
    gate.open()
    fake.rules = {}


def test_the_next_daemon_goes_on_where_it_was(home: Path, fake: ollama_fake.Ollama) -> None:
    with DaemonProcess(home) as daemon, daemon.connect() as wire:
        seen = status_when(wire, "nomic-embed-text")
        assert (seen["embedded"], seen["switch"], seen["stale"]) == (MEMORIES, None, 0)
        assert wire.call("recall", query="water for the garden")["meta"]["embedding"] == "nomic-embed-text"
    assert sum(len(texts) for texts in fake.inputs() if len(texts) > 1) <= MEMORIES - 20
    db = apsw.Connection(str(home / "data" / "default" / "mnemon.db"))
    found = db.execute("SELECT embedding_model, length(embedding), count(*) FROM insights GROUP BY 1, 2").fetchall()
    assert found == [("nomic-embed-text", 4 * ollama_fake.DIMENSION, MEMORIES)]
    assert db.execute("SELECT count(*) FROM staged_vectors").fetchall() == [(0,)]
    assert db.pragma("integrity_check") == "ok"
    db.close()


def test_it_can_be_given_up_after_the_crash(home: Path, fake: ollama_fake.Ollama) -> None:
    gate = Gate(fake, allowed=0)
    fake.rules = {"/api/embed": gate}
    with DaemonProcess(home) as daemon, daemon.connect() as wire:
        assert gate.held.wait(PATIENCE_S)
        done = wire.call("embed.switch", abort=True)
        assert (done["status"], done["dropped"]) == ("aborted", 20)
        seen = wire.call("embed.status")
        assert (seen["model"], seen["embedded"], seen["switch"]) == ("minilm_static_256_int8", MEMORIES, None)
        gate.open()
