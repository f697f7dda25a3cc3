"""Relations as a person types them: what is stated, what stands together, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

SCENES = {
    "what stands together": """\
$ mnemonctl remember "Ana works at Acme since 2024-03-01" --relation "Ana works_at Acme" -q
00000001
$ mnemonctl remember "Ana and Bob met in Oslo" -q
00000002
$ mnemonctl remember "Bob prepared the talk with Ana" -q
00000003
$ mnemonctl relations list --of Ana
00000004  Ana works_at Acme
  said 2026-11-27 in 00000001: Ana works at Acme since 2024-03-01
$ mnemonctl relations list --of Ana --together
00000004  Ana works_at Acme
  said 2026-11-27 in 00000001: Ana works at Acme since 2024-03-01
together with Bob  in 2 memories: 00000003, 00000002
together with Oslo  in 1 memory: 00000002
$ mnemonctl relations list --together
mnemonctl: together needs a name: of which thing or person
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str, daemon: DaemonProcess) -> None:
    store = "".join(char for char in scene if char.isalpha())
    with daemon.connect() as wire:
        wire.call("store.create", name=store)
    play(SCENES[scene], Terminal(daemon.data_dir, MNEMON_STORE=store))
