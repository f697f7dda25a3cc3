"""`mnemonctl today`, `hook --dry-run`, `useful` and `misled`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Final

import msgspec

from mnemond.api import types_sessions
from mnemond.api.types_sessions import (
    Figures,
    HookPreviewResult,
    LeftOut,
    PreviewMemory,
    SessionPauseResult,
    SessionView,
    Shown,
    ShownMemory,
    TodayResult,
)
from mnemond.cli.output import (
    Style,
    counts,
    first_words,
    lines,
    neutralise,
    one_line,
    repeated,
    row,
    second,
    short_id,
    undo_hint,
)
from mnemond.cli.parser import ID, Arguments, Command, Group, Request, UsageError, Words, standard_input
from mnemond.model.memory import project_parts
from mnemond.model.outcomes import FeedbackResult
from mnemond.wire.params import about, plural

# today.


MAX_LEFT_OUT_SHOWN: Final = 5
"""Parts of a session that were left out and are listed, unless the session is named."""


def headline(it: Figures) -> str:
    """Return what happened in a time, in one line."""
    return (
        f"told {plural(it.memories, 'memory')}, {plural(it.tokens, 'token')}, in {plural(it.sessions, 'session')};"
        f" {plural(it.rules, 'rule')} held; {it.useful:,} marked useful, {it.misled:,} misleading;"
        f" kept {plural(it.exchanges, 'exchange')}, {plural(it.kept, 'memory')}"
    )


def _today(result: TodayResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.sessions))
    if not result.sessions:
        return lines("no session was told a memory in this time, and nothing was kept of any")
    return lines(
        style.strong(headline(result.figures)),
        *(line for each in result.sessions for line in _session(each, style, all_of_it=len(result.sessions) == 1)),
        style.faint("right: mnemonctl useful ID · wrong: mnemonctl update ID --content TEXT, forget ID"),
        style.faint("left out, and wanted: mnemonctl remember TEXT · keep nothing of it: mnemonctl forget ID"),
    )


def _session(session: SessionView, style: Style, *, all_of_it: bool) -> list[str]:
    of = [
        project_parts(session.project)[0],
        session.host,
        f"{second(session.began)[:16]} to {second(session.ended)[11:16]}",
    ]
    most = session.left_out_count if all_of_it else MAX_LEFT_OUT_SHOWN
    left = session.left_out[:most]
    return [
        "",
        f"{style.strong(one_line(session.id))}  {', '.join(one_line(each) for each in of if each)}",
        *(line for each in session.shown for line in _shown(each, style)),
        *(["  kept:"] if session.exchanges or session.kept else []),
        *([f"    {plural(session.exchanges, 'exchange')}, verbatim"] if session.exchanges else []),
        *(row(f"    {short_id(it.id)}  ", it.words, style) for it in session.kept),
        *(["  left out, and why:"] if left else []),
        *(line for why, parts in groupby(left, lambda it: it.reason) for line in _left_out(why, parts, style)),
        *([f"    and {session.left_out_count - len(left):,} more"] if session.left_out_count > len(left) else []),
    ]


def _left_out(reason: str, parts: Iterable[LeftOut], style: Style) -> list[str]:
    return [
        *(row(f"    {short_id(it.passage)}  ", it.text, style) for it in parts),
        style.faint(f"              {one_line(reason)}"),
    ]


def _shown(shown: Shown, style: Style) -> list[str]:
    agent = f" of agent {one_line(shown.agent)}" if shown.agent else ""
    head = f"  {second(shown.at)}  {one_line(shown.moment)}{agent}, {plural(shown.tokens, 'token')}"
    return [head, *(line for it in shown.memories for line in _memory(it, style))]


def _memory(it: ShownMemory, style: Style) -> list[str]:
    judged = {name: count for name, count in (("useful", it.useful), ("misled", it.misled)) if count}
    why = "; ".join(filter(None, [one_line(it.reason), f"judged {counts(judged)}" if judged else ""]))
    words = first_words(it.words, purged=it.purged)
    return [row(f"    {short_id(it.id)}  ", words, style), *([style.faint(f"              {why}")] if why else [])]


TODAY = Command(
    "today",
    Group.AGENTS,
    ("mnemonctl today", 'mnemonctl today --since "last week"', "mnemonctl today 3f2a91 --json --pretty"),
    method=types_sessions.TODAY,
    words=Words("[ID]", ("id",), optional=True, what="the id of a session"),
    details=(
        "Of each session what it was told and why, what was kept of it, and what was left out and why.",
        "A session is named by its host: Claude Code shows the id in /status, Codex in the name of its file.",
        "The newest 2,000 memories that were shown are listed, a second after they were.",
        "What was left out was read again by the rules as they are now. An exchange is shown by `mnemonctl get ID`.",
    ),
    render=_today,
)


# session pause.


def _session_pause(result: SessionPauseResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    name = style.strong(one_line(result.id))
    if not result.paused:
        return lines(f"{name} goes on: what is said from the next prompt on is kept")
    return lines(
        f"{name} is paused: nothing of it is kept",
        style.faint('to go on: mnemonctl session pause --resume, or "back on the record" in a prompt'),
    )


SESSION_PAUSE = Command(
    "session pause",
    Group.AGENTS,
    ("mnemonctl session pause", "mnemonctl session pause --resume", "mnemonctl session pause 3f2a91"),
    method=types_sessions.SESSION_PAUSE,
    words=Words("[ID]", ("id",), optional=True, what="the id of a session"),
    details=(
        "Without ID the last session of an agent in this directory. It stays paused when the daemon restarts.",
        'In a prompt, "off the record", "nicht mitschreiben" and "不要记录" do the same.',
        "Memories are still shown to it, and what it asks to remember is remembered.",
    ),
    render=_session_pause,
)


# hook --dry-run.


class HookOptions(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, about("show what a hook would tell an agent; nothing counts as shown")] = False


MOMENTS: Final = ("prompt", "session")

MAX_LEFT_OUT: Final = 8
"""Memories that are not shown and that people are told about."""


def _hook_request(arguments: Arguments) -> Request:
    options = {name: value for name, value in arguments.options.items() if name != "dry_run"}
    see = "See: mnemonctl hook --help"
    if not arguments.options.get("dry_run"):
        raise UsageError("hook needs --dry-run: agents call hooks by what `mnemonctl setup` installs", see)
    moment, *words = arguments.words or [""]
    if moment not in MOMENTS:
        raise UsageError(f"hook --dry-run needs {' or '.join(MOMENTS)}, then the text", see)
    text = standard_input("hook", arguments.stdin) if words == ["-"] else " ".join(words)
    if moment == "prompt" and not text.strip():
        raise UsageError("hook --dry-run prompt needs the text of a prompt", see)
    return Request(types_sessions.HOOK_PREVIEW.name, {**options, "moment": moment, "text": text})


def _hook(result: HookPreviewResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(it.id) for it in result.shown))
    budget = f" of {result.budget:,}" if result.budget else ""
    head = f'store "{one_line(result.store)}", {result.tokens:,}{budget} tokens of a session'
    unshown = len(result.left_out) - MAX_LEFT_OUT
    return lines(
        neutralise(result.text) if result.text else "nothing would be shown",
        "",
        style.strong(head),
        *_reasons("shown:", result.shown, style),
        *_reasons("not shown:", result.left_out[:MAX_LEFT_OUT], style),
        f"  and {unshown:,} more, see --json" if unshown > 0 else None,
    )


def _reasons(heading: str, memories: list[PreviewMemory], style: Style) -> list[str]:
    found = [heading] if memories else []
    for it in memories:
        found += [row(f"  {short_id(it.id)}  ", it.words, style), style.faint(f"            {one_line(it.reason)}")]
    return found


HOOK = Command(
    "hook",
    Group.AGENTS,
    (
        "mnemonctl hook --dry-run session",
        "mnemonctl hook --dry-run prompt Which port has the staging server?",
        "mnemonctl hook --dry-run --cwd /home/ada/apollo session",
    ),
    method=types_sessions.HOOK_PREVIEW,
    words=Words("prompt|session [TEXT]", ("moment", "text"), text=True),
    details=(
        "What a new session would begin with, or be shown with a prompt, with the reason for each memory.",
        "Without --cwd the agent works in this directory. TEXT may be - for standard input.",
    ),
    options=HookOptions,
    request=_hook_request,
    render=_hook,
)


# useful and misled.


def _judgement(verdict: str) -> Command:
    example = {"useful": "helped", "misled": "was wrong, or beside the point"}[verdict]

    def request(arguments: Arguments) -> Request:
        (insight_id,) = arguments.identifiers(1)
        params = {**arguments.options, "id": insight_id, "verdict": verdict}
        return Request(types_sessions.FEEDBACK.name, params)

    return Command(
        verdict,
        Group.CHANGE,
        (f"mnemonctl {verdict} 1a2b3c4d", "mnemonctl get 1a2b3c4d", "mnemonctl today"),
        method=types_sessions.FEEDBACK,
        summary=f"Say that a memory {example}.",
        words=Words(ID.usage, ("id", "verdict")),
        details=(
            "It is counted, shown by `get`, `stats` and `today`, and taken back by `undo`.",
            "With the setting retrieval.feedback_weight it moves the memory in results.",
            *(("A short prompt it was useful for (--prompt) becomes one of its cues.",) if verdict == "useful" else ()),
        ),
        request=request,
        render=_judged,
    )


def _judged(result: FeedbackResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    return lines(
        f"{style.strong(short_id(result.id))} was judged useful {plural(result.useful, 'time')}, misleading"
        f" {plural(result.misled, 'time')}{repeated(result)}",
        "It is found by prompts like this one now." if result.learned else None,
        undo_hint(result.op_id, style),
    )


USEFUL = _judgement("useful")
MISLED = _judgement("misled")
