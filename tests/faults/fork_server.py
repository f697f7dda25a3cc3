"""Daemons that start in milliseconds: a process that has imported everything forks one for each start.

Run as a program it is that process. A line [DATA_DIR, LOG, ENVIRONMENT] on standard input, JSON, starts a daemon, and
its process id is the answer (null for the environment of this process); a line [PROCESS_ID] waits for that process, and
its exit status is the answer.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
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
        self._turn = threading.Lock()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=READY_S)

    def start(self, data_dir: Path) -> Forked:
        """Fork a daemon, and do not wait for it."""
        return Forked(self, data_dir, self._ask([str(data_dir), str(data_dir.with_suffix(".log")), None]))

    def launch(self, data_dir: Path, environment: Mapping[str, str], log: Path) -> ForkedProcess:
        """The same for whoever starts processes."""
        return ForkedProcess(self, self._ask([str(data_dir), str(log), dict(environment)]))

    def wait(self, pid: int) -> int:
        """The exit status of a daemon that ends."""
        return self._ask([pid])

    def _ask(self, request: list[object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


class ForkedProcess:
    """What subprocess.Popen says of a process, for one that is somebody else's child."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._code: int | None = None
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._after(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status once it has ended. Raises subprocess.TimeoutExpired."""
        code = self._after(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("mnemond", timeout or 0.0)
        return code

    def _after(self, timeout: float | None) -> int | None:
        if self._code is None and select.select([self._handle], [], [], timeout)[0]:
            os.close(self._handle)
            self._code = self._server.wait(self.pid)
        return self._code

    def send_signal(self, sig: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _daemon(data_dir: str, log: str, environment: Mapping[str, str] | None) -> None:
    """The life of a forked process."""
    from mnemond.__main__ import main

    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
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
    from mnemond.text import resources

    resources.warm_up()  # each daemon would do it anew, in a thread: 0.2 s of CPU, most of what a test costs
    running = set[int]()
    for line in sys.stdin:
        request = json.loads(line)
        if len(request) == 1:
            answer = os.waitstatus_to_exitcode(os.waitpid(request[0], 0)[1])
            running.discard(request[0])
        elif (answer := os.fork()) == 0:
            _daemon(*request)
        else:
            running.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
