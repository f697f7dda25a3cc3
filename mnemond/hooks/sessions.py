"""What is known of agents' sessions while the daemon runs: bounded, and of no consequence when it is lost."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from mnemond.api.types_admin import HostSeen
from mnemond.config.settings import HookSettings
from mnemond.memory.draft import problems_of
from mnemond.memory.exchanges import shortened
from mnemond.model.changes import LONGEST_PROMPT
from mnemond.model.memory import format_us
from mnemond.text.project_name import Project, project_of
from mnemond.wire.hook_payload import HookEvent, Host, Moment

MAX_SESSIONS: Final = 128
"""Sessions known at once; the one that was quiet for longest goes for another. Each takes 160 kB at most, 36 of
which are texts; more where these are no ASCII."""

MAX_SHOWN: Final = 512
"""Memories of which a session is known to have been shown them; the first go for others."""

MAX_HEARD: Final = 2_048
"""Events that are recognised when they come again."""

AGAIN_S: Final = 10.0
"""Seconds within which the same event without a turn of its own is one that came twice. Two hooks of one event run
side by side; whoever compacts or types the same words twice takes longer."""

LONGEST_SUMMARY: Final = 4_000
"""Characters of a summary that are searched with later."""

ROOM: Final = 2
"""So many times what is kept of a prompt is held of it, so that what is cut is looked through for secrets first
(`queueing.MARGIN`)."""

COMPACTED: Final = "compact"
"""How a session begins that goes on with a summary of itself."""

_ONE_OF_A_TURN: Final = frozenset((Moment.PROMPT, Moment.ASSISTANT_DONE))
"""Of these a turn has each text once, however long it takes."""


class AgentSession:
    """One session, or one subagent in it, whose context is its own.

    `prompt` is the prompt that has no answer yet; `summary` that of a compacted conversation, until the next prompt;
    `task` the latest prompt, for a subagent that gets none. `again`: the session began again after a compaction and had
    no prompt since. `brief_pending`: it got no brief when it began, and gets it with its next prompt.
    """

    __slots__ = ("_shown", "again", "brief_pending", "briefed", "project", "prompt", "summary", "task")

    def __init__(self, *, brief_pending: bool = False) -> None:
        self.brief_pending = brief_pending
        self._shown: OrderedDict[str, str] = OrderedDict()
        self.project: Project | None = None
        self.prompt = self.task = self.summary = ""
        self.briefed = self.again = False

    def works_in(self, directory: str) -> Project:
        """The project: that of the first directory the session named. Agents change it as they go."""
        if self.project is None and directory:
            self.project = project_of(directory)
        return self.project or Project()

    def set_prompt(self, prompt: str) -> None:
        """The person said this."""
        self.prompt = self.task = shortened(prompt, ROOM * LONGEST_PROMPT)
        self.summary, self.again = "", False

    def taken_prompt(self) -> str:
        """What the person said, once: it has its answer now."""
        prompt, self.prompt = self.prompt, ""
        return prompt

    def give_back(self, prompt: str) -> None:
        """What was taken could not be kept: it waits again, unless something was purged or said meanwhile."""
        if self.task and not self.prompt:
            self.prompt = prompt

    def was_compacted(self, *, again: bool = False) -> None:
        """What it was shown is gone from its context, and so is what was said. `again`: it begins again now."""
        self._shown.clear()
        self.briefed = False
        self.again = again

    def was_summarised(self, summary: str) -> None:
        """This became of what was said. Hosts tell it before or after the session has begun again."""
        self.summary = summary[:LONGEST_SUMMARY] or self.summary
        if not self.again:
            self.was_compacted()

    def forget_texts(self) -> None:
        """Let go of everything that was said."""
        self.prompt = self.task = self.summary = ""

    def has_seen(self, insight_id: str, updated_at: str) -> bool:
        """Whether it was shown this memory as it is now."""
        return self._shown.get(insight_id) == updated_at

    def mark_shown(self, memories: Iterable[tuple[str, str]]) -> None:
        """It was shown these: ids, and when each was changed last."""
        for insight_id, updated_at in memories:
            self._shown[insight_id] = updated_at
            self._shown.move_to_end(insight_id)
        while len(self._shown) > MAX_SHOWN:
            self._shown.popitem(last=False)

    @property
    def seen(self) -> int:
        """Memories it is known to have been shown."""
        return len(self._shown)


class AgentSessions:
    """All of them. For the event loop's thread."""

    def __init__(self, stopwatch: Callable[[], float], *, missed: bool = False) -> None:
        """`missed`: sessions may have begun without a daemon; one without a start event gets its brief
        with its first prompt."""
        self._missed = missed
        self._stopwatch = stopwatch
        self._sessions: OrderedDict[tuple[str, str], AgentSession] = OrderedDict()
        self._heard: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def of(self, event: HookEvent, agent: str = "") -> AgentSession:
        """The session an event is of, or that of the subagent `agent` in it.

        It is known by its own name alone: one host may call in the names of two, where it runs another's hooks as well.
        """
        key = (_name(event), agent)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = AgentSession(brief_pending=self._missed)
        self._sessions.move_to_end(key)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def ended(self, event: HookEvent) -> None:
        """Nothing more will come of this session."""
        name = _name(event)
        for key in [key for key in self._sessions if key[0] == name]:
            del self._sessions[key]

    def forget_texts(self) -> None:
        """Let go of what was said and is not answered yet, in every session: something was purged, and whoever asked
        for that may have said it again. It must not come back as news."""
        for session in self._sessions.values():
            session.forget_texts()

    def is_new(self, event: HookEvent) -> bool:
        """Whether this event was not heard before: hosts load each other's hooks, and tell it once for each."""
        key, now = _key(event), self._stopwatch()
        before = self._heard.get(key)
        if before is not None and (now - before < AGAIN_S or (event.turn and event.moment in _ONE_OF_A_TURN)):
            return False
        self._heard[key] = now
        self._heard.move_to_end(key)
        while len(self._heard) > MAX_HEARD:
            self._heard.popitem(last=False)
        return True

    def forget_event(self, event: HookEvent) -> None:
        """Nothing came of it: told again, it is new."""
        self._heard.pop(_key(event), None)


def _name(event: HookEvent) -> str:
    """What a session is called; one that its host does not name is the one in its directory."""
    return event.session or f"{event.host}:{event.cwd}"


def _key(event: HookEvent) -> bytes:
    """What an event is known by. The host is no part of it, since two may call for one event, nor what only one
    of them says."""
    source = event.source if event.source == COMPACTED else ""
    said = (_name(event), event.moment, source, event.turn, event.agent, event.text, event.prompt)
    return hashlib.blake2b("\0".join(said).encode("utf-8", "replace"), digest_size=16).digest()


# When each host was heard of last, as long as the daemon runs.


class LastSeen:
    """Counts events. For the event loop's thread."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._seen: dict[Host, tuple[int, int]] = {}

    def note(self, host: Host) -> None:
        """A hook of this host called."""
        _, events = self._seen.get(host, (0, 0))
        self._seen[host] = (self._now_us(), events + 1)

    def views(self) -> dict[str, HostSeen]:
        """By host, the last one first."""
        latest_first = sorted(self._seen.items(), key=lambda item: (-item[1][0], item[0]))
        return {host.value: HostSeen(format_us(last_us), events) for host, (last_us, events) in latest_first}


# Where the memories of a project are: in which store, and under which tag.


class Stores(Protocol):
    """Which stores there are."""

    def resolve(self, name: str | None) -> str:
        """The store that is meant."""
        ...

    def exists(self, name: str) -> bool:
        """Whether it has a file."""
        ...

    async def create(self, name: str) -> bool:
        """Make it."""
        ...


class Place(NamedTuple):
    """The name of a store, and what in it is tagged with a project; `tag` is empty where nothing is. `there`: the store
    exists; nothing is made because somebody asks."""

    store: str
    tag: str
    there: bool


def place_of(project: Project, settings: HookSettings, stores: Stores) -> Place:
    """Where the memories of a project are. Raises MnemonError where the store that is used has a name that is none."""
    own = project.store if settings.project == "store" and project.store else None
    store = stores.resolve(own)
    tag = project.name if settings.project == "tag" and not problems_of({"tags": (project.name,)}) else ""
    return Place(store, tag, stores.exists(store))


# Whether sessions of agents may have begun while there was no daemon.


STAMP: Final = "hook-start.stamp"
"""File of the data directory that a hook touches when it finds no daemon and has one started
(`mnemonctl.launcher.hook`). Its own question stays without an answer: a start takes longer than a hook may."""

FRESH_S: Final = 60.0
"""Seconds from then to the start that it caused, at most; it also tries no more often than that."""


def may_have_missed(directory: Path, now_us: int) -> bool:
    """Whether a hook found no daemon just before `now_us`, when one started."""
    try:
        touched_s = (directory / STAMP).stat().st_mtime
    except OSError:  # none, as a rule; whatever else it is, nothing depends on it
        return False
    return abs(now_us / 1e6 - touched_s) < FRESH_S
