"""Daemons that start in milliseconds: a process that has imported everything forks one for each start.

Run as a program it is that process: a line "DATA_DIR<tab>LOG" on standard input starts a daemon, and its process id is
the answer; a line with a process id waits for that process, and its exit status is the answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Self

from benchmarks.daemon_process import POLL_S, READY_S
from benchmarks.wire import Wire


class Forked:
    """A daemon of the server's. It may be starting still."""

    def __init__(self, server: ForkServer, data_dir: Path, pid: int) -> None:
        self._server = server
        self.data_dir = data_dir
        self.pid = pid

    def connect(self) -> Wire:
        """A connection as soon as the socket accepts one."""
        deadline = time.monotonic() + READY_S
        while True:
            try:
                return Wire(self.data_dir / "sock")
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)

    def end(self, by: signal.Signals) -> int:
        """Its exit status after this signal; negative for a signal that ended it."""
        os.kill(self.pid, by)
        return self._server.wait(self.pid)


class ForkServer:
    """A context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fork_server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=READY_S)

    def start(self, data_dir: Path) -> Forked:
        """Fork a daemon, and do not wait for it."""
        return Forked(self, data_dir, self._ask(f"{data_dir}\t{data_dir.with_suffix('.log')}"))

    def wait(self, pid: int) -> int:
        """The exit status of a daemon that ends."""
        return self._ask(str(pid))

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def _daemon(data_dir: str, log: str) -> None:
    """The life of a forked process."""
    from mnemond.__main__ import main

    os.setsid()
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    silent = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in ((0, silent), (1, silent), (2, written)):
        os.dup2(descriptor, number)
    status = 70
    try:
        status = main(["--data-dir", data_dir])
    except BaseException:  # noqa: ASYNC103 - the process ends here
        traceback.print_exc()
    finally:
        os._exit(status)


def serve() -> None:
    """Until standard input ends, be it that the tests were killed; no daemon outlives that."""
    import mnemond.__main__  # noqa: F401

    running = set[int]()
    for line in sys.stdin:
        first, _, log = line.rstrip("\n").partition("\t")
        if not log:
            answer = os.waitstatus_to_exitcode(os.waitpid(int(first), 0)[1])
            running.discard(int(first))
        elif (answer := os.fork()) == 0:
            _daemon(first, log)
        else:
            running.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
