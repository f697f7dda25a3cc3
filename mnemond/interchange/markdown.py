"""Memories as markdown files that Obsidian and basic-memory open: one file a memory, with its links.

The text of a memory is in the file as it is; a line that marks the end of it, and never stands in it twice, makes it
readable again. Times and ids are in the front matter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

MARK: Final = "<!-- mnemond: the end of the memory -->"
"""Line after the text; what follows is made of the links. The last one in a file counts."""

MAX_TITLE: Final = 60
"""Characters of a title: the beginning of the text."""

ID_LETTERS: Final = 8
"""Characters of the id in the name of a file, so that two memories with the same beginning have different names."""

_UNSAFE: Final = re.compile(r"[^\w-]+")
_SPACE: Final = re.compile(r"\s+")
_json = msgspec.json.Encoder()

FIELDS: Final = (
    "category", "importance", "source", "channel", "project", "status", "pinned", "user_id", "session_id", "agent_id",
    "conversation_id", "valid_from", "invalid_at", "event_start", "event_end", "superseded_by",
)  # fmt: skip
"""Fields of a memory that are in the front matter under their own names, where they have a value."""


def title_of(content: str) -> str:
    """Return the beginning of a text as a title: one line, without what a link cannot contain."""
    line = _SPACE.sub(" ", re.sub(r"[\[\]|#^<>\x00-\x1f\x7f-\x9f]", " ", content[: 4 * MAX_TITLE])).strip()
    return line if len(line) <= MAX_TITLE else f"{line[:MAX_TITLE].rsplit(' ', 1)[0]}…"


def name_of(memory: Mapping[str, Any]) -> str:
    """Return the name of a memory's file: words of its text, and the beginning of its id."""
    words = _UNSAFE.sub("-", title_of(str(memory["content"])).lower()).strip("-")[:MAX_TITLE]
    short = _UNSAFE.sub("-", str(memory["id"]))[:ID_LETTERS]
    return f"{words}-{short}" if words else short


def page(memory: Mapping[str, Any], *, store: str = "") -> str:
    """Return the file of a memory without its links. `store`: the id of the store that shares it, if one does.

    Values of the front matter are JSON, which is YAML as well, so no text can end it or begin another field.
    """
    front = {
        "title": title_of(str(memory["content"])),
        "type": "memory",
        "permalink": str(memory["id"]),
        "mnemond": 1,
        **({"store": store, "project": memory.get("project"), "category": memory.get("category")} if store else {}),
        "tags": memory.get("tags", []),
        "created": memory["created_at"],
        "modified": memory["updated_at"],
        **{name: memory[name] for name in FIELDS if memory.get(name) not in (None, "", 0)},
    }
    head = "\n".join(f"{name}: {_json.encode(value).decode()}" for name, value in front.items())
    return f"---\n{head}\n---\n\n{memory['content']}\n\n{MARK}\n"


def links_of(links: Sequence[tuple[str, str]]) -> str:
    """Return the end of a file: its links, each with its type and the name of the other file."""
    lines = "".join(f"- {kind} [[{other}]]\n" for kind, other in links)
    return f"\n## Links\n\n{lines}" if links else ""


MAX_HEAD: Final = 4096
"""Bytes of a file in which `is_own` finds what it looks for."""


def is_own(head: bytes) -> bool:
    """Return True if a file that begins like this is one of an export."""
    own = head.startswith(b"---\ntitle: ") and b"\nmnemond: 1\n" in head and b"\npermalink: " in head
    return own and b"\nstore: " not in head.partition(b"\n---\n")[0]


# Pages that a store shares: each says which store wrote it, and whether it is as it was written.


class SharedPage(msgspec.Struct, frozen=True):
    """The front matter of a shared page. `edited`: the page is not as the store wrote it."""

    store: str
    project: str
    title: str
    category: str
    edited: bool


def sealed(text: str) -> str:
    """Return a page with the SHA-256 of all its other lines, by which a change by hand is found."""
    return text.replace(_SEALED_AFTER, f'{_SEALED_AFTER}sha256: "{_seal_of(text)}"\n', 1)


def _seal_of(text: str) -> str:
    return hashlib.sha256(LINE_END.sub("\n", text).encode("utf-8", "surrogateescape")).hexdigest()


LINE_END: Final = re.compile(r"\r+\n")
"""A line end of another system, which git may write; replaced before pages are compared."""


_SEALED_AFTER: Final = "\nmnemond: 1\n"
_SEAL: Final = re.compile(r'\nsha256: "([0-9a-f]{64})"(?=\n)')


def shared_page(content: bytes) -> SharedPage | None:
    """Read a page that a store shares, None for another file. Line ends of other systems, which git may write, are no
    change."""
    text = LINE_END.sub("\n", content.decode("utf-8", "surrogateescape"))
    head, _, _ = text.partition("\n---\n")
    if not head.startswith("---\ntitle: ") or _SEALED_AFTER not in head:
        return None
    fields = dict(line.partition(": ")[::2] for line in head.split("\n")[1:])
    try:
        store, project, title, category = (
            msgspec.json.decode(fields.get(name, '""').encode("utf-8", "replace"), type=str)
            for name in ("store", "project", "title", "category")
        )
    except msgspec.MsgspecError:
        return None
    seal = _SEAL.search(head)
    edited = seal is None or _seal_of(text[: seal.start()] + text[seal.end() :]) != seal[1]
    return SharedPage(store, project, title, category, edited) if store else None


def content_of(body: str) -> str | None:
    """Return the text of a memory from what follows the front matter of its file; None for another file."""
    end = body.rfind(f"\n\n{MARK}")
    return body[1:end] if end >= 0 and body.startswith("\n") else None
