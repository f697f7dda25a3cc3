"""`mnemonctl sync`: the files of devices in a directory, or in a git repository. The daemon is sent no path.

What other devices wrote is read as whatever another program may have put there: regular files with names of the known
form, below directories that are no links, of bounded size and number.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from mnemonctl import fast, rpc
from mnemonctl.files import private_file, try_lock
from mnemond.api.types_admin import CliRunResult
from mnemond.api.types_interchange import MAX_PORTION
from mnemond.api.types_sync import (
    MAX_FILES,
    SyncFinishResult,
    SyncOpenResult,
    SyncReadResult,
    SyncSendResult,
    SyncStatusResult,
    SyncUniteResult,
)
from mnemond.cli.grammar import Invocation, success
from mnemond.config.regular_files import open_regular
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, MnemonError, rejected

FOLDER: Final = "mnemond-sync"
"""Directory within the one that is named; below it one for each store, and one for each device."""

MAX_FILE: Final = 256 << 20
"""Bytes of a file that is read."""

_DEVICE: Final = re.compile(r"[0-9a-f]{16}")
_NAME: Final = re.compile(r"[0-9]{8}\.jsonl")
_STORE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def run(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Sync a store. `store` is used unless --store is given. Raises MnemonError."""
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    named = str(invocation.words[0])
    if params.pop("join", False):
        params["join"] = _asked_code("Code of the other device, which shows it with --show-code: ")
    of_store = {name: params[name] for name in ("store",) if name in params}
    looked = rpc.call(directory, "sync.status", {**of_store, "compare": False}, SyncStatusResult, deadline)
    if not _STORE.fullmatch(looked.store):
        raise _refused(named, f"the name of store {looked.store!a} cannot be that of a directory")
    params["tty"] = invocation.output.tty
    result = _synced(named, directory, params, looked.store, deadline)
    if result.strangers and result.code is not None and os.isatty(0) and not invocation.output.style.quiet:
        ask = "Another device is there. Its code, which it shows with --show-code, or nothing to go on without it: "
        if code := _asked_code(ask):
            result = _synced(named, directory, {**params, "join": code}, looked.store, deadline)
    return success(invocation.command, result, invocation.output)


def _asked_code(question: str) -> str:
    """Return what a person types, or a line of the standard input if that is no terminal: a code among the arguments
    could be read in the list of processes."""
    if os.isatty(0):
        fast.write(2, question.encode())
    return sys.stdin.readline().strip()


def _synced(named: str, directory: Path, params: dict[str, object], store: str, deadline: float) -> SyncUniteResult:
    """Sync with a directory or a remote. Raises MnemonError."""
    if is_remote(named):
        return _through_git(named, directory, params, store, deadline)
    path = Path(os.path.abspath(os.path.expanduser(named)))
    if directory.resolve() in (path.resolve(), *path.resolve().parents):
        raise _refused(named, "it lies in the data directory, whose files are mnemond's own")
    if not path.is_dir():
        raise _refused(named, "there is no such directory", "make it, in a folder that your devices share")
    return _through_directory(path, directory, _Named(str(path), params, store), deadline)


class _Named(NamedTuple):
    """A target of a sync: its name, the parameters of requests, and the store."""

    target: str
    params: dict[str, object]
    store: str


def _refused(named: str, why: str, hint: str = "see: mnemonctl sync --help") -> MnemonError:
    sentence = f"{_shown(named)} cannot be synced with: {_shown(why)}"
    return MnemonError(INVALID_PARAMS, sentence, hint=hint, outcome="rejected")


_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]*:[^/\s]*@|(?<=https://)[^/\s]*@|(?<=http://)[^/\s]*@")


def _shown(text: str) -> str:
    """Return a text without passwords and tokens in addresses: the daemon stores a label, and `sync status` prints
    it."""
    return _PASSWORD.sub("…@", text)


# ------------------------------------------------------------------ a directory


class _File(NamedTuple):
    device: str
    name: str
    digest: str


class _Folder:
    """The files of all devices. Everything below is opened relative to its directory, so that no link leads out."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def files(self) -> list[_File]:
        """Return the files that have names of the known form, without those that are links, or too large. Raises
        OSError."""
        found: list[_File] = []
        for device in sorted(each for each in os.listdir(self._descriptor) if _DEVICE.fullmatch(each)):
            with suppress(NotADirectoryError), _directory(device, self._descriptor) as below:
                names = sorted(each for each in os.listdir(below) if _NAME.fullmatch(each))
                digests = ((name, _digest(name, below)) for name in names)
                found += [_File(device, name, digest) for name, digest in digests if digest is not None]
        if len(found) > MAX_FILES:
            raise OSError(errno.EFBIG, f"it has more than {MAX_FILES:,} files")
        return found

    def portions(self, file: _File) -> Iterator[str]:
        """Yield the text of a file. Bytes that are no UTF-8 are replaced; the line they are in will be refused."""
        with (
            _directory(file.device, self._descriptor) as below,
            _opened(file.name, below) as descriptor,
            open(descriptor, encoding="utf-8", errors="replace", newline="", closefd=False) as text,
        ):
            read = 0
            while (part := text.read(MAX_PORTION)) and read <= MAX_FILE:
                read += len(part)
                yield part

    def write(self, device: str, name: str, portions: Iterator[str]) -> None:
        """Write a file of this device (0600), which appears whole and on the disk. Raises OSError."""
        with suppress(FileExistsError):
            os.mkdir(device, 0o700, dir_fd=self._descriptor)
        with _directory(device, self._descriptor) as below:
            draft = f".{name}.{os.getpid()}.part"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(draft, flags, 0o600, dir_fd=below)
            try:
                with open(descriptor, "wb") as file:
                    file.writelines(text.encode() for text in portions)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, name, src_dir_fd=below, dst_dir_fd=below)
                os.fsync(below)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=below)

    def remove(self, device: str, names: Sequence[str]) -> None:
        """Remove files of this device. Raises OSError."""
        with suppress(FileNotFoundError), _directory(device, self._descriptor) as below:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=below)


@contextmanager
def _directory(name: str | Path, below: int | None = None) -> Iterator[int]:
    """Open a directory that is no link. Raises OSError: NotADirectoryError for anything else."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=below)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "it is a symbolic link") from None
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _made(name: str, below: int) -> Iterator[int]:
    """Open a directory that is no link, created 0700 if it is not there. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=below)
    with _directory(name, below) as descriptor:
        yield descriptor


@contextmanager
def _opened(name: str, below: int) -> Iterator[int]:
    """Open a regular file that is no link. Raises OSError."""
    descriptor = open_regular(name, os.O_RDONLY | os.O_NOFOLLOW, below)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _digest(name: str, below: int) -> str | None:
    """Return the SHA-256 of a file; None for what is no regular file, or too large."""
    try:
        with _opened(name, below) as descriptor, open(descriptor, "rb", closefd=False) as file:
            if os.fstat(descriptor).st_size > MAX_FILE:
                return None
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _through_directory(path: Path, data_dir: Path, named: _Named, deadline: float) -> SyncUniteResult:
    """Exchange files in a directory. Raises MnemonError."""
    try:
        with (
            _directory(path.resolve()) as top,
            _made(FOLDER, top) as folder,
            _made(named.store, folder) as of_store,
        ):
            return _exchange(_Folder(of_store), data_dir, named, deadline)
    except OSError as error:
        raise MnemonError(
            STORAGE, f"{path} cannot be used: {error.strerror or error}", hint="what was read until then is taken in",
            outcome="unknown",
        ) from None  # fmt: skip


def _exchange(folder: _Folder, data_dir: Path, named: _Named, deadline: float) -> SyncUniteResult:
    """Read what other devices wrote, and write what they do not have. Raises OSError, MnemonError."""
    files = folder.files()
    label = _shown(named.target).encode("utf-8", "replace").decode()[:1_000]
    opening = {
        **named.params, "target": hashlib.sha256(named.target.encode("utf-8", "surrogateescape")).hexdigest(),
        "label": label, "files": [each._asdict() for each in files],
    }  # fmt: skip
    long = max(deadline, fast.LONG_DEADLINE_S)
    begun = rpc.call(data_dir, "sync.open", opening, SyncOpenResult, long)
    sync = {"sync_id": begun.sync_id}
    for at in begun.wanted:
        for text in folder.portions(files[at]):
            rpc.call(data_dir, "sync.send", {**sync, "file": at, "text": text}, SyncSendResult, deadline)
    result = rpc.call(data_dir, "sync.unite", sync, SyncUniteResult, long)
    if result.publish is not None:
        folder.write(begun.device, result.publish, _read(data_dir, sync, deadline))
    folder.remove(begun.device, result.remove)
    rpc.call(data_dir, "sync.finish", sync, SyncFinishResult, deadline)
    return result


def _read(data_dir: Path, sync: dict[str, str], deadline: float) -> Iterator[str]:
    portion = 0
    while True:
        found = rpc.call(data_dir, "sync.read", {**sync, "portion": portion}, SyncReadResult, deadline)
        if not found.text:
            return
        yield found.text
        portion += 1


# ------------------------------------------------------------------ a git remote


GIT_DEADLINE_S: Final = 120
"""Seconds for one command of git, the network included."""

PUSHES: Final = 5
"""Attempts to push, as another device may push in between."""

BRANCH: Final = "main"

_SCP: Final = re.compile(r"[\w.-]+@[\w.-]+:.+")

_SETTINGS: Final = (
    "core.hooksPath=/dev/null", "core.symlinks=false", "core.fsmonitor=false", "core.attributesFile=/dev/null",
    "core.autocrlf=false", "protocol.ext.allow=never", "submodule.recurse=false", "user.name=mnemond",
    "user.email=mnemond@localhost", "commit.gpgsign=false", "init.defaultBranch=main", "gc.auto=0", "pull.rebase=true",
)  # fmt: skip
"""Settings for all commands: nothing that a repository contains is run."""

_RECEIVE: Final = (
    "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true"
    " -c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack"
)
"""The receiving command of a push to a repository on this machine, which git starts without the settings above. It must
not run the hooks of that repository, which another user may have written."""


def is_remote(named: str) -> bool:
    """Return True for what names a git repository rather than a directory."""
    return "://" in named or bool(_SCP.fullmatch(named)) or named.rstrip("/").endswith(".git")


def _is_local(remote: str) -> bool:
    """Return True for a repository in the file system."""
    return remote.casefold().startswith("file://") or not ("://" in remote or _SCP.fullmatch(remote))


class _Git:
    """A working copy of the remote, which lasts for one sync. Every command ends by itself, and none asks anything."""

    def __init__(self, remote: str, path: Path) -> None:
        self.remote = remote
        self.path = path

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        """Run a command of git in the working copy. Raises MnemonError unless it succeeds, or `check` is false."""
        program = shutil.which("git")
        if program is None:
            raise _refused(self.remote, "there is no program `git`", "install git, or name a directory")
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        environment = {
            **os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false", "SSH_ASKPASS": "/bin/false",
            "GIT_SSH_COMMAND": f"{os.environ.get('GIT_SSH_COMMAND', 'ssh')} -oBatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1", "GIT_NO_LAZY_FETCH": "1",
            "GIT_CEILING_DIRECTORIES": str(self.path.parent), "LC_ALL": "C",
        }  # fmt: skip
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environment.pop(name, None)
        try:
            done = subprocess.run(  # noqa: S603 - words are constants, and the remote comes after `--`
                [program, *settings, "-C", str(self.path), *words], stdin=subprocess.DEVNULL, capture_output=True,
                env=environment, timeout=GIT_DEADLINE_S, check=False, umask=0o077,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise _refused(self.remote, f"`git {words[0]}` took more than {GIT_DEADLINE_S} seconds") from None
        except OSError as error:
            raise _refused(self.remote, f"git cannot be started: {error.strerror}") from None
        if check and done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise _refused(
                self.remote, f"`git {words[0]}`: {said[-1][:300] if said else 'it failed'}",
                "git asks nothing here: a key or a credential helper has to answer for you",
            )  # fmt: skip
        return done

    def prepare(self) -> None:
        """Make the working copy what the remote is. Raises MnemonError, OSError."""
        for each in (self.path.parent, self.path):
            each.mkdir(mode=0o700, exist_ok=True)
        if not (self.path / ".git").is_dir():
            self.run("init", "--quiet")
        listed = self.run("ls-remote", "--quiet", "--heads", "--", self.remote, f"refs/heads/{BRANCH}").stdout
        if listed.strip():
            fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules")
            self.run(*fetch, "--", self.remote, f"refs/heads/{BRANCH}")
            self.run("checkout", "--quiet", "--force", "-B", BRANCH, "FETCH_HEAD")
            self.run("clean", "--quiet", "--force", "-d", "-x")

    def publish(self) -> None:
        """Commit what changed and push it; another device's push in between is taken in first. Raises
        MnemonError."""
        self.run("add", "--all")
        if self.run("diff", "--cached", "--quiet", check=False).returncode == 0:
            return
        self.run("commit", "--quiet", "--no-verify", "-m", "mnemond: sync")
        receive = (f"--receive-pack={_RECEIVE}",) if _is_local(self.remote) else ()
        for attempt in range(PUSHES):
            pushed = self.run(
                "push", "--quiet", "--no-verify", *receive, "--", self.remote, f"HEAD:refs/heads/{BRANCH}",
                check=attempt == PUSHES - 1,
            )  # fmt: skip
            if pushed.returncode == 0:
                return
            self.run("pull", "--quiet", "--rebase", "--no-tags", "--", self.remote, f"refs/heads/{BRANCH}")


def _through_git(
    remote: str, data_dir: Path, params: dict[str, object], store: str, deadline: float
) -> SyncUniteResult:
    """Exchange files in a repository. Raises MnemonError."""
    if not ("://" in remote or _SCP.fullmatch(remote)):
        remote = os.path.abspath(os.path.expanduser(remote))
    name = hashlib.sha256(remote.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    git = _Git(remote, data_dir / "sync" / name)
    try:
        with private_file(data_dir / "sync.lock") as lock:
            if not try_lock(lock):
                raise rejected(BUSY, "another sync with a git remote runs", "repeat when that has ended")
            try:
                shutil.rmtree(git.path.parent, ignore_errors=True)  # of syncs that were interrupted
                git.prepare()
                result = _through_directory(git.path, data_dir, _Named(remote, params, store), deadline)
                git.publish()
            finally:
                shutil.rmtree(git.path.parent, ignore_errors=True)  # its history has texts that are purged later
    except OSError as error:
        raise _refused(remote, f"{git.path}: {error.strerror}") from None
    return result
