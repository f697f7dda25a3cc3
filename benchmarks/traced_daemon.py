"""Run a daemon that lists the files its calls enter: the program that `benchmarks.shape` starts instead of mnemond.

    python traced_daemon.py ROOT DATA_DIR

It runs `mnemond.__main__` of the tree ROOT with the interpreter that runs it, so it imports nothing of this tree. Each
line on standard input is answered by a line of JSON on standard output:

    begin      start a recording                                          null
    end        stop it once no thread of the daemon makes calls any more  the files of mnemond and mnemonctl entered
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
import threading
import time
from functools import partial
from types import FrameType

import trio

QUIET_S = 0.02
"""Seconds without any call after which a request has left nothing to do."""


class StoppedClock(trio.abc.Clock):
    """A clock of the event loop that never advances. No sleep and no deadline ends, so jobs, periodic checks and writes
    that are delayed stay out of the recordings."""

    def start_clock(self) -> None:
        """Do nothing."""

    def current_time(self) -> float:
        """Return the time of the start."""
        return 0.0

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Return 0 for what is due already, otherwise a day."""
        return 0.0 if deadline <= 0 else 86_400.0


class Recorder:
    """The profile function of every thread: collects the files of called functions while `active`."""

    def __init__(self) -> None:
        self.active = False
        self.calls = 0
        self._files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note one event. A coroutine that continues counts as called."""
        if self.active and event == "call":
            self.calls += 1
            self._files.add(frame.f_code.co_filename)

    def begin(self) -> None:
        """Start with no files."""
        self._files = set()
        self.active = True

    def end(self) -> set[str]:
        """Wait until no calls are made, and return the files."""
        calls = -1
        while calls != self.calls:
            calls = self.calls
            time.sleep(QUIET_S)
        self.active = False
        return self._files


def answer(command: str, recorder: Recorder, root: str) -> object:
    """Carry out one line of standard input and return the value to send back."""
    if command == "begin":
        recorder.begin()
        return None
    paths = (os.path.relpath(file, root) for file in recorder.end())
    return sorted(path for path in paths if path.startswith(("mnemond/", "mnemonctl/")))


def main() -> None:
    """Run the daemon until it is terminated."""
    root, data_dir = (os.path.realpath(path) for path in sys.argv[1:])
    recorder = Recorder()

    def serve() -> None:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(line.strip(), recorder, root)) + "\n")
            sys.stdout.flush()

    threading.Thread(target=serve, daemon=True).start()
    gc.set_threshold(0)  # a collection calls functions at a moment that depends on everything before it
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    trio.run = partial(trio.run, clock=StoppedClock())  # type: ignore[assignment]
    sys.path[0] = root
    sys.argv = ["mnemond", "--data-dir", data_dir]
    runpy.run_module("mnemond", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
