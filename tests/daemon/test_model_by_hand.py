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


LINKED = """\
$ mnemonctl remember "The NFS mount of Apollo is flaky" --entity Apollo -q
00000001
$ mnemonctl remember "Apollo lost its WAL file on Monday" --entity Apollo -q
00000002
$ mnemonctl jobs run slow_path > /dev/null
$ mnemonctl related 00000002 --edge causal
00000001  general/3  1 link away, over causal .20
   The NFS mount of Apollo is flaky
$ mnemonctl undo "$(mnemonctl log --json | grep -o '"op_id":"[^"]*"' | head -1 | cut -d '"' -f 4)" > /dev/null
$ mnemonctl related 00000002 --edge causal
nothing is linked to it
"""


async def test_a_model_links_a_cause_and_it_can_be_undone(tmp_path: Path) -> None:
    async with scripted([says('{"links": [{"near": 1, "relation": "causes_new"}, {"near": 7}]}')]) as server:
        (tmp_path / "config.toml").write_text(SETTINGS.format(url=server.url))

        def by_hand() -> None:
            with DaemonProcess(tmp_path) as daemon:
                play(LINKED, Terminal(daemon.data_dir))

        await trio.to_thread.run_sync(by_hand)
    [request] = server.requests
    assert "NEW: Apollo lost its WAL file on Monday" in request["messages"][0]["content"]
    assert "1. The NFS mount of Apollo is flaky" in request["messages"][0]["content"]


PROPOSED = """\
$ mnemonctl remember "The team never ran Redis and has no plan for Apollo" --entity Apollo -q
00000001
$ mnemonctl remember "Chose SQLite for Apollo because nobody on the team has ever run Redis in production" -q
00000002
$ mnemonctl jobs run slow_path > /dev/null
$ mnemonctl reviews
0 reviews, 1 proposed link in store "default"; both stay meanwhile
1  LINK?  until DATE
  cause  00000001  DATE  The team never ran Redis and has no plan for Apollo
  effect  00000002  DATE  Chose SQLite for Apollo because nobody on the team has ever run Redis in production
  "because" in one of them, 2 names in common, 30% of their words; linked by temporal
decide: mnemonctl resolve N --as SUPERSEDE | MERGE | DUPLICATE | COEXIST | LINK
$ mnemonctl resolve 1 --as LINK -q
00000002
$ mnemonctl related 00000002 --edge causal
00000001  general/3  1 link away, over causal .50
   The team never ran Redis and has no plan for Apollo
"""


async def test_without_a_model_a_link_is_proposed(tmp_path: Path) -> None:
    def by_hand() -> None:
        with DaemonProcess(tmp_path) as daemon:
            play(PROPOSED, Terminal(daemon.data_dir))

    await trio.to_thread.run_sync(by_hand)


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

ADDED = """\
$ mnemonctl remember "The nightly build of Zephyr hung on a stale lock; removing the lock fixed the hang" -q
00000001
$ mnemonctl jobs run gates
gates changed 1
$ mnemonctl get 00000001 --text | grep -E 'entities|cues|model' | sed 's/; questions.*/ …/'
  entities              Zephyr
  cues                  the nightly run is stuck again (generated)
  model                 read by tiny: entities: Zephyr (dropped: name not said) …
$ mnemonctl status --text | grep gates
  gates       1 memory read by the model: names 1, cues 1, left to the rules 1
$ mnemonctl history 00000001 --text | grep -c system:gates:tiny
1
$ mnemonctl undo "$(mnemonctl log --json | grep -o '"op_id":"[^"]*"' | head -1 | cut -d '"' -f 4)" > /dev/null
$ mnemonctl get 00000001 --text | grep -cE 'Zephyr \\(|cues|model'
0
$ mnemonctl jobs run gates
gates: nothing to do
"""


async def test_a_model_adds_to_a_memory_what_it_says_and_it_can_be_undone(tmp_path: Path) -> None:
    answers = (
        '{"names": [{"name": "Zephyr", "kind": "tool"}, {"name": "Mallory", "kind": "person"}]}',
        '{"questions": ["Where does Mallory live?"]}',
        '{"cues": ["the nightly run is stuck again"]}',
    )
    async with scripted([says(each) for each in answers]) as server:
        (tmp_path / "config.toml").write_text(GATES.format(url=server.url))

        def by_hand() -> None:
            with DaemonProcess(tmp_path) as daemon:
                play(ADDED, Terminal(daemon.data_dir))

        await trio.to_thread.run_sync(by_hand)
    assert len(server.requests) == 3


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
