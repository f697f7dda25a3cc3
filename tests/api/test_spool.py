"""Files in which client and daemon hand content to each other."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mnemonctl import rpc
from mnemond.api import spool
from mnemond.api.spool import LEFT_S, taken
from mnemond.api.types_interchange import ExportParams
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, STORAGE, TOO_LARGE, Kind, MnemonError
from mnemond.wire.params import decode_params
from tests.api.factories import spooled
from tests.tables import each_row


def names(path: Path) -> list[str]:
    return sorted(each.name for each in (path / "spool").iterdir())


def test_a_file_is_private_and_has_no_name_once_it_is_taken(tmp_path: Path) -> None:
    with rpc.spooled(tmp_path, [b"con", b"tent"]) as (name, _):
        path = tmp_path / "spool" / name
        assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
        with taken(tmp_path, name, 7) as file:
            assert names(tmp_path) == []
            assert file.read() == b"content"
        with pytest.raises(MnemonError, match="is not there") as gone:
            taken(tmp_path, name, 7)
        assert gone.value.kind is NOT_FOUND


def test_what_the_daemon_writes_is_read_by_the_client_alone(tmp_path: Path) -> None:
    with rpc.spooled(tmp_path, [b"for the daemon"]) as (name, file):
        with taken(tmp_path, name, 99) as to_write:
            to_write.truncate(to_write.seek(0))
            to_write.write(b"answer")
        assert file.read() == b"answer"
    with rpc.spooled(tmp_path) as (name, file):
        with taken(tmp_path, name, 0) as to_write:
            to_write.write(b"written")
        assert names(tmp_path) == []
        assert file.read() == b"written"


def test_a_call_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError), rpc.spooled(tmp_path, [b"x"]):
        raise ConnectionError(*names(tmp_path))
    assert names(tmp_path) == []
    with pytest.raises(KeyError), rpc.spooled(tmp_path, ({"a": b"x"}[each] for each in "ab")):
        raise AssertionError
    assert names(tmp_path) == []


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    sentence = "spool cannot be written: No space left on device; nothing was sent"
    with pytest.raises(MnemonError, match=sentence) as refused, rpc.spooled(tmp_path, [b"x"]):
        raise AssertionError
    assert refused.value.kind is STORAGE
    assert names(tmp_path) == []
    with pytest.raises(MnemonError, match="cannot be written: No such file"), rpc.spooled(tmp_path / "none"):
        raise AssertionError


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("second"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def open_to_others(path: Path) -> None:
    path.parent.chmod(0o755)


def linked_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("other"))
    path.parent.symlink_to(path.parent.with_name("other"))


def too_large(path: Path) -> None:
    path.write_bytes(b"12345")


@each_row(
    ("change", "kind"),
    [*((each, STORAGE) for each in (link, hard_link, pipe, open_to_others, linked_directory)),
     (too_large, TOO_LARGE), (Path.unlink, NOT_FOUND)],
)  # fmt: skip
def test_what_is_not_the_file_that_was_made_is_not_taken(
    tmp_path: Path, change: Callable[[Path], None], kind: Kind
) -> None:
    name = spooled(tmp_path, b"1234")
    change(tmp_path / "spool" / name)
    with pytest.raises(MnemonError) as refused:
        taken(tmp_path, name, 4)
    assert refused.value.kind is kind


@each_row("name", ["../../lock", "/etc/passwd", "", "........", "a" * 65, "12345678\0", "ABCDEFGH"])
def test_a_name_is_no_path(name: str) -> None:
    with pytest.raises(MnemonError) as refused:
        decode_params(ExportParams, b'{"spool":"%s"}' % name.encode().replace(b"\0", b"\\u0000"), ())
    assert refused.value.kind is INVALID_PARAMS


async def test_what_clients_left_is_removed_after_a_while(tmp_path: Path, mock_clock: MockClock) -> None:
    left, fresh = spooled(tmp_path), spooled(tmp_path)
    now_s = time.time()
    os.utime(tmp_path / "spool" / left, (0, now_s - LEFT_S - 1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(spool.run, tmp_path, lambda: int(now_s * 1e6))
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert names(tmp_path) == [fresh]
        now_s += LEFT_S + 1
        mock_clock.jump(LEFT_S)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert names(tmp_path) == []
        nursery.cancel_scope.cancel()
