"""The rules of a run: what is sent for a memory and a query, and what is written down."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.bench_files import load, recall_params, remember_params, run_line

TURN = {
    "type": "memory", "store": "s", "id": "m1", "seq": 1, "ts": "2024-01-02T03:04:05Z", "session": "s001",
    "speaker": "Ana", "role": "user", "content": "We met.", "caption": "two people",
}  # fmt: skip
BARE = {"type": "memory", "store": "s", "id": "m0", "seq": 0, "ts": None, "session": None, "content": "Bare."}
QUERY = {
    "type": "query", "store": "s", "id": "q1", "text": "Who met?", "ref_time": "2024-02-01T00:00:00Z",
    "category": "single-hop", "gold": ["m1"], "gold_sessions": ["s001"], "answerable": True, "groups": {"x": ["m1"]},
}  # fmt: skip


def test_a_turn_is_sent_with_everything_known_of_it() -> None:
    assert remember_params(TURN, "t") == {
        "content": "We met. [image: two people]", "source": "Ana", "entities": ["Ana"], "no_diff": True, "store": "t",
        "created_at": "2024-01-02T03:04:05Z", "conversation_id": "s001",
    }  # fmt: skip


def test_a_bare_memory_is_sent_without_what_is_unknown() -> None:
    assert remember_params(BARE, "t") == {
        "content": "Bare.", "source": "user", "entities": [], "no_diff": True, "store": "t",
    }  # fmt: skip


def test_the_role_stands_in_for_a_speaker() -> None:
    assert remember_params({**BARE, "role": "assistant"}, "t")["source"] == "assistant"


def test_content_is_cut_with_its_caption() -> None:
    assert len(remember_params({**TURN, "content": "x" * 7995}, "t")["content"]) == 8000


def test_a_query_gives_nothing_away() -> None:
    assert recall_params(QUERY, "t") == {
        "query": "Who met?", "limit": 100, "touch": False, "store": "t", "now": "2024-02-01T00:00:00Z",
    }  # fmt: skip
    assert set(recall_params({**QUERY, "ref_time": None}, "t")) == {"query", "limit", "touch", "store"}


def test_a_file_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl"
    pair = {"type": "pair", "a": "x", "b": "y"}
    path.write_text("".join(json.dumps(entry) + "\n" for entry in ({"type": "meta"}, TURN, BARE, QUERY, pair)))
    bench = load(path)
    assert bench.name == "tiny"
    assert [memory["id"] for memory in bench.memories["s"]] == ["m0", "m1"]
    assert bench.query_count == 1


def test_a_run_line_has_the_ids_of_the_file() -> None:
    result = {"results": [{"insight": {"id": "u2"}, "score": 0.5}, {"insight": {"id": "u1"}, "score": 0.25}]}
    assert json.loads(run_line(QUERY, result, {"u1": "m0", "u2": "m1"})) == {
        "store": "s", "query": "q1", "ranked": ["m1", "m0"], "scores": [0.5, 0.25],
    }  # fmt: skip
