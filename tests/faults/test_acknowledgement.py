"""The order of system calls, seen from outside: no `remember` is acknowledged before the log it stands in has been
flushed by a call that began after the request had arrived and returned before the reply left."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.wire import Wire
from tests.tables import each_row

CLIENTS = 4
WRITES = 50
PATIENCE_S = 120.0

_LINE = re.compile(r"(?P<thread>\d+) +(?:<\.\.\. (?P<resumed>\w+) resumed>|(?P<name>\w+)\()(?P<rest>.*)")
_UNFINISHED = "<unfinished ...>"


class Event:
    """A system call's beginning or its end. `text` is its arguments and, at the end, what it returned."""

    def __init__(self, name: str, text: str, *, begins: bool, ends: bool) -> None:
        self.name, self.text, self.begins, self.ends = name, text, begins, ends

    @property
    def descriptor(self) -> str:
        return self.text.partition("<")[0]

    @property
    def succeeded(self) -> bool:
        return self.ends and not self.text.rstrip().rpartition(" = ")[2].startswith("-1")


def events(trace: Iterator[str]) -> Iterator[Event]:
    """The calls of every thread in the order in which they began and ended."""
    begun: dict[str, str] = {}
    for line in trace:
        found = _LINE.match(line)
        if found is None:
            continue
        thread, rest = found["thread"], found["rest"]
        if found["resumed"] is not None:
            yield Event(found["resumed"], begun.pop(thread, "") + rest, begins=False, ends=True)
        elif rest.rstrip().endswith(_UNFINISHED):
            begun[thread] = rest.rstrip().removesuffix(_UNFINISHED)
            yield Event(found["name"], begun[thread], begins=True, ends=False)
        else:
            yield Event(found["name"], rest, begins=True, ends=True)


class Acknowledgements:
    """How many writes were acknowledged, and which of them too early."""

    def __init__(self, trace: Iterator[str]) -> None:
        self.acknowledged = 0
        self.too_early: list[str] = []
        self.flushes = 0
        self._began: list[int] = []
        self._clock = 0
        self._newest_flushed = -1
        self._arrived: dict[str, int] = {}
        for event in events(trace):
            self._clock += 1
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.name in ("fdatasync", "fsync") and "-wal>" in event.text:
            self._flush(event)
        elif event.name in ("recvfrom", "recvmsg", "read") and event.succeeded and "remember" in event.text:
            self._arrived[event.descriptor] = self._clock
        elif event.name in ("sendto", "sendmsg", "write") and event.begins and '\\"result\\"' in event.text:
            arrived = self._arrived.pop(event.descriptor, None)
            if arrived is not None:
                self.acknowledged += 1
                if self._newest_flushed <= arrived:
                    self.too_early.append(event.text)

    def _flush(self, event: Event) -> None:
        # One writer thread: flushes never overlap.
        if event.begins:
            self._began.append(self._clock)
        if event.ends:
            began = self._began.pop()
            if event.succeeded:
                self.flushes += 1
                self._newest_flushed = began


def line(thread: int, text: str) -> str:
    return f"{thread} {text}\n"


ASK = line(1, 'recvfrom(9<socket:[1]>, "{\\"method\\":\\"remember\\"}", 65536, 0, NULL, NULL) = 30')
ANSWER = line(1, 'sendto(9<socket:[1]>, "{\\"result\\":{}}", 14, 0, NULL, 0) = 14')
FLUSH = line(2, "fdatasync(7</d/mnemon.db-wal>) = 0")
FLUSH_BEGINS = line(2, "fdatasync(7</d/mnemon.db-wal> <unfinished ...>")
FLUSH_ENDS = line(2, "<... fdatasync resumed>) = 0")
FLUSH_FAILS = line(2, "fdatasync(7</d/mnemon.db-wal>) = -1 EIO (Input/output error)")


@each_row(
    ("trace", "too_early"),
    [
        ([ASK, FLUSH, ANSWER], 0),
        ([ASK, FLUSH_BEGINS, FLUSH_ENDS, ANSWER], 0),
        ([ASK, ANSWER], 1),
        ([FLUSH, ASK, ANSWER], 1),
        ([ASK, FLUSH_BEGINS, ANSWER, FLUSH_ENDS], 1),
        ([FLUSH_BEGINS, ASK, FLUSH_ENDS, ANSWER], 1),
        ([ASK, FLUSH_FAILS, ANSWER], 1),
        ([ASK, FLUSH.replace("-wal", ""), ANSWER], 1),
    ],
)
def test_the_order_of_calls_is_judged(trace: list[str], too_early: int) -> None:
    judged = Acknowledgements(iter(trace))
    assert judged.acknowledged == 1
    assert len(judged.too_early) == too_early


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_memory_is_acknowledged_before_it_is_flushed(tmp_path: Path) -> None:
    home, trace = tmp_path / "home", tmp_path / "trace"
    may_trace = subprocess.run(["strace", "-qq", "-o", str(trace), "true"], capture_output=True, text=True, check=False)
    if may_trace.returncode != 0:
        pytest.skip(f"strace may not trace here: {may_trace.stderr.strip()}")
    calls = "trace=recvfrom,recvmsg,sendto,sendmsg,fsync,fdatasync"
    tracer = subprocess.Popen(
        ["strace", "-f", "-y", "-qq", "-s", "300", "-o", str(trace), "-e", calls,
         sys.executable, "-m", "mnemond", "--data-dir", str(home)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert tracer.stderr is not None
        assert '"ready"' in tracer.stderr.readline()
        at_once([lambda number=number: write(home / "sock", number) for number in range(CLIENTS)])  # type: ignore[misc]
        with Wire(home / "sock") as wire:
            wire.call("daemon.stop")
        assert tracer.wait(PATIENCE_S) == 0
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGTERM)  # strace passes it on
        tracer.communicate()
    with trace.open(encoding="utf-8", errors="replace") as lines:
        judged = Acknowledgements(lines)
    assert judged.acknowledged == CLIENTS * WRITES
    assert judged.too_early == []
    assert judged.flushes > 0


def write(path: Path, number: int) -> None:
    with Wire(path) as wire:
        for counted in range(WRITES):
            wire.call("remember", content=f"client {number}, memory {counted}")


def at_once(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
