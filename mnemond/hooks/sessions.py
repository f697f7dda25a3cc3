"""State of agents' sessions: bounded, and of little consequence when it is lost.

What a session was shown outlives its end and the daemon's, since a host may resume it days later with the same context.
It is kept as hashes, without texts, ids or names.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from mnemond.api.types_daemon import HostSeen
from mnemond.config.hosts import Host, Moment
from mnemond.config.regular_files import read_regular
from mnemond.config.settings import HookSettings
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.hooks.rules import ShownRules
from mnemond.memory.exchanges import shortened
from mnemond.model.changes import LONGEST_PROMPT
from mnemond.model.memory import format_us
from mnemond.text.private_parts import PrivateWords
from mnemond.text.project_name import Project
from mnemond.text.transcripts import KEEP_ALL, Record
from mnemond.wire.hook_payload import HookEvent

MAX_SESSIONS: Final = 128
"""Sessions kept at once; the one without events for longest is dropped for another. Each takes 160 kB at most, 36 of
which are texts; more if these are not ASCII."""

MAX_SHOWN: Final = 512
"""Memories kept as shown for each session; the oldest are dropped for others."""

MAX_EVENTS: Final = 2_048
"""Events that are recognised when they come again."""

REPEAT_S: Final = 10.0
"""Seconds within which the same event without a turn is a repetition. Two hooks of one event run side by side;
compacting again takes longer. A prompt or an answer is none if another prompt or answer of its session came between."""

MAX_SUMMARY: Final = 4_000
"""Characters kept of a summary, with which memories are searched later."""

PROMPT_FACTOR: Final = 2
"""A prompt is held at this multiple of what is kept of it, so that secrets are searched before it is cut
(`memory.exchanges.MARGIN`)."""

COMPACTED: Final = "compact"
"""Source of the start of a session that continues with a summary of itself."""

CLEARED: Final = frozenset(("startup", "clear"))
"""Sources of the start of a session whose context is empty."""

RESUMED: Final = "resume"
"""Source of the start of a session that goes on with the context it had."""

FORKED: Final = "fork"
"""Source of the start of a session that has the context of another, which the host does not name."""

MAX_LEFT: Final = 256
"""Sessions that ended, of which is kept what they were shown."""

MAX_LEFT_SHOWN: Final = 256
"""Memories kept as shown for each of them: the last ones."""

MAX_NAMED: Final = 5
"""Sessions that an error names."""

MAX_FILE: Final = 8 << 20
"""Bytes of the file with them that are read: four times what is written at most."""

_HASH_BYTES: Final = 8

_ONCE_A_TURN: Final = frozenset((Moment.PROMPT, Moment.ASSISTANT_DONE))
"""Moments at which a turn has each text once, however long it takes."""


class AgentSession:
    """One session, or one subagent in it, which has a context of its own.

    `prompt` is the prompt that has no answer yet; `summary` that of a compacted conversation, until the next prompt;
    `task` the latest prompt, for a subagent that gets none. `again`: the session began again after a compaction and had
    no prompt since. `project` is that of the first directory the session named, since agents change the directory as
    they work; None before that; `place` is a hash of that directory. `briefed`: it had its brief. `brief_pending`: it
    got no brief when it began, and gets it with its next prompt. `compacted`: a summary came, and neither the start nor
    the prompt that follow it. `spent`: the estimated tokens of what it was shown, `begun` those of its brief.
    `has_all`: its context has all that was said in it, since nothing was compacted. `record`: what may be kept of it;
    `private`: the words of private parts of the latest prompt, which are nowhere else.
    """

    __slots__ = (
        "_shown", "again", "begun", "brief_pending", "briefed", "compacted", "has_all", "place", "private", "project",
        "prompt", "record", "rules", "spent", "summary", "task",
    )  # fmt: skip

    def __init__(self, *, brief_pending: bool = False) -> None:
        self.brief_pending = brief_pending
        self._shown: OrderedDict[str, None] = OrderedDict()
        self.place = ""
        self.project: Project | None = None
        self.prompt = self.task = self.summary = ""
        self.briefed = self.again = self.compacted = False
        self.spent = self.begun = 0
        self.has_all = True
        self.record = KEEP_ALL
        self.private: PrivateWords | None = None
        self.rules = ShownRules(self)

    def set_prompt(self, prompt: str) -> None:
        """Keep a prompt until it is answered."""
        self.prompt = self.task = shortened(prompt, PROMPT_FACTOR * LONGEST_PROMPT)
        self.summary, self.again, self.compacted = "", False, False

    def take_prompt(self) -> str:
        """Remove and return the prompt, which has its answer now."""
        prompt, self.prompt = self.prompt, ""
        return prompt

    def restore_prompt(self, prompt: str) -> None:
        """Keep a prompt again that could not be stored, unless texts were purged or another prompt came since."""
        if self.task and not self.prompt:
            self.prompt = prompt

    def reset_context(self, *, again: bool = False) -> None:
        """A compaction removed from the context what was shown, or it is empty. `again`: the session begins again now,
        after a compaction; the brief is due with that, not with a resumption that Codex reports between the two."""
        self._shown.clear()
        self.spent = self.begun = 0
        self.has_all = False
        self.again, self.compacted = again, False

    def set_summary(self, summary: str) -> None:
        """Keep the summary of a compaction. Hosts send it before or after the session has begun again."""
        self.summary = summary[:MAX_SUMMARY] or self.summary
        if not self.again:
            self.reset_context()
            self.compacted = True

    def forget_texts(self) -> None:
        """Drop prompts and summary."""
        self.prompt = self.task = self.summary = ""
        self.private = None

    def has_shown(self, insight_id: str, text: str) -> bool:
        """Return True if the session was shown this text of a memory. Other fields may have changed since: saying it
        again moves the time of its last change."""
        return _version(insight_id, text) in self._shown

    def mark_shown(self, memories: Iterable[tuple[str, str]], tokens: int = 0) -> None:
        """Record that the session was shown these memories, (id, text), in so many tokens."""
        self.spent += tokens
        for insight_id, text in memories:
            key = _version(insight_id, text)
            self._shown[key] = None
            self._shown.move_to_end(key)
        while len(self._shown) > MAX_SHOWN:
            self._shown.popitem(last=False)

    @property
    def shown_count(self) -> int:
        """Number of memories kept as shown."""
        return len(self._shown)

    def left(self) -> Left:
        """Return what is kept of it when it ends."""
        shown = tuple(self._shown)[-MAX_LEFT_SHOWN:]
        return Left(self.place, self.briefed, shown, self.spent, self.begun, self.record, self.has_all)

    def resume(self, left: Left) -> None:
        """Go on with a context in which all that stands."""
        self.briefed, self.spent, self.begun, self.record = left.briefed, left.spent, left.begun, left.record
        self.has_all = left.has_all
        self._shown = OrderedDict.fromkeys(left.shown)


class Left(msgspec.Struct, frozen=True, array_like=True):
    """The rest of a session that ended: a hash of its directory, whether it had its brief, hashes of what it was shown,
    the estimated tokens of that and of its brief, what may be kept of it, and whether its context has all of it."""

    place: str
    briefed: bool
    shown: tuple[str, ...]
    spent: int = 0
    begun: int = 0
    record: Record = KEEP_ALL
    has_all: bool = True


class AgentSessions:
    """All sessions, and the latest events. For the event loop's thread."""

    def __init__(self, stopwatch: Callable[[], float], *, missed: bool = False) -> None:
        """`missed`: sessions may have begun without a daemon; one without a start event gets its brief with its first
        prompt."""
        self._missed = missed
        self._stopwatch = stopwatch
        self._sessions: OrderedDict[tuple[str, str], AgentSession] = OrderedDict()
        self._left: OrderedDict[str, Left] = OrderedDict()
        self._events: OrderedDict[bytes, float] = OrderedDict()
        self._latest: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        """The last prompt or answer of each session and subagent, by its key."""

    def __len__(self) -> int:
        return len(self._sessions)

    def of(self, event: HookEvent, agent: str = "") -> AgentSession:
        """Return the session of an event, or that of the subagent `agent` in it.

        The host is not part of its key: one host may call under two names, since it runs another's hooks as well.
        """
        key = (_session_key(event), agent)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = AgentSession(brief_pending=self._missed)
            session.place = _hashed(event.cwd)
            known = None if agent else self._left.pop(_hashed(key[0]), None)
            if known is not None:
                session.resume(known)
        self._sessions.move_to_end(key)
        while len(self._sessions) > MAX_SESSIONS:
            (oldest, of_agent), dropped = self._sessions.popitem(last=False)
            if not of_agent:
                self._leave(_hashed(oldest), dropped.left())
        return session

    def fork(self, event: HookEvent) -> None:
        """Let the session of an event go on with the context of the last other one of its directory."""
        session, place = self.of(event), _hashed(event.cwd)
        others = (each for each in reversed(self._sessions.values()) if each is not session and each.place == place)
        running = next((each.left() for each in others if each.briefed), None)
        found = running or next((each for each in reversed(self._left.values()) if each.place == place), None)
        if found is not None:
            session.resume(found)

    def end(self, event: HookEvent) -> None:
        """Drop the session of an event, and its subagents, but for what it was shown."""
        ended = _session_key(event)
        for key in [key for key in self._sessions if key[0] == ended]:
            session = self._sessions.pop(key)
            if not key[1]:
                self._leave(_hashed(ended), session.left())

    def _leave(self, key: str, left: Left) -> None:
        if not (left.briefed or left.shown or left.record != KEEP_ALL):
            return
        self._left[key] = left
        self._left.move_to_end(key)
        while len(self._left) > MAX_LEFT:
            kept_whole = (each for each, it in self._left.items() if it.record == KEEP_ALL)
            self._left.pop(next(kept_whole, next(iter(self._left))))

    def saved(self) -> bytes:
        """Return what is kept of all sessions, for `load`."""
        kept = {**self._left}
        for (key, agent), session in self._sessions.items():
            if not agent:
                kept[_hashed(key)] = session.left()
        whole = sorted(kept.items(), key=lambda each: each[1].record != KEEP_ALL)  # the others are dropped last
        return msgspec.json.encode(whole[-MAX_LEFT:])

    def load(self, saved: bytes) -> None:
        """Know the sessions of an earlier daemon. Nothing, if they cannot be read."""
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            for key, left in _saved.decode(saved)[-MAX_LEFT:]:
                self._leave(key, left)

    def switch_record(self, named: str | None, directory: str | None, *, paused: bool) -> str:
        """Pause a session, or let it go on: that with an id that begins like this, or else the last one of a directory
        (of all without one). Return its id. A whole id may be that of a session which has said nothing yet.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS.
        """
        known = [key for key, agent in reversed(self._sessions) if not agent]
        if named is None:
            place = None if directory is None else _hashed(directory)
            found = [key for key in known if place in (None, self._sessions[key, ""].place)][:1]
        else:
            found = [named] if named in known else [key for key in known if key.startswith(named)]
        if len(found) > 1:
            listed = ", ".join(key[:64] for key in found[:MAX_NAMED])
            raise MnemonError(AMBIGUOUS, f"{named!a} is the beginning of several sessions: {listed}", hint="write more")
        if found:
            session = self._sessions[found[0], ""]
            session.record = session.record.switched(paused=paused)
            return found[0]
        if named is None:
            raise MnemonError(
                NOT_FOUND, "no session of an agent is known here", hint="name one by the id that its host shows"
            )
        key = _hashed(named)
        left = self._left.get(key, Left("", briefed=False, shown=()))
        self._leave(key, msgspec.structs.replace(left, record=left.record.switched(paused=paused)))
        return named

    def is_partial(self, session: str) -> bool:
        """Return True if some of a session, by the host's id of it, was not to be kept."""
        running, left = self._sessions.get((session, "")), self._left.get(_hashed(session))
        return (running is not None and running.record.partial) or (left is not None and left.record.partial)

    def forget_texts(self) -> None:
        """Drop the texts of every session: after a purge, a prompt that repeats what was purged must not be stored."""
        for session in self._sessions.values():
            session.forget_texts()

    def is_new(self, event: HookEvent) -> bool:
        """Record an event; return False if it is a repetition. Hosts run each other's hook files, once for each."""
        key, now = _event_key(event), self._stopwatch()
        before, of_turn = self._events.get(key), event.moment in _ONCE_A_TURN
        speaker = (_session_key(event), event.agent)
        if before is not None and event.turn and of_turn:
            return False
        if before is not None and now - before < REPEAT_S and (not of_turn or self._latest.get(speaker) == key):
            return False
        self._events[key] = now
        self._events.move_to_end(key)
        if of_turn:
            self._latest[speaker] = key
            self._latest.move_to_end(speaker)
        while len(self._events) > MAX_EVENTS:
            self._events.popitem(last=False)
        while len(self._latest) > MAX_SESSIONS:
            self._latest.popitem(last=False)
        return True

    def forget_event(self, event: HookEvent) -> None:
        """Treat a repetition of this event as new: it could not be handled."""
        self._events.pop(_event_key(event), None)


def _session_key(event: HookEvent) -> str:
    return event.session or f"{event.host}:{event.cwd}"


def _event_key(event: HookEvent) -> bytes:
    """Hash of an event without its host, since two may call for one event, and without fields that only one sends."""
    source = event.source if event.source in (COMPACTED, "clear") else ""
    fields = (_session_key(event), event.moment, source, event.turn, event.agent, event.text, event.prompt)
    return hashlib.blake2b("\0".join(fields).encode("utf-8", "replace"), digest_size=16).digest()


_saved: Final = msgspec.json.Decoder(list[tuple[str, Left]])


_VERSION_CHARACTERS: Final = 4
"""Hexadecimal digits of the hash of a text: a change is noticed but once in 65,536 times, and a text that is purged
cannot be told by them from many others."""


def _version(insight_id: str, text: str) -> str:
    """Hash of a memory as it is."""
    return _hashed(insight_id, _hashed(text)[:_VERSION_CHARACTERS])


def _hashed(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=_HASH_BYTES).hexdigest()


class LastSeen:
    """Number of events of each host, and the time of the last one, since the start. For the event loop's thread."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._seen: dict[Host, tuple[int, int]] = {}

    def note(self, host: Host) -> None:
        """Count an event of this host."""
        _, events = self._seen.get(host, (0, 0))
        self._seen[host] = (self._now_us(), events + 1)

    def views(self) -> dict[str, HostSeen]:
        """Return the figures by host, the latest first."""
        latest_first = sorted(self._seen.items(), key=lambda item: (-item[1][0], item[0]))
        return {host.value: HostSeen(format_us(last_us), events) for host, (last_us, events) in latest_first}


# ---------------------------------------------------------------- the store of a project


class Stores(Protocol):
    """The stores there are."""

    def resolve(self, name: str | None) -> str:
        """Return the store of that name; the active one for None."""
        ...

    def exists(self, name: str) -> bool:
        """Return True if it has a file."""
        ...

    async def create(self, name: str) -> bool:
        """Make it."""
        ...


class Place(msgspec.Struct, frozen=True):
    """The store of a project's memories, and the id by which they belong to it there: empty outside of any project,
    None if projects are not distinguished. `exists`: the store does; reading makes none."""

    store: str
    project: str | None
    exists: bool


def place_of(project: Project, settings: HookSettings, stores: Stores) -> Place:
    """Return the place of a project's memories. Raises MnemonError if the active store has an invalid name."""
    own = project.store if settings.project == "store" and project.store else None
    if own is not None and project.earlier and not stores.exists(own) and stores.exists(project.earlier):
        own = project.earlier
    store = stores.resolve(own)
    return Place(store, project.id if settings.project == "tag" else None, stores.exists(store))


# ---------------------------------------------------------------- the file of what sessions were shown

NO_SESSIONS: Final = b"[]"
"""The saved form of no session."""

FILE: Final = "hook-sessions.json"
"""File of the data directory with what sessions were shown, as hashes."""


def read_sessions(directory: Path) -> bytes:
    """Return the contents of the file; b"" if there is none, or something else in its place."""
    try:
        found = read_regular(directory / FILE, MAX_FILE, os.O_NOFOLLOW)
    except OSError:
        return b""
    return found if len(found) <= MAX_FILE else b""


# ---------------------------------------------------------------- sessions that began without a daemon

STAMP: Final = "hook-start.stamp"
"""File of the data directory that a hook touches when it finds no daemon and has one started
(`mnemonctl.launcher.hook`). That hook gets no answer: a start takes longer than a hook may."""

FRESH_S: Final = 60.0
"""Seconds from then to the start that it caused, at most; it also tries no more often than that."""


def may_have_missed(directory: Path, now_us: int) -> bool:
    """Return True if a hook found no daemon just before `now_us`, when this one started."""
    try:
        touched_s = (directory / STAMP).stat().st_mtime
    except OSError:  # there is none, as a rule; any other reason does not matter either
        return False
    return abs(now_us / 1e6 - touched_s) < FRESH_S
