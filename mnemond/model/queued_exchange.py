"""What was said in one turn of an agent's session, on its way to being read for what is worth remembering."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

LONGEST_PROMPT: Final = 16_000
"""Characters kept of what a person said. An engine reads beginning and end of a long message and leaves out the middle,
which is pasted; a conversation's prompts have some hundred."""

LONGEST_REPLY: Final = 24_000
"""Characters kept of an answer, or of a summary, which becomes at most three memories (8,000 each). Both lengths
together are looked through for secrets in 5 ms (0.11 ms a thousand characters)."""

LONGEST_NAME: Final = 200
"""Characters kept of a host's, a conversation's or a project's name."""

MOST_PENDING: Final = 1_000
"""Exchanges of one store that wait to be read; the oldest goes for the one that is too many. A day's work has some
hundred, so as many wait only where reading is switched off or fails."""

MOST_SETTLED: Final = 1_000
"""Exchanges of which only the key is kept, so that a host that repeats one is recognised; and, apart from these, those
that were set aside."""

KEPT_DAYS: Final = 30
"""Days after which an exchange that could not be read goes, and the key of one that was."""

MOST_TRIES: Final = 5
"""Attempts at an exchange (spec 13); then it is set aside, for somebody to look at."""

FIRST_PAUSE_S: Final = 60
"""Seconds before one that failed is tried again, doubled each time (spec 13)."""

ExchangeKind = Literal["exchange", "summary"]
"""A prompt with its answer, which is read for facts; or what a host made of a conversation that grew too long, which is
kept as it is."""


class QueuedExchange(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as its host told it. What is not known is empty.

    `prompt` is what the person said and `reply` what the agent answered, or, of a summary, the summary. Longer ones
    than `LONGEST_PROMPT` and `LONGEST_REPLY` lose their middle. `conversation_id` is the host's own name of the
    session, `project` says what was worked on. `at_us`: when it was said, microseconds since 1970. `key` tells it from
    every other turn and is the same when a host tells it again; made from what it says where it is empty.
    """

    host: str
    at_us: int
    conversation_id: str = ""
    project: str = ""
    prompt: str = ""
    reply: str = ""
    kind: ExchangeKind = "exchange"
    key: str = ""
