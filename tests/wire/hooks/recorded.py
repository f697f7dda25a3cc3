"""Payloads as hosts send them, with what is heard in each and what a hook says when memory says CONTEXT."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "payloads"
CONTEXT = "CONTEXT"


class Recorded(NamedTuple):
    """One payload of one host. `heard` has the fields that are not empty, or is None; `says` is JSON. `sent_by` is the
    version of the program that sent it in tests/hosts; empty where it is made by what the host documents."""

    host: str
    event: str
    payload: Mapping[str, Any]
    heard: Mapping[str, Any] | None
    says: Mapping[str, Any]
    sent_by: str = ""

    @property
    def message(self) -> bytes:
        """As it comes over the socket."""
        return json.dumps(self.payload, ensure_ascii=False).encode()


def recorded() -> list[Recorded]:
    """All of them."""
    return [
        Recorded(path.stem, row["event"], row["payload"], row["heard"], row["says"], row.get("sent_by", ""))
        for path in sorted(FOLDER.glob("*.json"))
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]
