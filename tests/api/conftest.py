"""A call by a person at a terminal."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.api import requests
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The process of this call, as Linux tells of it, has a terminal for its output, and no agent runs it. A call that
    does not say so itself is still none of a person."""
    monkeypatch.setattr(requests, "PROCESSES", tmp_path / "proc")
    made = tmp_path / "proc" / str(CALL.peer_pid)
    (made / "fd").mkdir(parents=True)
    (made / "fd" / "1").symlink_to("/dev/pts/0")
    (made / "environ").write_bytes(b"HOME=/home/ada")
    return msgspec.structs.replace(CALL, at_terminal=True)
