"""A daemon with a language model, as a person sets it up: what it reads, what it decides, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import trio

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play
from tests.llm.scripted import NEVER, Reply, says, scripted

SETTINGS = """\
[lifecycle]
backup_interval = 0
[llm]
provider = "openai"
endpoint = "{url}"
model = "tiny"
[extraction]
resolver = "llm"
[graph]
slow_path = "llm"
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


GATES = """\
[lifecycle]
backup_interval = 0
[llm]
provider = "openai"
endpoint = "{url}"
model = "tiny"
timeout_s = 30
[commitment]
entity_extraction.engine = "llm"
trigger.engine = "llm"
hypothetical_queries.engine = "llm"
cues.engine = "llm"
"""

UNHINDERED = """\
$ mnemonctl remember "The nightly build of Zephyr hung on a stale lock; removing the lock fixed the hang" -q
00000001
$ mnemonctl jobs run gates > /dev/null 2>&1 &
$ mnemonctl remember "Zephyr is deployed from the branch release only" -q
00000002
$ mnemonctl recall "where is Zephyr deployed from" -q | head -1
00000002
"""


async def test_nothing_waits_for_a_model_that_never_answers(tmp_path: Path) -> None:
    async with scripted([Reply(NEVER)]) as server:
        (tmp_path / "config.toml").write_text(GATES.format(url=server.url))

        def by_hand() -> None:
            with DaemonProcess(tmp_path) as daemon:
                play(UNHINDERED, Terminal(daemon.data_dir))

        await trio.to_thread.run_sync(by_hand)
