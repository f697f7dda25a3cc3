"""`mnemonctl setup` on a terminal: where things are on this machine, and how its user is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemonctl import fast
from mnemonctl.setup import command
from mnemonctl.setup.host import Place
from mnemond.commands.output import Output
from mnemond.errors import STORAGE, MnemonError
from mnemond.protocol.daemon import CliRunResult


def place_of(directory: Path, environ: Mapping[str, str]) -> Place:
    """This user's home and environment."""
    return Place(Path(environ.get("HOME") or os.path.expanduser("~")), environ, directory)


def carry_out(
    directory: Path, options: Mapping[str, object], output: Output, environ: Mapping[str, str]
) -> CliRunResult:
    """`mnemonctl setup`. Raises MnemonError."""
    chosen = msgspec.convert(options, command.Options)
    if options.get("readonly") and not chosen.dry_run:
        message = "setup writes, and --readonly was given; nothing was written"
        raise MnemonError(STORAGE, message, hint="--dry-run shows what it would do", outcome="rejected")
    on_terminal = os.isatty(0) and os.isatty(2)
    return command.carry_out(place_of(directory, environ), chosen, output, ask if on_terminal else None)


def ask(text: str) -> bool:
    """Show what would be done and wait for an answer; anything but yes is no."""
    fast.write(2, f"{text}\nDo this? [y/N] ".encode("utf-8", "backslashreplace"))
    answer = os.read(0, 1000)
    return answer.strip().lower() in (b"y", b"yes")
