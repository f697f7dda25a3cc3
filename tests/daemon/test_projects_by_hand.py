"""Projects at a terminal: two repositories and a directory, typed as a person types it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.daemon_process import DaemonProcess
from tests.api.test_repositories import git, repository
from tests.daemon.typed import Terminal, play

WRITTEN = """\
$ cd acme && mnemonctl remember "Do not use requests in this repo, use httpx" --cat preference
Remembered 0a0a0a0a in store "default"
  kept for project acme (--project none: for all)
  undo: mnemonctl undo 0b0b0b0b
$ cd beta && mnemonctl remember "Use requests for all HTTP calls" --cat preference
Remembered 0c0c0c0c in store "default"
  kept for project beta (--project none: for all)
  undo: mnemonctl undo 0d0d0d0d
$ cd acme && mnemonctl remember "Ana drinks tea" --project none -q
0e0e0e0e
$ cd / && mnemonctl remember "Ben drinks coffee in all my projects" -q --json | grep -o '"project":[^,}]*'
"project":null
"""

FOUND = """\
$ cd tree && mnemonctl list
0f0f0f0f  DATE  general/3      Ben drinks coffee in all my projects
0e0e0e0e  DATE  general/3      Ana drinks tea
0c0c0c0c  DATE  preference/3   project beta  Use requests for all HTTP calls
0a0a0a0a  DATE  preference/3   Do not use requests in this repo, use httpx
$ cd tree && mnemonctl list --project beta -q
0c0c0c0c
$ cd / && mnemonctl list --project acme -q
0a0a0a0a
$ cd / && mnemonctl list --project none -q
0f0f0f0f
0e0e0e0e
$ cd / && mnemonctl search requests --project beta
1. 0c0c0c0c  preference/3  project beta  score .56
   Use requests for all HTTP calls
$ cd clone && mnemonctl recall requests for HTTP -q
0a0a0a0a
0c0c0c0c
$ cd clone && mnemonctl recall requests for HTTP --compact --text | grep -o 'project beta.*'
project beta  Use requests for all HTTP calls
$ cd acme && mnemonctl recall requests for HTTP --project acme -q
0a0a0a0a
$ cd acme && mnemonctl context requests for HTTP --project none --text | grep -c requests
0
$ cd acme && mnemonctl get 0c0c0c0c --text | grep project
  project               beta
$ cd / && mnemonctl remember "x y z" --project ''
mnemonctl: project has 0 characters; allowed are 1 to 4096 characters
"""


def test_memories_of_projects(tmp_path: Path) -> None:
    acme = repository(tmp_path / "acme", remote="git@github.com:team/acme.git")
    git(acme, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    repository(tmp_path / "clone", remote="https://ada:secret@github.com/team/acme")
    (tmp_path / "beta").mkdir()
    data = tmp_path / "memory"
    data.mkdir(mode=0o700)
    with DaemonProcess(data) as daemon:
        terminal = Terminal(daemon.data_dir)
        terminal.place = tmp_path
        play(WRITTEN + FOUND, terminal)
