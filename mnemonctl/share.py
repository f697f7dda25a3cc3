"""`mnemonctl share`: the memories of a project as pages in its repository, where those of other stores and pages that a
person wrote are, too."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemonctl import fast, rpc
from mnemonctl.transfer import not_writable, target_of, write_file
from mnemond.api.types_daemon import CliRunResult
from mnemond.api.types_interchange import ExportResult
from mnemond.cli.grammar import Invocation
from mnemond.cli.output import escape_json, one_line
from mnemond.config.regular_files import read_regular
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import markdown
from mnemond.interchange.markdown import SharedPage
from mnemond.model.memory import is_same_project
from mnemond.text.secrets import find_secrets
from mnemond.wire.params import plural

FOLDER: Final = (".mnemond", "memory")
"""Directories within a repository, in which the pages are."""

INDEX: Final = "README.md"

MAX_PAGE: Final = 4 << 20
"""Bytes of a page: the longest text has a fortieth of that. What is longer was not written by a store."""

MAX_PAGES: Final = 20_000
"""Files of the directory."""

_PRIVATE: Final = ("user_id", "session_id", "agent_id")
"""A memory of a user, a session or an agent is not of the project as a whole."""

_NOT_SHARED: Final = frozenset({*_PRIVATE, "conversation_id", "channel", "source"})
"""Fields that say who wrote a memory, and where."""

_NAME: Final = re.compile(r"[\w-]+\.md")
"""Names of files that the index links to: those that `markdown.name_of` makes."""

_UNSAFE: Final = re.compile(r"[^\w#.@-]+")
"""Characters of ids of projects and stores that a heading does not take from a page of another store."""

_line = msgspec.json.Decoder(dict[str, Any])


class _Sharer(msgspec.Struct, frozen=True):
    """The store and the project whose pages are written, by their ids; `here`: the project of the repository."""

    store: str
    project: str
    here: str

    def owns(self, page: SharedPage) -> bool:
        """Return True for a page of this store and this project."""
        return page.store == self.store and is_same_project(page.project, self.project)


class Shared(msgspec.Struct):
    """Pages that are to be written, by the names of their files: which are new, which have changed, and which are to be
    removed. `kept`: files that are left as they are though this store has, or had, a page of that name, and why.
    `others`: pages of other stores and projects."""

    pages: dict[str, str]
    new: list[str] = []
    changed: list[str] = []
    gone: list[str] = []
    kept: dict[str, str] = {}
    others: int = 0


EDITED: Final = "it was changed by hand"
NOT_A_PAGE: Final = "it is no page of a store"
OF_ANOTHER_STORE: Final = "another store wrote it"
OF_ANOTHER_PROJECT: Final = "it is of another project"


def run(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Write the memories of a project into a repository, once a person has looked through them. Nothing is written if
    one has a key or a password. Raises MnemonError."""
    yes = bool(invocation.options.get("yes"))
    root = target_of(str(invocation.options.get("file") or "."), directory)
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    with rpc.spooled(directory) as (spool, file):
        begun = rpc.call(
            directory, "export", {**params, "directory": str(root), "spool": spool}, ExportResult, deadline
        )
        if not begun.project or not begun.store_id:
            sentence = "what is shared is of a project, and none is named"
            raise MnemonError(INVALID_PARAMS, sentence, hint="name it: --project NAME", outcome="rejected")
        sharer = _Sharer(begun.store_id, begun.project, begun.here or "")
        pages = pages_of(file, sharer.store)
    _refuse_secrets(pages)
    target = root.joinpath(*FOLDER)
    try:
        _refuse_links(root)
        shared = compared(target, pages, sharer)
        if invocation.options.get("dry_run") or not (shared.new or shared.changed or shared.gone):
            return _result(invocation, shared, target, sharer, done=False)
        if not yes and not _is_confirmed(invocation, shared, target, sharer):
            return CliRunResult(0, False, "", "")
        target.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name in (*shared.new, *shared.changed):
            write_file(target / name, [shared.pages[name].encode()], flush=False)
        for name in shared.gone:
            (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise not_writable(target, error.strerror or str(error)) from None
    return _result(invocation, shared, target, sharer, done=True)


def _refuse_links(root: Path) -> None:
    for path in (root, *(root.joinpath(*FOLDER[: each + 1]) for each in range(len(FOLDER)))):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise not_writable(path, "it is no directory, or a symbolic link")
    if not root.is_dir():
        raise not_writable(root, "there is no such directory")


def _is_confirmed(invocation: Invocation, shared: Shared, target: Path, sharer: _Sharer) -> bool:
    if not (invocation.output.tty and invocation.output.tty_err and os.isatty(0)):
        raise MnemonError(
            INVALID_PARAMS, "what is shared has to be looked through; without a terminal it needs --yes",
            hint="--dry-run shows what would be written", outcome="rejected",
        )  # fmt: skip
    fast.write(1, _text(shared, target, sharer, done=False).encode())
    for name in (*shared.new, *shared.changed):
        if name != INDEX:
            fast.write(1, f"\n{escape_json(shared.pages[name])}".encode())
    fast.write(2, b"Write them? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ------------------------------------------------------------------ pages


def pages_of(export: Iterable[bytes], store: str) -> dict[str, str]:
    """Return the pages of the memories of a project that are in recall, by the names of their files. `store`: the id of
    the store."""
    memories, links = dict[str, dict[str, Any]](), dict[str, list[tuple[str, str]]]()
    for line in map(_line.decode, export):
        kind = line["kind"]
        if kind == "memory" and _is_shared(line):
            memories[line["id"]] = {name: value for name, value in line.items() if name not in _NOT_SHARED}
        elif kind == "edge" and line["source_id"] in memories and line["target_id"] in memories:
            other = markdown.name_of(memories[line["target_id"]])
            links.setdefault(line["source_id"], []).append((line["edge_type"], other))
    pages = dict[str, str]()
    for key, memory in memories.items():
        page = markdown.page(memory, store=store)
        page = page.replace(f'modified: "{memory["updated_at"]}"\n', "", 1)  # another on each device
        pages[f"{markdown.name_of(memory)}.md"] = markdown.sealed(page + markdown.links_of(sorted(links.get(key, ()))))
    return pages


def _is_shared(line: dict[str, Any]) -> bool:
    private = any(line.get(name) is not None for name in _PRIVATE)
    return (
        line["status"] == "active" and line.get("project") is not None and not private and not line.get("quarantined")
    )


def _refuse_secrets(pages: Mapping[str, str]) -> None:
    found = {name: secrets for name, page in pages.items() if (secrets := find_secrets(page))}
    if found:
        named = "; ".join(f"{name}: {secrets[0].kind}" for name, secrets in list(found.items())[:_NAMED_SECRETS])
        raise MnemonError(
            INVALID_PARAMS,
            f"{plural(len(found), 'memory')} would share a key or a password ({named}); nothing was written",
            hint="take it out: mnemonctl update ID --content TEXT, or forget ID --purge",
            outcome="rejected",
        )


_NAMED_SECRETS: Final = 5


# ------------------------------------------------------------------ what is there


def compared(target: Path, pages: Mapping[str, str], sharer: _Sharer) -> Shared:
    """Compare pages with the files of a directory. Only files that this store wrote for this project, and that nothing
    else changed, are to be changed or removed. Raises OSError."""
    shared = Shared({})
    there = dict[str, SharedPage]()
    names = sorted(path.name for path in target.glob("*.md")) if target.is_dir() else []
    if len(names) > MAX_PAGES:
        raise OSError(errno.EFBIG, f"it has more than {MAX_PAGES:,} files")
    for name in names:
        if name == INDEX:
            continue
        content = _content(target / name)
        page = None if content is None else markdown.shared_page(content)
        why = _why_kept(page, sharer)
        if page is not None:
            there[name] = page
        if name in pages:
            if content is not None and _text_of(content) == markdown.LINE_END.sub("\n", pages[name]):
                shared.pages[name] = pages[name]
            elif why:
                shared.kept[name] = why
            else:
                shared.pages[name] = pages[name]
                shared.changed.append(name)
        elif not why:
            shared.gone.append(name)
            del there[name]
        elif why == EDITED:
            shared.kept[name] = f"{EDITED}; its memory is not shared any more"
        elif page is not None:
            shared.others += 1
    for name, text in pages.items():
        if name not in names:
            shared.new.append(name)
            shared.pages[name] = text
    written = {name: markdown.shared_page(text.encode()) for name, text in shared.pages.items()}
    _compare_index(target / INDEX, there | {name: page for name, page in written.items() if page is not None}, shared)
    return shared


def _text_of(content: bytes) -> str:
    """Decode a file to be compared."""
    return markdown.LINE_END.sub("\n", content.decode("utf-8", "surrogateescape"))


def _why_kept(page: SharedPage | None, sharer: _Sharer) -> str:
    """Return why a file must stay as it is; "" if it may be changed and removed."""
    if page is None:
        return NOT_A_PAGE
    if page.store != sharer.store:
        return OF_ANOTHER_STORE
    if not sharer.owns(page):
        return OF_ANOTHER_PROJECT
    return EDITED if page.edited else ""


def _content(path: Path) -> bytes | None:
    """Return the content of a regular file; None for anything else, and for what is longer than a page can be."""
    try:
        content = read_regular(path, MAX_PAGE, os.O_NOFOLLOW)
    except OSError:
        return None
    return content if len(content) <= MAX_PAGE else None


# ------------------------------------------------------------------ the index


_MARK: Final = re.compile(r"<!-- mnemond: index ([0-9a-f]{64}) -->\n")


def index_of(pages: Mapping[str, SharedPage]) -> str:
    """Return the index of pages, by project and store: the same for the same pages, whichever store writes it."""
    groups = dict[tuple[str, str], list[tuple[str, str, str]]]()
    for name, page in pages.items():
        if _NAME.fullmatch(name):
            entry = (markdown.title_of(page.category), name, markdown.title_of(page.title))
            groups.setdefault((page.project, page.store), []).append(entry)
    text = "# Memories\n\nWritten by `mnemonctl share`. Each file is one memory.\n"
    for (project, store), entries in sorted(groups.items()):
        of = f"{_UNSAFE.sub('-', project)} (store {_UNSAFE.sub('-', store)})"
        lines = "".join(f"- {category}: [{title}]({name})\n" for category, name, title in sorted(entries))
        text += f"\n## {of}\n\n{lines}"
    return text


def _compare_index(path: Path, pages: Mapping[str, SharedPage], shared: Shared) -> None:
    """Compare the index with the one that is there, which stays as it is if a person changed it."""
    body = index_of(pages)
    content = _content(path)
    text = None if content is None else _text_of(content)
    mark = None if text is None else _MARK.match(text)
    own = mark is not None and text is not None and _seal_of(text[mark.end() :]) == mark[1]
    if text is None and not os.path.lexists(path):
        if pages:
            shared.new.append(INDEX)
            shared.pages[INDEX] = _sealed_index(body)
    elif not own:
        if pages:
            shared.kept[INDEX] = EDITED if mark else NOT_A_PAGE
    elif not pages:
        shared.gone.append(INDEX)
    else:
        shared.pages[INDEX] = _sealed_index(body)
        if text != shared.pages[INDEX]:
            shared.changed.append(INDEX)


def _sealed_index(body: str) -> str:
    return f"<!-- mnemond: index {_seal_of(body)} -->\n{body}"


def _seal_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


# ------------------------------------------------------------------ the result


class ShareResult(msgspec.Struct, frozen=True):
    """Names of the files that were written, or (`written` false) would be, in the directory `path`. `kept`: files that
    are left as they are, and why. `others`: pages of other stores and projects. `repository`: the project that the
    directory is of, where that is another one."""

    path: str
    store: str
    project: str
    written: bool
    files: int
    new: list[str]
    changed: list[str]
    removed: list[str]
    kept: dict[str, str]
    others: int
    repository: str | None


def _result(invocation: Invocation, shared: Shared, target: Path, sharer: _Sharer, *, done: bool) -> CliRunResult:
    if invocation.output.form != "json":
        return CliRunResult(0, False, _text(shared, target, sharer, done=done), "")
    facts = ShareResult(
        path=str(target), store=sharer.store, project=sharer.project, written=done, files=len(shared.pages),
        new=shared.new, changed=shared.changed, removed=shared.gone, kept=shared.kept, others=shared.others,
        repository=_other_repository(sharer),
    )  # fmt: skip
    return CliRunResult(0, False, invocation.output.json(msgspec.to_builtins(facts)), "")


def _other_repository(sharer: _Sharer) -> str | None:
    return sharer.here if sharer.here and not is_same_project(sharer.here, sharer.project) else None


def _text(shared: Shared, target: Path, sharer: _Sharer, *, done: bool) -> str:
    named = one_line(str(target))
    if shared.new or shared.changed or shared.gone:
        head = f"{'Wrote' if done else 'Would write'} {plural(len(shared.pages), 'file')}: {named}\n"
    else:
        head = f"Nothing is new: {named}\n"
    other = _other_repository(sharer)
    if other is not None:
        head += f"  This is the repository of {one_line(other)}; the memories are of {one_line(sharer.project)}.\n"
    parts = (("new", shared.new), ("changed", shared.changed), ("removed", shared.gone))
    lines = [f"  {what}: {one_line(name)}\n" for what, each in parts for name in each]
    lines += [f"  left as it is: {one_line(name)}: {why}\n" for name, why in list(shared.kept.items())[:_NAMED_KEPT]]
    if len(shared.kept) > _NAMED_KEPT:
        lines.append(f"  and {len(shared.kept) - _NAMED_KEPT:,} more\n")
    if shared.kept:
        lines.append("  To have such a file written again, move it away and repeat this.\n")
    if shared.others:
        lines.append(f"  {plural(shared.others, 'page')} of other stores or projects left as they are\n")
    return head + "".join(lines)


_NAMED_KEPT: Final = 20
