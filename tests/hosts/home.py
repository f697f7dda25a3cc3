"""A home that is thrown away, with a daemon, a tap before it, and nothing that belongs to anybody."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.wire import Wire
from mnemond.wire.params import SPOOL
from tests.hosts import programs
from tests.hosts.tap import Tap, tapped

RUN_S: Final = 180
STOP_S: Final = 20

LISTEN: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3);"
    "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
    "os.execv(sys.executable, [sys.executable, '-m', 'mnemond', '--data-dir', sys.argv[2]])"
)
"""Becomes a daemon that is handed its socket, as by a service manager: so the tap may have the usual place."""


class Ran(msgspec.Struct):
    """What came of a host: its status and words, and what its model was asked."""

    status: int
    stdout: str
    stderr: str
    asked: list[dict[str, Any]]

    @property
    def everything(self) -> str:
        """For whoever looks why it failed."""
        return f"status {self.status}\n{self.stdout[-4000:]}\n{self.stderr[-4000:]}"

    def lines(self) -> list[dict[str, Any]]:
        """Its output as lines of JSON; others are left out."""
        found = []
        for line in self.stdout.splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def main(self) -> list[str]:
        """The questions that offered tools, each as text."""
        return [json.dumps(each["body"], ensure_ascii=False) for each in self.asked if each["tools"]]


class Home(msgspec.Struct):
    """Where a host runs. `daemon` is the real socket, `tap` stands before it at the usual place."""

    path: Path
    daemon: Path
    tap: Tap
    place: str = "apollo"

    @property
    def directory(self) -> Path:
        """The data directory."""
        return self.path / ".mnemon"

    @property
    def work(self) -> Path:
        """The directory that is worked in."""
        return self.path / self.place

    def environ(self) -> dict[str, str]:
        """All that a host gets of the world."""
        return {"HOME": str(self.path), "PATH": programs.path(), "TERM": "dumb", "LANG": "C.UTF-8"}

    def setup(self, target: str) -> dict[str, Any]:
        """`mnemonctl setup` as a user types it."""
        command = [str(Path(sys.executable).parent / "mnemonctl"), "--json", "setup", "--target", target, "--yes"]
        done = subprocess.run(
            command, env=self.environ(), cwd=self.work, check=False, capture_output=True, text=True, timeout=RUN_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def types(self, *words: str) -> str:
        """What `mnemonctl` says to a person at a terminal. Past the tap: the daemon looks at the process that asks."""
        direct = self.path / "direct"
        direct.mkdir(mode=0o700, exist_ok=True)
        spool = self.path / ".mnemon" / SPOOL
        spool.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (direct / "sock").symlink_to(self.daemon)
            (direct / SPOOL).symlink_to(spool)
        leader, terminal = os.openpty()
        with subprocess.Popen(
            [str(Path(sys.executable).parent / "mnemonctl"), *words], cwd=self.work, start_new_session=True,
            env={**self.environ(), "MNEMON_DATA_DIR": str(direct)}, stdin=terminal, stdout=terminal, stderr=terminal,
        ) as process:  # fmt: skip
            os.close(terminal)
            said = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while more := os.read(leader, 1 << 16):
                    said += more
            os.close(leader)
            assert process.wait(RUN_S) == 0, said.decode()
        return said.decode()

    def ask(self, method: str, **params: object) -> Any:
        """The daemon, past the tap."""
        with Wire(self.daemon) as wire:
            return wire.call(method, **params)

    def run(self, command: list[str], steps: list[dict[str, Any]], **environ: str) -> Ran:
        """A host to its end, with a model that says `steps` and no network where the system allows to take it away.
        {model} in the command and the variables becomes the model's address."""
        script, log = self.path / "steps.json", self.path / "asked.jsonl"
        script.write_text(json.dumps(steps), "utf-8")
        log.write_text("", "utf-8")
        whole = [*without_network(), sys.executable, "-m", "tests.hosts.offline", str(script), str(log), *command]
        status, stdout, stderr = ended(
            whole, {**self.environ(), **environ, "PYTHONPATH": str(programs.ROOT)}, self.work
        )
        return Ran(status, stdout, stderr, [json.loads(line) for line in log.read_text("utf-8").splitlines()])


def without_network() -> list[str]:
    """What runs a program in a network of its own, where that is allowed."""
    found = shutil.which("unshare")
    for options in (["--net"], ["--net", "--map-root-user"]):
        if (
            found is not None
            and not subprocess.run([found, *options, "true"], check=False, capture_output=True).returncode
        ):
            return [found, *options]
    return []


def ended(command: list[str], environ: Mapping[str, str], where: Path) -> tuple[int, str, str]:
    """A program and all that it started, at the latest after RUN_S: status, output, errors."""
    with subprocess.Popen(
        command, env=environ, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            stdout, stderr = process.communicate(timeout=RUN_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        return process.returncode, stdout, stderr


@contextlib.contextmanager
def home(root: Path) -> Iterator[Home]:
    """A home with a daemon that runs for as long as the block lasts."""
    path = root / "home"
    directory, passed = path / ".mnemon", root / "daemon.sock"
    (path / "apollo").mkdir(parents=True)
    directory.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(passed))
        listening.listen()
        process = subprocess.Popen(
            [sys.executable, "-c", LISTEN, str(listening.fileno()), str(directory)],
            pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        with tapped(directory / "sock", passed) as tap:
            yield Home(path, passed, tap)
    finally:
        process.terminate()
        process.wait(STOP_S)
