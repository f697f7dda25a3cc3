"""`mnemonctl browse`, which the client runs by itself."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.cli.parser import Command, Group
from mnemond.wire.params import about


class BrowseOptions(msgspec.Struct, frozen=True):
    light: Annotated[bool, about("colours for a light terminal; the key L changes them as well")] = False


BROWSE = Command(
    "browse",
    Group.LOOK,
    ("mnemonctl browse", "mnemonctl browse --store work", "mnemonctl browse --light"),
    summary="Look through a store in the terminal: decide reviews, edit, forget, merge and take back.",
    details=(
        "Reviews, memories with the filters of `list`, operations, names, timelines, jobs, and recalls with reasons.",
        "F1 shows the keys, q leaves. A change can be taken back from there (z), as with `mnemonctl undo`.",
        "It needs a terminal and the library textual: pip install 'mnemond[tui]'. No port is opened.",
    ),
    options=BrowseOptions,
)
