"""Where psycopg is not installed no store can be shared; nothing else changes, and nothing looks for it before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.daemon_process import NO_CAP, DaemonProcess, Launch
from benchmarks.wire import request

VARIABLE = "TEAM_DSN"


class Without(DaemonProcess):
    """A daemon that cannot import psycopg. `looked`: a file that is there once it tried. What a client imports is
    listed in tests/mnemonctl/test_processes.py."""

    launch: ClassVar[Launch] = staticmethod(DaemonProcess.launch)  # no fork of a process with its modules

    def __init__(self, data_dir: Path, modules: Path) -> None:
        super().__init__(data_dir)
        self.looked = modules / "looked"
        self._modules = modules
        (data_dir / "config.toml").write_text(NO_CAP)
        (modules / "psycopg.py").write_text(
            f"open({str(self.looked)!r}, 'w').close()\nraise ImportError(\"No module named 'psycopg'\")\n"
        )

    def environment(self) -> dict[str, str]:
        path = f"{self._modules}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        return super().environment() | {"PYTHONPATH": path, VARIABLE: "host=/nowhere user=ada"}


@pytest.fixture
def without(tmp_path: Path) -> Without:
    home, modules = tmp_path / "home", tmp_path / "modules"
    home.mkdir(mode=0o700)
    modules.mkdir()
    return Without(home, modules)


def test_a_store_of_one_daemon_needs_no_extra_and_a_shared_one_names_it(without: Without) -> None:
    with without as daemon, daemon.connect() as wire:
        wire.call("remember", content="The release train leaves on Tuesdays")
        assert wire.call("recall", query="release train")["results"]
        wire.call("store.create", name="work")
        wire.call("status", store="work")
        assert "release train" in wire.call("cli.run", argv=["recall", "release train"])["stdout"]
        assert not daemon.looked.exists()
        shown = wire.call("cli.run", argv=f"store create team --backend postgresql --dsn-env {VARIABLE}".split())
        assert shown["exit_code"] == 6
        assert "needs psycopg, which is not installed" in shown["stderr"]
        assert 'pip install \\"mnemond[postgresql]\\"' in shown["stderr"]
        assert daemon.looked.exists()
        names = [each["name"] for each in wire.call("store.list")["stores"]]
        assert "team" not in names
        assert wire.call("recall", query="release train")["results"]
        reply = json.loads(wire.round_trip(request(9, "status", {"store": "team"})))
        assert reply["error"]["data"]["code"] == "not_found"
