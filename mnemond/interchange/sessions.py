"""Transcripts that coding agents keep of their sessions, as exchanges: what a person typed, and the last answer to it.

What subagents, tools and hooks say is left out, and so are summaries of a compaction: what they sum up is there. Of
what a person marked as private or asked not to keep, nothing is read, as hooks keep nothing of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.interchange.items import Item, moment
from mnemond.memory.exchanges import MARGIN, shortened
from mnemond.model.changes import LONGEST_NAME, LONGEST_PROMPT, LONGEST_REPLY
from mnemond.text.private_parts import PrivateWords
from mnemond.text.transcripts import KEEP_ALL, has_private, public, typed, words_of_private

Object = Mapping[str, Any]

CLAUDE_CODE: Final = "claude-code-sessions"
CODEX: Final = "codex-sessions"
GEMINI: Final = "gemini-sessions"

KINDS: Final = (CLAUDE_CODE, CODEX, GEMINI)
"""Kinds of transcripts; each is the name by which hooks know its host, and this ending."""

ENDING: Final = "-sessions"

MAX_PATH: Final = 4_096
"""Characters of a directory, as in the payload of a hook."""

_INTERRUPTED: Final = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
"""What Claude Code puts in place of a prompt when a turn is interrupted."""

_INSTRUCTIONS: Final = "# AGENTS.md instructions"
"""Beginning of a message in which Codex gives its model a file of instructions."""


_CONTROLS: Final = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")


class SessionExchange(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="line", tag="session"):
    """What a person typed in a session or a conversation, and the last answer; "" if there was none. `session`: the
    host's id of it; `directory`: the first one that it worked in, an absolute path or "" if it is not known; `at`: RFC
    3339, when the answer was given."""

    session: str
    directory: str
    at: str
    prompt: str
    answer: str = ""


Line = Item | SessionExchange
"""A line of an import of another program's memories and conversations."""


class Transcript(NamedTuple):
    """The exchanges of a file, and how many of its lines could not be read."""

    exchanges: list[SessionExchange]
    unread: int


class Session:
    """A session while its transcript is read from the beginning to the end. A message without a time has that of the
    one before it, and the first one that of the session."""

    def __init__(self, name: str = "", at: str | None = None) -> None:
        self.id, self.directory, self._at = name, "", at or ""
        self.exchanges: list[SessionExchange] = []
        self._prompt = self._answer = self._message = ""
        self._record = KEEP_ALL
        self._private: PrivateWords | None = None

    def ask(self, text: str, at: str | None) -> None:
        """A person typed this, if there is more in it than what programs put there."""
        prompt = public(typed(_CONTROLS.sub(" ", text)))
        if (prompt or has_private(text)) and prompt not in _INTERRUPTED:
            self.ended()
            self._record, self._private = self._record.at_prompt(text), words_of_private(text)
            self._prompt, self._at = prompt, at or self._at

    def reply(self, text: str, at: str | None, message: str = "") -> None:
        """The assistant said this. Parts with the same `message` are one answer; any other takes its place."""
        if not (self._prompt and text.strip()):
            return
        text = _CONTROLS.sub(" ", text)
        self._answer = f"{self._answer}\n{text}" if message and message == self._message else text
        self._message, self._at = message, at or self._at

    def ended(self) -> list[SessionExchange]:
        """Return the exchanges so far; the last one is over."""
        said, answered = self._record.kept(self._prompt, self._answer, "exchange", self._private)
        if said and self._at:
            prompt = shortened(said, LONGEST_PROMPT + 2 * MARGIN)
            answer = shortened(answered.strip(), LONGEST_REPLY + 2 * MARGIN)
            directory = self.directory if self.directory.startswith("/") and len(self.directory) <= MAX_PATH else ""
            self.exchanges.append(SessionExchange(self.id[:LONGEST_NAME], directory, self._at, prompt, answer))
        self._prompt = self._answer = self._message = ""
        return self.exchanges


def read(kind: str, name: str, lines: Iterable[bytes], directories: Mapping[str, str]) -> Transcript:
    """Return the exchanges of a transcript. `name`: of its file, without its ending; `directories`: paths of Gemini
    CLI's projects by their hash, since its transcripts have nothing else of them."""
    session, unread = Session(), _Unread()
    objects = _objects(lines, unread)
    match kind:
        case "claude-code-sessions":
            _claude_code(session, objects)
        case "codex-sessions":
            _codex(session, objects)
        case _:
            _gemini(session, objects, directories)
    named = [each if each.session else msgspec.structs.replace(each, session=name) for each in session.ended()]
    return Transcript(named, unread.lines)


class _Unread:
    def __init__(self) -> None:
        self.lines = 0


def _objects(lines: Iterable[bytes], unread: _Unread) -> Iterator[Object]:
    """Yield the objects of the lines, or of all of them together if the file is one document."""
    document = bytearray()
    for line in lines:
        if not line.strip():
            continue
        if document:
            document += line
            continue
        found = _decoded(line)
        if found is not None:
            yield found
        elif line.strip() == b"{":
            document += line
        else:
            unread.lines += 1
    if document:
        found = _decoded(bytes(document))
        if found is not None:
            yield found
        else:
            unread.lines += 1


def _decoded(line: bytes) -> Object | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return found if isinstance(found, Mapping) else None


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _text(content: object, *types: str | None) -> str:
    """Return a content that is a text, or the texts in a list of parts of these types."""
    if isinstance(content, str):
        return content
    parts = map(_object, content) if isinstance(content, list) else ()
    return "\n".join(text for each in parts if each.get("type") in types and (text := _string(each.get("text"))))


def _claude_code(session: Session, objects: Iterable[Object]) -> None:
    """`{type: "user" | "assistant", sessionId, cwd, timestamp, isSidechain, isMeta, message: {id, content}}`, a line
    for each block of a message. A result of a tool is a message of the user, too."""
    for each in objects:
        if each.get("isSidechain") is True:
            continue
        session.id = session.id or _string(each.get("sessionId"))
        session.directory = session.directory or _string(each.get("cwd"))
        message, at = _object(each.get("message")), moment(each.get("timestamp"))
        content = message.get("content")
        if any(each.get(mark) is True for mark in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
            continue
        if each.get("type") == "user" and not _has_result(content):
            session.ask(_text(content, "text"), at)
        elif each.get("type") == "assistant":
            session.reply(_text(content, "text"), at, _string(message.get("id")))


def _has_result(content: object) -> bool:
    return isinstance(content, list) and any(_object(each).get("type") == "tool_result" for each in content)


def _codex(session: Session, objects: Iterable[Object]) -> None:
    """`{timestamp, type: "session_meta" | "event_msg" | "response_item", payload}`, where events have what was typed,
    and items all that the model was given: they are read where there are no events."""
    items: list[tuple[Object, str | None]] = []
    has_events = False
    for each in objects:
        payload, at = _object(each.get("payload")), moment(each.get("timestamp"))
        match each.get("type"), payload.get("type"):
            case "session_meta", _:
                if isinstance(payload.get("source"), Mapping):
                    return  # a subagent
                session.id = session.id or _string(payload.get("id"))
                session.directory = session.directory or _string(payload.get("cwd"))
            case "event_msg", "user_message":
                has_events = True
                session.ask(_string(payload.get("message")), at)
            case "event_msg", "agent_message":
                session.reply(_string(payload.get("message")), at)
            case "response_item", "message":
                items.append((payload, at))
            case _:
                pass
    if has_events:
        return
    for item, at in items:
        text = _text(item.get("content"), "input_text", "output_text")
        if item.get("role") == "user" and not text.startswith(_INSTRUCTIONS):
            session.ask(text, at)
        elif item.get("role") == "assistant":
            session.reply(text, at)


def _gemini(session: Session, objects: Iterable[Object], directories: Mapping[str, str]) -> None:
    """`{sessionId, projectHash, kind, messages: [{id, type: "user" | "gemini", timestamp, content}]}` as a document, or
    a line for each message, where a later one with the same id is the same message."""
    messages: dict[str, Object] = {}
    for each in objects:
        head = _object(each.get("$set")) or each
        if head.get("kind") == "subagent":
            return
        session.id = session.id or _string(head.get("sessionId"))
        session.directory = session.directory or directories.get(_string(head.get("projectHash")), "")
        listed = head.get("messages")
        for message in map(_object, listed if isinstance(listed, list) else [each]):
            if _string(message.get("id")):
                messages[message["id"]] = message
    for message in messages.values():
        content, at = _text(message.get("content"), None), moment(message.get("timestamp"))
        if message.get("type") == "user":
            session.ask(content, at)
        elif message.get("type") == "gemini":
            session.reply(content, at)


def hash_of_project(path: str) -> str:
    """Return the name that Gemini CLI gives a project."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
