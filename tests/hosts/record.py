"""python -m tests.hosts.record: has a session with each agent and keeps the payloads of its hooks for `make check`.

They stand first in tests/wire/hooks/payloads, with the version that sent them; look at the difference before it is
committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mnemond.wire.hook_payload import read
from mnemond.wire.hooks import reply
from tests.hosts.agents import AGENTS, ANSWER, QUESTION, Agent
from tests.hosts.home import home
from tests.hosts.neutral import neutral
from tests.wire.hooks.recorded import CONTEXT, FOLDER


def rows(agent: Agent) -> Iterator[dict[str, Any]]:
    """What it sends in a session of one prompt, and what becomes of that."""
    with tempfile.TemporaryDirectory(prefix="mnemond-record-") as folder, home(Path(folder)) as at:
        agent.prepared(at)
        agent.converse(at, QUESTION, [{"say": ANSWER}])
        sent = neutral(at.tap.hooks(), str(at.path))
    for payload in sent:
        found = read(json.dumps(payload).encode())
        assert found is not None, payload
        heard = None if found.event is None else msgspec.structs.asdict(found.event)
        own = {"host", "takes_context"}
        kept = heard and {
            name: value for name, value in heard.items() if value not in ("", False, None) and name not in own
        }
        says = json.loads(reply(found, CONTEXT))
        yield {"event": found.name, "sent_by": agent.version, "heard": kept, "says": says, "payload": payload}


def main() -> int:
    """Writes the files."""
    for agent in AGENTS:
        path = FOLDER / f"{agent.name}.json"
        begin, *others = [line for line in path.read_text("utf-8").splitlines() if '"sent_by"' not in line]
        fresh = [f"  {json.dumps(row, ensure_ascii=False)}," for row in rows(agent)]
        path.write_text("\n".join([begin, *fresh, *others]) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
