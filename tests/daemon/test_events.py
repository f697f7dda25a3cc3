"""Programs that are told what happens, by a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemonctl.connection import LiveEvents
from mnemond.api.types_jobs import Dropped, Event, JobEvent, MemoryEvent
from mnemond.errors import INVALID_PARAMS, UNREACHABLE, MnemonError


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with DaemonProcess(tmp_path), Client(data_dir=tmp_path, start=False) as memory:
        yield memory


def following(events: LiveEvents) -> Event:
    """The next event, which is not a gap."""
    event = next(iter(events))
    assert isinstance(event, Event)
    return event


def told(events: LiveEvents) -> MemoryEvent:
    """The next one, about a memory."""
    event = following(events)
    assert event.topic == "memory"
    return msgspec.json.decode(event.data, type=MemoryEvent)


def test_each_write_is_told_and_no_question_is(client: Client) -> None:
    with client.events() as events:
        stored = client.remember(content="Deploys go out on Thursdays")
        client.recall(query="when do deploys go out?")
        assert told(events) == MemoryEvent(store="default", method="remember", op_id=stored.op_id, id=stored.id)
        client.remember(content="Deploys go out on Thursdays")  # known: nothing new, but it says so
        again = told(events)
        assert (again.method, again.id) == ("remember", stored.id)
        assert stored.id is not None
        repeated = client.forget(id=stored.id, op_id="mine")
        assert client.forget(id=stored.id, op_id="mine").replayed
        client.undo(operation=repeated.op_id)
        assert [told(events).method for _ in range(2)] == ["forget", "undo"]


def test_a_supersede_names_the_memory_that_is_active(client: Client) -> None:
    old, new = client.remember(content="Tea is at four"), client.remember(content="Coffee is served at noon")
    assert old.id is not None
    assert new.id is not None
    with client.events() as events:
        client.supersede(old_id=old.id, new_id=new.id)
        event = told(events)
        assert (event.method, event.id) == ("supersede", new.id)
        client.link(source_id=new.id, target_id=client.remember(content="A third thing").id or "", type="semantic")
        assert [told(events).method, told(events).id] == ["remember", None]  # a link is about no single memory


def test_a_dry_run_is_no_event(client: Client) -> None:
    with client.events(("memory",)) as events:
        client.remember(content="nothing comes of this", dry_run=True)
        client.remember(content="something comes of this")
        assert told(events).id == client.recall(query="something").results[0].insight.id


def test_jobs_are_told_of(client: Client) -> None:
    client.remember(content="The release needs two approvals")
    with client.events(("job",)) as events:
        client.remember(content="The staging database is called harbour")
        client.jobs.run(name="graph_metrics")
        event = following(events)
        found = msgspec.json.decode(event.data, type=JobEvent)
        assert (event.topic, found.job, found.outcome, found.error) == ("job", "graph_metrics", "done", None)


def test_a_reader_that_comes_back_goes_on_where_it_was(client: Client) -> None:
    with client.events() as events:
        client.remember(content="The first of three things about ships")
        told(events)
        seen = events.seq
    second = client.remember(content="A second remark, on harbours")
    third = client.remember(content="The third concerns lighthouses")
    with client.events(since_seq=seen) as events:
        assert [told(events).id, told(events).id] == [second.id, third.id]


def test_after_a_restart_it_is_said_that_something_may_be_missing(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path), Client(data_dir=tmp_path, start=False) as memory, memory.events() as events:
        memory.remember(content="Before the restart there was this")
        told(events)
        seen = events.seq
    with (
        DaemonProcess(tmp_path),
        Client(data_dir=tmp_path, start=False) as memory,
        memory.events(since_seq=seen) as events,
    ):
        lost = next(iter(events))
        assert isinstance(lost, Dropped)
        assert lost.from_ == seen + 1
        assert lost.to == events.seq
        memory.remember(content="And after it came that")
        assert following(events).seq > lost.to


def test_it_ends_with_the_daemon_or_when_it_is_closed(tmp_path: Path) -> None:
    with Client(data_dir=tmp_path, start=False) as memory:
        with DaemonProcess(tmp_path):
            ended, closed = memory.events(), memory.events()
            closed.close()
            assert list(closed) == []
        assert list(ended) == []
        ended.close()
        with pytest.raises(MnemonError) as gone:
            memory.events()
        assert gone.value.kind is UNREACHABLE


def test_what_cannot_be_subscribed_to_is_refused(client: Client) -> None:
    with pytest.raises(MnemonError) as later:
        client.events(since_seq=2**53 - 1)
    assert later.value.kind is INVALID_PARAMS
    with pytest.raises(MnemonError) as nothing:
        client.events(())
    assert nothing.value.kind is INVALID_PARAMS
