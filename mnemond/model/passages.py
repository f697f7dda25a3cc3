"""Passages: what was said in the sessions of agents, exchange by exchange, as it was said."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from mnemond.model.memory import Scope

PassageKind = Literal["exchange", "summary"]
"""A prompt with the last answer to it; or what a host wrote about its session when it compacted it."""

CHATS: Final = frozenset({"chatgpt", "claude-ai"})
"""Hosts of conversations that were imported. They belong to no project, and no session goes on from them."""

BETWEEN: Final = "\n\n"
"""Between the prompt and the answer in the text of a passage."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange of a session or of an imported conversation: the prompt and the last answer, without secrets,
    otherwise verbatim.

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


# Changes: parts of a ChangeSet.


class KeepPassage(msgspec.Struct, frozen=True, tag=True):
    """Keep a passage. Ignored if its id or its `key` (a hash that names the turn) is known; one with this key comes
    back if the operation that kept it was undone. `vectors`: shape (pieces, dimension)."""

    passage: Passage
    key: str
    vectors: Any = None  # PieceVectors | None; msgspec has no schema for numpy arrays


class DropPassage(msgspec.Struct, frozen=True, tag=True):
    """Take a passage out of recall: a forgotten one keeps its row, so that it can come back; of one that is purged or
    too old nothing is kept. Refused if it is not there, or forgotten already."""

    id: str
    how: Literal["forgotten", "purged", "expired"] = "forgotten"


class RestorePassage(msgspec.Struct, frozen=True, tag=True):
    """Bring a forgotten passage back. Refused if it is not forgotten."""

    id: str


class EmbedPassage(msgspec.Struct, frozen=True, tag=True):
    """Set the vectors of the pieces of a passage, shape (pieces, dimension); None: the embedder knows no word of it.
    Ignored if its text is another than `text` by now."""

    id: str
    text: str
    vectors: Any = None


PassageChange = KeepPassage | DropPassage | RestorePassage | EmbedPassage
