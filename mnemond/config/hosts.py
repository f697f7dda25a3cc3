"""What each agent program sends, reads and is set up by: one TOML in `mnemond/hosts` for each.

The daemon reads and answers its hooks by that, and setup writes its settings.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

_FOLDER: Final = __file__.rpartition("/config/")[0] + "/hosts"


class Host(StrEnum):
    """The agent program that runs a hook; its file has the same name."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    CURSOR = "cursor"
    COPILOT_CLI = "copilot-cli"
    WINDSURF = "windsurf"
    CLINE = "cline"


class Moment(StrEnum):
    """The moments of a session at which hosts run hooks, under one name for all hosts."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    TOOL_USE = "tool_use"
    TOOL_BATCH = "tool_batch"
    TOOL_FAILURE = "tool_failure"
    ASSISTANT_DONE = "assistant_done"
    PRE_COMPACT = "pre_compact"
    POST_COMPACT = "post_compact"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_DONE = "subagent_done"
    SESSION_END = "session_end"


class Answers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a hook prints, for `filled`: without anything to say, with a text for the model (at some events in another
    shape), and with a verdict about a call."""

    nothing: dict[str, Any] = {}
    context: dict[str, Any] = {}
    verdict: dict[str, Any] = {}
    at: dict[str, dict[str, Any]] = {}


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value of a file, by its keys, that keeps our hooks from running if it is `off`, or a list that `holds` this."""

    at: tuple[str, ...]
    off: bool | None = None
    holds: str | None = None
    says: str = ""


class SettingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a host, below its folder: a handler for each hook, the MCP server, and members that its root needs.

    `flat`: an event has a list of handlers, not of groups of them. `comments`, `trailing_commas`: the host's own reader
    allows them. `second`: what is wrong if the file runs our hooks, which are elsewhere.
    """

    path: str
    shape: Literal["grouped", "flat"] = "grouped"
    root: dict[str, Any] = {}
    handler: dict[str, Any] | None = None
    server: dict[str, Any] | None = None
    comments: bool = False
    trailing_commas: bool = False
    second: str = ""
    switches: tuple[Switch, ...] = ()


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a host is set up: its program, the folder of its settings in the home directory, which a variable may name
    instead, the events that hooks are run at, and its files.

    `folder_first`: the folder says where it is installed, not the program. `plugin`: what its own program installs
    instead of hooks in a file. `approval`: what to do about hooks that wait for it; `remark`: what to know.
    """

    program: str
    folder: str
    hooks: tuple[str, ...]
    files: tuple[SettingsFile, ...]
    variable: str = ""
    folder_first: bool = False
    plugin: str = ""
    approval: str = ""
    remark: str = ""


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One host.

    `events`: those that memory handles; a hook of any other gets an empty answer. `context`: events at which the host
    shows the model the output of a hook. Never at the end of a turn: there a context starts another turn, and then
    another. Never before a compaction or at the end of a session, where Codex refuses the whole answer. Before a tool
    it comes to the model with the result of the tool (measured). `asks`: a hook can have the user decide about a call.
    `shows_notices`: its user sees a `systemMessage`.

    `marks`: fields that only this host sends; `event_field` has the name of its event then. `only`: events that no
    other host has by that name. `by_field`: the event of a payload that does not name it. `layers`: members whose
    fields count as the payload's own; `{event}` is the event with a small first letter. `success_field`: false for a
    tool that failed. `sources`: how a session began, where only the event tells.

    `variables`: set for the commands that its agent runs. `left_out`: tags around text that no person typed; `opened`:
    tags around text that a person typed. In them "_" and "-" are equal, and case does not matter.
    """

    title: str
    events_of: Host | None = None
    events: dict[str, Moment] = {}
    context: frozenset[str] = frozenset()
    asks: bool = False
    shows_notices: bool = False
    marks: tuple[str, ...] = ()
    event_field: str = ""
    only: frozenset[str] = frozenset()
    by_field: dict[str, str] = {}
    layers: tuple[str, ...] = ()
    success_field: str = ""
    sources: dict[str, str] = {}
    answers: Answers = Answers()
    answers_in_camel_case: Answers | None = None
    variables: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    setup: Setup | None = None

    def answers_at(self, event: str) -> Answers:
        """Return how a hook of an event is answered."""
        return self.answers_in_camel_case if self.answers_in_camel_case and event[:1].islower() else self.answers


@functools.cache
def described(host: Host) -> Description:
    """Return the description of a host, which is read once, on first use."""
    with open(f"{_FOLDER}/{host}.toml", "rb") as file:
        found = msgspec.convert(tomllib.load(file), Description)
    if found.events_of is None:
        return found
    return msgspec.structs.replace(found, events={**described(found.events_of).events, **found.events})


def filled(template: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - any value of TOML
    """Return a template in which each text `{name}` is the value of that name."""
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, dict):
        return {key: filled(each, values) for key, each in template.items()}
    return [filled(each, values) for each in template] if isinstance(template, list) else template
