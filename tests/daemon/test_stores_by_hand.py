"""store and backup as a person types them, and a store of mnemon's that is found at the start."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonError, DaemonProcess
from tests.daemon.typed import Terminal, play
from tests.store.mnemon import legacy_at

STORES = """\
$ mnemonctl store list
no stores yet
$ mnemonctl store create shop
Created store "shop"
$ mnemonctl store create shop
Store "shop" exists already
$ mnemonctl store list
  shop
$ mnemonctl store set shop
The active store is "shop" (it was "default")
$ mnemonctl store list
* shop
$ mnemonctl remember "the till is under the counter" -q
00000001
$ mnemonctl list -q
00000001
$ MNEMON_STORE=home mnemonctl list ; echo $?
mnemonctl: no store named "home"
  `mnemonctl store create home` makes it; `mnemonctl store list` shows what is there
3
$ MNEMON_STORE=../home mnemonctl list ; echo $?
mnemonctl: store is '../home'; a store's name starts with a letter or digit and has at most 64 letters, digits, \
"_" and "-"
2
$ MNEMON_STORE=home mnemonctl list --store shop -q
00000001
$ MNEMON_STORE=home mnemonctl list --store default
no memories here
$ mnemonctl store remove shop ; echo $?
mnemonctl: the store "shop" is the active one
  make another one active first: mnemonctl store set NAME
2
$ mnemonctl store set default
The active store is "default" (it was "shop")
$ mnemonctl store remove shop ; echo $?
mnemonctl: this removes the store "shop" with its 1 memory; it needs yes (--yes)
  a last backup is made first, from which `mnemonctl backup restore` brings it back
2
$ mnemonctl store remove shop --yes
Removed store "shop"
  to bring it back: mnemonctl backup restore NAME-removed
$ mnemonctl list --store shop ; echo $?
mnemonctl: no store named "shop"
  `mnemonctl store create shop` makes it; `mnemonctl store list` shows what is there
3
$ mnemonctl backup restore $(mnemonctl backup list --store shop -q)
Restored store "shop": 1 memory
$ mnemonctl list --store shop -q
00000001
$ mnemonctl recall --readonly --store shop -q counter
00000001
$ mnemonctl remember --readonly "no" ; echo $?
mnemonctl: remember may write, and --readonly was given; nothing was written
  repeat it without --readonly
5
"""

BACKUPS = """\
$ mnemonctl remember "tea at four" -q
00000001
$ mnemonctl backup
Backed up store "default": 1 memory, SIZE
  NAME-asked
  DIR/backups/default/NAME-asked.db
$ mnemonctl remember "milk at five" -q
00000002
$ mnemonctl backup list
NAME-asked  default: 1 memory, SIZE
$ mnemonctl backup verify $(mnemonctl backup list -q)
Nothing is wrong with NAME-asked: 1 memory, SIZE
$ mnemonctl backup restore $(mnemonctl backup list -q) ; echo $?
mnemonctl: this replaces the store "default" by what it was at TIME; it needs yes (--yes)
  what it is now becomes a backup first; or name another store with into (--into)
2
$ mnemonctl backup restore $(mnemonctl backup list -q) --into yesterday
Restored store "yesterday": 1 memory
$ mnemonctl list --store yesterday -q
00000001
$ mnemonctl backup restore $(mnemonctl backup list -q) --yes
Restored store "default": 1 memory
  what it was before: mnemonctl backup restore NAME-replaced
$ mnemonctl list -q
00000001
$ mnemonctl backup restore nothing ; echo $?
mnemonctl: there is no backup 'nothing'
  `mnemonctl backup list` shows them
3
$ mnemonctl backup -o $MNEMON_DATA_DIR-mine.db
Backed up store "default": 1 memory, SIZE
  NAME-asked
  DIR-mine.db
$ mnemonctl backup -o $MNEMON_DATA_DIR-mine.db ; echo $?
mnemonctl: DIR-mine.db cannot be written: it exists already
  name another file
5
"""

SCENES = {"stores": STORES, "backups": BACKUPS}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    tmp_path.chmod(0o700)
    (tmp_path / "config.toml").write_text("[diff]\nupdate = 0.6\n")
    with DaemonProcess(tmp_path) as running:
        yield running


@pytest.mark.parametrize("scene", ["stores", pytest.param("backups", marks=pytest.mark.check_all)])
def test_scenes(scene: str, daemon: DaemonProcess) -> None:
    play(SCENES[scene].replace("DIR", str(daemon.data_dir)), Terminal(daemon.data_dir))
    if scene == "backups":
        for path in (Path(f"{daemon.data_dir}-mine.db"), *daemon.data_dir.glob("backups/default/*")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_of_mnemons_is_taken_over_at_the_start(tmp_path: Path) -> None:
    legacy_at(tmp_path / "mnemon.db")
    with DaemonProcess(tmp_path) as daemon, daemon.connect() as wire:
        found = wire.call("recall", query="memory of mnemon")["results"]
        assert {hit["insight"]["content"] for hit in found} == {f"memory {number} of mnemon" for number in range(4)}
        assert wire.call("store.list")["stores"] == [{"name": "default", "active": True}]
    assert not (tmp_path / "mnemon.db").exists()


def test_a_store_of_mnemons_that_cannot_be_taken_over_keeps_the_daemon_from_starting(tmp_path: Path) -> None:
    (tmp_path / "mnemon.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(DaemonError, match="it is unchanged; move it away"), DaemonProcess(tmp_path):
        pass
    assert not (tmp_path / "data").exists()


def test_a_daemon_killed_while_it_restores_serves_the_old_store_or_the_new(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path)
    with daemon, daemon.connect() as wire:
        wire.call("remember", content="tea at four")
        name = wire.call("backup.create")["backup"]["name"]
        wire.call("remember", content="milk at five")
        wire.post(b'{"jsonrpc":"2.0","id":9,"method":"backup.restore","params":{"backup":"%s","yes":true}}\n'
                  % name.encode())  # fmt: skip
        process = daemon._running()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        daemon.start()
        with daemon.connect() as again:
            left = {each["content"] for each in again.call("list")["insights"]}
    assert left in ({"tea at four"}, {"tea at four", "milk at five"})
