"""`mnemonctl export` and `import`: the part of them that reads and writes files. The daemon is sent no path."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec

from mnemonctl import fast, keys, rpc, transcripts
from mnemond import encryption
from mnemond.api.types_daemon import CliRunResult
from mnemond.api.types_interchange import ExportResult, ImportResult
from mnemond.cli.grammar import Invocation, Output, success
from mnemond.cli.interchange import imported
from mnemond.cli.output import escape_json, one_line
from mnemond.config.regular_files import open_regular
from mnemond.errors import INVALID_PARAMS, STORAGE, MnemonError
from mnemond.interchange import archives, markdown, sessions
from mnemond.interchange.items import Item, NotReadableError, UnknownKindError
from mnemond.interchange.recognise import (
    HEAD,
    KINDS,
    SERVER_MEMORY,
    is_own,
    is_server_memory,
    items_of,
    streamed,
    streamed_items,
)
from mnemond.interchange.sessions import Line, SessionExchange
from mnemond.interchange.sqlite_files import MAGIC, items_of_database
from mnemond.store.imports import OWN
from mnemond.wire.params import plural


def run_export(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Export a store. `store` is used unless --store is given.

    Raises MnemonError, also for a file that cannot be written; fast.OutputError.
    """
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    name, form = invocation.options.get("file"), invocation.options.get("format") or "jsonl"
    target = None if name is None else target_of(str(name), directory)
    recipients = _recipients(invocation, to_terminal=target is None)
    with rpc.spooled(directory) as (spool, file):
        begun = call(directory, "export", {**params, "spool": spool}, ExportResult, invocation.output, "lines")
        if target is None:
            _print(file, invocation.output, recipients)
            return CliRunResult(0, False, "", "")
        written = begun.lines
        try:
            if form == "markdown":
                written = _write_pages(target, file, whole=begun.whole)
            else:
                write_file(target, encryption.parts_of(file), recipients)
        except OSError as error:
            raise not_writable(target, error.strerror or str(error)) from None
    facts = {"path": str(target), "store": begun.store, "whole": begun.whole, "lines": written}
    if invocation.output.form == "json":
        return CliRunResult(0, False, invocation.output.json(facts), "")
    noun = "file" if form == "markdown" else "line"
    what = "" if begun.whole else " (what the filter admits)"
    if recipients:
        what += f", encrypted for {plural(len(recipients), 'recipient')}"
    return CliRunResult(0, False, f"Wrote {plural(written, noun)}{what}: {one_line(str(target))}\n", "")


def _recipients(invocation: Invocation, *, to_terminal: bool) -> list[encryption.Recipient]:
    """Return the keys for which an export is encrypted. Raises MnemonError."""
    named = invocation.options.get("encrypt_to")
    if named is None:
        return []
    if to_terminal and invocation.output.tty:
        sentence = "an encrypted export is no text for a terminal"
        raise MnemonError(INVALID_PARAMS, sentence, hint="name a file: -o FILE", outcome="rejected")
    return encryption.recipients_of(keys.recipients(msgspec.convert(named, list[str])))


def target_of(name: str, data_dir: Path) -> Path:
    target = Path(os.path.abspath(os.path.expanduser(name)))
    if data_dir.resolve() in (target.resolve(), *target.resolve().parents):
        raise MnemonError(
            INVALID_PARAMS,
            f"{target} lies in the data directory, whose files are mnemond's own",
            hint="name a file outside of it",
            outcome="rejected",
        )
    return target


T = TypeVar("T")


def call(directory: Path, method: str, params: dict[str, object], into: type[T], output: Output, noun: str) -> T:
    """Return the result of a call that may take long, and show how far it is. Raises MnemonError."""
    progress = Progress(noun, shown=output.tty_err and not output.style.quiet)
    params = {**params, "progress": True} if progress.is_shown else params
    try:
        return rpc.call(directory, method, params, into, fast.LONG_DEADLINE_S, progress)
    finally:
        progress.end()


_MANY_BYTES: Final = 1 << 20
"""What takes long enough for a progress bar: about a tenth of a second."""


class Progress(fast.Watcher):
    """A line on standard error that is written anew now and then, if it is a terminal."""

    def __init__(self, noun: str, total: int = 0, *, shown: bool) -> None:
        self._noun = noun
        self._done = 0
        self._total = total
        self.is_shown = shown

    def note(self, line: bytes) -> bool:
        """Show what a notification says."""
        if not line.startswith(rpc.PROGRESS):
            return False
        found = msgspec.json.decode(line)["params"]
        self._done, self._total = 0, found["total"]
        self.add(found["done"])
        return True

    def add(self, more: int) -> None:
        """Show that so much more is done."""
        self._done += more
        if self.is_shown:
            share = min(self._done / max(self._total, 1), 1.0)
            bar = "#" * round(share * 20)
            fast.write(2, f"\r[{bar:<20}] {self._done:,} {self._noun}".encode())

    def end(self) -> None:
        """Erase the line."""
        if self.is_shown and self._done:
            fast.write(2, b"\r\x1b[K")


def _print(file: IO[bytes], output: Output, recipients: Sequence[encryption.Recipient]) -> None:
    """Print; stop quietly when the reader leaves. Raises fast.OutputError."""
    parts = (escape_json(line.decode()).encode() for line in file) if output.tty else encryption.parts_of(file)
    try:
        encryption.encrypt(parts, fast.write_part, recipients)
    except BrokenPipeError:
        return


def write_file(
    target: Path, parts: Iterable[bytes], recipients: Sequence[encryption.Recipient] = (), *, flush: bool = True,
    replace: bool = True,
) -> None:  # fmt: skip
    """Write a file (0600), which appears whole and (with `flush`) on the disk, with `replace` in place of one that is
    there; with `recipients` encrypted for them. Raises OSError."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            encryption.encrypt(parts, file.write, recipients)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        (os.replace if replace else os.link)(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def not_writable(target: Path, why: str, hint: str = "name another file") -> MnemonError:
    return MnemonError(STORAGE, f"{target} cannot be written: {why}", hint=hint, outcome="rejected")


# ------------------------------------------------------------------ markdown

_line = msgspec.json.Decoder(dict[str, Any])


def _write_pages(target: Path, file: IO[bytes], *, whole: bool) -> int:
    """Write one file for each active memory and return their number; with `whole`, remove files of memories that are
    not there any more. Files that mnemond did not write are left alone. Raises OSError.

    A page is complete when the links of its memory are known, which come after all memories: until then it waits in a
    directory of its own, so that no texts are held in memory.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    names, links = dict[str, str](), dict[str, list[tuple[str, str]]]()
    with tempfile.TemporaryDirectory(prefix=".mnemond-", dir=target) as drafts:
        for line in map(_line.decode, file):
            match line["kind"]:
                case "memory" if line["status"] == "active":
                    name = names[line["id"]] = markdown.name_of(line)
                    Path(drafts, name).write_text(markdown.page(line), encoding="utf-8")
                case "edge" if line["source_id"] in names and line["target_id"] in names:
                    other = names[line["target_id"]]
                    links.setdefault(names[line["source_id"]], []).append((line["edge_type"], other))
                case _:
                    pass
        for name in names.values():
            page = Path(drafts, name).read_text(encoding="utf-8") + markdown.links_of(links.get(name, ()))
            path = target / f"{name}.md"
            if not path.is_file() or path.is_symlink() or path.read_bytes() != page.encode():
                write_file(path, [page.encode()], flush=False)
    if whole:
        _remove_stale(target, {f"{name}.md" for name in names.values()})
    return len(names)


def _remove_stale(target: Path, written: set[str]) -> None:
    for path in target.glob("*.md"):
        if path.name in written or path.is_symlink() or not path.is_file():
            continue
        with open(path, "rb") as file:
            head = file.read(markdown.MAX_HEAD)
        if markdown.is_own(head):
            path.unlink()


# ------------------------------------------------------------------ import


def run_import(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Send a file to the daemon. `store` is used unless --store is given.

    Without --yes a terminal is asked after it was shown what would be imported. Raises MnemonError, and for a file that
    cannot be read or is of no known kind.
    """
    kind, output = invocation.options.get("kind"), invocation.output
    named = invocation.words[0] if invocation.words else str(transcripts.place(str(kind), os.environ))
    path = Path(os.path.abspath(os.path.expanduser(named)))
    identity = invocation.options.get("identity")
    identities = None if identity is None else keys.identities(str(identity))
    content = _Content(path, kind, identities, shown=output.tty_err and not output.style.quiet)
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    sure = invocation.options.get("yes") or invocation.options.get("dry_run")
    if not sure:
        if not (output.tty and output.tty_err and os.isatty(0)):
            raise MnemonError(
                INVALID_PARAMS, "import writes into a store; without a terminal it needs --yes",
                hint="--dry-run shows what would be imported", outcome="rejected",
            )  # fmt: skip
        looked = _imported(directory, {**params, "dry_run": True}, content, output)
        fast.write(1, imported(looked, output.style).encode())
        if not looked.added or not _is_confirmed():
            return CliRunResult(0, False, "", "")
    result = _imported(directory, params, content, output)
    return success(invocation.command, result, output)


def _is_confirmed() -> bool:
    fast.write(2, b"Import it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _imported(directory: Path, params: dict[str, object], content: _Content, output: Output) -> ImportResult:
    opening = {
        **params, "kind": content.kind, "digest": content.digest, "memories": content.memories, "tty": output.tty
    }  # fmt: skip
    with rpc.spooled(directory, content.parts()) as (spool, _):
        result = call(directory, "import.run", {**opening, "spool": spool}, ImportResult, output, "bytes")
    return msgspec.structs.replace(result, ignored=result.ignored + content.unread)


class _Content:
    """The content of an import: its kind, hash and number of memories, how many lines of transcripts could not be read
    (`unread`), and its `parts`.

    An export is read twice, in parts, and so is a large file of server-memory. Other files are read whole. All but
    an export are parsed before anything is sent, so that nothing is imported of what cannot be read. Raises
    MnemonError(INVALID_PARAMS) for what cannot be imported.
    """

    def __init__(
        self,
        path: Path,
        kind: object,
        identities: Sequence[encryption.Identity] | None = None,
        *,
        shown: bool = False,
    ) -> None:
        """`shown`: it is shown how far long transcripts are read."""
        self._path = path
        self._identities = identities
        self._parts: list[Path | bytes] = [path]
        """The files of an export, in their order, or what a zip file has of them."""
        self._items: Iterable[Line] | None = None
        self.memories = self.unread = 0
        named = None if kind is None else str(kind)
        if named is not None and named not in KINDS:
            raise _unreadable(path, f"there is no kind {named[:40]!a}", f"--from is one of {', '.join(KINDS)}")
        try:
            if named in sessions.KINDS:
                self._read_sessions(named, shown=shown)
                return
            if not path.is_dir() or path.is_symlink():
                head = self._measure()
                if named == OWN or (named is None and is_own(head)):
                    self.kind = OWN
                    return
                if self._size > MAX_DOCUMENT and not head.startswith((*archives.MAGIC, MAGIC)):
                    self._stream(named)
                    return
            self._read(named)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _unreadable(path, "it is a symbolic link", "name the file itself") from None
            raise _unreadable(path, error.strerror or str(error)) from None

    def _read_sessions(self, kind: str, *, shown: bool) -> None:
        """Read transcripts of an agent. Raises OSError, MnemonError."""
        if not self._path.exists():
            raise _unreadable(self._path, f"there is no transcript of {transcripts.TITLES[kind]}", "name the directory")
        found = transcripts.files(kind, self._path)
        size = sum(each.lstat().st_size for each in found)
        progress = Progress("bytes read", size, shown=shown and size >= _MANY_BYTES)
        try:
            read = transcripts.read(kind, self._path, os.environ, progress.add)
        finally:
            progress.end()
        if not read.exchanges:
            raise _unreadable(self._path, f"there is nothing in it that was said to {transcripts.TITLES[kind]}")
        self.kind, self.digest, self.unread = kind, transcripts.digest(read.exchanges), read.unread
        self._items = read.exchanges

    def _measure(self) -> bytes:
        """Read the file once; return its beginning. Raises OSError, MnemonError."""
        digest, self._size = hashlib.sha256(), 0
        with self._opened(self._path) as file:
            head = part = file.read(HEAD)
            while part:
                digest.update(part)
                self._size += len(part)
                part = file.read(_PART)
        self.digest = digest.hexdigest()
        return head

    def _opened(self, path: Path) -> io.BufferedReader:
        """Open a regular file, and no symbolic link; one that is encrypted gives its plaintext, in which one cannot
        seek. Raises OSError, MnemonError."""
        file = open(open_regular(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")  # noqa: SIM115 - closed by the caller
        if not encryption.is_encrypted(file.read(encryption.HEAD)):
            file.seek(0)
            return file
        if self._identities is None:
            file.close()
            raise _unreadable(path, "it is encrypted", "name the file of your key: --identity FILE")
        file.seek(0)
        return encryption.decrypted(file, self._identities, str(path))

    def _stream(self, named: str | None) -> None:
        """Parse a large file once, without holding more of it than a line or an element. Raises OSError,
        MnemonError."""
        limit = MAX_DOCUMENT if self._path.suffix == ".md" else MAX_STREAMED
        if self._size > limit:
            raise _unreadable(self._path, f"it has more than {limit:,} bytes", "import it in several parts")
        try:
            with self._opened(self._path) as file:
                of_lines = named in (None, SERVER_MEMORY) and is_server_memory(file.readline(MAX_LINE))
            read: Callable[[], Iterator[Line]] = self._items_of_lines
            self.kind = SERVER_MEMORY
            if not of_lines:
                self.kind, read = streamed(lambda: self._opened(self._path), named)
            for each in read():
                self.memories += isinstance(each, Item)
        except UnknownKindError:
            sentence = f"it has more than {MAX_DOCUMENT:,} bytes, and no memories in a list"
            raise _unreadable(self._path, sentence, "import it in several parts") from None
        except NotReadableError as error:
            raise _unreadable(self._path, str(error)) from None
        self._items = read()

    def _items_of_lines(self) -> Iterator[Line]:
        with self._opened(self._path) as file:
            yield from streamed_items(_lines_of(file))

    def _read(self, named: str | None) -> None:
        """Parse a file, or the files of a directory. Raises OSError, MnemonError."""
        kinds: dict[str, None] = {}
        items: list[Line] = []
        self._parts = []
        whole = hashlib.sha256()
        for path in _files_of(self._path):
            with self._opened(path) as file:
                archive: IO[bytes] | None = None
                content = file.read(len(archives.MAGIC[0]))
                if content in archives.MAGIC and file.seekable():
                    archive = file
                else:
                    content += file.read(MAX_DOCUMENT + 1)
                    if content.startswith(archives.MAGIC):
                        archive = io.BytesIO(content)
                encrypted = not file.seekable()
                if archive is not None and len(content) <= MAX_DOCUMENT:
                    for kind, content, unpacked in _of_archive(path, archive, named):
                        kinds[kind] = None
                        items += unpacked
                        whole.update(content)
                        if kind == OWN:
                            self._parts.append(content)
                    continue
                if named in (None, OWN) and is_own(content):
                    kinds[OWN] = None
                    self._parts.append(path)
                    part = content
                    while part:
                        whole.update(part)
                        part = file.read(_PART)
                    continue
            if len(content) > MAX_DOCUMENT:
                raise _unreadable(path, f"it has more than {MAX_DOCUMENT:,} bytes", "import it in several parts")
            found: Sequence[Line]
            if encrypted and content.startswith(MAGIC):
                why = "it is an encrypted database, which would have to be written to the disk to be read"
                raise _unreadable(path, why, "decrypt it yourself: age -d")
            try:
                if content.startswith(MAGIC):
                    kind, found = items_of_database(path, named)
                else:
                    name = str(path).removesuffix(encryption.SUFFIX) if encrypted else str(path)
                    kind, found = items_of(name, content, named)
            except UnknownKindError as error:
                if path == self._path:
                    raise _unreadable(path, str(error)) from None
                continue  # exports have some beside
            except NotReadableError as error:
                raise _unreadable(path, str(error)) from None
            kinds[kind] = None
            items += found
            whole.update(content)
        if len(kinds) > 1:
            raise _unreadable(self._path, f"it has files of several kinds: {', '.join(kinds)}", "name one with --from")
        if not kinds:
            raise _unreadable(self._path, "there is no file in it that can be imported")
        self.kind, self.digest = next(iter(kinds)), whole.hexdigest()
        if self.kind != OWN:
            exchanges = [each for each in items if isinstance(each, SessionExchange)]
            exchanges.sort(key=lambda each: each.at)  # so that what was said later replaces what was said before
            memories = [each for each in items if isinstance(each, Item)]
            self._items, self.memories = [*memories, *exchanges], len(memories)

    def parts(self) -> Iterator[bytes]:
        """Yield what the daemon reads: the lines of an export as they are, else one for each item."""
        try:
            if self._items is not None:
                yield from (msgspec.json.encode(item) + b"\n" for item in self._items)
                return
            for part in self._parts:
                with io.BytesIO(part) if isinstance(part, bytes) else self._opened(part) as file:
                    yield from encryption.parts_of(file)
        except NotReadableError as error:
            raise _unreadable(self._path, str(error)) from None
        except OSError as error:
            raise _unreadable(self._path, error.strerror or str(error)) from None


MAX_DOCUMENT: Final = 64 << 20
"""Bytes of one file of another program: it is read and parsed whole."""

MAX_STREAMED: Final = 200 << 20
"""Bytes of one file of another program that has an object a line: it is read line by line."""

MAX_LINE: Final = 16 << 20
"""Bytes of one of its lines."""

MAX_FILES: Final = 20_000
"""Files of a directory."""

_PART: Final = 64 << 10
"""Bytes that are read at once."""


def _of_archive(path: Path, file: IO[bytes], named: str | None) -> Iterator[tuple[str, bytes, list[Line]]]:
    """Yield the kind, the content and the memories of each file in a zip file, without those of no known kind: exports
    have some beside. Raises MnemonError."""
    name = ""
    try:
        for name, content in archives.files_in(file, MAX_DOCUMENT):
            if named in (None, OWN) and is_own(content):
                yield OWN, content, []
                continue
            try:
                kind, found = items_of(name, content, named)
            except UnknownKindError:
                continue
            except NotReadableError as error:
                raise _unreadable(path, f"{name[:80]!a} in it cannot be read: {error}") from None
            yield kind, content, found
    except NotReadableError as error:
        raise _unreadable(path, str(error)) from None


def _lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines. Raises NotReadableError for one that is too long."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise NotReadableError(f"line {number:,} has more than {MAX_LINE:,} bytes")
        yield line


def _files_of(path: Path) -> list[Path]:
    """Return the file, or the markdown and JSON files of a directory and those below it, without links and hidden ones,
    in the order of their names. Raises OSError."""
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for directory, below, names in os.walk(path):
        below[:] = sorted(each for each in below if not each.startswith("."))
        files = (Path(directory, name) for name in sorted(names) if not name.startswith("."))
        found += [each for each in files if each.suffix in (".md", ".json", ".jsonl") and not each.is_symlink()]
        if len(found) > MAX_FILES:
            raise OSError(errno.EFBIG, f"it has more than {MAX_FILES:,} files")
    return found


def _unreadable(path: Path, why: str, hint: str = "see: mnemonctl import --help") -> MnemonError:
    return MnemonError(
        INVALID_PARAMS, f"{path} cannot be imported: {why}; nothing was imported",
        hint=hint, outcome="rejected",
    )  # fmt: skip
