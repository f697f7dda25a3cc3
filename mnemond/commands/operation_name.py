"""How a written operation is named to whoever may want to take it back."""

from __future__ import annotations

import re
import shlex

from mnemond.commands.layout import Style, short_id
from mnemond.commands.terminal import one_line

_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id that the daemon makes."""


def operation_name(op_id: str) -> str:
    """What names an operation in a shell: the beginning of an id that the daemon made, the whole of a caller's own."""
    return short_id(op_id) if _UUID.fullmatch(op_id) else shlex.quote(one_line(op_id))


def undo_hint(op_id: str, style: Style) -> str:
    """How to take a write back."""
    return style.faint(f"  undo: mnemonctl undo {operation_name(op_id)}")
