"""A socket that somebody removed comes back."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire import listener as listener_module
from mnemond.wire.listener import Listener
from tests.wire.factories import Served, request, serving
from tests.wire.test_deadlines import pass_time


async def test_a_removed_socket_is_bound_again(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        before = await served.connect()
        await before.ask(request("ping"))
        for _ in range(2):
            (tmp_path / "sock").unlink()
            await pass_time(mock_clock, 1)
            assert (tmp_path / "sock").stat().st_mode & 0o777 == 0o600
            assert (await (await served.connect()).ask(request("ping")))["id"] == 1
        assert (await before.ask(request("ping", 2)))["id"] == 2
        assert served.server.stop_requested_at == float("inf")
    assert not (tmp_path / "sock").exists()


async def test_another_socket_in_its_place_is_replaced(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        (tmp_path / "sock").unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(tmp_path / "sock"))
            await pass_time(mock_clock, 1)
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1


async def stopped(served: Served, clock: MockClock) -> bool:
    """Whether the server stops, and says why."""
    await pass_time(clock, 1)
    await wait_all_tasks_blocked()
    return served.server.stop_requested_at < float("inf") and len(served.toys.defects) == 1


async def test_what_cannot_be_regained_ends_the_server(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        (tmp_path / "sock").unlink()
        (tmp_path / "sock").write_text("precious")
        assert await stopped(served, mock_clock)
    assert (tmp_path / "sock").read_text() == "precious"


@pytest.mark.parametrize("replaced", [True, False])
async def test_a_directory_that_was_moved_is_not_ours(replaced: bool, mock_clock: MockClock, tmp_path: Path) -> None:
    """Another daemon may serve what lies at the path now."""
    async with serving(tmp_path / "data") as served:
        (tmp_path / "data" / "sock").unlink()
        (tmp_path / "data").rename(tmp_path / "moved")
        if replaced:
            (tmp_path / "data").mkdir()
        assert await stopped(served, mock_clock)
        assert not (tmp_path / "data" / "sock").exists()


async def test_a_directory_that_cannot_be_looked_at_is_no_loss(
    mock_clock: MockClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    async with serving(tmp_path) as served:
        with monkeypatch.context() as patched:
            patched.setattr(listener_module, "_inode", refuse)
            await pass_time(mock_clock, 1)
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1


def test_a_passed_socket_is_never_lost(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as passed:
        passed.bind(str(tmp_path / "sock"))
        passed.listen()
        listener = Listener(passed)
        (tmp_path / "sock").unlink()
        assert not listener.lost
        listener.regain()
        assert listener.socket is passed
