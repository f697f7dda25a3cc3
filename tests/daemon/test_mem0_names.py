"""Programs that call mnemond by Mem0's names, against a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemonctl.mem0 import PAGE, Memory
from mnemond.errors import MnemonError


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with DaemonProcess(tmp_path):
        found = Memory(data_dir=tmp_path, start=False)
        yield found
        found.close()


CONVERSATION = [
    {"role": "user", "content": "I prefer tabs over spaces in every Go project."},
    {"role": "assistant", "content": "Understood."},
]


def test_what_is_added_is_found_by_who_it_is_of(memory: Memory) -> None:
    (added,) = memory.add(CONVERSATION, user_id="ana", metadata={"project": "apollo"})["results"]
    assert added["event"] == "ADD"
    assert "tabs over spaces" in added["memory"]
    (found,) = memory.search("tabs or spaces?", user_id="ana")["results"]
    assert found["id"] == added["id"]
    assert found["metadata"] == {"project": "apollo"}
    assert found["user_id"] == "ana"
    assert 0 < found["score"] <= 1
    assert memory.search("tabs or spaces?", user_id="ben")["results"] == []
    assert memory.search("tabs or spaces?", user_id="ana", threshold=1.1)["results"] == []
    assert memory.search("tabs or spaces?", user_id="ana", filters={"project": "gemini"})["results"] == []
    (again,) = memory.add(CONVERSATION, user_id="ana")["results"]
    assert (again["event"], again["id"]) == ("NONE", added["id"])


def test_what_somebody_notes_keeps_a_fact_replaceable(memory: Memory) -> None:
    (first,) = memory.add("I work at Acme.", user_id="ana", metadata={"project": "apollo"})["results"]
    (second,) = memory.add("I work at Universal Exports International now.", user_id="ana")["results"]
    assert (second["event"], second["previous_id"]) == ("UPDATE", first["id"])


def test_without_inference_each_message_is_kept_as_it_is(memory: Memory) -> None:
    texts = ["The lighthouse keeper logs the tide", "Noted, the tide is logged"]
    said = [{"role": role, "content": text} for role, text in zip(("user", "assistant"), texts, strict=True)]
    memory.add(said, run_id="r1", infer=False)
    memory.add({"role": "user", "content": "a single remark about the harbour"}, run_id="r1", infer=False)
    memory.add("a plain text about the pier", run_id="r1", infer=False)
    kept = memory.get_all(run_id="r1")["results"]
    assert sorted(each["memory"] for each in kept) == sorted(
        [*texts, "a single remark about the harbour", "a plain text about the pier"]
    )
    assert {each["run_id"] for each in kept} == {"r1"}
    assert len(memory.get_all(run_id="r1", limit=2)["results"]) == 2


def test_a_memory_is_changed_deleted_and_has_a_history(memory: Memory) -> None:
    (added,) = memory.add("The office is in Oslo", agent_id="a", infer=False)["results"]
    one = added["id"]
    memory.update(one, "The office is in Bergen", metadata={"floor": 2})
    found = memory.get(one)
    assert found is not None
    assert (found["memory"], found["metadata"]) == ("The office is in Bergen", {"floor": 2})
    memory.delete(one)
    assert memory.get_all(agent_id="a")["results"] == []
    events = [(each["event"], each["old_memory"], each["new_memory"]) for each in memory.history(one)]
    assert events[0] == ("ADD", None, "The office is in Oslo")
    assert events[1] == ("UPDATE", "The office is in Oslo", "The office is in Bergen")
    assert events[-1][0] == "DELETE"
    assert memory.get("ffffffff") is None
    with pytest.raises(MnemonError):
        memory.get("fff")


@pytest.mark.check_all
def test_everything_of_somebody_is_deleted_and_nothing_of_others(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path), Client(data_dir=tmp_path, start=False) as client:
        for number in range(PAGE + 20):
            client.remember(content=f"crate {number} stands in hall {number * 7}", user_id="ana", no_diff=True)
        client.remember(content="Ben keeps the keys", user_id="ben")
        client.remember(content="The gate closes at ten")
        memory = Memory(client)
        assert len(memory.get_all(user_id="ana", limit=500)["results"]) == PAGE + 20
        memory.delete_all(user_id="ana")
        assert client.status().total_insights == 2


def test_somebody_has_to_be_named(memory: Memory) -> None:
    with pytest.raises(ValueError, match="at least one"):
        memory.add("x")
    with pytest.raises(ValueError, match="at least one"):
        memory.search("x")
    with pytest.raises(ValueError, match="at least one"):
        memory.delete_all()
