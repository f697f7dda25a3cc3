"""The settings of what memory does with the hooks of coding agents, as `config.toml` names them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What memory does by itself in the sessions of coding agents: what it says, and what it keeps."""

    enabled: Annotated[
        bool, Meta(description="Whether anything is said or kept. Without it hooks are answered with nothing.")
    ] = True
    project: Annotated[
        Literal["tag", "store", "none"],
        Meta(
            description="What a project is, which is named after the directory an agent works in: a `tag` of what is"
            " kept, in the store that is used anyway; a `store` of its own, called after the directory and where it"
            " lies; or `none`."
        ),
    ] = "tag"
    max_characters: Annotated[
        int,
        Meta(
            ge=200,
            le=9_000,
            description="Characters that are said at one moment at most, everything included. Agents show 10,000.",
        ),
    ] = 4_000
    prompt_results: Annotated[
        int, Meta(ge=0, le=20, description="Memories that a prompt brings up at most. 0 = none ever.")
    ] = 5
    min_confidence: Annotated[
        Literal["low", "medium", "high"],
        Meta(
            description="The confidence below which a prompt brings up nothing. With `medium` most prompts bring up"
            " something, and most of that is beside the point."
        ),
    ] = "high"
    keep: Annotated[
        bool,
        Meta(description="Whether prompts with their answers, and summaries, are kept to be read for facts."),
    ] = True
