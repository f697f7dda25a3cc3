"""What a hook prints: the answer in the shape its host takes, a context where it takes one at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from mnemond.protocol.envelope import clean
from mnemond.protocol.hooks.heard import HostName, Payload

MAX_CONTEXT = 9_000
"""UTF-16 units of a context. At 10,000 Claude Code shows the model a file name instead, and Codex cuts the middle out
(measured); both count as JavaScript does."""

_LAST_LINE = 200
"""Units of a last line that is kept when a text is cut: the end of its fence."""

_FOUR: Final = frozenset(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"))

TAKES_CONTEXT: Final[Mapping[HostName, frozenset[str]]] = {
    "claude-code": _FOUR | {"PostToolBatch", "PostToolUseFailure"},
    "codex": _FOUR,
    "gemini": frozenset(("SessionStart", "BeforeAgent", "AfterTool")),
    "cursor": _FOUR | {"sessionStart", "beforeSubmitPrompt", "postToolUse"},
    "copilot-cli": frozenset((
        "sessionStart", "subagentStart", "postToolUse", "postToolUseFailure",
        "SessionStart", "SubagentStart", "PostToolUse", "PostToolUseFailure",
    )),
    "windsurf": frozenset(),
    "cline": frozenset(("TaskStart", "TaskResume", "UserPromptSubmit", "PostToolUse")),
}  # fmt: skip
"""Events at which a host shows the model what a hook says. Never at the end of a turn: there a context starts another
turn, and then another. Never before a compaction or at the end of a session, where Codex refuses the whole answer."""

_encoder = msgspec.json.Encoder()


def takes_context(payload: Payload) -> bool:
    """Whether a context would reach the model."""
    return payload.event in TAKES_CONTEXT[payload.host]


def reply(payload: Payload, context: str = "") -> bytes:
    """One line without its newline: `context`, bounded, where the host takes it; else that all is well.

    Only keys that the host knows: Codex refuses an answer with any other.
    """
    return _encoder.encode(_shaped(payload, bounded(clean(context)) if takes_context(payload) else ""))


def _shaped(payload: Payload, context: str) -> Mapping[str, object]:
    event = payload.event
    if payload.host == "cline":
        return {"cancel": False, "contextModification": context, "errorMessage": ""}
    if not context:
        return {}
    if payload.host == "cursor" and event[:1].islower():
        going_on = {"continue": True} if event == "beforeSubmitPrompt" else {}
        return {**going_on, "additional_context": context}
    plain = {"additionalContext": context} if payload.host == "copilot-cli" else {}
    if plain and event[:1].islower():
        return plain
    # Of VS Code's agents and Copilot CLI, which send the same, each reads one of the two.
    return {**plain, "hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def bounded(text: str, most: int = MAX_CONTEXT) -> str:
    """The text, cut at a line's end if it is too long, with its last line where that is short: it closes a fence."""
    if units(text) <= most:
        return text
    body = text.rstrip("\n")
    last = body[body.rfind("\n") + 1 :]
    last = f"…\n{last}\n" if units(last) <= _LAST_LINE else "…\n"
    room = most - units(last)
    head = text.encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore")
    return head[: head.rfind("\n") + 1 or len(head)] + last


def units(text: str) -> int:
    """How long JavaScript finds a text."""
    return len(text) + sum(1 for each in text if each > "\uffff") if not text.isascii() else len(text)
