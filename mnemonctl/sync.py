"""`mnemonctl sync`: the files of devices in a directory, or in a git repository. The daemon is sent no path.

What other devices wrote is read as whatever another program may have put there: regular files with names of the known
form, below directories that are no links, of bounded size and number.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mnemonctl import fast, keys, rpc
from mnemonctl.files import private_file, try_lock
from mnemond import encryption
from mnemond.api.types_daemon import CliRunResult
from mnemond.api.types_sync import (
    MAX_FILES,
    MAX_UNREAD,
    SYNC_STATUS,
    SyncDevice,
    SyncFailedResult,
    SyncFinishResult,
    SyncOpenResult,
    SyncStatusResult,
    SyncUniteResult,
)
from mnemond.cli.grammar import Invocation, success
from mnemond.config.regular_files import open_regular
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, MnemonError, rejected
from mnemond.model.memory import format_us

FOLDER: Final = "mnemond-sync"
"""Directory within the one that is named; below it one for each store, and one for each device."""

MAX_FILE: Final = 256 << 20
"""Bytes of a file that is read."""

PART: Final = 128 << 10
"""Bytes that are read at once."""

_DEVICE: Final = re.compile(r"[0-9a-f]{16}")
_NAME: Final = re.compile(r"[0-9]{8}\.jsonl(\.age)?")
_DRAFT: Final = re.compile(r"\.([0-9]{8}\.jsonl|device\.json)(\.age)?\.[0-9]+\.part")
_STORE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def run(
    invocation: Invocation, directory: Path, deadline: float, store: str, *, background: bool = False
) -> CliRunResult:
    """Sync a store, or look where it is synced to. `store` is used unless --store is given; `background`: no person
    sees an error. Raises MnemonError."""
    if invocation.method == SYNC_STATUS.name:
        named = _named(invocation, directory, deadline, store, str(invocation.words[1]))
        if is_remote(named.target):
            looked = _status_of_git(named, directory, deadline)
        else:
            looked = _status_of(_usable(named, directory), directory, named, deadline)
        return success(invocation.command, looked, invocation.output)
    named = _named(invocation, directory, deadline, store, str(invocation.words[0]))
    if named.params.pop("join", False):
        named.params["join"] = _asked_code("Code of the other device, which shows it with --show-code: ")
    named.params["tty"] = invocation.output.tty
    asks = not background and os.isatty(0) and not invocation.output.style.quiet
    try:
        result = _synced(named, directory, deadline)
        if result.strangers and result.code is not None and asks:
            ask = "Another device is there. Its code, which it shows with --show-code, or nothing to go on without it: "
            if code := _asked_code(ask):
                result = _synced(named._replace(params={**named.params, "join": code}), directory, deadline)
    except MnemonError as error:
        if error.kind is not BUSY:
            _note_failure(named, directory, deadline, error, background=background)
        raise
    return success(invocation.command, result, invocation.output)


def _asked_code(question: str) -> str:
    """Return what a person types, or a line of the standard input if that is no terminal: a code among the arguments
    could be read in the list of processes."""
    if os.isatty(0):
        fast.write(2, question.encode())
    return sys.stdin.readline().strip()


def _named(invocation: Invocation, directory: Path, deadline: float, store: str, target: str) -> _Named:
    """Return what is synced with what. Raises MnemonError."""
    params = {"store": store, **invocation.params} if store else dict(invocation.params)
    secret = check_keys(invocation)
    status = {name: value for name, value in params.items() if name == "store"}
    looked = rpc.call(directory, "sync.status", {**status, "compare": False}, SyncStatusResult, deadline)
    if not _STORE.fullmatch(looked.store):
        raise _refused(target, f"the name of store {looked.store!a} cannot be that of a directory")
    if not ("://" in target or _SCP.fullmatch(target)):
        target = os.path.abspath(os.path.expanduser(target))
    return _Named(target, params, looked.store, secret)


def _synced(named: _Named, directory: Path, deadline: float) -> SyncUniteResult:
    if is_remote(named.target):
        return _through_git(named, directory, deadline)
    return _through_directory(_usable(named, directory), directory, named, deadline)


def _usable(named: _Named, directory: Path) -> Path:
    """Return the directory. Raises MnemonError."""
    path = Path(named.target)
    if directory.resolve() in (path.resolve(), *path.resolve().parents):
        raise _refused(named.target, "it lies in the data directory, whose files are mnemond's own")
    if not path.is_dir():
        raise _refused(named.target, "there is no such directory", "make it, in a folder that your devices share")
    return path


def _note_failure(named: _Named, data_dir: Path, deadline: float, error: MnemonError, *, background: bool) -> None:
    """Let the daemon note a failure, for `status`, `doctor` and `sync status`, if it can."""
    target = _target(named, (), ())
    why = _shown(error.message).removeprefix(_cannot(named.target))
    params = {
        "store": named.store, "target": target["target"], "label": target["label"], "why": why[:1_000],
        "background": background,
    }  # fmt: skip
    with suppress(MnemonError):
        rpc.call(data_dir, "sync.failed", params, SyncFailedResult, deadline)


class Keys(NamedTuple):
    """`recipients`: public keys that were named, for what is written; `plain`: it is not to be encrypted. `identities`:
    the secret keys for what is read, None if none were named."""

    recipients: tuple[str, ...] = ()
    plain: bool = False
    identities: Sequence[encryption.Identity] | None = None


NO_ENCRYPTION: Final = "none"
"""Value of --encrypt-to that ends encryption."""


def check_keys(invocation: Invocation) -> Keys:
    """Read the keys that the command line names. Raises MnemonError."""
    named = msgspec.convert(invocation.options.get("encrypt_to") or [], list[str])
    identity = invocation.options.get("identity")
    identities = None if identity is None else keys.identities(str(identity))
    if NO_ENCRYPTION in named:
        if len(named) > 1:
            raise rejected(INVALID_PARAMS, "--encrypt-to none excludes recipients", "name none, or recipients")
        return Keys((), plain=True, identities=identities)
    return Keys(tuple(keys.recipients(named)) if named else (), identities=identities)


class _Named(NamedTuple):
    """A target of a sync: its name, the parameters of requests, the store, and keys."""

    target: str
    params: dict[str, object]
    store: str
    keys: Keys = Keys()


def _refused(named: str, why: str, hint: str = "see: mnemonctl sync --help") -> MnemonError:
    return MnemonError(INVALID_PARAMS, f"{_cannot(named)}{_shown(why)}", hint=hint, outcome="rejected")


def _cannot(named: str) -> str:
    return f"{_shown(named)} cannot be synced with: "


_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]*:[^/\s]*@|(?<=https://)[^/\s]*@|(?<=http://)[^/\s]*@")


def _shown(text: str) -> str:
    """Return a text without passwords and tokens in addresses: the daemon stores a label, and `sync status` prints
    it."""
    return _PASSWORD.sub("…@", text)


# ------------------------------------------------------------------ a directory


_CARRIED: Final = "wait until all of it was carried here, or let that device write it anew"
"""Hint for a file that is cut off or damaged."""


class _SyncFile(NamedTuple):
    device: str
    name: str
    digest: str


class _Folder:
    """The files of all devices. Everything below is opened relative to its directory, so that no link leads out."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def files(self) -> list[_SyncFile]:
        """Return the files that have names of the known form, without those that are links, or too large. Raises
        OSError."""
        found: list[_SyncFile] = []
        for device in sorted(each for each in os.listdir(self._descriptor) if _DEVICE.fullmatch(each)):
            with suppress(NotADirectoryError), _directory(device, self._descriptor) as below:
                names = sorted(each for each in os.listdir(below) if _NAME.fullmatch(each))
                digests = ((name, _digest(name, below)) for name in names)
                found += [_SyncFile(device, name, digest) for name, digest in digests if digest is not None]
        if len(found) > MAX_FILES:
            raise OSError(errno.EFBIG, f"it has more than {MAX_FILES:,} files")
        return found

    def unreadable(self, file: _SyncFile, identities: Sequence[encryption.Identity] | None) -> str | None:
        """Return why an encrypted file cannot be read, and what to do; None if it can be, or is none. It is decrypted
        whole: that nothing of it was cut off or changed is known at its end. Raises OSError."""
        if not file.name.endswith(encryption.SUFFIX):
            return None
        try:
            with self._opened(file, identities) as content:
                for _ in encryption.parts_of(content):
                    pass
        except MnemonError as error:
            return f"{error.message}; {error.hint}" if error.kind == INVALID_PARAMS else f"{error.message}; {_CARRIED}"
        return None

    def parts(self, file: _SyncFile, identities: Sequence[encryption.Identity] | None) -> Iterator[bytes]:
        """Yield the content of a file, up to MAX_FILE. Raises OSError, MnemonError."""
        with self._opened(file, identities) as content:
            read = 0
            while read <= MAX_FILE and (part := content.read(PART)):
                read += len(part)
                yield part

    def _opened(self, file: _SyncFile, identities: Sequence[encryption.Identity] | None) -> io.BufferedReader:
        """Open a file of any device; of one that is encrypted the plaintext, which passes through a pipe and is written
        nowhere. Raises OSError, MnemonError."""
        named = f"{file.device}/{file.name}"
        encrypted = file.name.endswith(encryption.SUFFIX)
        if encrypted and identities is None:
            hint = "name the secret key that decrypts it: --identity FILE"
            raise rejected(INVALID_PARAMS, f"{named} is encrypted", hint)
        with _directory(file.device, self._descriptor) as below:
            content = open(open_regular(file.name, os.O_RDONLY | os.O_NOFOLLOW, below), "rb")  # noqa: SIM115
        return encryption.decrypted(content, identities or (), named) if encrypted else content

    def write(
        self, device: str, name: str, parts: Iterable[bytes], recipients: Sequence[encryption.Recipient] = ()
    ) -> str:
        """Write a file of this device (0600), which appears whole and on the disk, with `recipients` encrypted for
        them; return its SHA-256. Raises OSError."""
        with suppress(FileExistsError):
            os.mkdir(device, 0o700, dir_fd=self._descriptor)
        with _directory(device, self._descriptor) as below:
            draft = f".{name}.{os.getpid()}.part"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(draft, flags, 0o600, dir_fd=below)
            digest = hashlib.sha256()
            try:
                with open(descriptor, "wb") as file:

                    def put(part: bytes) -> None:
                        digest.update(part)
                        file.write(part)

                    encryption.encrypt(parts, put, recipients)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, name, src_dir_fd=below, dst_dir_fd=below)
                os.fsync(below)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=below)
        return digest.hexdigest()

    def devices(self, files: Iterable[_SyncFile], identities: Sequence[encryption.Identity] | None) -> list[SyncDevice]:
        """Return what the devices that have files say of themselves; nothing of one whose words cannot be read. Raises
        OSError."""
        found = []
        for device in sorted({each.device for each in files}):
            for name in (DEVICE + encryption.SUFFIX, DEVICE):
                with (
                    suppress(OSError, MnemonError, msgspec.MsgspecError),
                    self._opened(_SyncFile(device, name, ""), identities) as content,
                ):
                    found.append(_said_of_itself(device, content.read(MAX_DEVICE)))
                    break
        return found

    def remove_drafts(self, device: str) -> None:
        """Remove what syncs of this device that were killed left behind. Raises OSError."""
        with suppress(FileNotFoundError), _directory(device, self._descriptor) as below:
            for name in os.listdir(below):
                if _DRAFT.fullmatch(name):
                    with suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=below)

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


# What a device says of itself.

DEVICE: Final = "device.json"
"""File beside those of a device, with its name; `.age` is added where they are encrypted."""

MAX_DEVICE: Final = 4_096
"""Bytes of it."""

DEVICE_FORMAT: Final = 1
"""Version of it: the value of `mnemond_sync`, as in records."""

_NOT_IN_A_NAME: Final = re.compile(r"[^\w .@+-]+")
_MOMENT: Final = re.compile(r"[0-9T:.Z-]{20,30}")


class _Device(msgspec.Struct):
    """The content of the file. It is replaced by each sync that writes."""

    mnemond_sync: int
    name: str = ""
    wrote_at: str = ""
    kind: str = "device"


def device_name(text: str) -> str | None:
    """Return a text as the name of a device: at most forty letters, digits and few signs; None if nothing is left."""
    return _NOT_IN_A_NAME.sub("", text).strip(" .@+-")[:40].rstrip() or None


def _host() -> str | None:
    """Return the name of this machine without its domain."""
    return device_name(socket.gethostname().partition(".")[0])


def _said_of_itself(device: str, content: bytes) -> SyncDevice:
    """Read what a device says of itself. Raises msgspec.MsgspecError."""
    found = msgspec.json.decode(content, type=_Device)
    if found.mnemond_sync != DEVICE_FORMAT or found.kind != "device":
        raise msgspec.ValidationError("it is of another version")
    wrote_at = found.wrote_at if _MOMENT.fullmatch(found.wrote_at) else ""
    return SyncDevice(device, device_name(found.name), wrote_at)


def _now() -> str:
    return format_us(time.time_ns() // 1_000)


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


def _status_of(path: Path, data_dir: Path, named: _Named, deadline: float) -> SyncStatusResult:
    """Look into a directory, without a change there or here. Raises MnemonError."""
    files: list[_SyncFile] = []
    devices: list[SyncDevice] = []
    try:
        with (
            suppress(FileNotFoundError),
            _directory(path.resolve()) as top,
            _directory(FOLDER, top) as folder,
            _directory(named.store, folder) as of_store,
        ):
            files = _Folder(of_store).files()
            devices = _Folder(of_store).devices(files, named.keys.identities)
    except OSError as error:
        raise _refused(named.target, error.strerror or str(error)) from None
    params = {**named.params, **_target(named, files, devices)}
    return rpc.call(data_dir, "sync.status", params, SyncStatusResult, max(deadline, fast.LONG_DEADLINE_S))


def _target(named: _Named, files: Iterable[_SyncFile], devices: Sequence[SyncDevice]) -> dict[str, object]:
    """Return the parameters that describe a directory or remote, and what is in it."""
    return {
        "target": hashlib.sha256(named.target.encode("utf-8", "surrogateescape")).hexdigest(),
        "label": _shown(named.target).encode("utf-8", "replace").decode()[:1_000],
        "files": [each._asdict() for each in files], "devices": msgspec.to_builtins(devices),
    }  # fmt: skip


def _exchange(folder: _Folder, data_dir: Path, named: _Named, deadline: float) -> SyncUniteResult:
    """Read what other devices wrote, and write what they do not have. Raises OSError, MnemonError."""
    files, identities = folder.files(), named.keys.identities
    opening = {
        **named.params, **_target(named, files, folder.devices(files, identities)),
        "recipients": named.keys.recipients, "plain": named.keys.plain, "host": _host(),
    }  # fmt: skip
    long = max(deadline, fast.LONG_DEADLINE_S)
    begun = rpc.call(data_dir, "sync.open", opening, SyncOpenResult, long)
    recipients = encryption.recipients_of(begun.recipients)
    folder.remove_drafts(begun.device)
    sync = {"sync_id": begun.sync_id}
    unread: list[str] = []
    sent: list[dict[str, int]] = []

    def content() -> Iterator[bytes]:
        for at in begun.wanted:
            if (why := folder.unreadable(files[at], identities)) is not None:
                unread.append(why)
                continue
            sent.append({"file": at, "size": 0})
            for part in folder.parts(files[at], identities):
                sent[-1]["size"] += len(part)
                yield part

    digest = None
    with rpc.spooled(data_dir, content()) as (name, own):
        result = rpc.call(data_dir, "sync.unite", {**sync, "spool": name, "sent": sent}, SyncUniteResult, long)
        if result.publish is not None:
            digest = folder.write(begun.device, result.publish, encryption.parts_of(own), recipients)
    if result.publish is not None or (begun.renamed and any(each.device == begun.device for each in files)):
        said = _Device(DEVICE_FORMAT, begun.name, _now())
        form, other = ("", encryption.SUFFIX) if not recipients else (encryption.SUFFIX, "")
        folder.write(begun.device, DEVICE + form, [msgspec.json.encode(said) + b"\n"], recipients)
        folder.remove(begun.device, [DEVICE + other])
    folder.remove(begun.device, result.remove)
    rpc.call(data_dir, "sync.finish", {**sync, "digest": digest}, SyncFinishResult, deadline)
    return msgspec.structs.replace(
        result, unread=tuple(unread[:MAX_UNREAD]), unread_found=len(unread), encrypted=len(recipients)
    )


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


_REASON: Final = re.compile(r"(ssh|fatal|error): |.*: Permission denied")


def _reason(stderr: bytes) -> str:
    """Return the line in which git or ssh says why it failed: the first that begins like one, else the last."""
    said = stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
    return next((line for line in said if _REASON.match(line)), said[-1])[:300]


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
            raise _refused(
                self.remote, f"`git {words[0]}`: {_reason(done.stderr)}",
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


@contextmanager
def _working_copy(named: _Named, data_dir: Path) -> Iterator[_Git]:
    """Fetch a repository, and remove the working copy at the end. Raises MnemonError."""
    remote = named.target
    name = hashlib.sha256(remote.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    git = _Git(remote, data_dir / "sync" / name)
    try:
        with private_file(data_dir / "sync.lock") as lock:
            if not try_lock(lock):
                raise rejected(BUSY, "another sync with a git remote runs", "repeat when that has ended")
            try:
                shutil.rmtree(git.path.parent, ignore_errors=True)  # of syncs that were interrupted
                git.prepare()
                yield git
            finally:
                shutil.rmtree(git.path.parent, ignore_errors=True)  # its history has texts that are purged later
    except OSError as error:
        raise _refused(remote, f"{git.path}: {error.strerror}") from None


def _through_git(named: _Named, data_dir: Path, deadline: float) -> SyncUniteResult:
    """Exchange files in a repository. Raises MnemonError."""
    with _working_copy(named, data_dir) as git:
        result = _through_directory(git.path, data_dir, named, deadline)
        git.publish()
    return result


def _status_of_git(named: _Named, data_dir: Path, deadline: float) -> SyncStatusResult:
    """Look into a repository. Raises MnemonError."""
    with _working_copy(named, data_dir) as git:
        return _status_of(git.path, data_dir, named, deadline)
