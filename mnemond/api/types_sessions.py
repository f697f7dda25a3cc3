"""Sessions of agents: parameters and results of the memories shown to them, of a preview, and of judgements."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.api.types_memories import Id
from mnemond.model.changes import ShownAt
from mnemond.model.memory import MAX_CUE
from mnemond.model.outcomes import FeedbackResult, Result
from mnemond.wire.params import (
    MAX_DIRECTORY,
    Access,
    Limit,
    Name,
    Params,
    ScopedWriteParams,
    StoreParams,
    Time,
    about,
    method,
)

# today.


class TodayParams(StoreParams, frozen=True, kw_only=True):
    """The newest 2,000 memories that were shown are kept."""

    since: Annotated[
        Time | None, about('what happened then or later: 2026-02-18, yesterday, "last week"; a day unless given')
    ] = None
    id: Annotated[Name | None, about("a session by its host's id or the beginning of it, whenever it was")] = None
    limit: Annotated[Limit, about("at most so many sessions", "-n")] = 20


class ShownMemory(msgspec.Struct, frozen=True):
    """A memory that was shown, and why. `words`: its first words as they are now, null if it was `purged`. `useful` and
    `misled`: how often it was judged so, in any session."""

    id: str
    reason: str
    words: str | None
    purged: bool
    useful: int
    misled: int


class Shown(msgspec.Struct, frozen=True):
    """The memories that a session was shown at one moment: when it began (brief), with a prompt, with the task of a
    subagent, whose id is `agent`, or as a rule before a call. `tokens`: the estimated size of the whole text."""

    at: str
    moment: ShownAt
    agent: str
    tokens: int
    memories: list[ShownMemory]


class KeptMemory(msgspec.Struct, frozen=True):
    """A memory that was read out of a session, or stored in it."""

    id: str
    category: str
    words: str


class LeftOut(msgspec.Struct, frozen=True):
    """A part of what was said, verbatim, that became no memory, and why: it is in the passage with this id."""

    passage: str
    text: str
    reason: str


class SessionView(msgspec.Struct, frozen=True):
    """One session, by the id of its host, or the name of a host that sends none, with the id of its project. `began`
    and `ended`: the first and the last that is known of it, RFC 3339. `shown`: the oldest first; `exchanges`: how many
    are kept as they were said; `kept`: memories from it; `left_out`: the first of `left_out_count` parts."""

    id: str
    host: str
    tokens: int
    shown: list[Shown]
    project: str = ""
    began: str = ""
    ended: str = ""
    exchanges: int = 0
    kept: list[KeptMemory] = []
    left_out: list[LeftOut] = []
    left_out_count: int = 0


class Figures(msgspec.Struct, frozen=True):
    """Of the sessions that are shown: different memories that were told, in so many tokens, in so many of the sessions;
    times that a rule was told before a call or held it; exchanges and memories that were kept. `useful` and `misled`:
    judgements since then, in any session."""

    memories: int
    tokens: int
    sessions: int
    rules: int
    exchanges: int
    kept: int
    useful: int
    misled: int


class TodayResult(Result, frozen=True, kw_only=True):
    """Sessions, that with the newest event first. Texts are looked up for this answer: with what a session was shown
    none is kept."""

    figures: Figures
    sessions: list[SessionView]


TODAY = method(
    "today", TodayParams, TodayResult, Access.READ,
    "Show what sessions of agents were told, what was kept of them, and what was left out and why.",
    positional=("id",),
)  # fmt: skip


# session.pause.


class SessionPauseParams(Params, frozen=True, kw_only=True):
    """The last session of an agent in this directory unless an id is given. Words in a prompt do the same: "off the
    record", "back on the record"."""

    id: Annotated[Name | None, about("a session by its host's id or the beginning of it")] = None
    resume: Annotated[bool, about("keep what is said again, from the next prompt on")] = False
    directory: Annotated[
        Annotated[str, Meta(max_length=MAX_DIRECTORY)] | None,
        about("where the agent works (an absolute path)", option="--cwd", metavar="DIR"),
    ] = None


class SessionPauseResult(Result, frozen=True, kw_only=True):
    """The session, and whether nothing of it is kept from now on."""

    id: str
    paused: bool


SESSION_PAUSE = method(
    "session.pause", SessionPauseParams, SessionPauseResult, Access.CONTROL,
    "Keep nothing of what is said in a session of an agent, until it is resumed.", positional=("id",),
)  # fmt: skip


# hook.preview.

Preview = Literal["prompt", "session"]

MAX_PREVIEWED: Final = 64_000
"""Characters of a text to preview: twice as many as a hook holds of a prompt."""


class HookPreviewParams(StoreParams, frozen=True, kw_only=True):
    """As in a new session. `store`: another one than that which hooks use for the project."""

    moment: Annotated[Preview, about("the beginning of a session, or a prompt")]
    text: Annotated[
        Annotated[str, Meta(max_length=MAX_PREVIEWED)],
        about("the prompt; at the beginning of a session what is being done"),
    ] = ""
    directory: Annotated[
        Annotated[str, Meta(max_length=MAX_DIRECTORY)] | None,
        about("where the agent works (an absolute path)", option="--cwd", metavar="DIR"),
    ] = None


class PreviewMemory(msgspec.Struct, frozen=True):
    """A memory, and why it would be shown or not. `words`: its first words."""

    id: str
    reason: str
    words: str


class HookPreviewResult(Result, frozen=True, kw_only=True):
    """The text that a hook would return, with its estimated size, and the memories in it. `left_out`: what was found
    and would not be shown. `budget`: what a session may have, 0 for no limit."""

    text: str
    tokens: int
    budget: int
    store: str
    shown: list[PreviewMemory]
    left_out: list[PreviewMemory]


HOOK_PREVIEW = method(
    "hook.preview", HookPreviewParams, HookPreviewResult, Access.READ,
    "Show what a hook would tell an agent and why, without counting it as shown.", positional=("moment", "text"),
)  # fmt: skip


# feedback.


class FeedbackParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Judgements are counted, and change the order of results only with `retrieval.feedback_weight`."""

    id: Id
    verdict: Annotated[Literal["useful", "misled"], about("if the memory helped, or was wrong or beside the point")]
    prompt: Annotated[
        Annotated[str, Meta(max_length=MAX_PREVIEWED)] | UnsetType,
        about(f"the prompt it was useful for: one of at most {MAX_CUE} characters becomes a cue of the memory"),
    ] = UNSET  # so that requests without any have the digests of earlier versions


FEEDBACK = method(
    "feedback", FeedbackParams, FeedbackResult, Access.WRITE,
    "Say that a memory was useful, or that it misled.", positional=("id", "verdict"),
)  # fmt: skip
