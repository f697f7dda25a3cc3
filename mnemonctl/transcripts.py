"""Transcripts that coding agents have on this machine: where they are, and what is in them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final, NamedTuple

from mnemond.config.regular_files import open_regular
from mnemond.interchange import sessions
from mnemond.interchange.sessions import SessionExchange

TITLES: Final = {
    sessions.CLAUDE_CODE: "Claude Code",
    sessions.CODEX: "Codex",
    sessions.GEMINI: "Gemini CLI",
}

MAX_LINE: Final = 16 << 20
"""Bytes of a line that is read: pictures are in some."""

MAX_DOCUMENT: Final = 64 << 20
"""Bytes of a file that is one document."""

MAX_FILES: Final = 50_000
"""Files of a directory, the first ones by their names."""

_SIDE: Final = ("agent-", "subagents/")
"""In the name of a file of Claude Code: it has what a subagent did."""


class Read(NamedTuple):
    """All exchanges, the earliest first, those of each moment once; and how many lines could not be read."""

    exchanges: list[SessionExchange]
    unread: int


def place(kind: str, environ: Mapping[str, str]) -> Path:
    """Return the directory in which the agent keeps its transcripts."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    match kind:
        case sessions.CLAUDE_CODE:
            return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
        case sessions.CODEX:
            return Path(environ.get("CODEX_HOME") or home / ".codex") / "sessions"
        case _:
            return home / ".gemini" / "tmp"


def files(kind: str, path: Path) -> list[Path]:
    """Return the transcripts in a directory, by their names; links are not followed. A file is one itself."""
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for directory, below, names in os.walk(path):
        below.sort()
        for name in sorted(names):
            file = Path(directory, name)
            if _is_transcript(kind, file.relative_to(path).as_posix()) and not file.is_symlink():
                found.append(file)
        if len(found) >= MAX_FILES:
            break
    return found[:MAX_FILES]


def _is_transcript(kind: str, name: str) -> bool:
    parent, _, last = name.rpartition("/")
    match kind:
        case sessions.CLAUDE_CODE:
            return last.endswith(".jsonl") and not any(each in name for each in _SIDE)
        case sessions.CODEX:
            return last.endswith(".jsonl") and last.startswith("rollout-")
        case _:
            return last.endswith((".json", ".jsonl")) and last.startswith("session-") and parent.endswith("chats")


def read(kind: str, path: Path, environ: Mapping[str, str], on_read: Callable[[int], None] = lambda _: None) -> Read:
    """Read the transcripts of a directory, or one of a file. `on_read` is called with the bytes of each. A copy that a
    resumed session has of another's beginning is that other's. Raises OSError for the path alone: a file in a directory
    that cannot be read counts as a line."""
    directories = _projects_of_gemini(environ) if kind == sessions.GEMINI else {}
    found: list[SessionExchange] = []
    unread = 0
    for file in files(kind, path):
        try:
            size = file.lstat().st_size
            with open(open_regular(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
                lines = _Lines(opened, is_document=file.suffix == ".json")
                known = directories | _root_beside(file) if kind == sessions.GEMINI else directories
                transcript = sessions.read(kind, file.stem, lines, known)
        except OSError:
            if file == path:
                raise
            unread += 1
            continue
        found += transcript.exchanges
        unread += transcript.unread + lines.skipped
        on_read(size)
    found.sort(key=lambda each: each.at)
    once = {(each.at, each.prompt): each for each in reversed(found)}
    return Read([each for each in found if once[each.at, each.prompt] is each], unread)


def digest(exchanges: list[SessionExchange]) -> str:
    """Return a hash of exchanges, by which an import that was interrupted is recognised."""
    whole = hashlib.sha256()
    for each in exchanges:
        whole.update(f"{each.session}\0{each.at}\0{each.prompt}\0".encode("utf-8", "replace"))
    return whole.hexdigest()


class _Lines:
    """The lines of a file, without those that are too long."""

    def __init__(self, file: IO[bytes], *, is_document: bool) -> None:
        self.skipped = 0
        self._file = file
        self._left = MAX_DOCUMENT if is_document else -1

    def __iter__(self) -> Iterator[bytes]:
        while line := self._file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE or 0 <= self._left < len(line):
                self.skipped += 1
                while line and not line.endswith(b"\n"):
                    line = self._file.readline(MAX_LINE)
                continue
            self._left -= len(line) if self._left >= 0 else 0
            yield line


def _projects_of_gemini(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the directories that Gemini CLI knows, by their hash."""
    home = place(sessions.GEMINI, environ).parent
    paths: set[str] = set()
    for name in ("projects.json", "trustedFolders.json"):
        try:
            found = json.loads((home / name).read_bytes()[:MAX_DOCUMENT])
        except (OSError, ValueError, RecursionError):
            continue
        listed = found.get("projects", found) if isinstance(found, dict) else None
        paths |= {each for each in listed if isinstance(each, str)} if isinstance(listed, dict) else set()
    return {sessions.hash_of_project(each): each for each in paths}


def _root_beside(file: Path) -> dict[str, str]:
    """Return the directory that is noted beside the chats of a project, by its hash."""
    try:
        root = (file.parent.parent / ".project_root").read_text("utf-8", "replace")[: sessions.MAX_PATH].strip()
    except OSError:
        return {}
    return {sessions.hash_of_project(root): root}
