"""What reaches a service manager, and what does not matter when it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemond.service.supervisor import Notifier
from tests.service.listening import Manager, listening
from tests.tables import each_row


def test_assignments_that_belong_together_come_together(tmp_path: Path) -> None:
    with listening(tmp_path / "notify") as manager:
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "HOME": "/home/ada"}
        notifier = Notifier.of(environ)
        assert environ == {"HOME": "/home/ada"}
        assert notifier.has_manager
        notifier.send(READY=1, STATUS="2 stores open")
        notifier.send(WATCHDOG=1)
        assert manager.told() == [{"READY": "1", "STATUS": "2 stores open"}, {"WATCHDOG": "1"}]
        notifier.close()


def test_no_value_can_pass_for_another_assignment(tmp_path: Path) -> None:
    with listening(tmp_path / "notify") as manager:
        notifier = Notifier.of({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        notifier.send(STATUS="the disk is full\nSTOPPING=1\r\n\udcff")
        assert manager.told() == [{"STATUS": "the disk is full STOPPING=1 ?"}]
        notifier.close()


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="abstract names are Linux's")
def test_an_abstract_name_is_one(tmp_path: Path) -> None:
    name = f"mnemond-test-{os.getpid()}-{tmp_path.name}"
    manager = Manager(f"\0{name}")
    notifier = Notifier.of({"NOTIFY_SOCKET": f"@{name}"})
    notifier.send(READY=1)
    assert manager.told() == [{"READY": "1"}]
    notifier.close()
    manager.socket.close()


@each_row("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1234"}])
def test_nobody_listens(environ: dict[str, str]) -> None:
    notifier = Notifier.of(environ)
    assert not notifier.has_manager
    notifier.send(READY=1)
    notifier.close()


def test_a_manager_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    with listening(tmp_path / "notify"):
        notifier = Notifier.of({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    notifier.send(READY=1)
    notifier.close()
    assert not notifier.has_manager


def test_a_manager_that_does_not_read_ends_nothing(tmp_path: Path) -> None:
    with listening(tmp_path / "notify") as manager:
        notifier = Notifier.of({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        room = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text()) if os.path.exists("/proc/sys/net") else 10
        for _ in range(room + 2):
            notifier.send(STATUS="x")
        assert 0 < len(manager.told()) <= room + 1
        notifier.send(STATUS="there is room again")
        assert manager.told() == [{"STATUS": "there is room again"}]
        notifier.close()
