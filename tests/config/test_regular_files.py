"""Small files are opened without waiting, and nothing else is taken for one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemond.config.loading import load
from mnemond.config.regular_files import NotAFileError, open_regular, read_regular
from mnemond.errors import CONFIG, DATA_DIR, MnemonError
from mnemond.wire.listener import lock, open_data_dir
from tests.tables import each_row


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))


OTHERS: list[tuple[Callable[[Path], None], str]] = [
    (os.mkdir, "it is a directory, not a file"),
    (os.mkfifo, "it is a named pipe, not a file"),
    (listen, "it is a socket, not a file"),
]
FLAGS = [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT]


@each_row("flags", FLAGS)
@each_row(("make", "what"), OTHERS)
def test_what_is_no_file_is_said_at_once(tmp_path: Path, make: Callable[[Path], None], what: str, flags: int) -> None:
    make(tmp_path / "x")
    with pytest.raises(NotAFileError) as caught:
        open_regular(tmp_path / "x", flags)
    assert caught.value.strerror == what


def test_a_device_is_no_file() -> None:
    with pytest.raises(NotAFileError, match="it is a device"):
        read_regular(Path("/dev/zero"), 10)


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert (read_regular(tmp_path / "x", 3), read_regular(tmp_path / "x", 9)) == (b"1234", b"12345")
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "y", 3)
    descriptor = open_regular(tmp_path / "y", os.O_RDWR | os.O_CREAT)
    os.close(descriptor)
    assert (tmp_path / "y").stat().st_mode & 0o777 == 0o600


@each_row(("make", "what"), OTHERS)
def test_the_configuration_and_the_lock_are_refused(tmp_path: Path, make: Callable[[Path], None], what: str) -> None:
    root = tmp_path / "m"
    root.mkdir(mode=0o700)
    for name in ("config.toml", "lock"):
        make(root / name)
    with pytest.raises(MnemonError, match=f"config.toml cannot be read: {what}") as caught:
        load(root / "config.toml")
    assert caught.value.kind is CONFIG
    directory = open_data_dir(root)
    with pytest.raises(MnemonError, match=f"lock cannot be opened: {what}") as caught:
        lock(directory)
    assert caught.value.kind is DATA_DIR
    directory.close()
