"""The data directory and its socket: private, ours, one daemon at a time."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire import listener as listener_module
from mnemond.wire.listener import MAX_PATH_BYTES, InstanceLock, Listener, adopt, bind, lock, open_data_dir
from tests.tables import each_row


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refusal(path: Path) -> MnemonError:
    """The error of a complete start in this directory."""
    with pytest.raises(MnemonError) as caught:
        start(path)
    return caught.value


def start(path: Path) -> tuple[InstanceLock, Listener]:
    directory = open_data_dir(path)
    held = lock(directory)
    try:
        return held, bind(directory, held)
    except BaseException:
        held.close()
        raise


def test_a_new_directory_and_everything_in_it_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    before = os.umask(0)
    try:
        held, listener = start(path)
    finally:
        os.umask(before)
    assert (mode(path), mode(path / "lock"), mode(path / "sock")) == (0o700, 0o600, 0o600)
    assert (path / "lock").read_text() == f"{os.getpid()}\n"
    assert os.umask(before) == before
    assert not listener.adopted
    listener.close()
    held.close()
    assert [each.name for each in path.iterdir()] == ["lock"]


def test_an_existing_directory_becomes_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_data_dir(tmp_path).close()
    assert mode(tmp_path) == 0o700


@each_row("strange", ["README.md", ".git", "mnemon.db.txt", "\x1b[31m"])
def test_somebody_elses_directory_is_left_as_it_is(strange: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / strange).touch()
    tmp_path.chmod(0o755)
    error = refusal(tmp_path)
    assert error.kind is errors.DATA_DIR
    assert f"such as {strange!a}; nothing in it was changed" in error.message
    assert (error.hint or "").endswith(str(tmp_path / "mnemon"))
    assert (mode(tmp_path), len(os.listdir(tmp_path))) == (0o755, 2)


def test_a_private_directory_may_hold_something_and_be_no_project(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "output.txt").touch()
    open_data_dir(tmp_path).close()
    (tmp_path / ".git").mkdir()
    assert "such as '.git'" in refusal(tmp_path).message


@each_row("ours", ["lock", "start.lock", "mnemon.db"])
def test_what_came_into_ours_later_does_not_matter(ours: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in (ours, "notes of mine.txt"):
        (tmp_path / name).touch()
    open_data_dir(tmp_path).close()
    assert mode(tmp_path) == 0o700


def test_settings_may_stand_there_before_the_first_start(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("config.toml", "active"):
        (tmp_path / name).touch()
    (tmp_path / "data").mkdir()
    open_data_dir(tmp_path).close()


@each_row("bits", [0o777, 0o770, 0o775, 0o702, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(bits: int, tmp_path: Path) -> None:
    tmp_path.chmod(bits)
    error = refusal(tmp_path)
    assert error.kind is errors.DATA_DIR
    assert f"{bits:04o}" in error.message
    assert error.hint is not None
    assert ("a directory of your own" if bits & 0o1000 else "chmod 700") in error.hint
    assert mode(tmp_path) == bits
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    error = refusal(tmp_path)
    assert error.kind is errors.DATA_DIR
    assert "belongs to user 65534" in error.message


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    (tmp_path / "linked").symlink_to(victim)
    assert "symbolic link" in refusal(tmp_path / "linked").message
    target = tmp_path / "target"
    target.write_text("precious")
    (victim / "lock").symlink_to(target)
    assert "symbolic link" in refusal(victim).message
    assert target.read_text() == "precious"


def test_a_socket_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "sock").symlink_to(target)
    assert "is not a socket" in refusal(tmp_path).message
    assert target.read_text() == "precious"
    assert (tmp_path / "sock").is_symlink()


@each_row("kind", ["file", "directory"])
def test_something_else_at_the_place_of_the_socket_is_left_alone(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "sock"
    place.mkdir() if kind == "directory" else place.write_text("precious")
    error = refusal(tmp_path)
    assert (error.kind, "is not a socket" in error.message) == (errors.DATA_DIR, True)
    assert place.exists()


def test_a_file_is_no_directory_and_a_pipe_no_lock(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "not a directory" in refusal(tmp_path / "file").message
    assert "not a directory" in refusal(tmp_path / "file" / "below").message
    os.mkfifo(tmp_path / "lock", 0o600)
    assert "it is a named pipe, not a file" in refusal(tmp_path).message


def test_any_other_trouble_is_told_in_the_system_s_words(tmp_path: Path) -> None:
    assert "File name too long" in refusal(tmp_path / ("x" * 300)).message


def test_a_path_too_long_for_a_socket_is_told_with_both_lengths(tmp_path: Path) -> None:
    path = tmp_path / ("d" * 120)
    error = refusal(path)
    assert error.kind is errors.DATA_DIR
    assert f"{len(os.fsencode(path / 'sock'))} bytes" in error.message
    assert str(MAX_PATH_BYTES) in error.message
    assert not (path / "sock").exists()


def test_a_second_daemon_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    held, listener = start(tmp_path)
    error = refusal(tmp_path)
    assert error.kind is errors.LOCKED
    assert f"process {os.getpid()}" in error.message
    assert (tmp_path / "sock").exists()
    listener.close()
    held.close()
    again, other = start(tmp_path)
    other.close()
    again.close()


def test_a_socket_left_by_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys\n"
        "from tests.wire.test_data_dir import start\n"
        "kept = start(pathlib.Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=root, check=False)
    assert ran.returncode == -9
    assert (tmp_path / "sock").exists()
    held, listener = start(tmp_path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "sock"))
    listener.close()
    held.close()


def test_only_our_own_socket_is_removed(tmp_path: Path) -> None:
    held, listener = start(tmp_path)
    (tmp_path / "sock").unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "sock"))
        listener.close()
        assert (tmp_path / "sock").exists()
    held.close()


def test_a_socket_that_is_gone_already_needs_no_removing(tmp_path: Path) -> None:
    held, listener = start(tmp_path)
    (tmp_path / "sock").unlink()
    listener.close()
    held.close()


def test_a_failing_bind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(listener_module, "_bind_privately", refuse)
    assert "cannot listen on" in refusal(tmp_path).message


ADOPT = """
import os, socket, sys
from mnemond.errors import MnemonError
from mnemond.wire.listener import adopt
fd = int(sys.argv[1])
if fd != 3:
    os.dup2(fd, 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2], LISTEN_FDNAMES="x")
try:
    listener = adopt(os.environ)
    assert listener is not None and listener.adopted
    listener.socket.setblocking(True)
    client, _ = listener.socket.accept()
    client.sendall(b"hello")
    listener.refuse_newcomers()
    listener.close()
    print("served", os.get_inheritable(client.fileno()))
except MnemonError as error:
    print(error.kind.name, error)
print([name for name in os.environ if name.startswith("LISTEN")])
"""


def adopting(passed: socket.socket | int, count: str = "1") -> str:
    fd = passed if isinstance(passed, int) else passed.fileno()
    root = Path(__file__).parents[2]
    return subprocess.check_output(
        [sys.executable, "-c", ADOPT, str(fd), count], pass_fds=[fd], cwd=root, text=True, timeout=20
    )


def test_a_passed_socket_is_adopted_and_never_removed(tmp_path: Path) -> None:
    place = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX) as passed, socket.socket(socket.AF_UNIX) as client:
        passed.bind(place)
        passed.listen()
        client.connect(place)
        assert adopting(passed) == "served False\n[]\n"
        assert client.recv(10) == b"hello"
        assert (tmp_path / "sock").exists()
        with socket.socket(socket.AF_UNIX) as later:
            later.connect(place)  # waits in the backlog for the next daemon


def test_what_cannot_be_adopted_is_told(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX) as deaf,
        socket.socket(socket.AF_INET) as tcp,
        (tmp_path / "file").open("w") as file,
    ):
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        for passed in (deaf, tcp):
            assert "is not a listening Unix stream socket" in adopting(passed)
        assert "is not a socket" in adopting(file.fileno())
        assert "2 sockets were passed" in adopting(deaf, "2")


@each_row("pid", ["1", ""])
def test_sockets_passed_to_another_process_are_not_ours(pid: str) -> None:
    environ = {"LISTEN_PID": pid, "LISTEN_FDS": "1", "PATH": "/"}
    assert adopt(environ) is None
    assert environ == {"PATH": "/"}


def test_no_sockets_were_passed() -> None:
    assert adopt({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0"}) is None
