"""A real daemon on its own data directory: start it, measure its use of resources, stop it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self

from benchmarks.wire import RpcError, Wire

READY_S = 60.0
STOP_S = 10.0
POLL_S = 0.002

NO_CAP = "[lifecycle]\nmax_insights = 0\n"
"""The config.toml of a benchmark: stores of any size."""


@dataclass(frozen=True)
class Usage:
    """Resources a process has used: CPU seconds (user and system), resident and anonymous memory in MiB."""

    cpu_s: float
    rss_mib: float
    anonymous_mib: float


@dataclass(frozen=True)
class Tree:
    """A checkout, and the interpreter that has its libraries."""

    root: Path
    python: Path


class DaemonError(Exception):
    """The daemon did not start or did not stop; the message has the end of its log."""


class Running(Protocol):
    """The part of subprocess.Popen that is needed."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


Launch = Callable[[Path, Mapping[str, str], Path], Running]
"""Starts a daemon on a data directory, in an environment, with a file for its output."""


def _launched(data_dir: Path, environment: Mapping[str, str], log: Path) -> Running:
    with log.open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "mnemond", "--data-dir", str(data_dir)],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment, start_new_session=True,
        )  # fmt: skip


class DaemonProcess:
    """`python -m mnemond` on `data_dir`, ready to answer once the context is entered."""

    launch: ClassVar[Launch] = staticmethod(_launched)

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.socket_path = data_dir / "sock"
        self.log_path = data_dir / "benchmark-stderr.log"
        self._process: Running | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Spawn and wait until `ping` is answered. DaemonError when it leaves or stays silent."""
        self.spawn()
        with self.connect_when_ready() as wire:
            wire.call("ping")

    def spawn(self) -> None:
        """Start the process without waiting."""
        self._process = type(self).launch(self.data_dir, self.environment(), self.log_path)

    def environment(self) -> dict[str, str]:
        """Return the environment of this process without settings of mnemond."""
        return {key: value for key, value in os.environ.items() if not _ours(key)}

    def connect_when_ready(self) -> Wire:
        """A connection as soon as the socket accepts one."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            try:
                return Wire(self.socket_path)
            except (FileNotFoundError, ConnectionRefusedError):
                if self._running().poll() is not None:
                    raise DaemonError(self._story("left while starting")) from None
                time.sleep(POLL_S)
        raise DaemonError(self._story(f"did not listen within {READY_S:.0f} s"))

    def connect(self) -> Wire:
        """Another connection to the running daemon."""
        return Wire(self.socket_path)

    def stop(self) -> float:
        """SIGTERM, then the seconds it took to leave. DaemonError when it has to be killed or exits non-zero."""
        process, begin = self._running(), time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise DaemonError(self._story(f"did not leave within {STOP_S:.0f} s of SIGTERM")) from None
        if code != 0:
            raise DaemonError(self._story(f"left with status {code}"))
        return time.monotonic() - begin

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the process for the time of the block, as if it hung: connections are still accepted."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def usage(self) -> Usage:
        """From /proc, so far."""
        pid = self._running().pid
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # utime and stime, proc(5), counted after the command name
        sizes = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        resident, anonymous = (int(sizes[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon"))
        return Usage(ticks / os.sysconf("SC_CLK_TCK"), resident, anonymous)

    def _running(self) -> Running:
        if self._process is None:
            raise DaemonError("the daemon was never started")
        return self._process

    def _story(self, what: str) -> str:
        log = self.log_path.read_text(encoding="utf-8", errors="replace")[-2000:]
        return f"the daemon {what}; the end of its output:\n{log}"


def _ours(key: str) -> bool:
    """Return True if a variable would configure the daemon."""
    return key.startswith("MNEMON_") or key in {"OPENBLAS_NUM_THREADS", "LISTEN_FDS", "LISTEN_PID"}


@contextmanager
def temporary_data_dir(config: str = NO_CAP) -> Iterator[Path]:
    """An empty data directory (0700) with this config.toml; removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="mnemond-bench-"))
    try:
        (path / "config.toml").write_text(config, encoding="utf-8")
        yield path
    finally:
        shutil.rmtree(path)


__all__ = ["NO_CAP", "DaemonError", "DaemonProcess", "RpcError", "Tree", "Usage", "temporary_data_dir"]
