"""The prompts that a user can pick in a host."""

from __future__ import annotations

from typing import Final

from mnemond.protocol.mcp.result import Json

_STORE: Final[Json] = {"name": "store", "description": "Named store; the active one unless given.", "required": False}

PROMPTS: Final[dict[str, Json]] = {
    "brief": {
        "name": "brief",
        "title": "Brief me from memory",
        "description": "What matters most in memory, for the beginning of a session.",
        "arguments": [_STORE],
    },
    "review": {
        "name": "review",
        "title": "Review what matters least",
        "description": "The least important memories, to be kept, corrected or forgotten.",
        "arguments": [_STORE],
    },
}
"""By name, in the order in which they are listed."""

BRIEF: Final = """\
This is what matters most in memory. Take it into account from now on; do not repeat it. Say in at most five lines \
what bears on the work at hand, and ask what I want to do.

"""

REVIEW: Final = """\
These memories matter least. Go through them with me. For each say in one line whether you would keep it, correct it \
(`update`) or let it go (`forget`), and why; then wait for my answer before you change anything.

"""


def prompt(description: str, text: str) -> Json:
    """What prompts/get returns, apart from what its era adds."""
    return {"description": description, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
