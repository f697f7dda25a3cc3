"""Passages: what was said in the sessions of agents, exchange by exchange, as it was said."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mnemond.model.memory import Scope

PassageKind = Literal["exchange", "summary"]
"""A prompt with the last answer to it; or what a host wrote about its session when it compacted it."""

BETWEEN: Final = "\n\n"
"""Between the prompt and the answer in the text of a passage."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange of a session: the prompt and the last answer, without secrets, otherwise verbatim.

    `said_at`: RFC 3339, UTC. `conversation_id`: the host's id of the session, "" if it has none. `project`: id of a
    project (`memory.project_parts`), "" for none; `user_id`, `session_id`, `agent_id`: the audience, "" for everybody.
    """

    id: str
    said_at: str
    host: str
    conversation_id: str = ""
    project: str = ""
    prompt: str = ""
    answer: str = ""
    kind: PassageKind = "exchange"
    user_id: str = ""
    session_id: str = ""
    agent_id: str = ""

    @property
    def text(self) -> str:
        """The prompt and the answer as one text."""
        return BETWEEN.join(filter(None, (self.prompt, self.answer)))

    @property
    def scope(self) -> Scope:
        """The audience."""
        return Scope(self.user_id or None, self.session_id or None, self.agent_id or None, self.project or None)
