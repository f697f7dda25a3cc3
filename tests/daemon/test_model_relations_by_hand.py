"""A daemon whose model reads relations, as a person sees it: what is believed and why, and its undo."""

from __future__ import annotations

import json
from pathlib import Path

import trio

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play
from tests.llm.scripted import says, scripted

SETTINGS = """\
[lifecycle]
backup_interval = 0
[llm]
provider = "openai"
endpoint = "{url}"
model = "tiny"
timeout_s = 30
[commitment]
relations.engine = "llm"
"""

TEXT = "The desk of Ana in the office of Globex is by the window"

READ = f"""\
$ mnemonctl remember "{TEXT}" -q
00000001
$ mnemonctl relations list
no relations like that
$ mnemonctl jobs run gates
gates changed 1
$ mnemonctl relations list
00000002  Ana works_at Globex
  said DATE in 00000001: The desk of Ana in the office of Globex is by the window
$ mnemonctl relations list --json | grep -o '"strength":[.0-9]*'
"strength":0.6
$ mnemonctl get 00000001 --text | grep model
  model                 read by tiny: relations: Ana works_at Globex (dropped: name not said)
$ mnemonctl undo "$(mnemonctl log --json | grep -o '"op_id":"[^"]*"' | head -1 | cut -d '"' -f 4)" > /dev/null
$ mnemonctl relations list
no relations like that
$ mnemonctl relations list --history
no relations like that
"""


async def test_a_model_reads_a_relation_and_it_can_be_undone(tmp_path: Path) -> None:
    item = {"source": "Ana", "type": "works_at", "target": "Globex", "time": "holds", "when": None, "quote": TEXT}
    async with scripted([says(json.dumps({"relations": [item, item | {"source": "Mallory"}]}))]) as server:
        (tmp_path / "config.toml").write_text(SETTINGS.format(url=server.url))

        def by_hand() -> None:
            with DaemonProcess(tmp_path) as daemon:
                play(READ, Terminal(daemon.data_dir))

        await trio.to_thread.run_sync(by_hand)
    [request] = server.requests
    assert TEXT in request["messages"][0]["content"]
    assert "works_at, lives_in" in request["messages"][0]["content"]
