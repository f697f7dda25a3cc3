"""Cues as a person and an agent type them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

SCENES = {
    "found by a cue": """\
$ mnemonctl remember "Every change to main goes through a merge request" -q --cue "can I just commit this"
00000001
$ mnemonctl remember "The build of main takes an hour" -q
00000002
$ mnemonctl recall "just commit it?" --explain --limit 1 --text | grep "its cue"
   found by its cue "can I just commit this"
$ mnemonctl update 00000001 --cue "push rejected 403" --cue "hotfix right now"
Updated 00000001: cues
  undo: mnemonctl undo 0000000a
$ mnemonctl get 00000001 --text | grep cues
  cues                  push rejected 403; hotfix right now
$ mnemonctl undo > /dev/null
$ mnemonctl get 00000001 --text | grep cues
  cues                  can I just commit this
$ mnemonctl doctor --full --text | grep -o "^0 problems"
0 problems
""",
    "given later": """\
$ mnemonctl remember "Every change to main goes through a merge request" -q
00000001
$ mnemonctl cues
1 memory without cues in store "givenlater"
00000001  Every change to main goes through a merge request
$ mnemonctl cues --missing --json | sed 's/"cues":\\[\\]/"cues":["hotfix right now"]/' | mnemonctl cues --apply -
Gave cues to 1 memory
  undo: mnemonctl undo 0000000a
$ mnemonctl cues
Every memory in store "givenlater" has cues
$ mnemonctl recall "hotfix" --limit 1 -q
00000001
$ mnemonctl remember "x" --cue " " ; echo $?
mnemonctl: cues[0] is empty; it needs 1 to 200 characters
  1 problem; nothing was written
2
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.check_all
def test_scenes(scene: str, daemon: DaemonProcess) -> None:
    name = scene.replace(" ", "")
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    play(SCENES[scene], Terminal(daemon.data_dir, MNEMON_STORE=name))
