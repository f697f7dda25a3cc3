"""The daemon with an embedder behind an endpoint: it starts, answers and stops whatever that server does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import request
from tests.embed import ollama_fake
from tests.embed.servers import Answer

SETTINGS = '[embedding]\nprovider = "ollama"\nendpoint = "{url}"\nprobe_timeout_s = {probe_s}\ntimeout_s = 20\n'


@pytest.fixture
def fake() -> Iterator[ollama_fake.Ollama]:
    with ollama_fake.running() as running:
        yield running


def configured(data_dir: Path, fake: ollama_fake.Ollama, probe_s: float = 20.0) -> DaemonProcess:
    (data_dir / "config.toml").write_text(SETTINGS.format(url=fake.url, probe_s=probe_s))
    return DaemonProcess(data_dir)


def hanging(_: object) -> Answer:
    return Answer(hang=True)


def test_a_server_that_hangs_keeps_the_daemon_from_nothing(tmp_path: Path, fake: ollama_fake.Ollama) -> None:
    fake.rules = {"/api/tags": hanging}
    with configured(tmp_path, fake, probe_s=0.3) as daemon, daemon.connect() as wire:
        made = wire.call("remember", content="tea at four")
        assert (made["embedded"], made["degraded"]) == (False, True)
        assert "did not answer within 0.3 s" in made["embed_error"]
        assert wire.call("recall", query="tea")["results"][0]["insight"]["id"] == made["id"]
        error = json.loads(wire.round_trip(request(1, "embed.run", {})))["error"]["data"]
        assert (error["code"], error["retryable"]) == ("unavailable", True)
        shown = wire.call("cli.run", argv=["embed", "--missing"])
        assert (shown["exit_code"], "did not answer" in shown["stderr"]) == (6, True)
    assert '"event":"no embedder"' in (tmp_path / "benchmark-stderr.log").read_text()


def test_a_stop_does_not_wait_for_what_is_being_embedded(tmp_path: Path, fake: ollama_fake.Ollama) -> None:
    daemon = configured(tmp_path, fake)
    daemon.start()
    with daemon.connect() as wire, daemon.connect() as other:
        for number in range(3):
            wire.call("remember", content=f"note number {number}", no_diff=True)
        asked = threading.Event()

        def hold(_: object) -> Answer:
            asked.set()
            return Answer(hang=True)

        fake.rules = {"/api/embed": hold}
        wire.post(request(1, "embed.run", {"all": True}))
        assert asked.wait(20)
        seen = other.call("embed.status")
        assert (seen["work"]["kind"], seen["work"]["total"]) == ("run", 3)
        assert other.call("recall", query="note", anchors=["keyword"])["results"]
        took = daemon.stop()
        reply = json.loads(wire.take())
        assert reply["error"]["data"]["code"] == "stopping"
        assert took < 10


def test_a_whole_store_is_embedded_through_the_command_line(tmp_path: Path, fake: ollama_fake.Ollama) -> None:
    with configured(tmp_path, fake) as daemon, daemon.connect() as wire:
        for number in range(25):
            wire.call("remember", content=f"note {number} about topic{number} and place{number}", no_diff=True)
        shown = wire.call("cli.run", argv=["embed", "--all", "--text"])
        assert shown["stdout"] == "Embedded 25 memories with nomic-embed-text\n"
        status = json.loads(wire.call("cli.run", argv=["embed"])["stdout"])
        assert (status["embedded"], status["coverage"], status["ollama_available"]) == (25, 1.0, True)
        shown = wire.call("cli.run", argv=["embed", "--switch", "builtin", "--text"])
        assert shown["stdout"].startswith("Switching to minilm_static_256_int8: 25 memories to embed\n")
        refused = wire.call("cli.run", argv=["embed", "--switch", "openai:x"])
        assert refused["exit_code"] in (2, 4)
