"""The two programs that hosts run, as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemonctl.launcher import hook, mcp
from mnemonctl.setup import own_files
from tests.architecture.test_fast_path import imported_at_once
from tests.mnemonctl.daemons import fake_daemon
from tests.tables import each_row

EVENT = b'{"hook_event_name":"UserPromptSubmit","prompt":"why no Redis"}'
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"SQLite"}}\n'
COMPILED_IN = {"_signal", "_socket", "_thread", "posix", "time"}
PROMISED_S = 0.3
"""Within which a host has its answer, or nothing; the deep run below holds the launcher to it."""
LATE_BY_CHANCE = 3
"""Of a thousand, how many more a machine that stops now and then may make late than of a thousand that only sleep."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with both programs; what would start a daemon leaves a mark instead."""
    root = tmp_path / "m"
    root.mkdir(mode=0o700)
    for file in own_files.launcher_files(root):
        file.write()
        start = repr(tuple(map(os.fsencode, own_files.start_command(root))))
        assert start in file.text
        program = file.text.replace(start, repr((b"/usr/bin/touch", os.fsencode(root / "started"))))
        file.path.write_text(program, "utf-8")
    return root


def ask(directory: Path, said: bytes = EVENT, kind: own_files.Kind = "hook") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [own_files.launcher(directory, kind)], input=said, capture_output=True, check=False, timeout=60
    )


def started(directory: Path) -> bool:
    """Whether something was started, soon."""
    ends = time.monotonic() + 10
    while not (directory / "started").exists() and time.monotonic() < ends:
        time.sleep(0.01)
    return (directory / "started").exists()


@contextmanager
def listener(directory: Path) -> Iterator[socket.socket]:
    """A socket nobody accepts from: a daemon that is stopped, or hangs."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as found:
        found.bind(str(directory / "sock"))
        found.listen(1)
        yield found


@each_row("module", [hook, mcp])
def test_they_import_built_in_modules_only(module: object) -> None:
    source = Path(str(getattr(module, "__file__", ""))).read_text("utf-8")
    assert imported_at_once(source) <= COMPILED_IN
    assert "mnemon" not in "".join(line for line in source.splitlines() if line.startswith(("import", "from")))


@pytest.mark.parametrize("said", [EVENT, EVENT + b"\n", b'{\n "hook_event_name": "Stop"\n}\n'])
def test_a_hook_gets_the_daemons_answer_as_it_is(directory: Path, said: bytes) -> None:
    with fake_daemon(directory, lambda _: ANSWER) as daemon:
        done = ask(directory, said)
    assert (done.returncode, done.stdout, done.stderr) == (0, ANSWER, b"")
    assert b"".join(daemon.messages).startswith(said[:1])


def test_a_hook_does_not_wait_for_a_host_that_keeps_its_end_open(directory: Path) -> None:
    with (
        fake_daemon(directory, lambda _: ANSWER),
        subprocess.Popen(
            [own_files.launcher(directory, "hook")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as running,
    ):
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(EVENT + b"\n")
        running.stdin.flush()
        assert running.stdout.read() == ANSWER
        assert running.wait(60) == 0


@pytest.mark.parametrize(
    "answer",
    [b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}\n', b"x" * (hook.MAX_ANSWER + 1), b""],
)
def test_an_answer_that_is_none_is_not_for_the_host(directory: Path, answer: bytes) -> None:
    with fake_daemon(directory, lambda _: answer):
        done = ask(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_of_what_is_too_long_the_beginning_is_sent_and_the_rest_is_read(directory: Path) -> None:
    """The daemon can hold a call of which it knows the tool, and the host's write does not fail."""
    sent = b'{"tool_name":"Bash","tool_input":"' + b"x" * (3 * hook.MAX_MESSAGE)
    with fake_daemon(directory, lambda _: ANSWER) as daemon:
        done = ask(directory, sent)
    assert (done.returncode, done.stdout, daemon.messages) == (0, ANSWER, [sent[: hook.BEGINNING]])


def test_without_a_daemon_a_hook_has_one_started_once_a_minute_and_says_nothing(directory: Path) -> None:
    done = ask(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert started(directory)
    assert (directory / "hook-start.stamp").stat().st_mode & 0o777 == 0o600
    (directory / "started").unlink()
    assert ask(directory).returncode == 0
    os.utime(directory / "hook-start.stamp", (0, 0))
    assert not (directory / "started").exists()
    assert ask(directory).returncode == 0
    assert started(directory)


def test_a_hook_survives_a_data_directory_that_is_gone(directory: Path) -> None:
    program = directory.parent / "hook"
    own_files.launcher(directory, "hook").rename(program)
    for path in (directory / "bin" / "mnemond-mcp", directory / "bin", directory):
        path.unlink() if path.is_file() else path.rmdir()
    done = subprocess.run([program], input=EVENT, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, directory.exists()) == (0, b"", False)


def test_a_hook_gives_up_a_daemon_that_hangs_before_and_after_it_was_heard(directory: Path) -> None:
    with fake_daemon(directory, lambda _: None):
        done = ask(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (directory / "sock").unlink()
    with listener(directory):
        for _ in range(4):  # the first ones find room in the backlog
            done = ask(directory)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_gives_up_a_host_that_never_speaks_even_with_the_alarm_blocked(directory: Path) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    try:
        with subprocess.Popen(
            [own_files.launcher(directory, "hook")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as running:
            assert running.wait(60) == 0
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@pytest.mark.parametrize("times", [20, pytest.param(1000, marks=pytest.mark.deep)])
def test_stopped_hung_or_absent_a_daemon_costs_a_hook_nothing_but_its_deadline(directory: Path, times: int) -> None:
    (directory / "hook-start.stamp").touch()
    took: list[float] = []
    floor: list[float] = []
    for number in range(times):
        if number % 4 == 0:
            took.append(timed(directory))  # nobody listens
        else:
            with listener(directory):
                took.append(timed(directory))
            (directory / "sock").unlink()
        if times > 100:
            floor.append(slept())  # as often: the longest of a few is shorter than the longest of many
    if times > 100:
        figures = (sorted(took)[-10:], sorted(floor)[-10:])
        assert len(late(took)) <= len(late(floor)) + LATE_BY_CHANCE, figures
        assert max(took) <= 2 * max(PROMISED_S, *floor), figures


def late(took: list[float]) -> list[float]:
    return [seconds for seconds in took if seconds > PROMISED_S]


def slept() -> float:
    """Seconds that a bare interpreter takes which sleeps until the deadline: what the machine itself makes of it."""
    began = time.monotonic()
    code = f"import time; time.sleep({hook.DEADLINE_S})"
    subprocess.run([own_files.interpreter(), "-IS", "-c", code], check=True, capture_output=True, timeout=60)
    return time.monotonic() - began


def timed(directory: Path) -> float:
    """Seconds until a host has the end of a hook that must say nothing."""
    began = time.monotonic()
    done = ask(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return time.monotonic() - began


# ------------------------------------------------------------------ mcp


def test_an_mcp_server_carries_both_directions_until_the_host_ends(directory: Path) -> None:
    with fake_daemon(directory, lambda message: message.upper()) as daemon:
        done = ask(directory, b'{"method":"initialize"}\n', "mcp")
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"METHOD":"INITIALIZE"}\n', b"")
    assert daemon.messages == [b'{"method":"initialize"}\n']


def test_an_mcp_server_waits_for_the_daemon_it_starts(directory: Path) -> None:
    with subprocess.Popen(
        [own_files.launcher(directory, "mcp")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert started(directory)
        with fake_daemon(directory, lambda message: message):
            assert running.communicate(b"late\n", 60)[0] == b"late\n"
    assert running.returncode == 0


def test_an_mcp_server_says_why_it_cannot_serve(directory: Path) -> None:
    (directory / "sock").symlink_to(directory / "sock")
    done = ask(directory, b"", "mcp")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"mnemond-mcp: cannot reach mnemond at ")


# ------------------------------------------------------------------ the files


def test_they_run_by_the_interpreter_itself_and_no_shim(directory: Path) -> None:
    first = own_files.launcher(directory, "hook").read_text("utf-8").splitlines()[0]
    interpreter = first.removeprefix("#!").removesuffix(" -IS")
    assert Path(interpreter).is_absolute()
    assert not Path(interpreter).is_symlink()
    assert own_files.launcher(directory, "hook").stat().st_mode & 0o777 == 0o700


def test_an_interpreter_whose_path_fits_no_shebang_is_run_all_the_same(tmp_path: Path, directory: Path) -> None:
    place = tmp_path / "a b's" / ("long" * 30)
    place.mkdir(parents=True)
    (place / "python").symlink_to(own_files.interpreter())
    lines = own_files.first_lines(str(place / "python"))
    assert lines.startswith("#!/bin/sh\n")
    program = own_files.launcher(directory, "hook")
    program.write_text(lines + program.read_text("utf-8").split("\n", 1)[1], "utf-8")
    with fake_daemon(directory, lambda _: ANSWER):
        assert ask(directory).stdout == ANSWER


def test_what_would_start_a_daemon_is_this_environments_client(tmp_path: Path) -> None:
    command = [*own_files.start_command(tmp_path)]
    assert command[-4:] == ["daemon", "start", "--data-dir", str(tmp_path)]
    done = subprocess.run([*command[:-4], "version"], capture_output=True, cwd="/", check=True, timeout=60)
    assert b"protocol" in done.stdout


def test_both_know_by_which_error_nobody_listens() -> None:
    import errno

    for module in (hook, mcp):
        assert {errno.ENOENT, errno.ECONNREFUSED} <= set(module.NOT_RUNNING)
