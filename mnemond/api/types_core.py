"""Methods about core summaries: core.show, update, history, diff and set. Parameters and results."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mnemond.model.core import CoreScore
from mnemond.model.outcomes import CoreResult, Result
from mnemond.wire.params import Access, Limit, Name, StoreParams, WriteParams, about, method

MAX_TEXT = 8_000
"""Characters of a text that is given; 500 words have some 3,500."""

User = Annotated[Name | None, about("whose; that of memories without a user id unless given", "--user", metavar="ID")]
Version = Annotated[int, Meta(ge=1, le=2**53)]


class CoreLineView(msgspec.Struct, frozen=True):
    """A line and the memories that it rests on. `section`: its heading, "" for a line of a text that was given."""

    text: str
    section: str
    memory_ids: list[str]


class CoreShowResult(Result, frozen=True, kw_only=True):
    """A core summary. `version` 0: there is none. Lines of the current version whose memories changed or left recall
    since are not shown, `left_out` counts them; a version that was asked for is shown as it was. `lines` are those of
    the rules, also where a model wrote `text`. `generator`: "rules", "user" or the model's name; `reason`: why the
    rules wrote it although a model is configured. `scores`: why each memory was chosen. `taken_back_at`: when an undo
    took it back."""

    store: str
    user: str
    version: int
    text: str
    words: int
    lines: list[CoreLineView]
    left_out: int
    generator: str
    reason: str
    scores: list[CoreScore]
    op_id: str
    created_at: str | None
    taken_back_at: str | None
    current: bool


class CoreShowParams(StoreParams, frozen=True, kw_only=True):
    """The current version has what is known of a user in at most 500 words."""

    user_id: User = None
    version: Annotated[Version | None, about("this version as it was; the current one unless given")] = None


CORE_SHOW = method(
    "core.show", CoreShowParams, CoreShowResult, Access.READ, "Show what is known of the user in summary.",
    positional=("version",),
)  # fmt: skip


class CoreUpdateParams(WriteParams, frozen=True, kw_only=True):
    """The daemon does this by itself after every ten new memories, but for a version that was `set`, which this
    replaces. Nothing is written if the current version says the same."""

    user_id: User = None


CORE_UPDATE = method(
    "core.update", CoreUpdateParams, CoreResult, Access.WRITE, "Make the core summary anew from the memories.",
)  # fmt: skip


class CoreSetParams(WriteParams, frozen=True, kw_only=True):
    """The text counts until `core.update` replaces it. A line that has the words of a memory is left out once that
    memory changes or leaves recall; a purge of any memory takes the lines out that have none."""

    text: Annotated[
        str,
        Meta(min_length=1, max_length=MAX_TEXT),
        about("the text, at most core_summary.max_words words", metavar="TEXT", stdin=True),
    ]
    user_id: User = None


CORE_SET = method(
    "core.set", CoreSetParams, CoreResult, Access.WRITE, "Give the core summary another text.", positional=("text",),
)  # fmt: skip


class CoreVersionView(msgspec.Struct, frozen=True):
    """A version without its text. `current`: it is the one that counts; `taken_back_at`: when an undo took it back."""

    version: int
    created_at: str
    generator: str
    reason: str
    words: int
    memories: int
    op_id: str
    current: bool
    taken_back_at: str | None


class CoreHistoryResult(Result, frozen=True, kw_only=True):
    """The versions of a user, the newest first; the newest 100 are kept."""

    store: str
    user: str
    versions: list[CoreVersionView]


class CoreHistoryParams(StoreParams, frozen=True, kw_only=True):
    user_id: User = None
    limit: Annotated[Limit, about("at most so many, the newest first", "-n")] = 20


CORE_HISTORY = method(
    "core.history", CoreHistoryParams, CoreHistoryResult, Access.READ, "List the versions of the core summary.",
)  # fmt: skip


class CoreDiffResult(Result, frozen=True, kw_only=True):
    """Lines that only the `newer` version has (`added`), only the `older` one (`removed`), and how many both have."""

    store: str
    user: str
    older: int
    newer: int
    added: list[CoreLineView]
    removed: list[CoreLineView]
    same: int


class CoreDiffParams(StoreParams, frozen=True, kw_only=True):
    """Without numbers: the current version, and the one before it that was not taken back."""

    older: Annotated[Version | None, about("number of the older version")] = None
    newer: Annotated[Version | None, about("number of the newer version")] = None
    user_id: User = None


CORE_DIFF = method(
    "core.diff", CoreDiffParams, CoreDiffResult, Access.READ, "Compare two versions of the core summary.",
    positional=("older", "newer"),
)  # fmt: skip
