"""update, merge, supersede, restore and forget --purge as a person types them; and what a purge leaves on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemond.embed.registry import DEFAULT, create
from tests.daemon.typed import Terminal, play

SCENES = {
    "one of two, and back": """\
$ mnemonctl remember "zebra; violin" -q --source one
00000001
$ mnemonctl remember "violin lessons" -q --source two --importance 5
00000002
$ mnemonctl unlink 00000001 00000002 > /dev/null
$ mnemonctl merge 00000001 00000002
Merged 00000002 into 00000001
  violin lessons; zebra
  undo: mnemonctl undo 0000000a
$ mnemonctl restore 00000002
mnemonctl: 00000001 stands in the place of 00000002 and is active; with both, recall would show the old and the new
  forget 00000001 first, or give force (--force) to have both
$ mnemonctl undo 0000000a > /dev/null
$ mnemonctl list -q
00000002
00000001
""",
    "another text": """\
$ mnemonctl remember "zebra" -q
00000001
$ mnemonctl update 00000001 --importance 5 --tags home,garden
Updated 00000001: importance, tags
  undo: mnemonctl undo 0000000a
$ mnemonctl update 00000001 --importance 5
00000001 is like that already; nothing was written
$ mnemonctl update 00000001 --content "the password=hunter2Xk9qLmT4 is new"
Updated 00000001: content
  redacted: password (--allow-secret keeps it)
  undo: mnemonctl undo 0000000b
$ mnemonctl update 00000001 ; echo $?
mnemonctl: nothing to update: give content, category, importance, tags, entities, cues, when, source, \
conversation_id, created_at or metadata
  nothing was written
2
""",
    "for good": """\
$ mnemonctl remember "zebra" -q
00000001
$ mnemonctl forget 00000001
Forgot 00000001
  undo: mnemonctl undo 0000000a
$ mnemonctl get 00000001 ; echo $?
00000001
  zebra

  status                forgotten DATE 00:00:00
  to have it again      mnemonctl restore 00000001
  category              general
  importance            3
  effective importance  0.50
  source                user
  channel               manual
  created at            TIME
  updated at            TIME
  valid from            TIME
  access count          0
0
$ mnemonctl pin 00000001
mnemonctl: memory 00000001 is not active: it is forgotten
  `mnemonctl restore 00000001` brings it back; `mnemonctl list` shows the active ones
$ mnemonctl restore 00000001
Restored 00000001
  undo: mnemonctl undo 0000000b
$ mnemonctl forget 00000001 --purge
mnemonctl: forget --purge removes the memory, its history and its links for good; nothing was done
  If that is meant: mnemonctl forget 00000001 --purge --yes
$ mnemonctl forget 00000001 --purge --yes
Purged 00000001
$ mnemonctl forget 00000001 --purge --yes ; echo $?
mnemonctl: memory 00000001 was purged: nothing of it is kept
  `mnemonctl history 00000001` shows when
3
$ mnemonctl get 00000001 ; echo $?
mnemonctl: memory 00000001 was purged: nothing of it is kept
  `mnemonctl history 00000001` shows when
3
""",
    "the end of a chain": """\
$ mnemonctl remember "zebra" -q --source one
00000001
$ mnemonctl remember "violin" -q --source two
00000002
$ mnemonctl remember "umbrella" -q --source three
00000003
$ mnemonctl supersede 00000001 00000002
00000002 takes the place of 00000001
  undo: mnemonctl undo 0000000a
$ mnemonctl supersede 00000001 00000003
00000003 takes the place of 00000002
  which had taken the place of 00000001 before
  undo: mnemonctl undo 0000000b
$ mnemonctl supersede 00000001 00000003 ; echo $?
mnemonctl: 00000003 stands in the place of 00000001 already
2
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


def read_everything(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file())


def test_nothing_of_a_purged_memory_is_in_any_file_while_the_daemon_runs(tmp_path: Path) -> None:
    text = "The Xyzzyplugh importer of Zorkmid Labs 空行解析器 runs at night"
    (found,) = create(DEFAULT).embed([text])
    assert found is not None
    vector = np.ascontiguousarray(found, "<f4").tobytes()
    words = [b"Xyzzyplugh", b"xyzzyplugh", b"Zorkmid", b"Quuxfoobar", b"Frobozz", b"Borogove", "空行解析器".encode()]
    wanted = [*words, vector]
    with DaemonProcess(tmp_path) as running, running.connect() as wire:
        other = wire.call("remember", content="An importer runs")["id"]
        said = {"content": text, "tags": ["Quuxfoobar"], "cues": ["Borogove"], "no_diff": True, "op_id": "mine"}
        one = wire.call("remember", **said)["id"]
        wire.call("link", source_id=one, target_id=other, type="causal", metadata={"why": "Frobozz"}, op_id="link")
        assert [word for word in wanted if word not in read_everything(tmp_path)] == []
        wire.call("update", id=one, content="Something else", tags=[], entities=[], op_id="update")
        done = wire.call("forget", id=one, purge=True)
        assert (done["status"], done["backups"]) == ("purged", [])
        assert [word for word in wanted if word in read_everything(tmp_path)] == []
        assert wire.call("remember", **said)["replayed"] is True
        hits = wire.call("recall", query="Xyzzyplugh importer")["results"]
        assert [hit["insight"]["id"] for hit in hits] == [other]
        assert wire.call("history", id=one)["operations"][-1]["operation_type"] == "DELETE"
    assert [word for word in wanted if word in read_everything(tmp_path)] == []
