"""export and import as a person types them, over the real daemon."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

MOVED = """\
$ mnemonctl remember "We deploy on Thursdays, as support is full then" --cat decision -q
00000001
$ mnemonctl remember "Alice leads the payments team in Berlin" -q
00000002
$ mnemonctl export -o HERE-a.jsonl -q > /dev/null
$ mnemonctl store create moved
Created store "moved"
$ mnemonctl import HERE-a.jsonl --store moved ; echo $?
mnemonctl: import writes into a store; without a terminal it needs --yes
  --dry-run shows what would be imported
2
$ mnemonctl import HERE-a.jsonl --store moved --dry-run --text | head -1
Would import 2 memories into store "moved"
$ mnemonctl list --store moved
no memories here
$ mnemonctl import HERE-a.jsonl --store moved --yes -q > HERE-op ; mnemonctl list --store moved -q
00000002
00000001
$ mnemonctl export --store moved > HERE-b.jsonl ; cmp HERE-a.jsonl HERE-b.jsonl && echo the same
the same
$ mnemonctl import HERE-a.jsonl --store moved --yes
Nothing is new: store "moved" has all of it
$ mnemonctl import accept --store moved
Accepted 2 memories: sessions may begin with them now
$ mnemonctl undo $(cat HERE-op) --store moved -q > /dev/null ; mnemonctl list --store moved
no memories here
$ ln -s HERE-a.jsonl HERE-link ; mnemonctl import HERE-link --yes ; echo $?
mnemonctl: HERE-link cannot be imported: it is a symbolic link; nothing was imported
  name the file itself
2
$ mkfifo HERE-pipe ; mnemonctl import HERE-pipe --yes ; echo $?
mnemonctl: HERE-pipe cannot be imported: it is a named pipe, not a file; nothing was imported
  see: mnemonctl import --help
2
$ mnemonctl export -o HERE/inside.jsonl ; echo $?
mnemonctl: HERE/inside.jsonl lies in the data directory, whose files are mnemond's own
  name a file outside of it
2
$ mnemonctl export --format markdown ; echo $?
mnemonctl: markdown is one file for each memory and needs a directory
  Name it: -o DIR
2
$ mnemonctl export -o HERE-notes --format markdown ; ls -1 HERE-notes
Wrote 2 files: HERE-notes
alice-leads-the-payments-team-in-berlin-00000002.md
we-deploy-on-thursdays-as-support-is-full-then-00000001.md
$ mnemonctl forget 00000002 -q > /dev/null ; echo mine > HERE-notes/mine.md
$ mnemonctl export -o HERE-notes --format markdown
Wrote 1 file: HERE-notes
$ ls -1 HERE-notes
mine.md
we-deploy-on-thursdays-as-support-is-full-then-00000001.md
"""
"""The statements that a job reads from memories are exported as well, so it runs before the first export.
Whether it has run in the empty store makes no difference to the second."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    data_dir = tmp_path / "m"
    data_dir.mkdir(mode=0o700)
    with DaemonProcess(data_dir) as running:
        yield running


@pytest.mark.check_all
def test_a_store_moves(daemon: DaemonProcess) -> None:
    there = str(daemon.data_dir)
    play(MOVED.replace("HERE", there), Terminal(daemon.data_dir))
    for name in ("a.jsonl", f"notes/{next(Path(f'{there}-notes').glob('we-*')).name}"):
        assert stat.S_IMODE(Path(f"{there}-{name}").stat().st_mode) == 0o600
