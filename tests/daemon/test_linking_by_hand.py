"""link, unlink, related, pin and search as a person types them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

SCENES = {
    "a chain of causes, and the circle that is refused": """\
$ mnemonctl remember "zebra" -q --source one
00000001
$ mnemonctl remember "violin" -q --source two
00000002
$ mnemonctl unlink 00000001 00000002
Unlinked 00000001 and 00000002: 1 link removed (temporal)
  undo: mnemonctl undo 0000000a
$ mnemonctl link 00000001 00000002 --type causal --weight .8 --sub-type causes
Linked 00000001 → 00000002: causal, weight .80
  {"sub_type":"causes","created_by":"user"}
  undo: mnemonctl undo 0000000b
$ mnemonctl link 00000002 00000001 --type causal
mnemonctl: this link would close a circle of causes: 00000002 → 00000001 → 00000002
  unlink one of these, or give allow_cycle (--allow-cycle) if they do cause each other
$ mnemonctl related 00000002 --edge causal
00000001  general/3  1 link away, over causal .80
   zebra
$ mnemonctl unlink 00000002 00000001 ; echo $?
mnemonctl: no link leads from 00000002 to 00000001; the causal one leads the other way, from 00000001 to 00000002
  mnemonctl unlink 00000001 00000002 --type causal
3
$ mnemonctl unlink 00000001 00000002 --type causal
Unlinked 00000001 and 00000002: 1 link removed (causal)
  undo: mnemonctl undo 0000000c
$ mnemonctl related 00000001
nothing is linked to it
$ mnemonctl undo 0000000c > /dev/null
$ mnemonctl related 00000001
00000002  general/3  1 link away, over causal .80
   violin
""",
    "a memory that is pinned": """\
$ mnemonctl remember "the tax number is in the blue folder" -q --tag home
00000001
$ mnemonctl pin 00000001
Pinned 00000001: kept until it is unpinned: never pruned, never replaced by a new memory
  undo: mnemonctl undo 0000000a
$ mnemonctl pin 00000001 --unpin
Unpinned 00000001: an ordinary memory again
  undo: mnemonctl undo 0000000b
$ mnemonctl search blue folders -n 1
1. 00000001  general/3  score .56
   the tax number is in the blue folder
   #home
$ mnemonctl search elsewhere
no memory has any of these words
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def terminal(daemon: DaemonProcess, request: pytest.FixtureRequest) -> Terminal:
    name = "".join(char for char in request.node.name if char.isalnum())[:40]
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    return Terminal(daemon.data_dir, MNEMON_STORE=name)


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str, terminal: Terminal) -> None:
    play(SCENES[scene], terminal)
