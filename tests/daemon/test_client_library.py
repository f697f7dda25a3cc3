"""Programs that hold a `Client`, against a real daemon."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, UNREACHABLE, MnemonError
from mnemond.model.answers import GcResult, GcReview, ListResult, RetiredResult
from mnemond.model.outcomes import GcKept


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path) as running:
        yield running


@pytest.fixture
def client(daemon: DaemonProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(data_dir=tmp_path, start=False) as memory:
        yield memory


def stored(client: Client, content: str, **fields: Any) -> str:
    """The id of a new memory."""
    made = client.remember(content=content, **fields).id
    assert made is not None
    return made


def test_what_is_remembered_is_recalled_with_its_types(client: Client) -> None:
    one = stored(client, "Deploys go out on Thursdays", category="decision", importance=4)
    found = client.recall(query="when do deploys go out?", limit=3)
    assert [hit.insight.id for hit in found.results] == [one]
    assert found.results[0].insight.importance == 4
    assert client.get(id=one).insight.category == "decision"
    assert [hit.insight.id for hit in client.search(query="deploys").results] == [one]
    assert "Deploys go out on Thursdays" in client.context(query="when do deploys go out?").text


def test_each_result_of_a_method_with_several_is_told_apart(client: Client) -> None:
    kept = stored(client, "The staging cluster runs on port 5432", importance=2)
    client.forget(id=stored(client, "Ana likes tea"))
    assert isinstance(client.list(), ListResult)
    retired = client.list(retired=True)
    assert isinstance(retired, RetiredResult)
    assert [each.status for each in retired.retired] == ["forgotten"]
    assert isinstance(client.gc(threshold=10), GcResult)
    assert isinstance(client.gc(review=True), GcReview)
    assert isinstance(client.gc(keep=kept), GcKept)


def test_the_store_of_a_client_is_that_of_its_calls(client: Client, tmp_path: Path) -> None:
    client.stores.create(name="work")
    with Client(data_dir=tmp_path, store="work", start=False) as work:
        one = stored(work, "The release needs two approvals")
        assert work.status().store == "work"
        with pytest.raises(MnemonError) as missing:
            client.get(id=one)
        assert missing.value.kind is NOT_FOUND
        assert work.get(id=one, store="work").insight.id == one
    assert {each.name for each in client.stores.list().stores} == {"default", "work"}


def test_what_the_daemon_refuses_is_raised_with_its_code(client: Client) -> None:
    with pytest.raises(MnemonError) as refused:
        client.remember(content="")
    assert refused.value.kind is INVALID_PARAMS
    assert refused.value.kind.rpc == -32602
    assert refused.value.outcome == "rejected"
    assert client.ping().ok  # the connection is as good as before


def test_a_call_goes_on_after_the_daemon_was_restarted(tmp_path: Path) -> None:
    with Client(data_dir=tmp_path, start=False) as memory:
        with DaemonProcess(tmp_path):
            first = stored(memory, "Backups run at three in the morning")
        with DaemonProcess(tmp_path):
            assert memory.get(id=first).insight.content == "Backups run at three in the morning"
            memory.remember(content="The on-call phone is the grey one")
        with pytest.raises(MnemonError) as gone:
            memory.ping()
        assert gone.value.kind is UNREACHABLE


def test_a_daemon_that_does_not_run_is_started(tmp_path: Path) -> None:
    with Client(data_dir=tmp_path) as memory:
        try:
            assert memory.ping().ok
        finally:
            memory.daemon.stop()


def test_threads_share_a_client(client: Client) -> None:
    problems: list[Exception] = []

    def work(thread: int) -> None:
        try:
            for number in range(10):
                text = f"thread {thread} counted the crates of hall {number} and found {thread * 10 + number}"
                one = stored(client, text, no_diff=True)
                assert client.get(id=one).insight.content == text
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert problems == []
    assert client.status().total_insights == 40


def test_a_forked_child_has_a_connection_of_its_own(client: Client) -> None:
    client.ping()
    child = os.fork()
    if child == 0:
        try:
            client.remember(content="A child wrote this about the harbour")
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [hit.insight.content for hit in client.recall(query="harbour").results] == [
        "A child wrote this about the harbour"
    ]
