"""extract as a person types it: the exchange of spec 9, what is known, what changed, and facts of a host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play

SCENES = {
    "the exchange of the specification, twice": """\
$ mnemonctl extract "My name is Ana. I work at Acme. I prefer tabs over spaces. Yesterday we decided to use \
GitHub Actions." --assistant "Nice to meet you, Ana!" --now 2026-02-18T10:00:00Z
4 facts for store "$STORE": 4 new
00000001  new       fact/6  Ana
  [Ana] My name is Ana.
00000002  new       fact/6  Ana, Acme
  [Ana] I work at Acme.
00000003  new       preference/6  Ana
  [Ana] I prefer tabs over spaces.
00000004  new       decision/6  GitHub Actions
  Yesterday (2026-02-17) we decided to use GitHub Actions.
left out: 1 left to the record (--json shows which)
$ mnemonctl extract "I prefer tabs over spaces" --dry-run
1 fact for store "$STORE": 1 known; nothing was written
00000003  known     preference/6  Ana
  [Ana] I prefer tabs over spaces
$ mnemonctl extract "I work at Globex now."
1 fact for store "$STORE": 1 replaced
00000005  replaced  fact/6  Ana, Globex
  [Ana] I work at Globex now.
  in place of 00000002: they are 67% alike in words, and the new text says that it changed
  no longer held: [Ana] I work at Acme
  undo: mnemonctl undo 0000000a
$ mnemonctl undo 0000000a > /dev/null; mnemonctl search acme
1. 00000002  fact/3  score .71
   [Ana] I work at Acme.
""",
    "an agent's report": """\
$ printf 'why did it fail?' | mnemonctl extract - --assistant "Let me look. The root cause was a full disk on the CI \
runner. Done!"
Nothing to remember for store "$STORE"
left out: 4 left to the record (--json shows which)
$ mnemonctl extract "fix the tests please"
Nothing to remember for store "$STORE"
left out: 1 left to the record (--json shows which)
""",
    "facts of a host": """\
$ echo '{"facts": [{"content": "The API limit is 100 requests per second", "importance": 8}, {"content": "hi"}]}' | \
mnemonctl extract --facts -
2 facts for store "$STORE": 1 new, 1 too little
00000001  new       fact/8  API
  The API limit is 100 requests per second
--------  too little  fact/5
  hi
  undo: mnemonctl undo 0000000a
$ mnemonctl extract --facts '[{"text": "x"}]'
mnemonctl: facts: Object contains unknown field `text` - at `$[0]`
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("extracting")) as process:
        yield process


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(daemon: DaemonProcess, scene: str, tmp_path: Path) -> None:
    store = f"s{list(SCENES).index(scene)}"
    terminal = Terminal(daemon.data_dir, MNEMON_STORE=store)
    terminal.type(f"mnemonctl store create {store}")
    play(SCENES[scene].replace("$STORE", store), terminal)
