"""Prompts without what other programs have put into them, which nobody typed and nobody should search for."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = ("hook_context", "system-reminder", "recalled-data")
"""Tags around what hosts and this program add: Gemini CLI passes what a hook said at the start of the session on inside
the prompt; Claude Code adds reminders; the last is our own fence, with its number behind the name."""

_OPENING = re.compile(r"<(" + "|".join(_NAMES) + r")(?:[ \t][^<>\n]{0,100})?>")


def without_wrappers(prompt: str) -> str:
    """The text without wrapped parts, white space at its ends removed. A part that is never closed stays: it may be
    what somebody typed."""
    kept: list[str] = []
    start = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(prompt):
        name = opening[1]
        if opening.start() < start or name in unclosed:
            continue
        closing = prompt.find(f"</{name}", opening.end())
        end = -1 if closing < 0 else prompt.find(">", closing)
        if end < 0:
            unclosed.add(name)  # none of them is closed further on: looking again would take time squared
            continue
        kept.append(prompt[start : opening.start()])
        start = end + 1
    kept.append(prompt[start:])
    return "".join(kept).strip()
