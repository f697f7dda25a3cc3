"""A daemon with a language model, as a person sets it up: what it reads, what it decides, and what is said of it."""

from __future__ import annotations

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
[extraction]
resolver = "llm"
"""

DECIDED = """\
$ mnemonctl remember "The office is in Berlin" -q
00000001
$ mnemonctl remember "The office is in Munich" -q
00000002
$ mnemonctl reviews -q
1
$ mnemonctl jobs run resolve > /dev/null
$ mnemonctl reviews --decided
Decided lately in store "default"
1  SUPERSEDE by system:llm:tiny, DATE
  older  00000001  DATE (superseded)  The office is in Berlin
  newer  00000002  DATE  The office is in Munich
  they are 33% alike in words, and they give different values, so both stay
$ mnemonctl undo "$(mnemonctl log --json | grep -o '"op_id":"[^"]*"' | head -1 | cut -d '"' -f 4)" > /dev/null
$ mnemonctl reviews -q
1
"""


async def test_a_model_decides_what_waits_and_it_can_be_undone(tmp_path: Path) -> None:
    async with scripted([says('{"relation": "newer_replaces_older"}')]) as server:
        (tmp_path / "config.toml").write_text(SETTINGS.format(url=server.url))

        def by_hand() -> None:
            with DaemonProcess(tmp_path) as daemon:
                play(DECIDED, Terminal(daemon.data_dir))

        await trio.to_thread.run_sync(by_hand)
    prompt = server.requests[0]["messages"][0]["content"]
    assert "OLDER: The office is in Berlin" in prompt
    assert "NEWER: The office is in Munich" in prompt
