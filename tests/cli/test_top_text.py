"""What `mnemonctl top` prints, and what it takes."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams, MethodRate, StoreLoad, TopResult
from mnemond.cli.admin import render_top
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.output import Style
from tests.cli.test_terminal import PAYLOADS, unsafe_left
from tests.tables import each_row

TOP = TopResult(
    version="0.1.0", pid=4711, uptime_s=7300.0, interval_s=1.0, connections=2, accepted=9, refused=0, cut=1,
    messages=123_456, messages_per_s=812.5, lag_p50_ms=0.12, lag_worst_ms=4.25,
    methods=[MethodRate("recall", 120_000, 800.0, 1.04, 2.5), MethodRate("cli.run", 12, 0.0, 27.6, 110.2)],
    stores=[
        StoreLoad("default", 1234, 3, True, "prune", None),
        StoreLoad("work", 5, 0, False, None, "the disk is full"),
    ],
)  # fmt: skip

TEXT = """\
mnemond 0.1.0, pid 4711, up 2 h, 2 connections
  812.5 messages/s of 123,456, loop late by 0.12 ms, at worst 4.2 ms
  connections: 9 accepted, 1 cut
method                per s       calls    p50 ms    p95 ms
recall                800.0     120,000       1.0       2.5
cli.run                 0.0          12      27.6       110
store               waiting    memories  state
default                   3       1,234  busy, runs prune
work                      0           5  idle, degraded: the disk is full
"""


def test_what_people_read() -> None:
    assert render_top(TOP, Style()) == TEXT
    assert render_top(TOP, Style(quiet=True)) == "812.5\n"
    assert render_top(msgspec.structs.replace(TOP, stores=[]), Style()).endswith("no store is open\n")


@each_row("columns", [20, 80])
@each_row("payload", PAYLOADS.values())
def test_no_name_can_drive_the_terminal(payload: str, columns: int) -> None:
    hostile = msgspec.structs.replace(
        TOP,
        version=payload,
        methods=[MethodRate(payload + "\n", 1, 1.0, 1.0, 1.0)],
        stores=[StoreLoad(payload + "\n", 1, 1, True, payload, payload + "\n")],
    )
    text = render_top(hostile, Style(columns=columns))
    assert unsafe_left(text) == []
    assert len(text.splitlines()) == 7


def test_what_it_takes() -> None:
    parsed = parse(CliRunParams(argv=["top", "--once", "--interval", "2.5"]))
    assert isinstance(parsed, Invocation)
    assert (parsed.method, parsed.options["once"], parsed.options["interval"]) == (None, True, 2.5)
