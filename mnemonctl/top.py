"""`mnemonctl top`: ask the daemon what it does, again and again. It is not started for this."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import fast, rpc
from mnemond.commands.output import Output
from mnemond.commands.top import render
from mnemond.protocol.stats import TopResult

CLEAR: Final = "\x1b[H\x1b[2J"
"""Home, and erase the screen (ECMA-48)."""

USUAL_S: Final = 1.0


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    once: bool = False
    interval: float = USUAL_S


def carry_out(directory: Path, options: Options, output: Output) -> int:
    """Print until Ctrl-C or the reader leaves; with `once` a single time. Raises MnemonError, KeyboardInterrupt."""
    while True:
        result = look(directory, options.interval)
        if output.form == "json":
            text = output.json(result)
        else:
            live = output.tty and not options.once
            text = (CLEAR if live else "") + render(result, output.style)
        if not _printed(text) or options.once:
            return 0


def _printed(text: str) -> bool:
    """Whether somebody is there to read it. Raises Unwritten when it cannot be written otherwise."""
    view = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        return False
    except OSError as error:
        raise fast.Unwritten(error.strerror) from None
    return True


def look(directory: Path, interval_s: float) -> TopResult:
    """What the daemon did in so many seconds from now. Raises MnemonError when none answers."""
    deadline = fast.DEADLINE_S + interval_s
    try:
        return rpc.call(directory, "top", {"interval_s": interval_s}, deadline, TopResult)
    except OSError as error:
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise rpc.silent(directory, error, "top") from None
