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
from typing import IO, Any, Final

import msgspec

from mnemonctl import fast, keys, rpc, transcripts
from mnemond import encryption
from mnemond.api.types_admin import CliRunResult
from mnemond.api.types_interchange import (
    MAX_PORTION,
    ExportOpenResult,
    ExportReadResult,
    ImportFinishResult,
    ImportOpenResult,
    ImportSendResult,
)
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
    begun = rpc.call(directory, "export.open", params, ExportOpenResult, deadline)
    progress = Progress(
        begun.expected,
        shown=begun.expected >= _MANY_LINES and invocation.output.tty_err and not invocation.output.style.quiet,
    )
    portions = portions_of(directory, begun.export, deadline, progress)
    if target is None:
        _print(portions, invocation.output, recipients)
        progress.end()
        return CliRunResult(0, False, "", "")
    try:
        if form == "markdown":
            written = _write_pages(target, portions, whole=begun.whole)
        else:
            write_file(target, portions, recipients)
            written = progress.lines
    except OSError as error:
        raise not_writable(target, error.strerror or str(error)) from None
    finally:
        progress.end()
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


def portions_of(directory: Path, export: str, deadline: float, progress: Progress) -> Iterator[str]:
    portion = 0
    while True:
        params = {"export": export, "portion": portion}
        found = rpc.call(directory, "export.read", params, ExportReadResult, deadline)
        if not found.lines:
            return
        progress.add(found.lines)
        yield found.text
        portion += 1


_MANY_LINES: Final = 2_000
_MANY_BYTES: Final = 1 << 20
"""What takes long enough for a progress bar: about a tenth of a second."""


class Progress:
    """A line on standard error that is written anew with each portion, if it is a terminal."""

    def __init__(self, expected: int, *, shown: bool, noun: str = "lines") -> None:
        self.lines = 0
        self._noun = noun
        self._expected = expected
        self._shown = shown

    def add(self, lines: int) -> None:
        self.lines += lines
        if self._shown:
            share = min(self.lines / max(self._expected, 1), 1.0)
            bar = "#" * round(share * 20)
            fast.write(2, f"\r[{bar:<20}] {self.lines:,} {self._noun}".encode())

    def end(self) -> None:
        """Erase the line."""
        if self._shown and self.lines:
            fast.write(2, b"\r\x1b[K")
            self._shown = False


def _print(portions: Iterator[str], output: Output, recipients: Sequence[encryption.Recipient]) -> None:
    """Print; stop quietly when the reader leaves. Raises fast.OutputError."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(1, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise fast.OutputError(error.strerror) from None

    try:
        _pass_on((escape_json(text) if output.tty else text for text in portions), write, recipients)
    except BrokenPipeError:
        return


def _pass_on(
    portions: Iterable[str], write: Callable[[bytes], object], recipients: Sequence[encryption.Recipient]
) -> None:
    parts = (text.encode() for text in portions)
    if recipients:
        encryption.encrypt(parts, write, recipients)
        return
    for part in parts:
        write(part)


def write_file(
    target: Path, portions: Iterable[str], recipients: Sequence[encryption.Recipient] = (), *, flush: bool = True
) -> None:
    """Write a file (0600), which appears whole and (with `flush`) on the disk, in place of one that is there; with
    `recipients` encrypted for them. Raises OSError."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            _pass_on(portions, file.write, recipients)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def not_writable(target: Path, why: str) -> MnemonError:
    return MnemonError(STORAGE, f"{target} cannot be written: {why}", hint="name another file", outcome="rejected")


# ------------------------------------------------------------------ markdown

_line = msgspec.json.Decoder(dict[str, Any])


def _write_pages(target: Path, portions: Iterator[str], *, whole: bool) -> int:
    """Write one file for each active memory and return their number; with `whole`, remove files of memories that are
    not there any more. Files that mnemond did not write are left alone. Raises OSError.

    A page is complete when the links of its memory are known, which come after all memories: until then it waits in a
    directory of its own, so that no texts are held in memory.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    names, links = dict[str, str](), dict[str, list[tuple[str, str]]]()
    with tempfile.TemporaryDirectory(prefix=".mnemond-", dir=target) as drafts:
        for text in portions:
            for line in map(_line.decode, text.split("\n")[:-1]):
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
                write_file(path, [page], flush=False)
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
    looked: ImportFinishResult | None = None
    if not sure:
        if not (output.tty and output.tty_err and os.isatty(0)):
            raise MnemonError(
                INVALID_PARAMS, "import writes into a store; without a terminal it needs --yes",
                hint="--dry-run shows what would be imported", outcome="rejected",
            )  # fmt: skip
        looked = _imported(directory, {**params, "dry_run": True}, content, deadline, output)
        fast.write(1, imported(looked, output.style).encode())
        if not looked.added or not _is_confirmed():
            return CliRunResult(0, False, "", "")
    result = _imported(directory, params, content, deadline, output)
    return success(invocation.command, result, output)


def _is_confirmed() -> bool:
    fast.write(2, b"Import it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _imported(
    directory: Path, params: dict[str, object], content: _Content, deadline: float, output: Output
) -> ImportFinishResult:
    if content.exchanges:
        deadline = fast.LONG_DEADLINE_S  # the queue may have to become shorter
    opening = {
        **params, "kind": content.kind, "digest": content.digest, "memories": content.memories, "tty": output.tty
    }  # fmt: skip
    begun = rpc.call(directory, "import.open", opening, ImportOpenResult, deadline)
    progress = Progress(
        content.size, shown=content.size >= _MANY_BYTES and output.tty_err and not output.style.quiet, noun="bytes"
    )
    try:
        for text in content.portions():
            sending = {"import_id": begun.import_id, "text": text}
            rpc.call(directory, "import.send", sending, ImportSendResult, deadline)
            progress.add(len(text.encode()))
    finally:
        progress.end()
    finishing = {"import_id": begun.import_id}
    result = rpc.call(directory, "import.finish", finishing, ImportFinishResult, fast.LONG_DEADLINE_S)
    return msgspec.structs.replace(result, ignored=result.ignored + content.unread)


class _Content:
    """The content of an import: its kind, size, hash and number of memories, whether it has `exchanges`, how many
    lines of transcripts could not be read (`unread`), and its lines in portions.

    An export is read twice, in portions, and so is a large file of server-memory. Other files are read whole. All but
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
        self.exchanges = False
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
                if self.size > MAX_DOCUMENT and not head.startswith((*archives.MAGIC, MAGIC)):
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
        progress = Progress(size, shown=shown and size >= _MANY_BYTES, noun="bytes read")
        try:
            read = transcripts.read(kind, self._path, os.environ, progress.add)
        finally:
            progress.end()
        if not read.exchanges:
            raise _unreadable(self._path, f"there is nothing in it that was said to {transcripts.TITLES[kind]}")
        self.kind, self.digest, self.unread = kind, transcripts.digest(read.exchanges), read.unread
        self.size = sum(len(each.prompt) + len(each.answer) for each in read.exchanges)
        self._items, self.exchanges = read.exchanges, True

    def _measure(self) -> bytes:
        """Read the file once; return its beginning. Raises OSError, MnemonError."""
        digest, self.size = hashlib.sha256(), 0
        with self._opened(self._path) as file:
            head = part = file.read(HEAD)
            while part:
                digest.update(part)
                self.size += len(part)
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
        if self.size > limit:
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
                self.exchanges |= isinstance(each, SessionExchange)
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
        self.size = 0
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
                        self.size += len(content)
                        if kind == OWN:
                            self._parts.append(content)
                    continue
                if named in (None, OWN) and is_own(content):
                    kinds[OWN] = None
                    self._parts.append(path)
                    part = content
                    while part:
                        whole.update(part)
                        self.size += len(part)
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
            self.size += len(content)
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
            self.exchanges = bool(exchanges)

    def portions(self) -> Iterator[str]:
        if self._items is not None:
            try:
                yield from _in_portions(self._items)
            except NotReadableError as error:
                raise _unreadable(self._path, str(error)) from None
            return
        try:
            for part in self._parts:
                binary = io.BytesIO(part) if isinstance(part, bytes) else self._opened(part)
                with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                    while text := file.read(MAX_PORTION):
                        yield text
        except OSError as error:
            raise _unreadable(self._path, error.strerror or str(error)) from None
        except UnicodeDecodeError:
            raise _unreadable(self._path, "it is no UTF-8") from None


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

ITEMS_AT_ONCE: Final = 50
"""Memories in one message: some tens of milliseconds of writing."""

EXCHANGES_AT_ONCE: Final = 10
"""Parts of conversations in one message."""


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


def _in_portions(items: Iterable[Line]) -> Iterator[str]:
    """Yield the lines of memories and of conversations, so many at once, and no more than a message takes."""
    waiting, size = list[str](), 0
    for item in items:
        line = msgspec.json.encode(item).decode() + "\n"
        most = ITEMS_AT_ONCE if isinstance(item, Item) else EXCHANGES_AT_ONCE
        if waiting and (len(waiting) >= most or size + len(line) > MAX_PORTION):
            yield "".join(waiting)
            waiting, size = [], 0
        waiting.append(line)
        size += len(line)
    if waiting:
        yield "".join(waiting)


def _unreadable(path: Path, why: str, hint: str = "see: mnemonctl import --help") -> MnemonError:
    return MnemonError(
        INVALID_PARAMS, f"{path} cannot be imported: {why}; nothing was imported",
        hint=hint, outcome="rejected",
    )  # fmt: skip
