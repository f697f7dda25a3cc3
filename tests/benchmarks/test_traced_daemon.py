"""The recorder of a traced daemon, and the clock that keeps its jobs still."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import trio

from benchmarks.traced_daemon import Recorder, StoppedClock, answer

ROOT = Path(__file__).resolve().parents[2]


def test_files_count_while_a_recording_lasts() -> None:
    recorder = Recorder()
    frame = sys._getframe()
    recorder(frame, "call", None)
    assert answer("begin", recorder, str(ROOT)) is None
    recorder(frame, "return", None)
    assert answer("end", recorder, str(ROOT)) == []
    answer("begin", recorder, str(ROOT))
    recorder(frame, "call", None)
    assert answer("end", recorder, str(Path(__file__).parent)) == []  # it is no file of mnemond
    assert recorder.end() == {__file__}


def test_files_are_named_from_the_root() -> None:
    recorder = Recorder()
    recorder.begin()
    names: dict[str, FrameType] = {}
    exec(compile("import sys\nframe = sys._getframe()", str(ROOT / "mnemond" / "clock.py"), "exec"), names)
    recorder(names["frame"], "call", None)
    assert answer("end", recorder, str(ROOT)) == ["mnemond/clock.py"]


def test_nothing_that_sleeps_wakes_up() -> None:
    clock = StoppedClock()

    async def sleep() -> str:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 0.001)
            await trio.lowlevel.checkpoint()
            with trio.move_on_after(0):
                await trio.sleep_forever()
            nursery.cancel_scope.cancel()
            return "left"
        raise AssertionError

    assert clock.deadline_to_sleep_time(0.001) > 3_600
    assert trio.run(sleep, clock=clock) == "left"
