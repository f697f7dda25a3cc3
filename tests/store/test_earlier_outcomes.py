"""Outcomes as earlier versions stored them are the replies of today; so is what is stored today.

Rows and replies in tests/data/earlier_outcomes.jsonl were made by version 0.1.0 before outcomes became results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.outcomes import Outcome
from mnemond.store import operations
from mnemond.store.connection import Connection
from mnemond.store.engine import Engine
from tests.outcomes import made
from tests.store.factories import engine_at, remember

KNOWN = [
    msgspec.json.decode(line)
    for line in (Path(__file__).parents[1] / "data" / "earlier_outcomes.jsonl").read_text(encoding="utf-8").splitlines()
]
REQUEST = remember(1, op_id="op")


def stored(engine: Engine, outcome: dict[str, Any]) -> None:
    row = ("op", REQUEST.method, REQUEST.request_digest, msgspec.json.encode(outcome).decode(), REQUEST.now)

    def insert(connection: Connection) -> None:
        connection.run("DELETE FROM operations")
        connection.run("INSERT INTO operations(op_id, method, request_digest, outcome, created_at)"
                       " VALUES (?, ?, ?, ?, ?)", row)  # fmt: skip

    engine.rewrite(insert)


def repeated(engine: Engine) -> dict[str, Any]:
    (result,) = engine.commit([REQUEST])
    assert not isinstance(result, MnemonError), result
    reply: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return reply


def as_now(reply: dict[str, Any]) -> dict[str, Any]:
    """An earlier reply with the fields that replies have had since, at their defaults."""
    newer: dict[str, Any] = {}
    if "auto_pruned" in reply:
        newer = {"pruned_ids": [], "united": None, "no_longer": None}
        newer |= {"category": None, "importance": None, "tags": [], "entities": [], "cues": 0}
    elif "changed" in reply and "quality_details" in reply:
        newer = {"same_text": None}
    if "undone" in reply:
        newer |= {"relations": 0, "passages": 0}
    if "merged_into" in reply and "backups" in reply:
        newer |= {"decisions_removed": 0, "kind": "memory"}
    if "scope" in reply:
        newer["scope"] = reply["scope"] | {"project": None}
    if "conflicts" in reply:
        newer["conflicts"] = [{"content": "", "several": False, **each} for each in reply["conflicts"]]
    if "memories" in reply:
        newer["memories"] = [as_now(each) | {"words": None, "purged": False} for each in reply["memories"]]
    return reply | newer


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["row"]["type"])
def test_what_was_stored_is_the_reply_it_was(tmp_path: Path, known: dict[str, Any]) -> None:
    engine = engine_at(tmp_path / "a.db")
    stored(engine, known["row"])
    expected = as_now(known["reply"])
    assert repeated(engine) == expected
    stored(engine, {"type": type(engine.commit([REQUEST])[0]).__name__, **known["reply"]})
    assert repeated(engine) == expected
    engine.close()


def test_candidates_are_found_again_by_their_ids(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    found: list[dict[str, object]] = [
        {"id": "2", "cosine": None, "similarity": 0.5},
        {"id": "3", "cosine": 0.4, "similarity": 0.4},
    ]
    stored(engine, KNOWN[0]["row"] | {"candidates": found})
    candidates = repeated(engine)["semantic_candidates"]
    assert candidates == [{**each, "content": "", "category": "", "auto_linked": False} for each in found]
    engine.close()


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["row"]["type"])
def test_a_purge_leaves_no_text_of_it(tmp_path: Path, known: dict[str, Any]) -> None:
    engine = engine_at(tmp_path / "a.db")
    stored(engine, known["row"] | {"about": "1"})
    engine.read(lambda it: operations.purge(it, ["1"]))
    reply = repeated(engine)
    assert reply["op_id"] == "op"
    for text in ("75 is not 85", "maybe", "both", '"text"', "Why?", '"a":'):
        assert text not in msgspec.json.encode(reply).decode()
    engine.close()


@pytest.mark.parametrize(
    "row",
    [{}, {"type": 1}, {"type": "Surprise"}, {"type": "Linked"}, {"type": "Linked", "metadata": "{"},
     {"type": "RememberResult"}, {"type": "Revised", "changed": [], "notes": [{}]}, {"type": "Revised", "notes": [1]}],
)  # fmt: skip
def test_a_damaged_outcome_is_a_storage_error(tmp_path: Path, row: dict[str, Any]) -> None:
    engine = engine_at(tmp_path / "a.db")
    stored(engine, row)
    (result,) = engine.commit([REQUEST])
    assert isinstance(result, MnemonError)
    assert result.kind is STORAGE
    engine.close()


@pytest.mark.parametrize("kind", get_args(Outcome), ids=lambda kind: kind.__name__)
def test_every_outcome_is_read_as_it_was_stored(kind: type[Any]) -> None:
    """Also one with a field of the name under which its own name is stored: a relation has a type."""
    outcome = made(kind, "op")
    assert operations.decode_outcome(operations.encode_outcome(outcome)) == outcome
