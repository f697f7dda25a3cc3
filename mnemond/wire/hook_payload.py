"""Payloads of the hooks of coding agents, read as one kind of event for all hosts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from mnemond.config.hosts import Description, Host, Moment, described
from mnemond.wire.jsonrpc import MALFORMED, decode_members, decode_text, replace_lone_surrogates

MAX_NAME = 200
"""Characters of a session, turn, source or agent; as many as a conversation id may have."""

MAX_PATH = 4096
"""Characters of a directory: PATH_MAX of Linux."""

MAX_TEXT = 32_000
"""Characters of any other text; a longer one is cut. Four times what one memory holds."""

MAX_WRAPPED = 250_000
"""Characters of a prompt with everything that editors and other programs put around it, such as open files; and of an
answer or a summary, which are cut in the middle where they are kept."""


MAX_TOOL_TEXT = 131_072
"""Characters of all that a tool is given which are looked at."""

MAX_TOOL_LINE = 131_072
"""Characters of a shell line that are looked at: a command may follow the whole text of a file."""

MAX_TOOL_PATHS = 50
"""Paths of one call, and words of a command that is sent as a list, that are read."""


ToolPart: TypeAlias = Literal["tool", "command", "path", "words"]
"""Parts of a call, by the kinds of triggers that are compared with them."""


class ToolUse(msgspec.Struct, frozen=True):
    """A call of a tool that is about to be made. `id`: the host's name of the call; `line`: a shell line; `text`: all
    that the tool is given; `unread`: the parts of which a limit left something out."""

    name: str
    id: str = ""
    line: str = ""
    paths: tuple[str, ...] = ()
    text: str = ""
    unread: frozenset[ToolPart] = frozenset()


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of one session. A field that the host does not send, or sends in another type, is empty.

    `session` is the host's name of the session, `turn` of what began with one prompt; `cwd` is the directory the agent
    works in, an absolute path that is never opened. `text` is the subject of the moment: the prompt, the last message
    of the assistant, the summary of a compaction, the task of a subagent, the error. `prompt` is the prompt that an
    assistant's message answers. `source` is how a session began or ended, where a prompt is from or what requested a
    compaction. `agent` is the subagent that the moment happens in. `again`: a hook has already kept this turn going.
    `takes_context`: the host shows its model a text that is returned at this moment; `asks`: it lets its user decide
    about a call. `tool`: the call, before it is made.
    """

    host: Host
    moment: Moment
    session: str
    turn: str = ""
    cwd: str = ""
    text: str = ""
    prompt: str = ""
    source: str = ""
    agent: str = ""
    again: bool = False
    takes_context: bool = True
    asks: bool = False
    tool: ToolUse | None = None


class Payload(msgspec.Struct, frozen=True):
    """The payload of a hook: its host, the host's name of the event, and the event if memory handles it."""

    host: Host
    name: str
    event: HookEvent | None = None


# ---------------------------------------------------------------- reading a payload

_SESSION: Final = ("conversation_id", "session_id", "sessionId", "trajectory_id", "taskId")
_TURN: Final = ("prompt_id", "turn_id", "generation_id", "execution_id")
_AGENT: Final = (
    "agent_id", "agentId", "subagent_id", "agent_type", "subagent_type", "agentType", "agentName", "agent_name",
)  # fmt: skip
_SOURCE: Final = ("source", "reason", "trigger")
_TOOL: Final = ("tool_name", "toolName", "tool")

_TEXTS: Final[Mapping[Moment, tuple[str, ...]]] = {
    Moment.SESSION_START: ("initial_prompt", "initialPrompt", "initialTask"),
    Moment.PROMPT: ("prompt", "user_prompt"),
    Moment.TOOL_USE: (),
    Moment.TOOL_BATCH: (),
    Moment.TOOL_FAILURE: ("error", "error_message", "result"),
    Moment.ASSISTANT_DONE: ("last_assistant_message", "prompt_response", "text", "response", "result"),
    Moment.PRE_COMPACT: ("custom_instructions", "customInstructions"),
    Moment.POST_COMPACT: ("compact_summary",),
    Moment.SUBAGENT_START: ("task", "prompt", "agent_description", "agentDescription"),
    Moment.SUBAGENT_DONE: ("last_assistant_message", "response", "summary"),
    Moment.SESSION_END: (),
}
"""Fields in which hosts send the subject of a moment."""

_WHOLE: Final = frozenset((
    Moment.PROMPT, Moment.SESSION_START, Moment.SUBAGENT_START, Moment.ASSISTANT_DONE, Moment.POST_COMPACT,
))  # fmt: skip
"""Moments whose text may follow what other programs have put before it, or is kept with its end."""


def read(message: bytes, *, whole: bool = True) -> Payload | None:
    """Return the payload in a message that is not JSON-RPC, or None if it is not a hook's. Never raises.

    Without `whole` the message is too long or too deep to be decoded. Then, as for broken JSON, only its beginning is
    looked at: the result has no event, but the host gets its answer. Of a call of a tool it has one, that says what is
    not read: what a person enforced holds such a call too.
    """
    members = _members_of_message(message) if whole else None
    if members is None:
        broken = begins_like_a_hook(message)
        return None if broken is None else _call_in_beginning(message) or Payload(broken, "")
    fields = Fields(members)
    found = host_of(fields)
    if found is None:
        return None
    host, name = found
    about = described(host)
    moment = about.events.get(name)
    return Payload(host, name, None if moment is None else _event(host, about, name, moment, fields))


def _call_in_beginning(message: bytes) -> Payload | None:
    """The call of a tool in a message that cannot be read as a whole; None for another event."""
    members = _members_of_message(_first_members(message[:BEGINNING]))
    fields = Fields(members or {})
    host, name = host_of(fields) or (Host.CLAUDE_CODE, "")
    about = described(host)
    if about.events.get(name) is not Moment.TOOL_USE:
        return None
    return Payload(host, name, _event(host, about, name, Moment.TOOL_USE, fields, whole=False))


_PIECE = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_DEEP: Final = 64
"""Levels of a member's value that are read where a message as a whole is not."""


def _first_members(beginning: bytes) -> bytes:
    """Return the members of an object that are whole in its beginning, as an object."""
    depth, end = 0, 1
    for found in _PIECE.finditer(beginning):
        match found[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b"," if depth == 1:
                end = found.start()
        if not 0 < depth < _DEEP:
            break
    return beginning[:end] + b"}"


def _members_of_message(message: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of an object, also of one with bytes that are not UTF-8 or with lone surrogates."""
    try:
        message.decode()
    except UnicodeDecodeError:
        found = None
    else:
        found = _members_of(message)
    if found is None:
        found = _members_of(replace_lone_surrogates(message.decode("utf-8", "replace").encode()))
    return found


def _event(
    host: Host, about: Description, name: str, moment: Moment, fields: Fields, *, whole: bool = True
) -> HookEvent:
    for layer in about.layers:
        fields = fields.with_layer(layer.replace("{event}", name[:1].lower() + name[1:]))
    if about.success_field and moment is Moment.TOOL_BATCH and fields.false(about.success_field):
        moment = Moment.TOOL_FAILURE
    loops = fields.number("loop_count")
    return HookEvent(
        host=host,
        moment=moment,
        session=fields.text(*_SESSION, most=MAX_NAME),
        turn=fields.text(*_TURN, most=MAX_NAME),
        cwd=_directory(fields),
        text=_text(moment, fields),
        prompt=fields.text("prompt", most=MAX_WRAPPED) if moment is Moment.ASSISTANT_DONE else "",
        source=fields.text(*_SOURCE, most=MAX_NAME) or about.sources.get(name, ""),
        agent=fields.text(*_AGENT, most=MAX_NAME),
        again=fields.true("stop_hook_active", "stopHookActive") or (loops is not None and loops > 0),
        takes_context=name in about.context,
        asks=moment is Moment.TOOL_USE and about.asks,
        tool=_tool(fields, whole=whole) if moment is Moment.TOOL_USE else None,
    )


_INPUT: Final = ("tool_input", "toolInput", "toolArgs", "tool_args", "parameters", "args")
_LINE: Final = ("command", "cmd", "script", "command_line", "commandLine")
_PATH: Final = (
    "file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "filename", "dir_path",
)  # fmt: skip
_CALL: Final = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id")


def _tool(fields: Fields, *, whole: bool) -> ToolUse:
    """Read what a tool is about to be given; however much that is, only its beginning. `whole`: `fields` has all that
    the host sent."""
    name = fields.text(*_TOOL, most=MAX_NAME)
    raw = next((each for key in _INPUT if (each := fields.raw(key)) is not None), None)
    members = None if raw is None else _object_of(raw)
    if members is None:  # a text, as tools without a schema are given
        sent = "" if raw is None else _text_of(raw)
        line, text, paths, is_whole = sent, sent[:MAX_TOOL_TEXT], list[str](), len(sent) <= MAX_TOOL_TEXT
        is_read = bool(sent) or (whole and (raw is None or bytes(raw) in (b"null", b'""')))
    else:
        given = Fields(members)
        line = given.text(*_LINE, most=MAX_TOOL_LINE + 1) or " ".join(
            map(_quoted, next(filter(None, (given.texts(key) for key in _LINE)), ()))
        )
        paths = [found for key in _PATH if (found := given.text(key, most=MAX_PATH + 1))]
        paths += [found for key in ("paths", "file_paths") for found in given.texts(key)]
        text, is_whole = given.all_text(MAX_TOOL_TEXT)
        is_read = True
    missed: dict[ToolPart, bool] = {
        "tool": not name,
        "command": not is_read or len(line) > MAX_TOOL_LINE,
        "path": not is_read or len(paths) > MAX_TOOL_PATHS or any(len(each) > MAX_PATH for each in paths),
        "words": not is_read or not is_whole,
    }
    return ToolUse(
        name=name,
        id=fields.text(*_CALL, most=MAX_NAME),
        line=line[:MAX_TOOL_LINE],
        paths=tuple(each[:MAX_PATH] for each in paths[:MAX_TOOL_PATHS]),
        text=text,
        unread=frozenset(part for part, is_missed in missed.items() if is_missed),
    )


def _quoted(word: str) -> str:
    """Quote a word of a command that is sent as a list, as a shell needs it."""
    return word if word.isalnum() else "'" + word.replace("'", "'\\''") + "'"


def _object_of(raw: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """The members of an object, or of one that is written in a text, as Copilot CLI does."""
    found = _members_of(raw)
    return found if found is not None else _members_of(_text_of(raw).encode("utf-8", "replace"))


def _directory(fields: Fields) -> str:
    found = fields.text("cwd", most=MAX_PATH + 1) or next(
        filter(None, (fields.first(name, MAX_PATH + 1) for name in ("workspace_roots", "workspaceRoots"))), ""
    )
    return found if found.startswith("/") and len(found) <= MAX_PATH else ""


def _text(moment: Moment, fields: Fields) -> str:
    found = fields.text(*_TEXTS[moment], most=MAX_WRAPPED if moment in _WHOLE else MAX_TEXT)
    if moment is Moment.TOOL_FAILURE and (tool := fields.text(*_TOOL, most=MAX_NAME)):
        return f"{tool}: {found}"[:MAX_TEXT]
    return found


# ---------------------------------------------------------------- which host: by the fields that only one of them sends

MAX_EVENT = 64
"""Characters of an event's name that are looked at."""

BEGINNING = 16_384
"""Bytes of a message that cannot be read as a whole within which it is recognised as a hook's."""

_NAMED: Final = ("hook_event_name", "hookEventName")
_FREQUENT: Final = ("toolArgs", "generation_id")
"""Fields that show a hook where only the beginning of its payload can be looked at."""


@functools.cache
def _marked() -> tuple[tuple[Host, tuple[str, ...], str], ...]:
    """Hosts that a field of theirs alone shows, with these fields and that of their event."""
    return tuple((host, about.marks, about.event_field) for host in Host if (about := described(host)).marks)


@functools.cache
def _mark(*names: str) -> re.Pattern[bytes]:
    """Return what finds one of these members in a message that is not decoded."""
    return re.compile(rb'"(?:%b)"[ \t\r\n]*:' % "|".join(names).encode())


def host_of(fields: Fields) -> tuple[Host, str] | None:
    """Return the host and its name of the event, empty if that is not a text; None for what is not a hook's payload."""
    for host, marks, event_field in _marked():
        if any(mark in fields for mark in marks):
            return host, fields.text(event_field, most=MAX_EVENT)
    if any(name in fields for name in _NAMED):
        name = fields.text(*_NAMED, most=MAX_EVENT)
        return _host_by_name(fields, name), name
    unnamed = _copilot_event(fields)
    return None if unnamed is None else (Host.COPILOT_CLI, unnamed)


def begins_like_a_hook(message: bytes) -> Host | None:
    """Return the host of a message of which only the beginning can be looked at; None if it is not a hook's. The host
    may be another one whose answers have the same shape."""
    head = message[:BEGINNING]
    marks = [mark for _, names, _ in _marked() for mark in names]
    if not head.startswith(b"{") or b'"jsonrpc"' in head or not _mark(*_NAMED, *_FREQUENT, *marks).search(head):
        return None
    return Host.CLINE if _mark(*described(Host.CLINE).marks).search(head) else Host.CLAUDE_CODE


def _host_by_name(fields: Fields, name: str) -> Host:
    """The host of a payload that names its event as Claude Code does."""
    if "conversation_id" in fields or "cursor_version" in fields or name[:1].islower():
        return Host.CURSOR
    if "turn_id" in fields or _has_transcript_of_codex(fields):
        return Host.CODEX
    if "timestamp" not in fields:
        return Host.CLAUDE_CODE
    if "hook_event_name" not in fields:
        return Host.COPILOT_CLI  # the agents of VS Code write it in camel case
    # Both send a timestamp, and Gemini CLI always sends the path of its transcript.
    shared = name in ("SessionStart", "SessionEnd", "Notification") and "transcript_path" in fields
    return Host.GEMINI if shared or name in described(Host.GEMINI).only else Host.COPILOT_CLI


def _has_transcript_of_codex(fields: Fields) -> bool:
    """Return True if the transcript is one of Codex: it gives the file the same name for any $CODEX_HOME, or keeps none
    and sends null. It never sends a timestamp."""
    path = fields.text("transcript_path", most=BEGINNING)
    kept = "/.codex/" in path or path.rpartition("/")[2].startswith("rollout-")
    return kept or (fields.null("transcript_path") and "timestamp" not in fields)


def _copilot_event(fields: Fields) -> str | None:
    """The event of a payload in the format of Copilot CLI: milliseconds, a directory, and the fields of the event."""
    if fields.number("timestamp") is None or not fields.text("cwd", most=1) or "method" in fields:
        return None
    if "toolName" in fields and "toolResult" not in fields:
        return "postToolUseFailure" if "error" in fields else "preToolUse"
    if "stopReason" in fields:
        return "subagentStop" if "agentName" in fields else "agentStop"
    found = next((event for field, event in described(Host.COPILOT_CLI).by_field.items() if field in fields), None)
    if found is None and "agentName" in fields:
        return "subagentStart"
    return found or ("errorOccurred" if "error" in fields else None)


# ---------------------------------------------------------------- fields of any type

_number = msgspec.json.Decoder(float)
_elements = msgspec.json.Decoder(list[msgspec.Raw])


class Fields:
    """The members of a payload. A member of another type than asked for counts as absent."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, msgspec.Raw]) -> None:
        self._members = members

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def text(self, *names: str, most: int) -> str:
        """Return the first of these that is a non-empty text, cut to `most` characters; else an empty one."""
        for name in names:
            if (raw := self._members.get(name)) is not None and (found := _text_of(raw)):
                return found[:most]
        return ""

    def true(self, *names: str) -> bool:
        """Return True if one of these is true."""
        return any(bytes(self._members.get(name, b"")) == b"true" for name in names)

    def false(self, name: str) -> bool:
        """Return True if this is false, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"false"

    def null(self, name: str) -> bool:
        """Return True if this is null, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"null"

    def number(self, name: str) -> float | None:
        """Return the number of that name."""
        try:
            return _number.decode(self._members.get(name, b""))
        except MALFORMED:
            return None

    def first(self, name: str, most: int) -> str:
        """Return the first item of a list of texts; empty if there is none."""
        try:
            items = _elements.decode(self._members.get(name, b""))
        except MALFORMED:
            return ""
        return _text_of(items[0])[:most] if items else ""

    def raw(self, name: str) -> msgspec.Raw | None:
        """Return the member as it was sent."""
        return self._members.get(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        try:
            items = _elements.decode(self._members.get(name, b""))
        except MALFORMED:
            return ()
        return tuple(filter(None, map(_text_of, items)))

    def all_text(self, most: int) -> tuple[str, bool]:
        """Return the beginning of all values, texts as they read and the others as JSON, a line each; and True if
        that is all."""
        found, left = list[str](), most
        for raw in self._members.values():
            if left <= 0:
                return "\n".join(found), False
            sent = bytes(memoryview(raw)[: 6 * left + 2])  # an escape of one character has six
            text = _text_of(raw) or sent.decode("utf-8", "replace").replace("\\n", " ").replace("\\t", " ")
            found.append(text[:left])
            left -= len(text) + 1
        return "\n".join(found), left >= -1

    def with_layer(self, name: str) -> Fields:
        """Return these fields and, taking precedence, those of the object of that name."""
        inner = _members_of(self._members.get(name, b""))
        return self if inner is None else Fields({**self._members, **inner})


def _members_of(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    try:
        return decode_members(raw)
    except MALFORMED:
        return None


def _text_of(raw: msgspec.Raw) -> str:
    try:
        return decode_text(raw)
    except MALFORMED:
        return ""
