"""What an agent's hook says, under one set of names for all hosts."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

HostName: TypeAlias = Literal["claude-code", "codex", "gemini", "cursor", "copilot-cli", "windsurf", "cline"]

MomentName: TypeAlias = Literal[
    "session_start", "prompt", "tool_batch", "tool_failure", "assistant_done", "pre_compact", "post_compact",
    "subagent_start", "subagent_done", "session_end",
]  # fmt: skip

MAX_NAME = 200
"""Characters of a session, turn, source or agent; as many as a conversation may have."""

MAX_PATH = 4096
"""Characters of a directory: PATH_MAX of Linux."""

MAX_TEXT = 32_000
"""Characters of any other text; what is longer is cut. Four times what one memory holds."""

MAX_WRAPPED = 250_000
"""Characters of a prompt with everything that editors and other programs have put around it, such as open files; and of
an answer or a summary, which are cut in the middle where they are kept."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of one session. What the host does not say, or says in another type, is empty.

    `session` and `turn` are the host's own names; `cwd` is absolute; `text` is what the moment is about: the prompt,
    the last message, the summary, the task, the error. `prompt` is the one that a message answers. `source` says how a
    session began or ended, where a prompt is from or what asked for a compaction. `agent` is a subagent. `again`: a
    hook has kept this turn going before.
    """

    moment: MomentName
    session: str
    turn: str = ""
    cwd: str = ""
    text: str = ""
    prompt: str = ""
    source: str = ""
    agent: str = ""
    again: bool = False


class Payload(msgspec.Struct, frozen=True):
    """A hook's payload: whose it is, what the host calls the event, and what was heard, if memory minds it at all."""

    host: HostName
    event: str
    heard: Heard | None = None
